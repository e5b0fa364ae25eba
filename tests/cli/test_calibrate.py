"""calibrate: the noise of equal work, and what gates make of it. What is measured is made up, so that the noise is known."""
import math
import random
import shutil
import sqlite3
import subprocess

import junit
import pytest
from conftest import BINARY, not_sanitized
from stored import query
from test_gate import NULL, noisy, reporter, script

PERCENT = noisy(11, 1e6, n=300)


def calibrate(perfkit, *args, name="work.sh", values=PERCENT, **kw):
    if not (perfkit.cwd / name).exists():
        reporter(perfkit, name, values)
    return perfkit("calibrate", *args, "--", f"./{name}", **kw)


def gate(perfkit, *args, a="./work.sh", b="./work.sh b"):
    return perfkit("gate", "--a", a, "--b", b, *args)


# --- calibrate ---


def test_noise_of_one_percent(perfkit):
    r = calibrate(perfkit, "--format", "json")
    row, = r.rows("calibration")
    assert r.status == 0 and (row["metric"], row["pairs"]) == ("made_up_ns", 20), r
    assert row["between_cv"] == pytest.approx(0.01, rel=0.4) and row["pair_sd"] == pytest.approx(0.014, rel=0.5)
    assert 0.7 < row["floor"] / row["pair_sd"] < 1.2 and row["floor"] < row["min_effect"] < row["mde"]
    assert row["within_cv"] is None  # one sample a process
    assert abs(math.log(row["ratio"])) < 0.02 and 0 < row["p"] <= 1
    assert "calibrated 1 row with 20 pairs" in r.stderr
    stored, = query(perfkit, """SELECT run_id, device, metric, pairs, floor, json_valid(machine), settings ->> '$.command[0]',
        settings ->> '$.gate.equal' FROM v_calibration""")
    assert stored == (1, "cpu", "made_up_ns", 20, row["floor"], 1, "./work.sh", 1)
    for fmt, word in (("csv", "made_up_ns,"), ("markdown", "| made_up_ns |"), ("jsonl", '"metric":"made_up_ns"'), ("table", "Noise floor (%)")):
        assert word in perfkit("show", "1", "--table", "calibration", "--format", fmt).stdout, fmt
    assert perfkit("show", "1", "--format", "json").rows("calibration") == [row]


def test_the_newest_run_is_no_calibration(perfkit):
    """`@` and `@~1` are runs that somebody measured; a calibration is shown by its id. Without another run there is no newest one."""
    calibrate(perfkit, "--pairs", "4")
    perfkit("show", "@").refused(2, "the newest, no calibration", "newest runs: 2, 1")
    for label in ("one", "two"):
        assert perfkit("exec", "--runs", "3", "--label", label, "--", "./work.sh").status == 0
    calibrate(perfkit, "--pairs", "4", "--label", "calm")
    assert query(perfkit, "SELECT label FROM run ORDER BY id DESC LIMIT 4") == [("calm-b",), ("calm-a",), ("two",), ("one",)]
    for ref, label in (("@", "two"), ("@~1", "one"), ("6", "calm-b")):
        assert f"({label})" in perfkit("show", ref).stdout.splitlines()[0]
    assert gate(perfkit, "--max-pairs", "8", b="./work.sh c").status in (0, 4)  # its sides are runs like others
    assert "(two)" not in perfkit("show", "@").stdout.splitlines()[0]


def test_the_smallest_experiment_needs_no_options(perfkit):
    r = perfkit("calibrate", "--pairs", "4", "--no-check", "--threads", "1", "--min-samples", "3", "--max-samples", "3", "--min-time", "0", "--format", "json")
    rows = r.rows("calibration")
    assert [(row["variant"], row["metric"]) for row in rows] == [
        (v, m) for v in ("vanilla", "flash") for m in ("backward_ns", "forward_ns")], r
    assert all(row["within_cv"] > 0 and row["pairs"] >= 4 for row in rows)
    assert query(perfkit, "SELECT DISTINCT settings ->> '$.preset' FROM v_calibration") == [("smoke",)]


def test_without_noise_a_percent_is_advised(perfkit):
    r = perfkit("calibrate", "selftest", *NULL, "-n", "5", "--format", "json")
    row, = r.rows("calibration")
    assert (row["floor"], row["min_effect"], row["pairs"]) == (0, 0.01, 5)
    assert row["within_cv"] is not None
    row, = r.rows("components")
    assert row["sample_ns"] == pytest.approx(1e5, rel=0.01) and row["process_ns"] >= 0  # not the time on the host in addition


def test_a_command_has_no_samples_in_it(perfkit):
    row, = perfkit("calibrate", "--pairs", "4", "--format", "json", "--", "sleep", "0.01").rows("components")
    assert row["sample_ns"] is None and row["process_ns"] > 1e7 and row["samples"] == 1


@pytest.mark.parametrize("between, within, samples", [(0.02, 0.03, 25), (0.02, 0, 1), (0, 0.05, 40)])
def test_noise_is_split_into_processes_and_samples(perfkit, between, within, samples):
    r, lines = random.Random(7), []
    for _ in range(200):
        level = r.gauss(0, between)
        lines.append(",".join(str(round(1e9 * math.exp(level + r.gauss(0, within)))) for _ in range(samples)))
    one = calibrate(perfkit, "--pairs", "60", "--interval", "0.5%", "--format", "json", values=lines)
    row, = one.rows("components")
    assert one.status == 0 and row["metric"] == "made_up_ns", one
    assert row["between"] == pytest.approx(between, rel=0.25, abs=0.004)
    if samples == 1:
        assert row["within"] is None and row["samples"] == 1
    else:
        assert row["within"] == pytest.approx(within, rel=0.05)
    figure_sd = math.hypot(row["between"], (row["within"] or 0) * math.sqrt(math.pi / 2 / row["samples"]))
    half = 1.96 * math.sqrt(math.pi / 2 / row["processes"]) * figure_sd  # of the median of so many
    assert half == pytest.approx(0.005, rel=0.15) or row["processes"] == 6
    assert row["spend_ns"] == pytest.approx(row["processes"] * (row["process_ns"] + row["samples"] * row["sample_ns"]))


def test_the_interval_that_is_wanted_is_a_share(perfkit):
    calibrate(perfkit, "--interval", "0").refused(2, "--interval")
    wide, narrow = (calibrate(perfkit, "--pairs", "8", "--interval", x, "--format", "json").rows("components")[0] for x in ("10%", "0.2%"))
    assert wide["processes"] == 6 and narrow["processes"] > 60
    assert "for a median within ±2 %" in calibrate(perfkit, "--pairs", "8", "--interval", "2%").stdout


def test_merge_brings_calibrations_and_prune_takes_them(perfkit, tmp_path):
    calibrate(perfkit, "--pairs", "4")
    other = tmp_path / "other.db"
    assert perfkit("run", "selftest", *NULL, "--db", str(other)).status == 0
    assert perfkit("db", "merge", str(perfkit.db), "--db", str(other)).status == 0
    with sqlite3.connect(other) as db:
        assert db.execute("SELECT run_id, metric, pairs FROM v_calibration").fetchall() == [(2, "made_up_ns", 4)]
    perfkit("run", "selftest", *NULL)
    assert perfkit("db", "prune", "--keep", "1").status == 0
    assert query(perfkit, "SELECT count(*) FROM v_calibration") == [(0,)]


@pytest.mark.parametrize("args, status, words", [
    (("no-such-experiment",), 2, ("no-such-experiment",)),
    (("sleep", "1"), 2, ("too many arguments: '1'", "comes after --", "perfkit calibrate -- sleep 1")),
    (("--pairs", "3", "--", "true"), 2, ("--pairs",)),
    (("--variant", "ok", "--", "true"), 2, ("--variant has no effect here", "perfkit calibrate EXPERIMENT")),
    (("selftest", "--name", "x"), 2, ("--name has no effect here",)),
    (("--metric", "wal_ns", "--", "true"), 2, ("'wal_ns'", "wall_ns")),
    (("--no-save", "--label", "x", "--", "true"), 2, ("--no-save and --label",)),
    (("--all-metrics", "--metric", "wall_ns", "--", "true"), 2, ("--all-metrics and --metric",)),
    (("--", "no-such-program"), 2, ("cannot run 'no-such-program'",)),
    (("--", "false"), 1, ("ended 'failed'", "exit status 1")),
    (("--timeout", "100ms", "--", "sleep", "5"), 1, ("'timeout'",)),
    (("--budget", "1ms", "--", "sleep", "0.05"), 4, ("the noise could not be estimated from 1 pair", "four pairs without outliers", "--budget")),
])
def test_bad_input(perfkit, args, status, words):
    perfkit("calibrate", *args).refused(status, *words)


@pytest.mark.parametrize("value", [0, -5])
def test_figures_that_are_not_positive(perfkit, value):
    r = calibrate(perfkit, "--metric", "made_up_ns", "-n", "4", values=[value] * 20)
    assert r.status == 4 and "figures must be above 0" in r.error()["why"]


# --- gates that use it ---


def test_a_threshold_below_the_noise_is_refused_before_measuring(perfkit):
    calibrate(perfkit)
    runs = query(perfkit, "SELECT count(*) FROM v_run")
    gate(perfkit, "--min-effect", "0.1%").refused(
        4, "a change of 0.1 % in made_up_ns of work.sh is below its noise floor", "the calibration of run 1", "20 pairs", "--threshold 'made_up_ns=")
    gate(perfkit, "--threshold", "made_up_ns=0.2%").refused(4, "a change of 0.2 % in")
    assert query(perfkit, "SELECT count(*) FROM v_run") == runs
    gate(perfkit, "--min-effect", "0.1%", "--no-save", "--junit", "j.xml").refused(4, "a change of 0.1 % in")
    assert "is below its noise floor" in junit.read(perfkit.cwd / "j.xml").find("testcase/error[@type='undecided']").get("message")


def test_what_can_be_seen_is_measured_and_the_calibration_named(perfkit):
    calibrate(perfkit)
    r = gate(perfkit, "--min-effect", "5%")
    assert r.status == 0 and "Calibrated by run 1 (20" in r.stdout and "20 pairs): the noise floor of 1 row is 1." in r.stdout, r
    r = gate(perfkit, "--min-effect", "0.1%", "--metric", "wall_ns")
    assert "noise floor" not in r.stderr and "is unknown" in r.stdout, r


def test_the_default_stands_and_says_what_the_noise_hides(perfkit):
    calibrate(perfkit, values=noisy(12, 1e6, cv=0.06, n=300))
    r = gate(perfkit)
    assert r.status == 0 and "above --min-effect in 1 row" in r.stdout and "Verdict" in r.stdout, r


def test_without_a_calibration_the_command_is_named(perfkit):
    reporter(perfkit, "work.sh", PERCENT)
    r = gate(perfkit)
    assert "is unknown: `perfkit calibrate -- ./work.sh b` measures it." in r.stdout
    r = perfkit("gate", "selftest", *NULL, "--a", "busy_ns=100000", "--b", "busy_ns=110000", "--max-pairs", "8")
    assert "`perfkit calibrate selftest -a busy_ns=110000 -v ok` measures it" in r.stdout, r


@not_sanitized
def test_calibrations_of_other_commands_settings_and_cases_say_nothing(perfkit):
    calibrate(perfkit, "--pairs", "8")
    reporter(perfkit, "other.sh", PERCENT)
    assert gate(perfkit, "--min-effect", "0.1%", a="./other.sh", b="./other.sh b").status == 0
    assert perfkit("calibrate", "selftest", *NULL, "-n", "4", "-a", "busy_ns=1000").status == 0
    sides = "--a", "memory=4KiB", "--b", "memory=8KiB"
    for more, known in ((("-a", "busy_ns=1000"), True), (("-a", "busy_ns=2000"), False)):
        r = perfkit("gate", "selftest", *NULL, *sides, *more)
        assert ("Calibrated by run" in r.stdout) == known, r
    r = perfkit("gate", "selftest", *NULL, "--a", "busy_ns=1000", "--b", "busy_ns=1001", "--max-pairs", "8")
    assert "Calibrated by run 5" in r.stdout, r
    r = perfkit("gate", "selftest", *NULL, "--a", "busy_ns=1000", "--b", "busy_ns=1001", "--max-pairs", "8", "--cold")
    assert "Calibrated by run" not in r.stdout


# --- equal sides ---


def test_equal_commands_are_calibrated_and_never_red(perfkit):
    reporter(perfkit, "work.sh", [1000000, 1100000, 1100000, 1000000] * 30)
    r = gate(perfkit, b="./work.sh")
    assert r.status == 0 and "equal: both sides are the same program" in r.stdout and "Verdict" not in r.stdout
    assert "both sides are the same, nothing is judged" in r.stderr
    r = gate(perfkit, "--format", "json", "--junit", "j.xml", b="./work.sh")
    table, = r.rows("gate")
    assert (table["answer"], table["rows"], table["slower"], table["pairs"]) == ("equal", 0, 0, 6)
    assert len(r.rows("calibration")) == 1 and "failure" not in (perfkit.cwd / "j.xml").read_text().split("system-out")[0].split("<properties/>")[1]
    r = perfkit("compare", "1", "2", "--exit-code", "--format", "json")
    assert r.status == 0 and r.rows("compare_ns")[0]["verdict"] is None
    assert "equal: both sides of the gate were the same program" in perfkit("compare", "1", "2").stdout


def test_a_slow_second_side_of_equal_commands_is_not_red(perfkit):
    """The second process of every pair is slower, whatever the order: a gate that judged it would be red half of the time."""
    script(perfkit, "work.sh", "sleep 0.0$(( $(cat n 2>/dev/null || echo 0) % 2 + 1 )); echo $(( $(cat n 2>/dev/null || echo 0) + 1 )) > n\n")
    assert gate(perfkit, b="./work.sh").status == 0


def test_equal_settings_and_builds(perfkit):
    same = ("busy_ns=100000", "busy_ns=100000 memory=8KiB"), ("memory=4KiB busy_ns=100000", "busy_ns=100000")
    for sides, equal in zip(same, (False, True)):
        r = perfkit("gate", "selftest", *NULL, "--a", sides[0], "--b", sides[1])
        assert r.status == 0 and ("equal: both sides" in r.stdout) == equal, r
    build = perfkit.cwd / "build"
    build.mkdir()
    (build / "perfkit").symlink_to(BINARY)
    assert "equal: both sides" in perfkit("gate", "selftest", *NULL, "--a", "build", "--b", BINARY).stdout
    (build / "perfkit").unlink()
    shutil.copy(BINARY, build / "perfkit")
    with open(build / "perfkit", "ab") as f:
        f.write(b"!")
    assert "equal: both sides" not in perfkit("gate", "selftest", *NULL, "--a", "build", "--b", BINARY).stdout
    assert query(perfkit, "SELECT count(*) FROM v_calibration") == [(2,)]


def test_a_name_is_part_of_a_program(perfkit):
    reporter(perfkit, "work.sh", PERCENT)
    (perfkit.cwd / "fast.sh").symlink_to("work.sh")
    assert "equal: both sides" not in gate(perfkit, b="./fast.sh").stdout


def test_copies_are_the_same_program_in_one_clean_commit(perfkit):
    def equal():
        r = perfkit("gate", "--a", "one/work 0.01", "--b", "two/work 0.01", "--max-pairs", "8")
        assert r.status in (0, 3, 4), r
        return "equal: both sides" in r.stdout

    git = "git", "-C", str(perfkit.cwd), "-c", "user.name=x", "-c", "user.email=x@x"
    for folder in ("one", "two"):
        (perfkit.cwd / folder).mkdir()
        shutil.copy(shutil.which("sleep"), perfkit.cwd / folder / "work")
    assert not equal()  # in no repository
    (perfkit.cwd / "readme").write_text("x")
    for command in (("init", "-q"), ("add", "readme"), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *command], check=True)
    assert equal()
    with open(perfkit.cwd / "two" / "work", "ab") as f:
        f.write(b"!")
    assert not equal()
    shutil.copy(perfkit.cwd / "one" / "work", perfkit.cwd / "two" / "work")
    (perfkit.cwd / "readme").write_text("y")
    assert not equal()  # what it does may hang on what was changed


def test_a_copy_of_a_script_is_another_program(perfkit):
    subprocess.run("git init -q . && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x", shell=True, cwd=perfkit.cwd, check=True)
    for folder in ("one", "two"):
        (perfkit.cwd / folder).mkdir()
        script(perfkit, f"{folder}/work", ". $(dirname $0)/how-long; sleep $how_long\n")
        (perfkit.cwd / folder / "how-long").write_text("how_long=0.01\n")
    assert "equal: both sides" not in gate(perfkit, "--max-pairs", "8", a="one/work", b="two/work").stdout


SUITE = """
[suite]
device = null
min-time = 0
max-samples = 5
min-samples = 5
max-pairs = 8
[same]
experiment = selftest
variant = ok
a = busy_ns=1000
b = busy_ns=1000
[changed]
experiment = selftest
variant = ok
a = busy_ns=1000
b = busy_ns=1100
"""


@not_sanitized
def test_of_a_suite_equal_entries_alone_are_not_judged(perfkit):
    (perfkit.cwd / "perf.ini").write_text(SUITE)
    r = perfkit("gate", "--suite", "perf.ini", "--format", "json")
    table, = r.rows("gate")
    assert r.status == 3 and (table["answer"], table["rows"], table["slower"]) == ("slower", 1, 1), r
    assert query(perfkit, "SELECT run_id, metric, pairs FROM v_calibration") == [(1, "work_ns", 6)]
    r = perfkit("gate", "--suite", "perf.ini")
    assert "[same] equal: both sides" in r.stdout and "[changed] Calibrated by run 1" in r.stdout


def test_equal_sides_that_fail_are_told(perfkit):
    script(perfkit, "work.sh", "exit 3\n")
    r = gate(perfkit, b="./work.sh")
    assert r.status == 1 and "exit status 3" in r.error()["why"]
