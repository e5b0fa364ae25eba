#!/usr/bin/env python3
"""A program that perfkit starts, as a peer (it gets requests) or as a command of exec, and that does what the variable HOSTILE says."""
import json
import os
import signal
import sys
import time

TOKEN = os.environ.get("ATTACK_MARK", "")
FD = int(os.environ.get("PERFKIT_WIRE_FD", "2"))
IS_PEER = len(sys.argv) < 2 or sys.argv[1] != "exec"


def write(data, fd=FD):
    while data:
        data = data[os.write(fd, data):]


def say(**message):
    write(json.dumps(message).encode() + b"\n")


def forever(data, fd=FD):
    while True:
        write(data, fd)


def good(request):
    say(type="metric", name="step_ns", unit="ns", direction="lower")
    say(type="samples", metric="step_ns", values=[10, 11, 12])
    if request:
        say(type="status", id=request["id"], status="ok")


def slow_good(request):
    time.sleep(0.05)
    good(request)


def flood(line):
    return lambda request: forever(line * max(1, 65536 // len(line)))


def flood_of_numbers(request):
    say(type="metric", name="step_ns", unit="ns", direction="lower")
    forever(json.dumps({"type": "samples", "metric": "step_ns", "values": [1] * 10000}).encode() + b"\n")


def numbered(make):
    """Lines that are all different: n goes up."""
    def flood_of(request):
        n = 0
        while True:
            write(b"".join(json.dumps(make(n + i)).encode() + b"\n" for i in range(200)))
            n += 200
    return flood_of


def stream(fd):
    def noisy(request):
        for _ in range(20000):  # 1.3 GB
            write(b"noise \x1b[31m\xff\n" * 5000, fd)
        good(request)
    return noisy


def closed(request):
    for fd in range(3, 256):
        try:
            os.close(fd)
        except OSError:
            pass
    time.sleep(600)


def stopped(request):
    os.kill(os.getpid(), signal.SIGSTOP)
    good(request)


def stopped_group(request):
    os.killpg(0, signal.SIGSTOP)


def deaf(request):
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(s, signal.SIG_IGN)
    time.sleep(600)


def sleeper():
    """Has the token in its arguments, as its environment is empty, and holds the pipe."""
    os.execve(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(600)", TOKEN], {})


def daemon(request):
    """Of two forks and a session of its own, without an environment; then all goes well."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            sleeper()
        os._exit(0)
    os.wait()
    good(request)


def daemons_that_hang(request):
    for _ in range(8):
        daemon(None)
    time.sleep(600)


def children(request):
    for _ in range(20):
        if os.fork() == 0:
            sleeper()
    good(request)


def exits(status):
    def leave(request):
        print("cannot go on\x07", file=sys.stderr, flush=True)
        os._exit(status)
    return leave


def killed(signum):
    return lambda request: os.kill(os.getpid(), signum)


def half_line(request):
    write(b'{"type":"samples","metric":"step_ns","val')
    os._exit(0)


def half_line_hangs(request):
    write(b'{"type":"samples","metric":"step_ns","val')
    time.sleep(600)


def drops(request):
    """A byte at a time, for ever: each could be the beginning of something."""
    while True:
        write(b"x")
        time.sleep(0.01)


def fills_memory(request):
    held = []
    for _ in range(10):
        held.append(b"x" * (20 << 20))
    good(request)


MODES = {
    "good": good, "slow good": slow_good, "numbers": flood_of_numbers, "stderr": stream(2), "stdout": stream(1), "closed": closed, "stopped": stopped,
    "stopped group": stopped_group, "deaf": deaf, "daemon": daemon, "daemons that hang": daemons_that_hang, "children": children, "half line": half_line,
    "half line hangs": half_line_hangs, "drops": drops, "memory": fills_memory,
    "endless line": flood(b"x"), "endless json": flood(b"["), "empty lines": flood(b"\n"), "garbage": flood(os.urandom(4096)), "zeros": flood(b"\0"),
    "unknown types": flood(b'{"type":"weather","sun":true}\n'), "settings": numbered(lambda n: {"type": "setting", "key": "k%d" % n, "value": "v" * 100}),
    "notes": numbered(lambda n: {"type": "note", "key": "n%d" % n, "value": n}), "metrics": numbered(lambda n: {"type": "metric", "name": "m%d_ns" % n, "unit": "ns"}),
    "cases": numbered(lambda n: {"type": "case", "variant": "v%d" % n, "axes": {"n": n}}), "marks": numbered(lambda n: {"type": "mark", "name": "m", "begin_ns": n, "end_ns": n + 1}),
    "choices": numbered(lambda n: {"type": "setting", "key": "choice:%d" % n, "value": "w" * 1000}),
    "exit 0": exits(0), "exit 1": exits(1), "exit 77": exits(77), "exit 127": exits(127), "exit 255": exits(255),
    "SIGKILL": killed(signal.SIGKILL), "SIGSEGV": killed(signal.SIGSEGV), "SIGPIPE": killed(signal.SIGPIPE), "SIGXCPU": killed(signal.SIGXCPU),
}
AT_START = ("flood before hello", "no hello", "wrong hello")


def main():
    mode = os.environ.get("HOSTILE", "good")
    if not IS_PEER:
        MODES[mode](None)
        return
    if mode == "flood before hello":
        forever(b"x" * 1000 + b"\n")
    if mode == "no hello":
        time.sleep(600)
    say(type="hello", version=9 if mode == "wrong hello" else 1, program="hostile")
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "quit":
            break
        MODES.get(mode, good)(request)


if __name__ == "__main__":
    main()
