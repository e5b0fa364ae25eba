"""The screen: no line is wider than the terminal, the answer stays, a colour repeats a word, and LC_ALL=C gets ASCII."""
import re
import shutil

import pytest

from conftest import Perfkit
from stored import Stored

WIDTHS = (80, 100, 200)
QUICK = ("--quiet", "--device", "cpu", "--min-samples", "3", "--max-samples", "3", "--min-time", "0", "--max-time", "1ms")
SMALL = ("-a", "batch=1", "-a", "d_model=16", "-a", "seq_len=64,128", "--variant", "vanilla,flash")
RECORDED = (
    ("run", "attention-scaling", *QUICK, *SMALL, "--counters", "sw", "--breakdown", "--allocations", "--label", "main"),
    ("run", "attention-scaling", *QUICK, *SMALL, "--counters", "sw", "--label", "a-label-of-some-length"),
    ("run", "tree-patch", *QUICK, "-a", "model=2L-256H", "-a", "patches=0,1", "--variant", "naive,batched", "--invocations", "1"),
    ("run", "mixed-precision", *QUICK, "--preset", "quick", "-a", "mode=forward", "-a", "batch=1", "-a", "seq_len=16", "-a", "vocab=1000", "--variant", "eager", "--invocations", "1"),
    ("run", "ddp-bucket", *QUICK, "--preset", "quick", "-a", "compute_ms=4", "-a", "bucket_bytes=256KiB,1MiB,4MiB", "--no-check", "--invocations", "1"),
    ("exec", "--quiet", "--runs", "5", "--", "sh", "-c", "true && true with-a-rather-long-line-of-arguments in-the-command"),
    ("gate", "--quiet", "--a", "true", "--b", "sh -c true", "--max-pairs", "8", "--no-fail"),
    ("calibrate", "--quiet", "--pairs", "6", "--", "true"),
    ("baseline", "save", "usual", "1,2", "--reason", "the first two of this afternoon, for want of better ones"),
    # one setting, whose whole text stands above its chart
    ("run", "extraction", *QUICK, "--device", "null", "--preset", "quick", "-a", "dtype=bf16", "--invocations", "1", "--label", "bf16"),
)
EXPERIMENTS = ("attention-scaling", "tree-patch", "mixed-precision", "extraction", "ddp-bucket")
COMMANDS = ("run", "exec", "list", "show", "compare", "gate", "calibrate", "bisect", "baseline", "history", "plan", "export", "import",
            "report", "verify", "init", "make-tokens", "doctor", "db", "help", "completion")
PRINTED = (
    *[("show", str(run)) for run in range(1, 10)], *[("show", str(run), "--details") for run in (1, 6)],
    *[("show", str(run), "--tables", "all") for run in range(1, 6)], *[("show", str(run), "--plot") for run in (*range(1, 6), "bf16")],
    ("compare", "1", "2"), ("compare", "1", "2", "--all-metrics"), ("compare", "7", "8"), ("compare", "--by", "variant", "1"),
    ("compare", "--by", "seq_len", "1", "--all-metrics"), ("compare", "--by", "variant", "5"),
    ("gate", "--against", "main", "2"), ("gate", "--against", "usual", "2"), ("gate", "--a", "true", "--b", "false", "--dry-run"),
    ("gate", "attention-scaling", "--a", "variant=vanilla", "--b", "variant=flash", "--preset", "smoke", "--dry-run"),
    ("gate", "--a", "true", "--b", "true", "--max-pairs", "8", "--no-save"),
    ("history", "attention-scaling"), ("history", "exec", "--gates", "--all"), ("baseline", "list"), ("baseline", "show", "usual"),
    ("list",), ("list", "experiments"), ("list", "devices"), ("list", "counters"), ("list", "counters", "cpu-*"), ("list", "runs"),
    *[("list", "experiments", name) for name in EXPERIMENTS], *[("help", name) for name in EXPERIMENTS],
    *[("help", name) for name in COMMANDS], *[(name, "-h") for name in COMMANDS], ("help",),
    *[("run", name, "--preset", "quick", "--device", "null", "--dry-run") for name in EXPERIMENTS],
    ("run", "attention-scaling", "--once", *SMALL), ("exec", "--runs", "2", "--no-save", "--", "true"),
    ("plan", "bucket", "--model", "large", "--backward", "400ms", "--ranks", "8,64"), ("plan", "parallel", "--model", "llama-3-8b", "--chips", "64", "--chip", "h100-sxm"),
    ("plan", "bucket", "--from", "5"),
    ("db", "info"), ("db", "check"), ("db", "prune", "--keep", "3", "--dry-run"),
)
# Verdicts of what was measured here: any of them is an output.
STATUSES = (0, 3, 4, 5, 6)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, ceilings):
    """One store with runs of everything."""
    one = Perfkit(tmp_path_factory.mktemp("widths"))
    shutil.copy(ceilings, one.db)
    for command in RECORDED:
        r = one(*command)
        assert r.status == 0, (command, r)
    return one


def lines(text):
    return re.sub(r"\x1b\[\d*m", "", text).splitlines()


def too_wide(text, width):
    return [line for line in lines(text) if len(line) > width]


@pytest.mark.parametrize("command", PRINTED, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(recorded, command):
    for width in WIDTHS:
        r = recorded(command[0], "--width", width, *command[1:])
        assert r.status in STATUSES and r.stdout, r
        assert not too_wide(r.stdout, width), (width, too_wide(r.stdout, width))


def test_the_ratio_and_its_interval_stay_and_the_hint_measures_nothing(recorded):
    r = recorded("compare", "1", "2", "--width", "80")
    table = r.stdout.split("New against base")[1].split("---")[0]
    for word in ("New /", "95 %", "Verdict"):
        assert word in table, r
    assert "Base (" not in table and "Left out at 80 columns: Base (" in r.stdout and "\nAll columns: perfkit compare 1 2 --width 0\n" in r.stdout, r
    shown = recorded("show", "1", "--tables", "all", "--width", "80").stdout
    assert "±" in shown.split("Attention scaling, vanilla")[1].split("---")[0] and shown.splitlines()[-1] == "All columns: perfkit show 1 --width 0"
    assert "All columns" not in recorded("show", "1", "--width", "0").stdout


def test_a_run_names_the_command_that_shows_it_again(recorded):
    r = recorded(*RECORDED[1], "--invocations", "1", "--width", "60")
    run = re.search(r"^Run (\d+) ", r.stdout).group(1)
    assert r.stdout.splitlines()[-1] == f"All columns: perfkit show {run} --width 0", r


def test_the_hint_of_a_gate_measures_nothing(recorded):
    sides = ("--a", "sh -c 'exit 0'", "--b", "sh -c true", "--max-pairs", "8", "--no-fail", "--name", "a-name-of-a-command-that-is-long")
    for more, hint in (((), "perfkit compare [0-9]+ [0-9]+ --width 0"), (("--no-save",), "--width 0")):
        r = recorded("gate", *sides, "--all-metrics", *more, "--width", "60")
        assert re.fullmatch("All columns: " + hint, r.stdout.splitlines()[-1]), r


def test_a_row_that_is_too_wide_is_lines_of_key_and_value(recorded):
    wide, narrow = (recorded("show", "7", "--details", "--width", width).stdout for width in (200, 80))
    heading = next(line for line in wide.splitlines() if line.startswith("Command "))
    for word in ("Median (ms)", "Min (ms)", "Max (ms)", "Peak memory (MB)", "Runs"):
        assert word in heading and re.search(re.escape(word) + r" +\d", narrow), (word, narrow)
    assert "Left out" not in narrow


SIZES = ((80, 24), *((width, 0) for width in WIDTHS))


@pytest.fixture(scope="module")
def doctors(tmp_path_factory):
    """What doctor prints by width and height; what 24 lines show is among all rows."""
    one = Perfkit(tmp_path_factory.mktemp("doctor"))
    return {size: one("doctor", "--width", size[0], "--height", size[1], "--color", "always", env={"LC_ALL": "C"}) for size in SIZES}


@pytest.mark.parametrize("width, height", SIZES)
def test_doctor_fits_and_its_states_are_coloured(doctors, width, height):
    r = doctors[width, height]
    assert r.status == 0 and r.stdout.isascii() and not too_wide(r.stdout, width), too_wide(r.stdout, width)
    assert ("\x1b[32mok\x1b[0m" in r.stdout) == (not height) and re.search("\x1b\\[3[13]m(no|warn|unavailable|degraded)\x1b", r.stdout), r


def test_a_run_is_one_line_of_a_list(recorded):
    for width in WIDTHS:
        table = recorded("list", "runs", "--width", width).stdout.split("---\n")[1]
        assert all(re.match(" *[0-9]+ |Cut at|Left out|in /|All columns|[a-z0-9_/-]+[.]db$", line) for line in lines(table)), table
    assert "Cut at 140 columns: Command." in recorded("list", "runs", "--width", "140").stdout
    assert "a-rather-long-line-of-arguments in-the-command" in recorded("list", "runs", "--width", "0").stdout


def test_the_first_screen_of_doctor_has_what_is_to_mend(doctors):
    title, _, _, *rows = lines(doctors[80, 0].stdout.split("\n\n")[0])
    states = [line.split()[1] for line in rows if re.match("[a-z]", line) and not line.startswith("As ")]
    assert re.fullmatch("What can be measured here: [0-9]+ ok, [0-9]+ warn, [0-9]+ no", title), title
    assert states == sorted(states, key="ok".__eq__) and "ok" in states, states


def test_noise_of_compared_runs_is_above_the_tables(perfkit, store):
    store.run([("plain", {"n": 1}, {"forward_ns": SAME})])
    noisy = store.run([("plain", {"n": 1}, {"forward_ns": SAME})])
    store.noted(noisy, {"doubts": ["stolen"]})
    r = perfkit("compare", "1", "2")
    assert "\nnoisy: cases of run 2 (1 stolen) were disturbed; do not quote these\n" in r.stdout.split("\nCompared\n")[0], r
    assert "noisy:" not in perfkit("compare", "1", "2", "--format", "json").stdout


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


SAME = [1e6, 1.01e6, 0.99e6]


def test_noise_is_one_line_above_the_tables(perfkit, store):
    run = store.run([("plain", {"n": n}, {"forward_ns": SAME}) for n in range(3)])
    store.noted(run, {"doubts": ["stolen", "crowded"]}, invocations=1)
    r = perfkit("show", "1")
    why = "noisy: 3 of 3 cases disturbed; do not quote these; why: perfkit show 1 --details"
    assert r.stdout.startswith(why + "\n\n") and "hypervisor" not in r.stdout, r
    assert f"\x1b[33m{why}\x1b[0m\n" in perfkit("show", "1", "--color", "always").stdout
    details = perfkit("show", "1", "--details").stdout
    assert details.startswith("noisy: 3 of 3 cases disturbed; do not quote these\n") and "while the hypervisor took more" in details
    notes = [note for table in perfkit("show", "1", "--format", "json").json()["tables"].values() for note in table.get("notes", [])]
    assert any("while the hypervisor took more" in note for note in notes) and not any("noisy:" in note for note in notes)


@pytest.mark.parametrize("env, args, colored", [({}, (), False), ({}, ("--color", "always"), True), ({"NO_COLOR": "1"}, (), False),
                                                ({"FORCE_COLOR": "1"}, (), True), ({}, ("--color", "never"), False)])
def test_a_colour_repeats_a_word(perfkit, store, env, args, colored):
    store.run([("plain", {"n": 1}, {"forward_ns": SAME}), ("plain", {"n": 2}, "failed")])
    r = perfkit("list", "runs", *args, env=env)
    devices = perfkit("list", "devices", *args, env=env)
    assert ("\x1b[32mcomplete\x1b[0m" in r.stdout) == ("\x1b[32myes\x1b[0m" in devices.stdout) == colored, r
    assert ("\x1b[" in r.stdout) == colored
    error = perfkit("show", "99", *args, env=env).stderr
    assert ("\x1b[31mperfkit: \x1b[0m" in error) == colored and error.replace("\x1b[31m", "").startswith("perfkit: "), error


def test_the_colours_of_verdicts(perfkit, store):
    store.run([("plain", {"n": 1}, {"forward_ns": SAME * 3, "backward_ns": SAME * 3}), ("plain", {"n": 2}, {"forward_ns": [1e6, 3e6, 2e6]})])
    store.run([("plain", {"n": 1}, {"forward_ns": [2e6 + i for i in range(9)], "backward_ns": [5e5 + i for i in range(9)]}),
               ("plain", {"n": 2}, {"forward_ns": [2e6, 1e6, 4e6]})])
    plain, colored = (perfkit("compare", "1", "2", "--color", when).stdout for when in ("never", "always"))
    assert re.sub(r"\x1b\[\d*m", "", colored) == plain
    assert "\x1b[33munreplicated\x1b[0m" in colored


@pytest.mark.parametrize("command", [("show", "1", "--tables", "all"), ("show", "3"), ("show", "5"), ("compare", "1", "2"), ("history", "attention-scaling"),
                                     ("list", "counters"), ("help", "ddp-bucket"), ("show", "no-such-±")], ids=" ".join)
def test_a_terminal_without_unicode_gets_ascii(recorded, command):
    r = recorded(*command, "--width", "100", env={"LC_ALL": "C"})
    assert r.stdout.isascii() and r.stderr.isascii() and not too_wide(r.stdout, 100), r
    if command[0] == "show" and not r.status:
        assert "+/-" in r.stdout and not recorded(*command).stdout.isascii()


def test_history_says_once_that_runs_are_few_and_its_bars_start_at_zero(perfkit, store):
    for value in (1e6, 1.069e6):
        store.run([("plain", {"n": n}, {"forward_ns": [value * f for f in (0.999, 1, 1.001)]}) for n in range(3)])
    r = perfkit("history", "demo")
    assert r.stdout.lower().count("too few") == 1 and "Too few runs to find a change point, which needs 14: all cases." in r.stdout, r
    bars = [len(re.search("[▏▎▍▌▋▊▉█]+$", line).group()) for line in r.stdout.splitlines() if re.match(r" *\d+  2", line)]
    assert len(bars) == 6 and min(bars) >= 15 and max(bars) == 16, r


def test_the_first_screen_of_help_is_one(perfkit):
    assert len(perfkit("help").stdout.splitlines()) <= 23 and perfkit("help").stdout.count("\n  ") >= 16
