"""The worker's half of perfkit's wire protocol (docs/protocol.md), for peers in Python. Needs nothing but Python."""
import importlib
import json
import os
import statistics
import sys
import time


class Skip(Exception):
    """This case does not apply here; the text has the reason and a fix."""


class Refused(Exception):
    """This case is not one that the peer knows."""


def imported(name, advice="install it,"):
    """The module of that name; without it the case is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Skip("%s is not installed for this Python; %s or choose another with --python" % (name, advice))


class Wire:
    """Messages of a peer. Every method writes whole lines; none may be called inside a timed region."""

    def __init__(self, program):
        fd = os.environ.get("PERFKIT_WIRE_FD")
        if fd is None:
            sys.exit("%s: PERFKIT_WIRE_FD is not set; this program is started by `perfkit run EXPERIMENT --peer NAME`" % program)
        os.set_inheritable(int(fd), False)
        self._out = os.fdopen(int(fd), "w", encoding="utf-8")
        self.say("hello", version=1, program=program, pid=os.getpid())

    def say(self, kind, **members):
        self._out.write(json.dumps({"type": kind, **members}) + "\n")
        self._out.flush()

    def setting(self, key, value):
        self.say("setting", key=key, value=str(value))

    def note(self, key, value):
        self.say("note", key=key, value=value)

    def metric(self, name, unit, direction="lower", **more):
        self.say("metric", name=name, unit=unit, direction=direction, **more)

    def samples(self, metric, phase, ordinal, values):
        if values:
            self.say("samples", metric=metric, phase=phase, ordinal=ordinal, values=values)

    def times(self, name, values, cut, source="region"):
        """A metric of times and its samples in their order: the first, `cut` of warm-up, the steady ones."""
        self.metric(name, "ns", **{"class": "time", "source": source})
        self.samples(name, "first", 0, values[:1])
        self.samples(name, "warmup", 1, values[1:1 + cut])
        self.samples(name, "steady", 1 + cut, values[1 + cut:])

    def memory(self, name, value):
        """A metric of bytes and its value."""
        self.metric(name, "bytes", **{"class": "memory", "combine": "max", "source": "allocator"})
        self.samples(name, "steady", 0, [value])

    def checked(self, request, what):
        """Whether results are compared, from the request."""
        self.note("check", what if request.get("check") else "not in this invocation")

    def stopped(self, reason, cut):
        """Why timed() stopped, and what it left out as warm-up."""
        self.note("stop", reason)
        self.note("warmup_cut", cut)
        self.note("warmup_rule", "fixed")


def axes_of(request, known, unused=()):
    """Every axis of `known` with the request's value or that of `known`. Axes in `unused` may be given too."""
    unknown = sorted(set(request["axes"]) - set(known) - set(unused))
    if unknown:
        raise Refused("this peer does not know the axis %s" % ", ".join(unknown))
    return {**known, **request["axes"]}


def serve(program, experiments):
    """Answers every request with experiments[experiment](wire, request); returning is ok, Skip, Refused and MemoryError are the other outcomes."""
    wire = Wire(program)
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("type") == "quit":
            break
        if request.get("type") != "measure":
            continue
        status, message = "ok", ""
        try:
            if request["experiment"] not in experiments:
                raise Refused("this peer measures %s, not %s" % (" and ".join(experiments), request["experiment"]))
            experiments[request["experiment"]](wire, request)
        except Skip as e:
            status, message = "skipped", str(e)
        except MemoryError as e:
            status, message = "oom", str(e) or "the interpreter ran out of memory"
        except Refused as e:
            status, message = "failed", str(e)
        wire.say("status", id=request["id"], status=status, message=message)
    wire.say("bye")


def timed(stop, iterate):
    """Calls iterate() -> tuple of ns until the request's stop rule holds. Returns (warm-up count, rows, reason); row 0 is the
    first iteration. Noise is the half-width of the median's 95 % interval, as for normal samples."""
    warmup = stop.get("warmup", -1)
    cut = 2 if warmup < 0 else warmup
    if stop.get("once"):
        return 0, [iterate()], "once"
    rows = [iterate() for _ in range(1 + cut)]
    totals = []
    began = time.monotonic_ns()
    while True:
        rows.append(iterate())
        totals.append(sum(rows[-1]))
        n, spent = len(totals), time.monotonic_ns() - began
        if n >= stop.get("max_samples", 10000):
            return cut, rows, "max-samples"
        if n >= 3 and spent >= stop.get("max_time_ns", 10**9):
            return cut, rows, "max-time"
        if n >= max(3, stop.get("min_samples", 15)) and spent >= stop.get("min_time_ns", 2 * 10**8):
            half_width = 1.96 * 1.2533 * statistics.stdev(totals) / n**0.5
            if half_width <= stop.get("max_noise", 0.005) * statistics.median(totals):
                return cut, rows, "noise"
