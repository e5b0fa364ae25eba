"""What the PyTorch peers of all experiments share: finding torch, choosing its device, clocks, and what its errors mean."""
import os
import time
from functools import partial

from shared.wire import Refused, Skip, imported, serve

OVERRIDES = ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION")  # libraries would make products in another way than dtype says

torch = None  # imported at the first request: a Python without it skips
import_ns = 0


def load_torch(wire):
    """The module."""
    global torch, import_ns
    if torch is not None:
        return torch
    began = time.perf_counter_ns()
    found = [name for name in OVERRIDES if os.environ.pop(name, None) is not None]
    if found:
        wire.setting("numerics_warning", "%s would change how products are computed: it is ignored; dtype defines it" % ", ".join(found))
    torch = imported("torch")
    import_ns = time.perf_counter_ns() - began
    wire.setting("torch", torch.__version__)
    return torch


def startup(wire, compile_ns=None):
    """Reports the time before the first sample: importing torch in this process, and compiling this case."""
    wire.note("startup", {"start_ns": import_ns, **({"compile_ns": compile_ns} if compile_ns is not None else {})})


def device_of(request):
    """The request's device, ready for use."""
    device, options = request["device"], request.get("device_options", {})
    if device != "cpu" and not device.startswith("cuda"):
        raise Skip("PyTorch runs on cpu and cuda, not on %s" % device)
    if device == "cpu":
        if options.get("threads"):
            torch.set_num_threads(options["threads"])
    elif not torch.cuda.is_available():
        raise Skip("this PyTorch sees no GPU")
    else:
        torch.cuda.set_device(torch.device(device if ":" in device else "cuda:0"))
        if options.get("limit_bytes"):
            total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, options["limit_bytes"] / total))
    if device == "cpu" and request["axes"].get("dtype") == "tf32":
        raise Skip("TF32 needs a GPU")
    return device


class CudaClock:
    """n intervals: lane time by events, and what the host spent between them."""

    def __init__(self, n):
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(n + 1)]
        self.host = [0] * (n + 1)

    def start(self):
        torch.cuda.synchronize()
        self.mark(0)

    def mark(self, at):
        self.events[at].record()
        self.host[at] = time.perf_counter_ns()

    def read(self):
        """(intervals on the lane, the same on the host), ns."""
        torch.cuda.synchronize()
        lane = tuple(round(a.elapsed_time(b) * 1e6) for a, b in zip(self.events, self.events[1:]))
        return lane, tuple(b - a for a, b in zip(self.host, self.host[1:]))


class HostClock:
    """On the CPU both times are the host's."""

    def __init__(self, n):
        self.host = [0] * (n + 1)

    def start(self):
        self.mark(0)

    def mark(self, at):
        self.host[at] = time.perf_counter_ns()

    def read(self):
        both = tuple(b - a for a, b in zip(self.host, self.host[1:]))
        return both, both


def clock(device, n):
    return HostClock(n) if device == "cpu" else CudaClock(n)


def problem_of(e):
    """Out of memory or what else torch refused, by its first line."""
    line = str(e).strip().split("\n")[0]
    out_of_memory = isinstance(e, torch.cuda.OutOfMemoryError) or "can't allocate memory" in line
    return MemoryError(line.split(". ")[0]) if out_of_memory else Refused("torch: %s" % line)


def run(program, experiments):
    """Serves cases of experiments, {name: measure(wire, request, torch)}."""
    def answer(measure, wire, request):
        module = load_torch(wire)
        problem = None
        try:
            measure(wire, request, module)
        except RuntimeError as e:
            problem = problem_of(e)
        if request["device"] != "cpu":  # after the exception, which holds the case's tensors
            module.cuda.empty_cache()  # the next case may be another program's
        if problem:
            raise problem

    serve(program, {name: partial(answer, measure) for name, measure in experiments.items()})
