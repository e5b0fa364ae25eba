"""Printing: a signal while a table is computed or written to a reader that reads slowly, or not at all; and readers that leave."""
import fcntl
import os
import shutil
import signal

import templates
from trial import Attack, check

WITHIN = 2  # seconds from the signal to the end
F_SETPIPE_SZ = 1031
COMMANDS = [("show", "@"), ("export", "csv", "@"), ("export", "jsonl", "@", "--what", "invocations"), ("show", "@", "--format", "json"), ("compare", "--by", "variant", "@"),
            ("history", "selftest", "--all"), ("show", "@", "--format", "markdown"), ("export", "json", "@", "--what", "slices"), ("compare", "@~1", "@", "--format", "csv")]


def printing(trial):
    """The reader takes a random number of bytes, slowly or not at all, before the signal."""
    shutil.copy(templates.samples(trial.setup), trial.db)
    command = trial.rng.choice(COMMANDS)
    signum = trial.rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
    how, wait = trial.rng.choice(["nothing", "nothing", "slowly", "leaves"]), trial.rng.random() * 1.5
    trial.subject = "%s, the reader reads %s" % (signal.Signals(signum).name, how) if how != "leaves" else "the reader leaves"
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        child = trial.start(*command, stdout=writer)
        os.close(writer)
        writer = None
        os.set_blocking(reader, False)
        while not child.ended(0.1) and wait > 0:
            wait -= 0.1
            if how != "nothing":
                try:
                    os.read(reader, 100)
                except BlockingIOError:
                    pass
        if how == "leaves":
            os.close(reader)
            reader = None
            r = child.result(20)
            check(r.status == 0, "a reader that leaves is no error:", child.shell(), r)
            return
        handled, over = child.catches(signum), child.process.poll() is not None
        child.send(signum)
        r = child.result(WITHIN, {0, 130} if handled or over or child.seconds() - child.delay() > 0.5 else {0, 130, -signum})
    finally:
        for fd in (reader, writer):
            if fd is not None:
                os.close(fd)


ATTACKS = [Attack("signal while printing", 300, printing, "status 130 within 2 s while the reader reads slowly or not at all; status 0 when it leaves")]
