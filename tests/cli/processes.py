"""Who is still running: processes are told by a variable in their environment."""
import os
import pathlib
import time


def marked(token):
    """Pids, other than ours, whose environment holds the token; zombies have none."""
    found = []
    for d in pathlib.Path("/proc").iterdir():
        if not d.name.isdigit() or int(d.name) == os.getpid():
            continue
        try:
            if token.encode() in (d / "environ").read_bytes():
                found.append(int(d.name))
        except OSError:
            pass
    return found


def gone(token, seconds=5):
    """True when all of them have ended in time."""
    end = time.monotonic() + seconds
    while marked(token):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
