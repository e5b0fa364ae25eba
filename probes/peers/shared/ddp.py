"""What the gloo peers of ddp-bucket share: one step of data-parallel training in PyTorch, its ranks processes of this machine.

how="ddp": DistributedDataParallel with buckets of bucket_bytes. how="flat": one all-reduce of all gradients, flattened and copied back. how="naive":
one all-reduce a parameter after backward. The work is the native one: a timer, by autograd functions that sleep until their gradient is due, or
the transformer. On a GPU, which ranks share where there are fewer than they are, the timer is a kernel, gloo stages through the host, and times
are of events. Rank 0 is the peer that perfkit started; it starts the others, which follow it from case to case."""
import atexit
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from functools import partial

from shared.torch_run import device_of
from shared.wire import Refused, Skip, axes_of, timed

MODELS = {"tiny": (4, 256, 4, 1024), "small": (12, 768, 12, 3072), "large": (36, 1280, 20, 5120)}
KNOWN = {"work": "timer", "model": "small", "transport": "link", "ranks": 2, "dtype": "fp32", "compute_ms": 20, "bucket_bytes": 25_000_000,
         "first_bucket_bytes": 0, "gradients": "views", "batch": 1, "seq_len": 128, "tensors": "model",
         "split": False}
UNUSED = {"link_latency_us", "link_bytes_per_s", "link_jitter"}
REGIONS = ("forward_ns", "backward_ns", "exposed_ns")
GIVE_UP = timedelta(seconds=60)
PR_SET_TIMERSLACK, MONOTONIC, ABSOLUTE, SPIN_NS = 29, 1, 1, 20_000

torch = dist = None  # set when first needed
libc = ctypes.CDLL(None)


def load(module):
    global torch, dist
    import torch.distributed
    torch, dist = module, torch.distributed


def case_of(request):
    case = axes_of(request, KNOWN, UNUSED)
    if case["transport"] != "mpi":
        raise Skip("the ranks of this peer are processes over gloo: --transport mpi")
    if case["tensors"] != "model":
        raise Skip("this peer supports models, not lists of tensors: -a tensors=model")
    if case["dtype"] != "fp32":
        raise Skip("this peer supports only fp32 gradients: -a dtype=fp32")
    if case["split"]:
        raise Skip("PyTorch does not divide a gradient among buckets: -a split=off")
    case["layers"], case["d_model"], case["heads"], case["d_ff"] = MODELS[case["model"]]
    return {**case, "vocab": 10000, "mode": "forward+backward", "attention": "flash", "recompute": "none"}


# --- ranks ---

class Ranks:
    """This process and size - 1 that follow it, by follow() of a module; a file is where they meet."""

    def __init__(self, size, module):
        self.size, self.module = size, module
        self.folder = tempfile.mkdtemp(prefix="perfkit-gloo-")
        at = os.path.join(self.folder, "meet")
        peers = pathlib.Path(__file__).resolve().parents[1]
        self.others = [subprocess.Popen([sys.executable, "-m", module, str(rank), str(size), at], cwd=peers, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL) for rank in range(1, size)]
        join(0, size, at)

    def tell(self, order):
        dist.broadcast_object_list([order], 0)

    def close(self):
        if dist.is_initialized():
            self.tell(None)
            dist.destroy_process_group()
        for other in self.others:
            other.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)


ranks = None


def ranks_of(size, module="shared.ddp"):
    global ranks
    if ranks and (ranks.size, ranks.module) != (size, module):
        ranks.close()
        ranks = None
    ranks = ranks or Ranks(size, module)
    return ranks


def end():
    for other in ranks.others if ranks else ():
        other.kill()
    if ranks:
        shutil.rmtree(ranks.folder, ignore_errors=True)


atexit.register(end)


def join(rank, size, at):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the name of a host in a container often resolves to nothing
    dist.init_process_group("gloo", init_method="file://" + at, rank=rank, world_size=size, timeout=GIVE_UP)


def follow():
    import torch as module
    load(module)
    join(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    while True:
        order = [None]
        dist.broadcast_object_list(order, 0)
        if order[0] is None:
            return
        how, case, threads, checked = order[0]
        trial = Trial(how, case, threads, dist.get_rank(), dist.get_world_size())
        if checked:
            trial.check()
        while agreed(0):
            slowest(trial.step())


def agreed(goes_on):
    """Rank 0's word, which all wait for: the step begins at once everywhere."""
    word = torch.tensor([goes_on])
    dist.broadcast(word, 0)
    dist.barrier()
    return bool(word)


def slowest(times):
    """Of every part the longest over the ranks."""
    found = torch.tensor(times, dtype=torch.int64)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return tuple(found.tolist())


# --- the work ---

class HostMoments:
    """When a step was where, by the host's clock."""

    def __init__(self):
        self.at = {}

    def note(self, name):
        self.at[name] = time.monotonic_ns()

    def ns(self, a, b):
        return self.at[b] - self.at[a]


class GpuMoments:
    """The same on the stream, read after the step."""

    def __init__(self):
        self.at = {name: torch.cuda.Event(enable_timing=True) for name in ("began", "between", "last", "ended")}

    def note(self, name):
        self.at[name].record()

    def ns(self, a, b):
        torch.cuda.synchronize()
        return round(self.at[a].elapsed_time(self.at[b]) * 1e6)


def use(device, rank):
    """The name of this rank's device: without a number ranks take GPUs by turns."""
    if device == "cpu":
        return device
    own = device if device[5:].isdigit() else "cuda:%d" % (rank % torch.cuda.device_count())
    torch.cuda.set_device(own)
    return own


def spinner():
    """A kernel that takes this number of ns: torch counts cycles, so the cycles per ns are measured."""
    cycles, events = 10**8, [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    torch.cuda._sleep(1000)
    events[0].record()
    torch.cuda._sleep(cycles)
    events[1].record()
    torch.cuda.synchronize()
    rate = cycles / (events[0].elapsed_time(events[1]) * 1e6)
    return lambda ns: torch.cuda._sleep(int(ns * rate)) if ns >= 1 else None


class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]


def sleep_until(ns):
    """As pk_pause_until of lib/comm/comm.c: asleep except for the last 20 us. The call lets other threads of this interpreter run."""
    if time.monotonic_ns() + 2 * SPIN_NS < ns:
        libc.prctl(PR_SET_TIMERSLACK, 1)
        at = Timespec(*divmod(ns - SPIN_NS, 10**9))
        libc.clock_nanosleep(MONOTONIC, ABSOLUTE, ctypes.byref(at), None)
    while time.monotonic_ns() < ns:
        pass


def sleeping():
    """An autograd function whose gradient is ready at a given time."""
    class Sleeping(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, p, gradient, wait):
            ctx.due = gradient, wait
            return x + 0

        @staticmethod
        def backward(ctx, g):
            gradient, wait = ctx.due
            wait()
            return g, gradient, None, None

    return Sleeping.apply


def timer(case, shapes, rank, device):
    """A third of compute_ms forward, the rest backward, a gradient's share that of the elements of its matrix. clock[0]: when backward began."""
    compute_ns = int(case["compute_ms"] * 1e6)
    forward_ns = round(compute_ns / 3)
    weights = [rows * cols if rows > 1 and name != "embedding" else 0 for name, rows, cols, _ in shapes]
    shares = [(compute_ns - forward_ns) * w / sum(weights) for w in weights]
    parameters = [torch.nn.Parameter(torch.zeros(rows * cols, device=device)) for _, rows, cols, _ in shapes]
    gradients = [torch.full_like(p, rank + 1.0) for p in parameters]
    apply, clock = sleeping(), [0]
    if device == "cpu":
        def wait_for(ns):
            sleep_until(time.monotonic_ns() + ns)

        waits = [partial(lambda ns: sleep_until(clock[0] + ns), round(sum(shares[i:]))) for i in range(len(shares))]
    else:
        wait_for = spinner()
        waits = [partial(wait_for, ns) for ns in shares]

    def forward():
        wait_for(forward_ns)
        x = torch.zeros((), device=device)
        for p, gradient, wait in zip(parameters, gradients, waits):
            x = apply(x, p, gradient, wait)
        return x

    return parameters, forward, clock


def transformer(case, rank, device):
    import numpy
    from shared import transformer as step
    step.torch, step.np = torch, numpy
    named = {name: torch.nn.Parameter(w.detach()) for name, w in step.parameters(case, device).items()}
    chance = torch.Generator().manual_seed(rank)
    shape = (case["batch"], case["seq_len"])
    tokens, targets = (torch.randint(case["vocab"], shape, generator=chance).to(device) for _ in range(2))
    rest = (case, *step.turns(case, device), None)
    return list(named.values()), lambda: step.loss_of(named, tokens, targets.flatten(), *rest), [0]


class Trial:
    """One case on one rank."""

    def __init__(self, how, case, threads, rank, size):
        from shared.transformer import layout
        torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // size))
        device = use(case["device"], rank)
        self.how, self.case, self.size = how, case, size
        self.moments = HostMoments() if device == "cpu" else GpuMoments()
        timed_work = case["work"] == "timer"
        self.parameters, work, self.clock = timer(case, layout(case), rank, device) if timed_work else transformer(case, rank, device)
        for p in self.parameters:
            p.register_hook(self.note)
        self.forward = self.wrapped(work) if how == "ddp" else work

    def note(self, gradient):
        self.moments.note("last")

    def wrapped(self, work):
        parameters = self.parameters

        class Work(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.all = torch.nn.ParameterList(parameters)

            def forward(self):
                return work()

        cap = self.case["bucket_bytes"]
        dist._DEFAULT_FIRST_BUCKET_BYTES = self.case["first_bucket_bytes"] or cap
        return torch.nn.parallel.DistributedDataParallel(Work(), bucket_cap_mb=cap / 2**20, gradient_as_bucket_view=self.case["gradients"] == "views")

    def average(self):
        if self.how == "naive":
            for p in self.parameters:
                dist.all_reduce(p.grad)
                p.grad /= self.size
        elif self.how == "flat":
            found = [p.grad for p in self.parameters]
            flat = torch._utils._flatten_dense_tensors(found)
            dist.all_reduce(flat)
            flat /= self.size
            for g, mean in zip(found, torch._utils._unflatten_dense_tensors(flat, found)):
                g.copy_(mean)

    def step(self):
        """(forward, backward, exposed) in ns: exposed is the time after the last gradient."""
        for p in self.parameters:
            p.grad = None
        note = self.moments.note
        note("began")
        out = self.forward()
        note("between")
        self.clock[0] = time.monotonic_ns()
        out.backward()
        self.average()
        note("ended")
        return tuple(self.moments.ns(a, b) for a, b in (("began", "between"), ("between", "last"), ("last", "ended")))

    def check(self):
        """Of a timer: rank r's gradients are r + 1 everywhere."""
        self.step()
        mean = (self.size + 1) / 2
        if self.case["work"] == "timer":
            return all(bool((p.grad == mean).all()) for p in self.parameters)
        same = [torch.empty(len(self.parameters)) for _ in range(self.size)]
        dist.all_gather(same, torch.stack([p.grad.norm() for p in self.parameters]).cpu())
        return all(torch.equal(s, same[0]) for s in same)


# --- what is told ---

def measure(wire, request, how):
    case = {**case_of(request), "device": device_of(request)}
    threads = request.get("device_options", {}).get("threads", 0)
    group = ranks_of(case["ranks"])
    checked = bool(request.get("check"))
    group.tell((how, case, threads, checked))
    trial = Trial(how, case, threads, 0, group.size)
    right = trial.check() if checked else True

    def iterate():
        agreed(1)
        return slowest(trial.step())

    cut, rows, reason = timed(request.get("stop", {}), iterate)
    agreed(0)
    if not right:
        raise Refused("gradients are not the mean over the ranks")
    columns = dict(zip(REGIONS, zip(*rows)))
    columns["step_ns"] = [sum(row) for row in rows]
    for name, times in columns.items():
        wire.times(name, list(times), cut, "mark" if name == "exposed_ns" else "region")
    wire.checked(request, "passed")
    wire.stopped(reason, cut)


def of(how):
    """measure(wire, request, torch) of ddp-bucket."""
    def step(wire, request, module):
        load(module)
        measure(wire, request, how)

    return step


if __name__ == "__main__":
    follow()
