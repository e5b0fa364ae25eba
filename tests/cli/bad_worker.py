#!/usr/bin/env python3
"""A worker that misbehaves on request: the axis `mode` of a case, else BAD_WORKER, says how; of several modes there,
busy_ns / 100000 counts to that of a case."""
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
    time.sleep(float(os.environ.get("BAD_NAP", "1.5")))
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


def repeat(data, fd=None, writers=4):
    """The same bytes without end: whole lines at once, from several processes, so that the pipe is never empty."""
    data = data.encode() * (1 if len(data) == 1 else max(1, 4096 // len(data)))
    fd = WIRE.fileno() if fd is None else fd
    WIRE.flush()
    for _ in range(writers - 1):
        if os.fork() == 0:
            break
    while True:
        os.write(fd, data)


def one_line(**message):
    return json.dumps(message) + "\n"


def flood_settings(request):
    repeat(one_line(type="setting", key="k", value="v" * 1000))


def flood_series(request):
    metric()
    i = 0
    while True:
        WIRE.write("".join(f'{{"type":"samples","metric":"step_ns","instance":{i + k},"values":[1]}}\n' for k in range(1000)))
        i += 1000


def flood_metrics(request):
    i = 0
    while True:
        metric(f"m{i}_ns")
        i += 1


def flood_unknown(request):
    """Valid and ignored, and read more slowly than it is written."""
    repeat(one_line(type="from-the-future", value=[{}] * 1000))


def flood_blank(request):
    repeat("\n")


def endless_line(request):
    repeat("xy")


def nested(request):
    WIRE.write('{"type":"note","key":"k","value":[' + "{}," * (2 << 20) + "{}]}\n")
    time.sleep(600)


def drip(request):
    """A byte of one long line now and then: each comes soon, and the line never ends."""
    WIRE.write('{"type":"samples","metric":"step_ns","values":[')
    WIRE.flush()
    repeat(" ")


def loud(request):
    os.dup2(1, 2)
    repeat("noise on the screen\n", 2)


def flood_stdin(request):
    repeat("stdin is a socket\n", 0)


def closes_all(request):
    """And lives on."""
    for fd in (0, 1, 2, WIRE.fileno()):
        os.close(fd)
    time.sleep(600)


def stopped(request):
    os.kill(os.getpid(), signal.SIGSTOP)


def deaf(request):
    """Chooses much, and reads no further request, which has the choices in it."""
    for i in range(4096):
        say(type="setting", key=f"choice:{i}", value="v" * 1000)
    good(request)
    time.sleep(600)


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
         "truncated": truncated, "noisy": noisy, "failing": failing, "idle-death": idle_death, "leaving": leaving,
         "settings": settings, "choosing": choosing, "flood-settings": flood_settings, "flood-series": flood_series,
         "flood-metrics": flood_metrics, "flood-unknown": flood_unknown, "flood-blank": flood_blank, "endless-line": endless_line, "nested": nested,
         "drip": drip, "loud": loud, "flood-stdin": flood_stdin, "closes-all": closes_all, "stopped": stopped, "deaf": deaf}


def main():
    start = os.environ.get("BAD_START")
    if start != "no-hello":
        say(type="hello", version=2 if start == "version-2" else 1, program="bad_worker")
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "quit":
            break
        modes = os.environ.get("BAD_WORKER", "good").split(",")
        mode = request["axes"].get("mode", modes[request["axes"]["busy_ns"] // 100000 - 1 if len(modes) > 1 else 0])
        MODES[mode](request)


main()
