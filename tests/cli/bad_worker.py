#!/usr/bin/env python3
"""A worker that misbehaves on request: the axis `mode` of a case, else BAD_WORKER, says how."""
import json
import os
import signal
import sys
import time

WIRE = os.fdopen(int(os.environ["PERFKIT_WIRE_FD"]), "w", buffering=1)


def say(**message):
    WIRE.write(json.dumps(message) + "\n")


def metric(name="step_ns"):
    say(type="metric", name=name, unit="ns", direction="lower")


def good(request, values=(10, 11, 12)):
    metric()
    say(type="samples", metric="step_ns", phase="steady", ordinal=0, values=list(values))
    say(type="status", id=request["id"], status="ok")


def hang(request):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:  # a child of ours must go as well
        time.sleep(600)
    time.sleep(600)


def hang_in_trace(request):
    (hang if request["pass"] == "trace" else good)(request)


def slow(request):
    """To start and to compile, it says."""
    time.sleep(1.5)
    compiled = {} if os.environ.get("BAD_TASTE") == "interprets" else {"compile_ns": 1100000000}
    say(type="note", key="startup", value={"start_ns": 400000000, **compiled})
    good(request)


def crash(request):
    metric()
    say(type="samples", metric="step_ns", values=[1])
    print("about to crash", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(5)


def leave(request):
    print("cannot find my keys", file=sys.stderr, flush=True)
    sys.exit(3)


def garbage(request):
    WIRE.write("Hello, is this the printer?\n")
    time.sleep(600)


def undeclared(request):
    say(type="samples", metric="made_up_ns", values=[1])
    say(type="status", id=request["id"], status="ok")


def wrong_unit(request):
    """The probe's own metric, in another unit than its own."""
    say(type="metric", name="work_ns", unit="us", direction="lower")
    say(type="samples", metric="work_ns", values=[1])
    say(type="status", id=request["id"], status="ok")


def wrong_id(request):
    request["id"] += 1
    good(request)


def own_case(request):
    say(type="case", experiment="bad", variant="other", device="null", axes={})
    good(request)


def empty(request):
    metric()
    say(type="status", id=request["id"], status="ok")


def leaving(request):
    """Its bye means that nobody asks it again: it would not answer."""
    say(type="bye")
    good(request)
    time.sleep(600)


def not_a_number(request):
    good(request, [1.5, float("nan"), 2.5])


def huge_line(request):
    WIRE.write("x" * (9 << 20) + "\n")
    time.sleep(600)


def truncated(request):
    metric()
    WIRE.write('{"type":"samples","metric":"step_ns","val')
    WIRE.flush()
    sys.exit(0)


def flood(request):
    metric()
    line = json.dumps({"type": "samples", "metric": "step_ns", "values": [1] * 100000}) + "\n"
    while True:
        WIRE.write(line)


def noisy(request):
    """Whatever goes to stdout and stderr is no part of the protocol."""
    for _ in range(2000):
        print('{"type":"status","status":"failed"} and other stray output ' * 4)
        print("\x1b[31mwarning: \xff\n" * 4, file=sys.stderr)
    sys.stdout.flush()
    good(request)


def failing(request):
    metric()
    say(type="samples", metric="step_ns", values=[1])
    say(type="status", id=request["id"], status="failed", message="element 7 is 3, should be 4")


def idle_death(request):
    good(request)
    WIRE.flush()
    os._exit(9)


def settings(request):
    say(type="setting", key="clock", value="steady")
    say(type="setting", key="blas_warning", value="a slow BLAS is in use")
    good(request)


def choosing(request):
    """Measures what it chose: its process, unless a process of the run has chosen before."""
    given = request.get("choices", {}).get("way")
    if given is None or os.environ.get("BAD_TASTE") == "refuses":
        given = str(os.getpid())
        say(type="setting", key="choice:way", value=given)
    good(request, [int(given)] * 3)


MODES = {"good": good, "slow": slow, "hang": hang, "hang-in-trace": hang_in_trace, "crash": crash, "leave": leave, "garbage": garbage, "undeclared": undeclared,
         "wrong-id": wrong_id, "wrong-unit": wrong_unit, "own-case": own_case, "empty": empty, "not-a-number": not_a_number, "huge-line": huge_line,
         "truncated": truncated, "flood": flood, "noisy": noisy, "failing": failing, "idle-death": idle_death, "leaving": leaving,
         "settings": settings, "choosing": choosing}


def main():
    start = os.environ.get("BAD_START")
    if start != "no-hello":
        say(type="hello", version=2 if start == "version-2" else 1, program="bad_worker")
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "quit":
            break
        mode = request["axes"].get("mode", os.environ.get("BAD_WORKER", "good"))
        MODES[mode](request)


main()
