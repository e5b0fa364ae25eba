"""Values: every option of every command, and every axis of every experiment, as completion lists them, with values at the edges.

perfkit ends with a documented status and, where it refuses, an error of three lines; what would take long ends 2 s after a signal."""
import functools
import shutil
import signal
import subprocess

import templates
from trial import DOCUMENTED, Attack, check

LONG = 6  # seconds, after which a signal ends what is not refused and not over
MOST_BYTES = 2 << 30

# How each command is called so that it does little; commands that completion lists and that are not here have no options of their own.
BASE = {
    "run": ("run", "selftest", "-d", "null", "-v", "ok", "-i", "1", "--max-samples", "16", "--min-samples", "2", "--max-time", "10ms", "--min-time", "1ms"),
    "exec": ("exec", "--runs", "1", "--no-counters"),
    "gate": ("gate", "selftest", "-d", "null", "-v", "ok", "--a", "busy_ns=1000", "--b", "busy_ns=2000", "--max-pairs", "8", "--max-time", "5ms", "--min-time", "1ms"),
    "calibrate": ("calibrate", "selftest", "-d", "null", "-v", "ok", "--pairs", "4", "--max-time", "5ms", "--min-time", "1ms"),
    "compare": ("compare", "1", "2"), "show": ("show", "@"), "list": ("list", "runs"), "baseline": ("baseline", "save", "other", "1"), "history": ("history", "selftest"),
    "plan": ("plan", "bucket"), "export": ("export", "csv", "@"), "import": ("import", "nothing"), "doctor": ("doctor", "--require", "cpu"), "db": ("db", "prune", "--dry-run"),
    "help": ("help", "run"), "completion": ("completion",), "bisect": ("bisect",),
}
NOT_FOR_USERS = ("worker",)
ENDS = {"exec": ("--", "true")}
# They start programs or name files: hostile.py and files.py have them.
ELSEWHERE = ("--peer", "--python", "--prepare", "--suite", "--output", "--junit", "--json", "--summary", "--gab", "--gab-bigger", "--db", "--a", "--b", "--side", "--tensors", "--help")
NUMBERS = ["0", "-0", "1", "-1", "2", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
           "2147483647", "2147483648", "4294967296", "1e308", "1e309", "-1e309", "5e-324", "1e-400", "nan", "inf", "-inf", "NaN", "0x10", "010", "1_000", "1,000", " 1", "1 ", "+1", "--1", "1.", ".5", "1e", "1e5",
           "999999999999999999999999999999999999", "0.0000000000000000000001", "١٢", "½", "1" * 300]
UNITS = ["", "ns", "us", "ms", "s", "m", "h", "d", "B", "KB", "KiB", "MB", "GiB", "TB", "EiB", "%", "%%", "x", "\u00b5s", " s", "bytes", "K"]
TEXTS = ["", " ", "-", "--", "=", "a=", "=a", "a=b", "a=b=c", ",", ",,", "a,", "a,,b", ":", "1:2", "1:2:*0", "1:2:+0", "1:2:*1", "1:9223372036854775807:+1", "1:1e18:*1.0000001", "0:0:+1", "2:1:*2", "1:2:-1",
         "1:2:*nan", "*", "?", "[", "]", "[[", "(", ")", "a[b", "forward_ns[", "forward_ns[x=1]=5%", "work_ns=5%,20us", "work_ns:p99", "work_ns:p101", ":p90", "@", "@~", "@~1", "@~-1", "@~99999999999999999999", "@@",
         "1,2,3", "1-3", "3-1", "0-99999999", "socket:0", "numa:-1", "cores", "none", "\n", "\r\n", "a\nb", "\t", "\x1b[31m", "\x07", "::error::x", "\u202e", "\u200b", "\ufeff", "é", "日本語", "🦀", "\U000e0001", "\x7f", "\x80",
         "%s%n%x", "$(touch W)", "`touch W`", "; touch W", "' OR 1=1 --", "../../etc/passwd", "/", "/dev/null", "a" * 128, "a" * 129, "a" * 5000, "a" * 100000, ",".join(["1"] * 2000), ",".join(map(str, range(5000))),
         "x=1|2|3", "busy_ns>=1,variant=ok|noisy", "busy_ns>" * 50, "a=1," * 3000, "ok", "null", "selftest", "fp32", "auto"]
BYTES = [b"\xff", b"a\xffb", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"]


@functools.lru_cache
def offered(binary, *words):
    """What `perfkit completion` offers for the last word."""
    return subprocess.run([binary, "completion", "--", "perfkit", *words], capture_output=True, text=True, check=True).stdout.splitlines()


@functools.lru_cache
def completion(binary):
    """By command its long options; by experiment its axes as options: as completion lists them."""
    options = {c: [w for w in offered(binary, c, "--") if w not in ELSEWHERE] for c in [*offered(binary, ""), "completion"]}
    axes = {e: [w for w in offered(binary, "run", e, "--") if w not in offered(binary, "run", "--")] for e in [*offered(binary, "run", ""), "selftest"]}
    check(len(options) > 10 and any(axes.values()), "completion lists nothing")
    return options, {e: of for e, of in axes.items() if of}


def value(rng, words):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS) + rng.choice(["", "", *UNITS])
    if kind < 0.75:
        return rng.choice(TEXTS)
    if kind < 0.8:
        return rng.choice(BYTES)
    if kind < 0.9 and words:
        return rng.choice(words)
    if kind < 0.95:
        return ",".join(rng.choice(NUMBERS) for _ in range(rng.randint(2, 5)))
    return ":".join([rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice("*+") + rng.choice(NUMBERS)])


def joined(option, given, rng):
    """As `--option=value` or as two arguments; execve() allows no zero byte and no argument over 128 KiB."""
    given = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else given
    return [option.encode() + b"=" + given] if rng.random() < 0.5 else [option, given]


def ends_well(trial, args):
    child = trial.start(*args)
    if not child.ended(LONG):
        child.send(signal.SIGINT)
        child.result(2, {0, 130})
    else:
        child.result(0.1, DOCUMENTED)
    check(child.peak_bytes < MOST_BYTES, "took %d bytes:" % child.peak_bytes, child.shell())
    made = [p.name for p in trial.cwd.iterdir()]
    check(not made, "files were written:", made, child.shell())


def option_value(trial):
    options, _ = completion(trial.binary)
    shutil.copy(templates.runs(trial.setup), trial.db)
    command = trial.rng.choice([c for c in options if c not in NOT_FOR_USERS])
    args = list(BASE.get(command, (command,)))
    for _ in range(trial.rng.choice([1, 1, 1, 2, 3])):
        option = trial.rng.choice(options[command])
        how = trial.rng.random()
        args += [option] if how < 0.1 else joined(option, value(trial.rng, offered(trial.binary, command, option, "")), trial.rng)
    if trial.rng.random() < 0.15:  # as an argument
        given = value(trial.rng, None)
        args.append(given)
    ends_well(trial, [*args, *ENDS.get(command, ())])


def axis_value(trial):
    """An experiment's axes: planned, or measured on the device that takes no time."""
    _, axes = completion(trial.binary)
    shutil.copy(templates.runs(trial.setup), trial.db)
    experiment = trial.rng.choice(sorted(axes))
    limits = ("--dry-run",) if trial.rng.random() < 0.6 else ("-i", "1", "--max-samples", "16", "--min-samples", "2", "--max-time", "5ms", "--min-time", "1ms", "--budget", "2s")
    args = ["run", experiment, "-d", trial.rng.choice(["null", "null", "cpu"]) if "--dry-run" in limits else "null", *limits]
    for axis in trial.rng.sample(axes[experiment], min(len(axes[experiment]), trial.rng.choice([1, 1, 2, 3]))):
        given = value(trial.rng, offered(trial.binary, "run", experiment, axis, ""))
        args += joined(axis, given, trial.rng)
    ends_well(trial, args)


def environment_value(trial):
    """The same by PERFKIT_OPTION, and by lines of a configuration file."""
    options, _ = completion(trial.binary)
    shutil.copy(templates.runs(trial.setup), trial.db)
    command = trial.rng.choice(["run", "exec", "compare", "gate", "plan", "history"])
    option = trial.rng.choice(options[command])
    given = value(trial.rng, offered(trial.binary, command, option, ""))
    args, env = [*BASE[command], *ENDS.get(command, ())], {}
    if trial.rng.random() < 0.5:
        env = {"PERFKIT_" + option[2:].upper().replace("-", "_"): given}
    else:
        config = trial.home / "config" / "perfkit" / "config.ini"
        config.parent.mkdir(parents=True)
        config.write_bytes(b"[%s]\n%s = %s\n" % (command.encode(), option[2:].encode(), given.encode() if isinstance(given, str) else given))
    child = trial.start(*args, env=env)
    if not child.ended(LONG):
        child.send(signal.SIGINT)
        child.result(2, {0, 130})
    else:
        child.result(0.1, DOCUMENTED)


ATTACKS = [
    Attack("option value", 1500, option_value, "every option of every command: numbers at the edges, units, texts, bytes that are no UTF-8"),
    Attack("axis value", 700, axis_value, "every axis of every experiment: the same, lists and ranges"),
    Attack("configured value", 300, environment_value, "the same by an environment variable or a configuration file"),
]
