"""history: lasting changes in stores with known figures, setups told apart, refusals with their statuses."""
import csv
import io
import random

import pytest
from conftest import not_sanitized
from stored import Stored, query


@not_sanitized
def test_its_uncertainty_is_that_of_other_tables(perfkit):
    """± is one figure: in what exec prints, in show, in history and in v_summary."""
    printed = []
    for _ in range(2):
        r = perfkit("exec", "--runs", "7", "--no-counters", "--format", "json", "--", "true")
        printed.append(next(row["uncertainty"] for t in r.json()["tables"].values() for row in t["rows"] if "uncertainty" in row))
    rows = [row for row in perfkit("history", "exec", "--metric", "wall_ns", "--format", "json").rows("history_ns")]
    stored = [u for u, in query(perfkit, "SELECT uncertainty FROM v_summary WHERE metric = 'wall_ns' ORDER BY run_id")]
    assert [row["uncertainty"] for row in rows] == pytest.approx(printed) and printed == pytest.approx(stored) and min(stored) > 0
    shown = [next(row["uncertainty"] for t in perfkit("show", ref, "--format", "json").json()["tables"].values() for row in t["rows"] if "uncertainty" in row)
             for ref in ("@~1", "@")]
    assert shown == printed


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


def noisy(levels, seed=1):
    """A value near each level, 1 % apart."""
    r = random.Random(seed)
    return [level * r.gauss(1, 0.01) for level in levels]


def runs(store, values, variant="vanilla", metric="forward_ns", **more):
    for v in values:
        store.run([(variant, {"seq_len": 256}, {metric: [v * 0.999, v, v * 1.001]})], **more)


def commits(store):
    store.db.execute("UPDATE run SET git_commit = printf('%012d', id) || 'ffff', git_dirty = id % 2")
    store.db.commit()


STEP = noisy([1e6] * 12 + [1.08e6] * 8)


def test_a_step_is_found_at_its_run(perfkit, store):
    runs(store, STEP, label="nightly")
    commits(store)
    r = perfkit("history", "demo", "--format", "json")
    assert r.status == 0 and r.stderr == ""
    series, = r.rows("series")
    rows = r.rows("history_ns")
    assert (series["runs"], series["steps"], series["first_run"], series["last_run"]) == (20, 1, 1, 20)
    assert [row["run_id"] for row in rows] == list(range(1, 21)) and "plot" not in rows[0]
    step, = [row for row in rows if row["step"] is not None]
    assert step["run_id"] == 13 and step["step"] == pytest.approx(0.08, abs=0.02) and step["step_p"] < 0.001
    assert series["words"].startswith("run 13 (commit 000000000013+): +") and series["words"].endswith(" %, worse, since then stable")
    assert rows[4]["median_ns"] == pytest.approx(STEP[4]) and rows[4]["label"] == "nightly"
    assert rows[0]["change"] is None and rows[1]["change"] == pytest.approx(STEP[1] / STEP[0] - 1)
    assert 0 < rows[0]["uncertainty"] < 0.01
    assert r.json()["tables"]["series"].get("notes") is None


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_is_no_change(perfkit, store, seed):
    runs(store, noisy([1e6] * 20, seed))
    r = perfkit("history", "demo", "--format", "json")
    series, = r.rows("series")
    assert series["steps"] == 0 and series["words"] == "no change point of 2 % or more in 20 runs"


def test_a_spike_is_no_change_and_few_runs_say_so(perfkit, store):
    values = noisy([1e6] * 12)
    runs(store, values[:6] + [2e6] + values[6:])
    series, = perfkit("history", "demo", "--format", "json").rows("series")
    assert series["words"] == "13 runs: too few to find a change point, which needs 14"


def test_a_trend_is_named(perfkit, store):
    runs(store, [1e6 * (1 + 0.004 * i) for i in range(12)])
    series, = perfkit("history", "demo", "--format", "json").rows("series")
    assert series["steps"] == 0 and series["words"] == "no change point, but a trend: +4.3 % over 12 runs"


def test_another_machine_starts_another_series(perfkit, store):
    runs(store, noisy([1e6] * 14), machine={"cpu": "A"})
    runs(store, noisy([2e6] * 5), machine={"cpu": "B"})
    runs(store, noisy([1e6] * 2, 2), machine={"cpu": "A"})
    runs(store, [3e6], machine={"cpu": "B"}, settings={"threads": 4})
    r = perfkit("history", "demo", "--format", "json")
    assert [(s["setup"], s["runs"], s["steps"]) for s in r.rows("series")] == [(1, 16, 0), (2, 5, 0)]
    notes = r.json()["tables"]["series"]["notes"]
    assert notes[0] == "Setup 2 (5 runs, from run 15) is not setup 1: cpu A → B."
    assert "setting threads" in notes[1] and "1 case with a single run" in notes[3]
    back, = [row for row in r.rows("history_ns") if row["run_id"] == 20]
    assert back["setup"] == 1 and abs(back["change"]) < 0.1


def test_exact_figures_change_at_once(perfkit, store):
    runs(store, [100] * 3 + [101] * 2, metric="peak_bytes")
    store.db.execute("UPDATE metric SET source = 'pool', class = 'exact'")
    store.db.commit()
    r = perfkit("history", "demo", "--metric", "peak_bytes", "--format", "json")
    assert r.rows("series")[0]["words"] == "run 4: +1.0 %, worse, since then stable"


def test_the_gravest_case_is_first_and_filters_choose(perfkit, store):
    quiet, loud = noisy([1e6] * 20), noisy([1e6] * 10 + [2e6] * 10, 2)
    for q, l in zip(quiet, loud):
        store.run([("vanilla", {"seq_len": 256}, {"forward_ns": [q]}), ("vanilla", {"seq_len": 512}, {"forward_ns": [l]}),
                   ("flash", {"seq_len": 256, "dtype": "bf16", "causal": True}, {"forward_ns": [q]})])
    series = perfkit("history", "demo", "--format", "json").rows("series")
    assert [(s["variant"], s["axes"]["seq_len"]) for s in series] == [("vanilla", 512), ("vanilla", 256), ("flash", 256)]
    for text, n in (("seq_len>=512", 1), ("variant=vanilla", 2), ("dtype=bf16", 1), ("causal=on", 1), ("dtype!=bf16,seq_len<512", 1)):
        assert len(perfkit("history", "demo", "--filter", text, "--format", "json").rows("series")) == n, text
    people = perfkit("history", "demo")
    assert "seq_len=512" in people.stdout and "Run by run: 1 of 3; --all shows the others." in people.stdout
    assert "Run by run" not in perfkit("history", "demo", "--all").stdout
    perfkit("history", "demo", "--filter", "sec_len=1").refused(2, "sec_len", "seq_len")
    r = perfkit("history", "demo", "--filter", "dtype=fp23")
    r.refused(2, "'fp23' is not one of its values", "write for example --filter dtype=bf16")  # -a is not an option of history
    perfkit("history", "demo", "--filter", "seq_len>9999").refused(6, "seq_len>9999", "without a filter")


def test_sides_of_a_gate_running_runs_and_others_are_left_out(perfkit, store):
    runs(store, [1e6] * 3, label="a")
    runs(store, [1e6] * 2, label="b", settings={"gate": {"id": "x", "side": "base"}})
    runs(store, [1e6], experiment="other")
    store.db.execute("UPDATE run SET status = 'running' WHERE id = 3")
    store.db.commit()
    def count(*args):
        return len(perfkit("history", "demo", *args, "--format", "json").rows("history_ns"))
    assert count() == 2 and count("--gates") == 4 and count("--gates", "--label", "b") == 2 and count("--gates", "--last", 3) == 3


def test_people_get_bars(perfkit, store):
    runs(store, STEP)
    r = perfkit("history", "demo", "--width", "100")
    assert r.status == 0 and max(map(len, r.stdout.splitlines())) <= 100
    assert "± is that of the median over the processes of a run." in " ".join(r.stdout.split())
    assert "████" in r.stdout and "▁" in r.stdout and "run 13: +" in r.stdout
    lines = [line for line in r.stdout.splitlines() if "█" in line and line.split()[0] in ("1", "20")]
    assert len(lines) == 2 and lines[0].count("█") < lines[1].count("█")
    ascii = perfkit("history", "demo", env={"LC_ALL": "C"}).stdout
    assert "████" not in ascii and "####" in ascii
    eighty = perfkit("history", "demo", "--width", "80").stdout
    assert "████" in eighty and max(map(len, eighty.splitlines())) <= 80


def test_every_format(perfkit, store):
    runs(store, STEP)
    for format in ("table", "markdown", "csv", "json", "jsonl"):
        r = perfkit("history", "demo", "--format", format)
        assert r.status == 0 and ("█" in r.stdout) == (format in ("table", "markdown"))
    text = perfkit("history", "demo", "--format", "csv").stdout.split("\n\n")[1]
    assert len(list(csv.DictReader(io.StringIO(text)))) == 20


def test_refusals(perfkit, store):
    perfkit("history", "demo").refused(6, "no run")
    runs(store, [1e6])
    perfkit("history", "demo").refused(6, "demo has no history yet", "one run", "needs two")
    runs(store, [1e6], label="nightly")
    perfkit("history", "demmo").refused(2, "'demmo'", "did you mean 'demo'?")
    perfkit("history", "demo", "--metric", "forward_n").refused(2, "'forward_n'", "did you mean 'forward_ns'?")
    perfkit("history", "demo", "--label", "nightli").refused(2, "'nightli'", "did you mean 'nightly'?")
    perfkit("history", "demo", "--label", "nightly").refused(6, "with this label")
    perfkit("history", "demo", "--last", "-1").refused(2, "last")
    perfkit("history").refused(2, "history")
    perfkit("history", "demo", db=perfkit.root / "none.db").refused(6, "none.db")
    runs(store, [1e6], experiment="once", machine={"cpu": "A"})
    runs(store, [1e6], experiment="once", machine={"cpu": "B"})
    perfkit("history", "once").refused(6, "same machine and settings")


@not_sanitized
def test_runs_of_one_program_are_of_one_setup(perfkit):
    for _ in range(2):
        assert perfkit("run", "selftest", "--device", "null", "-v", "ok", "-i", "1", "-a", "memory=4KiB").status == 0
    series = perfkit("history", "selftest", "--format", "json").rows("series")
    assert series and all((s["setup"], s["runs"], s["steps"]) == (1, 2, 0) for s in series)
