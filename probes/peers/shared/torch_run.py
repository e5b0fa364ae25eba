"""What the PyTorch peers of all experiments share: finding torch, choosing its device, and clocks."""
import os
import time

from shared.wire import Skip, imported, serve
from perfkit import EventClock, HostClock, TorchGpu

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
        torch.cuda.set_device(torch.device(device if device[5:].isdigit() else "cuda:0"))
        if options.get("limit_bytes"):
            total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, options["limit_bytes"] / total))
    if device == "cpu" and request["axes"].get("dtype") == "tf32":
        raise Skip("TF32 needs a GPU")
    return device


def clock(device, n):
    return HostClock(n) if device == "cpu" else EventClock(n, TorchGpu(torch))


def run(program, experiments):
    """Serves cases of experiments, {name: measure(wire, request, torch)}."""
    serve(program, {name: lambda wire, request, measure=measure: measure(wire, request, load_torch(wire)) for name, measure in experiments.items()})
