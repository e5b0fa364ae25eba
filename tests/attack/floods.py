"""Hostile peers and commands: floods, endless lines, silence, daemons. perfkit ends them in time and stays small; the store is sound."""
import hostile
from trial import Attack, check

TIMEOUT = 1
PATIENCE = 5  # --timeout + 5 s, docs/security.md
START = 5  # an interpreter, under load
MOST_BYTES = 768 << 20
# Modes that wait or work for ever: the limit ends each of them, once for each invocation or run.
PEER_MODES = [*hostile.MODES, *hostile.AT_START]
COMMAND_MODES = list(hostile.MODES)


def ended(trial, args, mode, times):
    trial.subject = mode
    child = trial.start(*args, env={"HOSTILE": mode})
    r = child.result(START + times * (TIMEOUT + PATIENCE), {0, 1, 6})
    check(child.peak_bytes < MOST_BYTES, "perfkit took %d bytes:" % child.peak_bytes, child.shell())
    trial.nothing_lives()
    if trial.db.exists():
        trial.sound()
    trial.only_store_and_spools()
    return r


def peer(trial):
    """Measured beside an honest case, which it must not disturb."""
    mode = trial.rng.choice(PEER_MODES)
    more = trial.rng.choice([(), (), ("--counters", "sw"), ("--breakdown",), ("-a", "busy_ns=1000,2000")])
    ended(trial, ("run", "selftest", "-d", "null", "-v", "ok", "-i", "1", "--max-samples", "20", "--min-time", "1ms", "--timeout", "%ds" % TIMEOUT, "--peer-startup", "1s", "--peer",
                  trial.setup.sources / "hostile.py", *more), mode, 2 if "-a" in more else 1)


def command(trial):
    mode = trial.rng.choice(COMMAND_MODES)
    program = ("python3", "-S", trial.setup.sources / "hostile.py", "exec")
    how = trial.rng.choice(["exec", "exec", "counted", "ignored", "prepare", "gate"])
    limit = ("--timeout", "%ds" % TIMEOUT)
    line = " ".join(str(p) for p in program)
    if how == "gate":
        ended(trial, ("gate", "--name", "g", "--a", line, "--b", line, "--max-pairs", "8", "--no-fail", *limit), mode, 8 if mode in ("memory", "stderr", "stdout") else 2)
    elif how == "prepare":
        ended(trial, ("exec", "--runs", "2", "--no-counters", *limit, "--prepare", line, "--", "true"), mode, 2)
    else:
        more = {"exec": ("--no-counters",), "counted": (), "ignored": ("--no-counters", "--ignore-failure")}[how]
        ended(trial, ("exec", "--runs", "2", *limit, *more, "--", *program), mode, 2)


ATTACKS = [
    Attack("hostile peer", 150, peer, "%d ways: floods, silence, SIGSTOP, daemons, closed pipes; ended within --timeout + 5 s, below 768 MiB" % len(PEER_MODES)),
    Attack("hostile command", 150, command, "%d ways, in exec, --prepare and gate" % len(COMMAND_MODES)),
]
