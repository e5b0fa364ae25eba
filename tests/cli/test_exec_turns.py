"""exec of several commands: measured in turns as cases of one run, and ranked."""
import math
import re
import signal
import statistics
import time

import pytest
from scipy import stats
from stored import Stored, query

QUIET = ("--no-counters", "--no-save")


def lines(*letters):
    """Commands that each append their letter to a file."""
    return [f"sh -c 'echo {x} >> order'" for x in letters]


def order(perfkit, n):
    """Who ran, in rounds of n."""
    ran = (perfkit.cwd / "order").read_text().split()
    return ["".join(ran[i:i + n]) for i in range(0, len(ran), n)]


# --- measuring ----------------------------------------------------------------------------------------------------------


def test_commands_take_turns(perfkit):
    r = perfkit("exec", "--runs", "9", "--warmup", "1", "--no-counters", *lines("a", "b", "c"))
    assert r.status == 0, r
    rounds = order(perfkit, 3)
    assert len(rounds) == 10 and all(sorted(x) == ["a", "b", "c"] for x in rounds)
    for i in (1, 5):  # after the warm-up, blocks of four
        assert rounds[i:i + 4] == [rounds[i], rounds[i][::-1], rounds[i][::-1], rounds[i]]
    assert query(perfkit, "SELECT variant, axes, status FROM v_case ORDER BY ordinal") == [
        ("sh", '{"command":"sh -c \'echo %s >> order\'"}' % x, "ok") for x in "abc"]
    assert query(perfkit, "SELECT invocations, n FROM v_summary WHERE metric = 'wall_ns'") == [(9, 9)] * 3
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(1,)]


def test_the_order_is_drawn_for_each_run(perfkit):
    for _ in range(4):  # the chance that all begin alike is one in 120 ** 3
        assert perfkit("exec", "--runs", "1", *QUIET, *lines(*"abcde")).status == 0
    assert len(set(order(perfkit, 5))) > 1


def test_runs_until_both_minimums(perfkit):
    assert perfkit("exec", "--min-runs", "3", "--min-time", "0", "sleep 0.01", "true", "--no-counters").status == 0
    began = time.monotonic()
    assert perfkit("exec", "--min-runs", "2", "--min-time", "1s", "sleep 0.1", "true", "--no-counters").status == 0
    assert time.monotonic() - began >= 2  # on average for each
    per_run = [[n for n, in query(perfkit, f"SELECT n FROM v_summary WHERE metric = 'wall_ns' AND run_id = {i}")] for i in (1, 2)]
    assert per_run[0] == [3, 3] and per_run[1][0] == per_run[1][1] > 2


def test_one_argument_is_a_command_line(perfkit):
    assert perfkit("exec", "--runs", "2", "sleep 0.01").status == 0
    assert perfkit("exec", "--runs", "2", "--", "sleep", "0.01").status == 0
    assert perfkit("exec", "--runs", "2", "true", "sleep 0.01").status == 0
    cases = query(perfkit, "SELECT run_id, variant, axes, identity FROM run_case WHERE variant = 'sleep'")
    assert len(cases) == 3 and len({c[1:] for c in cases}) == 1
    assert "fastest" not in perfkit("show", "1").stdout


def test_each_command_is_counted(perfkit):
    assert perfkit("exec", "--runs", "2", *lines("a", "b")).status == 0
    counted = query(perfkit, "SELECT case_id, count(*) FROM v_slice WHERE pass = 'counter' GROUP BY 1")
    assert len(counted) == 2 and all(n == 1 for _, n in counted)
    names = [{n for n, in query(perfkit, f"SELECT name FROM v_counter WHERE case_id = {c}")} for c, _ in counted]
    assert names[0] == names[1] and "page_faults" in names[0]
    tables = perfkit("show", "--format", "json").json()["tables"]
    assert [len(tables[t]["rows"]) for t in ("commands", "counters", "ranking")] == [2, 2, 1]
    assert {r["counter"] for r in perfkit("compare", "--by", "command", "@", "--format", "json").rows("counters")} >= {"page_faults"}


def test_prepare_is_before_every_run(perfkit):
    assert perfkit("exec", "--runs", "2", *QUIET, "--prepare", "echo p >> order", *lines("a", "b")).status == 0
    assert re.fullmatch("(p[ab]){4}", "".join(order(perfkit, 1)))


def test_names_make_equal_commands_two(perfkit):
    twice = ("sleep 0.01", "sleep 0.01")
    perfkit("exec", *twice).refused(2, "'sleep 0.01' is given twice", "different names", "--name first --name second")
    assert perfkit("exec", "--runs", "3", "--name", "x", "--name", "y", *twice).status == 0
    assert query(perfkit, "SELECT variant, axes FROM v_case ORDER BY variant") == [("x", '{"command":"x"}'), ("y", '{"command":"y"}')]


@pytest.mark.parametrize("args, words", [
    (("true", "no-such-command x"), ("cannot run 'no-such-command'", "no folder in PATH")),
    (("sleep", "0.1"), ("cannot run '0.1'", "perfkit exec -- sleep 0.1")),
    (("true", "true"), ("'true' is given twice",)),
    (("true", "ls", "/bin/true", "true"), ("'true' is given twice",)),
    (("true", ""), ("'' is not a command", "it is empty")),
    (("true", "  "), ("is not a command", "it is empty")),
    (("true", "ls | wc"), ("'ls | wc' needs a shell", "only a shell understands '|'", "sh -c")),
    (("true", "ls $HOME"), ("needs a shell", "'$HOME'")),
    (("true", "ls 'x"), ("is not a command", "a quote is not closed")),
    (("true", "X=1 ls"), ("needs a shell", "'env X=1 ls'")),
    (("true", "--", "ls"), ("before and after --",)),
    (("--name", "x", "true", "ls"), ("--name is given 1 time for 2 commands", "one --name for each")),
    (("--name", "x", "--name", "x", "true", "ls"), ("'x' is given twice",)),
    (("--name", "x", "--name", "y", "--", "true"), ("--name is given 2 times for 1 command",)),
    (("--name", "x", "--name", "", "true", "ls"), ("--name '' is empty",)),
])
def test_refused_before_anything_is_measured(perfkit, args, words):
    perfkit("exec", "--prepare", "touch ran", *args).refused(2, *words)
    assert not (perfkit.cwd / "ran").exists() and not perfkit.db.exists()


# --- commands that end ---------------------------------------------------------------------------------------------------


def test_one_that_fails_ends_alone(perfkit):
    r = perfkit("exec", "--runs", "4", "--no-counters", "sh -c 'echo lost >&2; exit 3'", *lines("a", "b"))
    assert r.status == 6 and r.error() == {
        "what": "nothing was measured: 'sh' failed", "why": "the command failed: exit status 3; last output: lost",
        "try": "run it by hand; --ignore-failure measures commands that fail"}
    assert sorted(query(perfkit, "SELECT status, count(*) FROM v_slice GROUP BY 1")) == [("failed", 1), ("ok", 8)]
    assert len(perfkit("show", "--format", "json").rows("ranking")) == 1
    r = perfkit("exec", "--runs", "4", "-i", "--no-counters", "sh -c 'exit 3'", *lines("a", "b"))
    assert r.status == 0 and len(perfkit("show", "--format", "json").rows("ranking")) == 2


def test_one_that_fails_later(perfkit):
    r = perfkit("exec", "--runs", "5", "--no-counters", "sh -c 'echo r >> ran; test $(wc -l < ran) -lt 3'", *lines("a"))
    assert r.status == 1 and r.error()["what"] == "run 3 of 'sh' failed, after 2 that were measured"
    assert order(perfkit, 1) == ["a"] * 5
    assert "ranking" not in perfkit("show", "--format", "json").json()["tables"]  # one is left


def test_all_fail(perfkit):
    r = perfkit("exec", "--runs", "5", "sh -c 'exit 3'", "sh -c 'exit 4'", "--timeout", "5s")
    assert r.status == 6 and r.stderr.count("nothing was measured: 'sh' failed") == 2
    assert "exit status 3" in r.stderr and "exit status 4" in r.stderr
    assert query(perfkit, "SELECT count(*) FROM v_slice") == [(2,)]


def test_interrupted(perfkit):
    p = perfkit.start("exec", "--runs", "1000", *lines("a", "b"), "sleep 0.02")
    end = time.monotonic() + 20
    while not (perfkit.cwd / "order").exists() and time.monotonic() < end:
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=20)
    assert p.returncode == 130 and b"interrupted" in err
    assert query(perfkit, "SELECT status FROM v_run") == [("interrupted",)]


# --- what they report -------------------------------------------------------------------------------------------------------


def test_cases_of_one_name_are_kept_apart(perfkit):
    (perfkit.cwd / "says").write_text("""
for n in 1 2; do
    ns=$((n * $1))
    echo '{"type":"case","experiment":"sums","variant":"builtin","axes":{"n":'$n'}}'
    echo '{"type":"metric","name":"sum_ns","unit":"ns","direction":"lower"}'
    echo '{"type":"samples","metric":"sum_ns","values":['$ns,$ns,$ns']}'
done >&$PERFKIT_WIRE_FD
""")
    says = [f"sh says {n}" for n in (100, 150)]
    assert perfkit("exec", "--runs", "6", "--no-counters", *says).status == 0
    assert query(perfkit, "SELECT json_extract(axes, '$.command'), json_extract(axes, '$.n') FROM v_case WHERE experiment = 'sums' ORDER BY 1, 2") == [
        (c, n) for c in says for n in (1, 2)]
    rows = perfkit("compare", "--by", "command", "@", "--metric", "sum_ns", "--format", "json").rows("compare_ns")
    ratio = {says[1]: 1.5, says[0]: 1 / 1.5}  # against the one that reported first
    assert len(rows) == 3 and all(r["ratio"] == pytest.approx(ratio[r["value"]]) for r in rows)


# --- the ranking -----------------------------------------------------------------------------------------------------------

NOISE = [0.004, -0.003, 0.001, -0.002, 0.003, -0.001, 0.002, -0.004, 0.0005, -0.0005]


def store_of(perfkit, factors, noise=1, rounds=10):
    """A run of commands whose wall times are 100 ms times a factor, with noise in each round."""
    store = Stored(perfkit.db)
    cases = [("program", {"command": name}, {"wall_ns": [1e8 * f * math.exp(noise * NOISE[(3 * i + k) % 10]) for i in range(rounds)]})
             for k, (name, f) in enumerate(factors.items())]
    store.run(cases, experiment="exec", label="turns")
    return {name: case[2]["wall_ns"] for name, case in zip(factors, cases)}


def interval(base, new, level):
    logs = [math.log(n / b) for b, n in zip(base, new)]
    middle = statistics.mean(logs)
    half = stats.t.ppf((1 + level) / 2, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return [math.exp(x) for x in (middle, middle - half, middle + half)]


def test_the_ranking(perfkit):
    times = store_of(perfkit, {"slow -x": 2.5, "quick": 1, "near": 1.0005, "next 'one'": 1.09})
    r = perfkit("show", "--format", "json")
    rows = r.rows("ranking")
    assert [row["command"] for row in rows] == ["near", "next 'one'", "slow -x"] and {row["fastest"] for row in rows} == {"quick"}
    level = 1 - 0.05 / 6  # of the six comparisons of two of the four
    for row in rows:
        assert [row["ratio"], row["ratio_low"], row["ratio_high"]] == pytest.approx(interval(times["quick"], times[row["command"]], level), rel=1e-6)
        assert (row["rounds"], row["disturbed"], row["level"]) == (10, 0, pytest.approx(level))
    assert [row["told_apart"] for row in rows] == [0, 1, 1]
    near, following, slow = ([f"{x:.2f}" for x in interval(times["quick"], times[row["command"]], level)] for row in rows)
    said = [line.strip() for line in perfkit("show").stdout.splitlines()]
    at = said.index("The fastest first")
    assert said[at + 2:at + 5] == [
        "near is not told apart from quick: %s × (%s–%s)" % tuple(near),
        "next 'one' is %s × (%s–%s) slower than quick" % tuple(following),
        "slow -x is %s × (%s–%s) slower than quick" % tuple(slow)]
    assert "in random order" in said[at + 5] and "intervals that hold together with 95 %" in " ".join(said[at + 5:])


def test_two_are_compared_as_compare_does(perfkit):
    times = store_of(perfkit, {"old": 1.003, "new": 1}, noise=0.1)
    row, = perfkit("show", "--format", "json").rows("ranking")
    assert [row["ratio"], row["ratio_low"], row["ratio_high"]] == pytest.approx(interval(times["new"], times["old"], 0.95), rel=1e-6)
    assert row["sentence"].startswith("old is 1.00") and row["told_apart"] == 1  # with as many digits as it takes
    figures = [float(x) for x in re.findall(r"\d+\.\d+", row["sentence"])]
    assert len(figures) == 3 and min(figures) > 1
    compared, = perfkit("compare", "--by", "command", "@", "--format", "json").rows("compare_ns")
    assert (compared["value"], compared["ratio"]) == ("new", pytest.approx(1 / row["ratio"]))
    assert 1 / compared["ratio_high"] == pytest.approx(row["ratio_low"]) and 1 / compared["ratio_low"] == pytest.approx(row["ratio_high"])


def test_one_round_has_no_interval(perfkit):
    store_of(perfkit, {"old": 1.5, "new": 1}, rounds=1)
    row, = perfkit("show", "--format", "json").rows("ranking")
    assert re.fullmatch(r"old took 1\.\d+ × the time of new; one run of each gives no interval", row["sentence"])
    assert row["ratio_low"] is None and row["told_apart"] == 0


def test_wild_rounds(perfkit):
    store_of(perfkit, {"old": 1.05, "new": 1}, noise=50)
    row, = perfkit("show", "--format", "json").rows("ranking")
    assert "not told apart" in row["sentence"] and row["ratio_low"] < 1 < row["ratio_high"]


def test_other_runs_have_no_ranking(perfkit):
    Stored(perfkit.db).run([("a", {"command": "x", "n": 1}, {"wall_ns": [1, 2]}), ("b", {"command": "y", "n": 1}, {"wall_ns": [1, 2]})], experiment="demo")
    assert "ranking" not in perfkit("show", "--format", "json").json()["tables"]


def test_history_and_export_have_every_command(perfkit):
    for _ in range(2):
        assert perfkit("exec", "--runs", "2", "--no-counters", "--name", "x", "--name", "y", "true", "sh -c true").status == 0
    assert {r["variant"] for r in perfkit("history", "exec", "--format", "json").rows("series")} == {"x", "y"}
    assert "ratio" in perfkit("compare", "1", "2", "--format", "json").rows("compare_ns")[0]
    exported = perfkit("export", "jsonl", "@").stdout
    assert '"case_id":3,' in exported and '"case_id":4,' in exported


def test_a_seed_repeats_the_order_of_turns(perfkit):
    def orders(*args):
        log = perfkit.cwd / "log"
        log.unlink(missing_ok=True)
        r = perfkit("exec", "--runs", "8", "--no-counters", *args, *[f"sh -c 'echo {name} >> log'" for name in "abc"])
        assert r.status == 0, r
        return log.read_text().split(), re.search("order seed ([0-9]+)", r.stdout).group(1)

    first, seed = orders("--seed", "7")
    assert seed == "7" and len(first) == 24 and orders("--seed", "7") == (first, "7") and orders("--seed", "8")[0] != first
    own, seed = orders()
    assert seed in perfkit("show", "@").stdout and orders("--seed", seed)[0] == own and orders()[1] != seed
    perfkit("exec", "--seed", "7", "--", "true").refused(2, "--seed would change nothing", "one command has no turns")
