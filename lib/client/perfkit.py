"""perfkit's client for Python 3.9 or newer: an experiment of one's own in one file, without dependencies. docs/clients.md is its manual.

    import perfkit

    @perfkit.experiment("sum-of-squares", axes={"n": [1000, 100000]}, yardstick="loop")
    class SumOfSquares:
        def setup(self, case):
            self.values = list(range(case.n))

        @perfkit.variant("the built-in sum of a generator")
        def loop(self):
            return sum(x * x for x in self.values)

    perfkit.main()

`perfkit run ./bench.py` measures it by the wire protocol (docs/protocol.md). `python3 bench.py [AXIS=VALUE,... VARIANT ...]` prints a line for
each case. The peers of perfkit's own experiments are built on the same wire, stop rule and clocks."""
import gc
import itertools
import json
import math
import os
import re
import resource
import sys
import time
import traceback
import tracemalloc

__version__ = "0.1.0"

LONGEST_REQUEST = 8 << 20
BATCH_NS = 20_000  # a call that takes less is repeated: the clock would be a part of its time
WARMUP_NS = 10**7
COUNTED_NS = 10**7  # a sample that perfkit counts from outside: waiting for it is no part of the counts
TRACED_NS = 2 * 10**9  # a longer call is not repeated under tracemalloc, which makes it several times slower
FRAMEWORKS = ("numpy", "torch", "cupy", "jax")


class Skip(Exception):
    """This case does not apply here; the text has the reason and what to do."""


class Refused(Exception):
    """A case that this program does not know, or whose result is wrong."""


def framework(name):
    """The module, if the program has imported it."""
    return sys.modules.get(name)


# --- the wire ---


class Wire:
    """Messages to perfkit. Every method writes whole lines; none may be called inside a timed region."""

    def __init__(self, program, **hello):
        fd = os.environ.get("PERFKIT_WIRE_FD", "")
        try:
            os.set_inheritable(int(fd), False)
            self._out = os.fdopen(int(fd), "w", encoding="utf-8", errors="replace")
        except (ValueError, OSError):
            sys.exit("%s: PERFKIT_WIRE_FD is %r, not a file descriptor: perfkit starts this program (docs/protocol.md)" % (program, fd))
        self.requests = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")  # what is measured reads an empty stdin, and so do its children
        with open(os.devnull, encoding="utf-8") as nothing:
            os.dup2(nothing.fileno(), 0)
        self.say("hello", version=1, program=program, pid=os.getpid(), **hello)

    def say(self, kind, **members):
        self._out.write(json.dumps({"type": kind, **members}, ensure_ascii=False) + "\n")  # a lone surrogate becomes a question mark
        self._out.flush()

    def setting(self, key, value):
        self.say("setting", key=key, value=str(value))

    def note(self, key, value):
        self.say("note", key=key, value=value)

    def metric(self, name, unit, direction="lower", **more):
        self.say("metric", name=name, unit=unit, direction=direction, **more)

    def samples(self, metric, phase, ordinal, values, reps=1):
        if values:
            self.say("samples", metric=metric, phase=phase, ordinal=ordinal, values=values, **({"reps": reps} if reps > 1 else {}))

    def times(self, name, values, cut, source="region", reps=1):
        """A metric of times and its samples in their order: the first, `cut` of warm-up, the steady ones. All but the first are of `reps` calls."""
        self.metric(name, "ns", **{"class": "time", "source": source})
        self.samples(name, "first", 0, values[:1])
        self.samples(name, "warmup", 1, values[1:1 + cut], reps)
        self.samples(name, "steady", 1 + cut, values[1 + cut:], reps)

    def memory(self, name, value):
        """A metric of bytes and its value."""
        self.metric(name, "bytes", **{"class": "memory", "combine": "max", "source": "allocator"})
        self.samples(name, "steady", 0, [value])

    def count(self, state, reps=1):
        """Asks perfkit to `begin` or `end` counting this process, and waits until it has."""
        self.say("count", state=state, reps=reps)
        self.requests.readline(LONGEST_REQUEST)

    def checked(self, request, what):
        """Whether results are compared, from the request."""
        self.note("check", what if request.get("check") else "not in this invocation")

    def stopped(self, reason, cut):
        """Why timed() stopped, and what it left out as warm-up."""
        self.note("stop", reason)
        self.note("warmup_cut", cut)
        self.note("warmup_rule", "fixed")


def requests(program, lines):
    """The requests in a file, until `quit` or its end. Lines that are no messages end the program; those of a later perfkit are passed over."""
    while True:
        line = lines.readline(LONGEST_REQUEST + 1)
        try:
            request = json.loads(line) if len(line) <= LONGEST_REQUEST else None
        except (ValueError, RecursionError):
            request = None
        if line.endswith("\n") and not line.strip():
            continue
        if not line.endswith("\n") and len(line) <= LONGEST_REQUEST:
            return  # the end; an incomplete line is dropped
        if not isinstance(request, dict) or not isinstance(request.get("type"), str):
            sys.exit("%s: not a request of docs/protocol.md: %.100r" % (program, line))
        if request["type"] == "quit":
            return
        if type(request.get("id")) is int:
            yield request


def serve(program, answers, **hello):
    """Answers each request by answers[type](wire, request); returning is ok, exceptions are the other outcomes."""
    wire = Wire(program, **hello)
    for request in requests(program, wire.requests):
        status, message, broken = outcome(answers, wire, request)
        release()
        if broken:
            wire.say("bye")
        wire.say("status", id=request["id"], status=status, message=message)
        if broken:
            return
    wire.say("bye")


def outcome(answers, wire, request):
    """(status, message, whether the GPU is lost for this process) of one request."""
    try:
        if request["type"] not in answers:
            raise Refused("this program does not know requests of type %.100s" % request["type"])
        answers[request["type"]](wire, request)
        return "ok", "", False
    except Exception as e:  # whatever the measured code does is an outcome of this case
        return outcome_of(e)


def outcome_of(e):
    """The status and message of an exception."""
    first_line = (str(e).strip() or type(e).__name__).split("\n")[0][:1000]
    if isinstance(e, Skip):
        return "skipped", first_line, False
    if isinstance(e, MemoryError) or type(e).__name__ == "OutOfMemoryError" or "RESOURCE_EXHAUSTED" in first_line or "can't allocate memory" in first_line:
        return "oom", first_line if str(e) else "the interpreter ran out of memory", False
    if isinstance(e, Refused):
        return "failed", first_line, False
    traceback.print_exception(type(e), e, e.__traceback__)
    own = [frame for frame in traceback.extract_tb(e.__traceback__) if frame.filename != __file__]
    where = " (%s:%d, in %s)" % (os.path.basename(own[-1].filename), own[-1].lineno, own[-1].name) if own else ""
    return "failed", "%s: %s%s" % (type(e).__name__, first_line, where), "CUDA error" in first_line


def release():
    """Gives back what a case held, once its exception is gone: the next case may be another program's."""
    gc.collect()
    torch, cupy = framework("torch"), framework("cupy")
    if torch and torch.cuda.is_available() and torch.cuda.is_initialized():
        try:
            torch.cuda.empty_cache()
        except RuntimeError:
            pass  # the GPU is lost; the case has said so
    if cupy:
        cupy.get_default_memory_pool().free_all_blocks()


# --- when to stop ---


def noise_of(values):
    """Half of the 95 % interval of the median, relative to it. Its ends are ranks of the binomial distribution, further apart where neighbours
    are alike."""
    n, ordered = len(values), sorted(values)
    mean = sum(values) / n
    deviations = [v - mean for v in values]
    squares = sum(d * d for d in deviations)
    alike = sum(a * b for a, b in zip(deviations, deviations[1:])) / squares if squares else 0
    alike = min(max(alike, 0), 0.99)
    ranks = 0.98 * math.sqrt(n * (1 + alike) / (1 - alike))
    low, high = ordered[max(0, math.floor((n - 1) / 2 - ranks))], ordered[min(n - 1, math.ceil((n - 1) / 2 + ranks))]
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    return (high - low) / 2 / middle if middle > 0 else 0


def timed(stop, iterate):
    """Calls iterate() -> tuple of ns until the request's stop rule holds. Returns (warm-up count, rows, reason); row 0 is the first iteration.
    Warm-up is as many iterations as the request says; without a number, two and all that begin in the first 10 ms. Noise is looked at when
    there are a quarter more samples than last time."""
    rows = [iterate()]
    if stop.get("once"):
        return 0, rows, "once"
    warmup, most = stop.get("warmup", -1), stop.get("max_samples", 10000)
    began = time.monotonic_ns()
    while len(rows) <= warmup or warmup < 0 and (len(rows) <= 2 or time.monotonic_ns() - began < WARMUP_NS):
        rows.append(iterate())
    cut, totals, look = len(rows) - 1, [], max(3, stop.get("min_samples", 15))
    began = time.monotonic_ns()
    while True:
        rows.append(iterate())
        totals.append(sum(rows[-1]))
        n, spent = len(totals), time.monotonic_ns() - began
        if n >= look and spent >= stop.get("min_time_ns", 2 * 10**8):
            if noise_of(totals) <= stop.get("max_noise", 0.005):
                return cut, rows, "noise"
            look = n + n // 4 + 1
        if n >= most:
            return cut, rows, "max-samples"
        if n >= 3 and spent >= stop.get("max_time_ns", 10**9):
            return cut, rows, "max-time"


def stop_of(request):
    """The request's stop rule, whose values are checked."""
    stop = request.get("stop", {})
    kinds = {"min_samples": int, "max_samples": int, "min_time_ns": int, "max_time_ns": int, "warmup": int, "max_noise": (int, float), "once": bool}
    if not isinstance(stop, dict) or any(not isinstance(stop.get(key, kind() if type(kind) is type else 0), kind) for key, kind in kinds.items()):
        raise Refused("the request's stop rule is not one of docs/protocol.md: %.200r" % (stop,))
    return {**stop, "max_samples": min(stop.get("max_samples", 10000), 10**6), "warmup": min(stop.get("warmup", -1), 10**6)}


# --- devices and clocks ---


class HostClock:
    """n intervals between marks, in ns: on the device and on the host, which on the CPU are the same."""

    def __init__(self, n):
        self.host = [0] * (n + 1)

    def start(self):
        self.mark(0)

    def mark(self, at):
        self.host[at] = time.perf_counter_ns()

    def read(self):
        both = tuple(b - a for a, b in zip(self.host, self.host[1:]))
        return both, both


class EventClock(HostClock):
    """The same on a GPU: times on the stream by events, and what the host spent between recording them."""

    def __init__(self, n, gpu, flush=None):
        super().__init__(n)
        self.gpu, self.flush = gpu, flush
        self.events = [gpu.event() for _ in range(n + 1)]

    def start(self):
        """The flush is not waited for: while it runs, the host launches what is timed."""
        self.gpu.synchronize()
        if self.flush:
            self.flush()
        self.mark(0)

    def mark(self, at):
        self.events[at].record()
        super().mark(at)

    def read(self):
        self.gpu.synchronize()
        device = tuple(round(self.gpu.elapsed_ms(a, b) * 1e6) for a, b in zip(self.events, self.events[1:]))
        return device, super().read()[0]


class TorchGpu:
    """What is needed of PyTorch's GPU."""

    def __init__(self, torch):
        self.torch, self.synchronize = torch, torch.cuda.synchronize

    def use(self, index, limit_bytes):
        self.torch.cuda.set_device(index)
        if limit_bytes:
            total = self.torch.cuda.get_device_properties(index).total_memory
            self.torch.cuda.set_per_process_memory_fraction(min(1.0, limit_bytes / total))

    def event(self):
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed_ms(self, a, b):
        return a.elapsed_time(b)

    def flush(self):
        """Overwrites twice the L2 cache."""
        size = getattr(self.torch.cuda.get_device_properties(self.torch.cuda.current_device()), "L2_cache_size", 0) or 64 << 20
        return self.torch.empty(2 * size, dtype=self.torch.uint8, device="cuda").zero_

    def peak_bytes(self, call):
        self.torch.cuda.reset_peak_memory_stats()
        call()
        self.synchronize()
        return self.torch.cuda.max_memory_allocated()


class CupyGpu:
    """What is needed of CuPy's GPU. Its pool knows no peak: what it has allocated is asked after each allocation."""

    def __init__(self, cupy):
        self.cupy = cupy

    def use(self, index, limit_bytes):
        self.cupy.cuda.Device(index).use()
        if limit_bytes:
            self.cupy.get_default_memory_pool().set_limit(size=limit_bytes)

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()

    def event(self):
        return self.cupy.cuda.Event()

    def elapsed_ms(self, a, b):
        return self.cupy.cuda.get_elapsed_time(a, b)

    def flush(self):
        block = self.cupy.empty(2 * self.cupy.cuda.Device().attributes["L2CacheSize"], dtype="uint8")
        return lambda: block.fill(0)

    def peak_bytes(self, call):
        pool = self.cupy.get_default_memory_pool()

        class Peak(self.cupy.cuda.MemoryHook):
            name, bytes = "perfkit", pool.used_bytes()

            def malloc_postprocess(self, **_):
                self.bytes = max(self.bytes, pool.used_bytes())

        with Peak() as peak:
            call()
        return peak.bytes


def gpu_of(device):
    """The GPU as the framework that was imported sees it; None on the CPU, and of JAX, whose streams take no events: its times are the host's."""
    if device == "cpu":
        return None
    torch, cupy, jax = (framework(name) for name in ("torch", "cupy", "jax"))
    if torch and torch.cuda.is_available():
        return TorchGpu(torch)
    if cupy and cupy.cuda.is_available():
        return CupyGpu(cupy)
    if jax and any(d.platform == "gpu" for d in jax.devices()):
        return None
    raise Skip("none of torch, cupy and jax, as far as this program imports them, sees a GPU: use --device cpu")


def limit_memory(limit_bytes):
    """Of this process, so that a case that is too large is a MemoryError and not a dead machine. 0: 90 % of what is free now."""
    with open("/proc/self/statm", encoding="ascii") as f:
        used = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    if not limit_bytes:
        with open("/proc/meminfo", encoding="ascii") as f:
            limit_bytes = int(re.search(r"MemAvailable:\s+(\d+)", f.read()).group(1)) * 1024 * 9 // 10
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + limit_bytes if hard == resource.RLIM_INFINITY else min(used + limit_bytes, hard), hard))


def open_device(request):
    """Makes the request's device ready, with its CPUs, threads and memory limit. Returns the GPU, or None on the CPU."""
    device, options = request["device"], request.get("device_options", {})
    if not re.fullmatch(r"cpu|cuda(:[\w./-]+)?", device):
        raise Skip("this program runs on cpu and cuda, not on %.100s" % device)
    if options.get("cpus"):
        ranges = [part.split("-") for part in options["cpus"].split(",")]
        os.sched_setaffinity(0, {cpu for ends in ranges for cpu in range(int(ends[0]), int(ends[-1]) + 1)})
    if options.get("threads") and framework("torch"):
        framework("torch").set_num_threads(options["threads"])
    gpu = gpu_of(device)
    if gpu:
        ordinal = device.partition(":")[2]  # or a UUID, which is the only GPU that is visible
        gpu.use(int(ordinal) if ordinal.isdigit() else 0, options.get("limit_bytes", 0))
    elif device == "cpu":
        limit_memory(options.get("limit_bytes", 0))
    return gpu


# --- results against a reference ---


def array_of(x):
    """An array on the host, if it is one of any framework, its numbers in double precision; else x."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return x.double() if x.is_floating_point() else x
    if type(x).__module__.startswith("cupy"):
        x = x.get()
    if hasattr(x, "__array__"):
        x = framework("numpy").asarray(x)
        return x.astype("float64") if x.dtype.kind == "f" else x
    return x


def is_whole(x):
    """Whether it is a whole number, or an array of them."""
    if hasattr(x, "is_floating_point"):
        return not x.is_floating_point() and not x.is_complex()
    return isinstance(x, int) or getattr(getattr(x, "dtype", None), "kind", None) in ("i", "u")


def compare(got, want, tolerance, where="the result"):
    """Refuses a result that is not the reference. Whole numbers are equal; others, and arrays, differ by at most tolerance x the reference's
    largest magnitude."""
    if isinstance(want, dict) and isinstance(got, dict) and list(want) == list(got):
        for key in want:
            compare(got[key], want[key], tolerance, "%s[%r]" % (where, key))
    elif isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)) and len(got) == len(want):
        numbers = any(isinstance(x, float) for x in (*got, *want)) and all(isinstance(x, (int, float)) for x in (*got, *want))
        largest = max(map(abs, want), default=0) if numbers else 0
        for i, (g, w) in enumerate(zip(got, want)):
            near(abs(g - w), tolerance * largest, "%s[%d]" % (where, i)) if numbers else compare(g, w, tolerance, "%s[%d]" % (where, i))
    else:
        compare_one(array_of(got), array_of(want), tolerance, where)


def compare_one(got, want, tolerance, where):
    """Of two arrays or numbers, as far as they can be subtracted; else they are equal or not."""
    shapes = getattr(got, "shape", ()), getattr(want, "shape", ())
    if shapes[0] != shapes[1]:
        raise Refused("%s has the shape %s, the reference %s" % (where, *map(tuple, shapes)))
    try:
        difference, size = abs(got - want), abs(want)
    except (TypeError, RuntimeError):  # PyTorch's for booleans
        same = got == want
        if not (same if isinstance(same, bool) else same.all()):
            raise Refused("%s differs from the reference: %.100r instead of %.100r" % (where, got, want)) from None
        return
    if 0 not in shapes[0]:
        allowed = 0 if is_whole(got) and is_whole(want) else tolerance * float(size.max() if shapes[0] else size)
        near(float(difference.max() if shapes[0] else difference), allowed, where)


def near(difference, allowed, where):
    if not difference <= allowed:
        raise Refused("%s differs from the reference by %g; allowed is %g" % (where, difference, allowed))


# --- the experiment ---

KINDS = {bool: "bool", int: "int", float: "float", str: "choice"}
TAKES = {"bool": (bool,), "int": (int,), "size": (int,), "float": (int, float), "choice": (str,)}
RESERVED = ("above_floor", "case", "command", "device", "high_ns", "lives_in", "low_ns", "message", "of_floor", "others", "peak_bytes",
            "rate_bytes_per_s", "rate_flops_per_s", "seed", "speedup", "speedup_high", "speedup_low", "status", "uncertainty", "variant", "variants")

registered = []


def axis_of(name, values):
    """The descriptor of an axis: from its values, or as it was written."""
    axis = dict(values) if isinstance(values, dict) else {"default": [] if isinstance(values, str) else list(values)}
    default = axis.get("default", [])
    default = axis["default"] = list(default) if isinstance(default, (list, tuple)) else [default]
    kinds = {type(value) for value in default}
    if kinds == {int, float}:
        kinds = {float}
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) or name in RESERVED:
        raise ValueError("axis %r: its name has a-z, 0-9 and _, begins with a letter, and is none of %s, which stand for something else" %
                         (name, ", ".join(RESERVED)))
    if len(kinds) != 1 or not kinds <= set(KINDS):
        raise ValueError("axis %s: a list of values of one type (bool, int, float or str), not %r" % (name, values))
    axis.setdefault("type", KINDS[kinds.pop()])
    if axis["type"] == "choice":
        axis.setdefault("choices", default)
    if axis["type"] in ("int", "size") and min(default) < 1:  # perfkit takes 1 otherwise
        axis.setdefault("min", min(default))
    return {"name": name, **axis}


def unit_of(metric):
    """As perfkit takes it from the name, where it is not described."""
    name = metric["name"]
    return metric.get("unit", "ns" if name.endswith("_ns") else "bytes" if name.endswith("_bytes") else "1")


RUNS_NOTHING = 0x20 | 0x80 | 0x200  # co_flags of generators, coroutines, asynchronous generators: inspect takes longer to import than this file


def variant(summary="", **more):
    """Makes a method a variant, with a sentence about it. Its name in perfkit has dashes for underscores."""
    if callable(summary):
        return variant("")(summary)

    def mark(method):
        if getattr(getattr(method, "__code__", None), "co_flags", 0) & RUNS_NOTHING:  # compiled functions have none
            raise TypeError("%s: a call of a coroutine or generator function runs nothing; write a plain function that runs it" % method.__name__)
        method.perfkit_variant = {"name": method.__name__.strip("_").replace("_", "-"), "summary": summary, **more}
        return method

    return mark


def experiment(name, axes=None, summary="", yardstick=None, metrics=(), devices=None, tolerance=1e-4, **more):
    """Makes a class the experiment of this program. `more`: members of the reply to `describe` (presets, sql, revision: docs/protocol.md)."""
    def register(cls):
        registered.append(Experiment(cls, name, axes or {}, summary, yardstick, metrics, devices, tolerance, more))
        return cls

    return register


class Case:
    """The axes of a case as attributes, with device, variant and seed. An axis that does not apply is None."""

    def __init__(self, axes, device, variant_name, seed):
        self.__dict__.update(axes, device=device, variant=variant_name, seed=seed)


class Experiment:
    """A class whose methods are variants: its description, and its cases measured."""

    def __init__(self, cls, name, axes, summary, yardstick, metrics, devices, tolerance, more):
        methods = {key: value for base in reversed(cls.__mro__) for key, value in vars(base).items() if hasattr(value, "perfkit_variant")}
        self.cls, self.name, self.summary, self.tolerance, self.more = cls, name, summary, tolerance, more
        self.metrics = [{**metric, "unit": unit_of(metric)} for metric in metrics]
        self.axes = {key: axis_of(key, values) for key, values in axes.items()}
        self.variants = {method.perfkit_variant["name"]: key for key, method in methods.items()}
        self.described = [method.perfkit_variant for method in methods.values()]
        self.devices = devices
        self.yardstick = yardstick and yardstick.replace("_", "-")
        if not self.variants or self.yardstick not in (None, *self.variants):
            raise ValueError("%s: its variants are methods with @perfkit.variant, and yardstick=%r is one of them" % (cls.__name__, yardstick))

    def devices_here(self):
        if self.devices:
            return list(self.devices)
        try:
            gpu_of("cuda")
            return ["cpu", "cuda"]
        except Skip:
            return ["cpu"]

    def describe(self, wire, _):
        plan = any(hasattr(self.cls, hook) for hook in ("flops", "bytes", "predict", "skip"))
        yardstick = {"yardstick": self.yardstick} if self.yardstick else {}
        wire.say("experiment", name=self.name, summary=self.summary, axes=list(self.axes.values()), variants=self.described,
                 metrics=[{"name": "time_ns", "summary": "one call of the variant"}] + self.metrics, devices=self.devices_here(), plan=plan, **yardstick, **self.more)

    def case_of(self, request):
        """The request's case, checked."""
        if request.get("experiment") != self.name:
            raise Refused("this program measures %s, not %.100r" % (self.name, request.get("experiment")))
        if request.get("variant") not in self.variants:
            raise Refused("the variants are %s, not %.100r" % (", ".join(self.variants), request.get("variant")))
        axes, options = request.get("axes"), request.get("device_options", {})
        if not isinstance(axes, dict) or not isinstance(options, dict) or not isinstance(request.get("device"), str):
            raise Refused("a request has the objects axes and device_options and the text device")
        for key, value in axes.items():
            if key not in self.axes:
                raise Refused("the axes are %s, not %.100s" % (", ".join(self.axes) or "none", key))
            self.check_value(self.axes[key], value)
        absent = {key: None if "applies" in axis else axis["default"][0] for key, axis in self.axes.items()}
        return Case({**absent, **axes}, request["device"], request["variant"], request.get("seed", 1))

    def check_value(self, axis, value):
        kind, low, high = axis["type"], axis.get("min", 1 if axis["type"] in ("int", "size") else -math.inf), axis.get("max", math.inf)
        if not isinstance(value, TAKES[kind]) or (isinstance(value, bool) and kind != "bool"):
            raise Refused("axis %s: %.100r is not of type %s" % (axis["name"], value, kind))
        if kind == "choice" and value not in axis["choices"]:
            raise Refused("axis %s: the choices are %s, not %.100r" % (axis["name"], ", ".join(axis["choices"]), value))
        if kind in ("int", "size", "float") and not low <= value <= high:
            raise Refused("axis %s: %r is not from %g to %g" % (axis["name"], value, low, high))

    def points(self, axes):
        """Every combination of the values, without axes that do not apply to it."""
        found = []
        for values in itertools.product(*axes.values()):
            point = dict(zip(axes, values))
            limits = {key: axis["applies"] for key, axis in self.axes.items() if "applies" in axis}
            point = {key: value for key, value in point.items() if key not in limits or point[limits[key]["axis"]] in limits[key]["values"]}
            if point not in found:
                found.append(point)
        return found

    def ask(self, subject, hook, case, otherwise=None):
        """What a method of the class that need not be there says of a case."""
        return getattr(subject, hook)(case) if hasattr(subject, hook) else otherwise

    def made(self, case):
        """An instance for the case, which is skipped where skip() gives a reason."""
        subject = self.cls()
        reason = self.ask(subject, "skip", case)
        if reason:
            raise Skip(reason)
        return subject

    def work_of(self, case):
        subject = self.made(case)
        return {key: work_number(key, value) for key in ("flops", "bytes") for value in [self.ask(subject, key, case)] if value is not None}

    def plan(self, wire, request):
        case = self.case_of(request)
        work = self.work_of(case)
        if work:
            wire.say("work", metric="time_ns", **work)
        for metric, value in self.ask(self.made(case), "predict", case, {}).items():
            wire.say("predict", metric=metric, value=value)

    def measure(self, wire, request):
        """One case: set up, first call, check, warm-up, samples, and a call more for memory."""
        case, stop = self.case_of(request), stop_of(request)
        gpu = open_device(request)
        for name in filter(framework, FRAMEWORKS):
            wire.setting(name, framework(name).__version__)
        if request.get("device_options", {}).get("threads") and not framework("torch"):
            wire.setting("threads_warning", "--threads sets PyTorch's threads only; for other libraries set OMP_NUM_THREADS or what they read")
        wire.setting("clock", "events of %s" % type(gpu).__name__[:-3].lower() if gpu else "perf_counter_ns")
        subject = self.made(case)
        try:
            self.ask(subject, "setup", case)
            if framework("jax"):
                framework("jax").block_until_ready(vars(subject))  # inputs are computed, or out of memory, before anything is called
            self.sample(wire, request, stop, subject, case, gpu)
        finally:
            self.ask(subject, "teardown", case)

    def sample(self, wire, request, stop, subject, case, gpu):
        method = getattr(subject, self.variants[case.variant])
        wait = getattr(framework("jax"), "block_until_ready", None)
        call = (lambda: wait(method())) if wait else method
        check = bool(request.get("check")) and hasattr(subject, "reference")
        run = Runs(call, getattr(subject, "reset", None), EventClock(1, gpu, gpu.flush()) if gpu else None)
        if check:
            run.check = lambda got, want=subject.reference(case): compare(got, want, self.tolerance)
        cut, rows, reason = timed(stop, run)
        if request.get("counters") and not gpu:
            run.count(wire, stop.get("min_samples", 5), rows[-1][0] / run.reps)
        wire.times("time_ns", [row[0] for row in rows], cut, reps=run.reps)
        if gpu:
            wire.times("time_host_ns", run.host, cut)
        if not stop.get("once"):
            peak = peak_bytes(call, gpu, rows[-1][0] / run.reps, run.reset)
            if peak is not None:
                wire.memory("peak_bytes", peak)
        values = self.ask(subject, "metrics", case, {})
        unknown = set(values) - {metric["name"] for metric in self.metrics}
        if unknown:
            raise Refused("metrics() returns what the experiment does not describe in metrics=[...]: %s" % ", ".join(sorted(map(str, unknown))))
        for metric in self.metrics:
            if metric["name"] in values:
                wire.say("metric", **{key: value for key, value in metric.items() if key != "summary"})
                wire.samples(metric["name"], "steady", 0, [values[metric["name"]]])
        wire.stopped(reason, cut)
        wire.note("check", "passed" if check else "there is no reference" if request.get("check") else "not in this invocation")


def work_number(method, value):
    """What flops() or bytes() returned, as a number that JSON has."""
    try:
        number = math.nan if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise Refused("%s() returned %.100r, which is not a number from 0; return None where it is not known" % (method, value))
    return int(number) if number < 1 << 53 and number == int(number) else number


class Runs:
    """One sample a call, a tuple of its ns. The first is of one repetition, and its result is compared; then repetitions fill 20 us."""

    def __init__(self, call, reset, clock):
        self.call, self.reset, self.clock, self.check, self.reps, self.host = call, reset, clock, None, 0, []

    def __call__(self):
        if self.reps == 0:
            return self.first()
        if self.reset:
            self.reset()
        return (self.on_clock(self.call),) if self.clock else (self.on_host(self.reps),)

    def count(self, wire, samples, call_ns):
        """Samples that perfkit counts: long ones where calls can be repeated."""
        reps = 1 if self.reset else int(max(1, COUNTED_NS // max(1, call_ns)))
        for _ in range(samples):
            if self.reset:
                self.reset()
            wire.count("begin")
            self.on_host(reps)
            wire.count("end", reps)

    def on_host(self, reps):
        call, again = self.call, itertools.repeat(None, reps)
        began = time.perf_counter_ns()
        for _ in again:
            call()
        return time.perf_counter_ns() - began

    def on_clock(self, call):
        self.clock.start()
        call()
        self.clock.mark(1)
        device, host = self.clock.read()
        self.host.append(host[0])
        return device[0]

    def first(self):
        if self.reset:
            self.reset()
        began = time.perf_counter_ns()
        result = self.call()
        self.host.append(time.perf_counter_ns() - began)
        if self.clock:
            self.clock.gpu.synchronize()
        took = time.perf_counter_ns() - began
        if self.check:
            self.check(result)
        result = self.check = None  # their memory is no part of what follows
        self.reps = 1
        if not self.clock and not self.reset and took < 50 * BATCH_NS:
            while self.reps < 1 << 20 and self.on_host(self.reps) < BATCH_NS:
                self.reps *= 2
        return (took,)


def peak_bytes(call, gpu, took_ns, reset):
    """The most memory that the framework's allocator held in a call: of the GPU's, or of Python and NumPy on the CPU. None where neither tells."""
    if gpu:
        return gpu.peak_bytes(call)
    if framework("torch") or framework("cupy") or framework("jax") or took_ns > TRACED_NS:
        return None
    if reset:
        reset()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- by hand ---


class Lines(Wire):
    """In place of the wire, when a person starts the program: it keeps what the line of a case needs."""

    def __init__(self):
        self.steady, self.reps, self.work = {}, 1, {}

    def say(self, kind, **members):
        if kind == "samples" and members["phase"] == "steady":
            self.steady[members["metric"]] = members["values"]
            self.reps = max(self.reps, members.get("reps", 1))

    def text(self):
        values, work = self.steady["time_ns"], self.work
        ns = sorted(values)[len(values) // 2] / self.reps
        parts = ["%12s" % scaled(ns, 1000, ("ns", "us", "ms", "s"))]
        parts.append("+-%4.1f %%  %d samples" % (100 * noise_of(values), len(values)))
        parts += [scaled(work[key] / ns * 1e9, 1000, units) for key, units in (("flops", ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s")),
                                                                              ("bytes", ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))) if key in work]
        parts += ["peak " + scaled(self.steady[key][0], 1000, ("B", "kB", "MB", "GB", "TB")) for key in ("peak_bytes",) if key in self.steady]
        return "  ".join(parts)


def scaled(value, step, units):
    for unit in units[:-1]:
        if abs(value) < step:
            return "%.4g %s" % (value, unit)
        value /= step
    return "%.4g %s" % (value, units[-1])


def usage(one):
    return "usage: %s [AXIS=VALUE,VALUE] [device=NAME] [VARIANT]\naxes: %s\nvariants: %s" % (
        sys.argv[0], ", ".join(one.axes) or "none", ", ".join(one.variants))


def chosen(one, words):
    """(axes with their values, names of variants, device) of a command line."""
    axes, variants, device = {key: axis["default"] for key, axis in one.axes.items()}, [], one.devices_here()[-1]
    for word in words:
        key, equals, text = word.partition("=")
        if equals and key == "device":
            device = text
        elif equals and key in one.axes:
            kind = one.axes[key]["type"]
            read = {"choice": str, "float": float, "bool": lambda t: {"on": True, "off": False}[t]}.get(kind, int)
            try:
                axes[key] = [read(part) for part in text.split(",")]
            except (ValueError, KeyError):
                sys.exit("axis %s: %s is not a list of type %s" % (key, text, kind))
        elif word in one.variants:
            variants.append(word)
        else:
            sys.exit("%s: neither an axis nor a variant\n%s" % (word, usage(one)))
    return axes, variants or list(one.variants), device


def by_hand(one, words):
    """A line for each case; returns the exit status."""
    axes, variants, device = chosen(one, words)
    worst = 0

    def measure(lines, request):
        lines.work = one.work_of(one.case_of(request))
        one.measure(lines, request)

    for case in one.points(axes):
        for name in variants:
            lines, request = Lines(), {"type": "measure", "id": 1, "experiment": one.name, "variant": name, "device": device, "axes": case, "check": True}
            status, message, broken = outcome({"measure": measure}, lines, request)
            label = "%-16s %s" % (name, " ".join("%s=%s" % pair for pair in case.items()))
            print("%-48s %s" % (label, lines.text() if status == "ok" else "%s: %s" % (status, message)), flush=True)
            release()
            worst = max(worst, status == "failed")
            if broken:
                return 1
    return worst


def main():
    """Answers perfkit, or prints a line for each case when a person starts the program."""
    if len(registered) != 1:
        sys.exit("%s: %d classes have @perfkit.experiment; a program has one" % (sys.argv[0], len(registered)))
    one = registered[0]
    if "PERFKIT_WIRE_FD" in os.environ:
        serve(one.name, {"describe": one.describe, "plan": one.plan, "measure": one.measure}, describes=True)
        return
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(usage(one))
        return
    try:
        sys.exit(by_hand(one, sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
