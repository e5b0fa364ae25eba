"""Processes of a trial, read from /proc: those that have its token in their environment or arguments, and descendants of one."""
import contextlib
import os
import pathlib
import re
import signal
import time

PROC = pathlib.Path("/proc")


def read(pid, name):
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""


def marked(token):
    """Pids, other than ours, that have the token; zombies have neither environment nor arguments."""
    token = token.encode()
    pids = [int(name) for name in os.listdir(PROC) if name.isdigit() and int(name) != os.getpid()]
    return [pid for pid in pids if token in read(pid, "environ") or token in read(pid, "cmdline")]


def left_alive(token, seconds):
    """Those that have not ended in time."""
    end = time.monotonic() + seconds
    while (left := marked(token)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def end(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def descendants(pid):
    """The process and those it started that have not lost their parent."""
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        left += [int(child) for child in read(one, "task/%d/children" % one).split()]
    return found


def parent(pid):
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else -1


def run_delay(pid):
    """Seconds for which it could have run, but others had the processors."""
    fields = read(pid, "schedstat").split()
    return int(fields[1]) / 1e9 if len(fields) > 1 else 0


def peak_bytes(pid):
    found = re.search(rb"^VmHWM:\s*(\d+) kB", read(pid, "status"), re.M)
    return int(found.group(1)) * 1024 if found else 0


def is_perfkit(pid, binary):
    with contextlib.suppress(OSError):
        return os.readlink(PROC / str(pid) / "exe") == str(binary)
    return False


def command_line(pid):
    return read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
