"""Speed-ups in the tables of experiments: each with its interval, and nothing concluded where that contains 1 (test_mixed_precision has its own)."""
import functools
import pathlib
import re
import shutil

import pytest
from conftest import Perfkit
from stored import Stored, query

PROBES = sorted((pathlib.Path(__file__).parents[2] / "probes").glob("*.sql"))
COUNTED = {"leaves_ratio", "targets_ratio", "parameters_ratio"}  # of numbers of nodes, which are exact
SHORT = ("--min-time", "0", "--max-time", "1ms", "--min-samples", "3", "--max-samples", "3")
RUNS = {
    "attention-scaling": ("-a", "seq_len=64:1024:*4", "-a", "d_model=64"),
    "tree-patch": ("-a", "model=2L-256H", "-a", "matcher=fnmatch,compiled", *SHORT),
    "ddp-bucket": ("-a", "model=tiny", "-a", "bucket_bytes=256KiB,1MiB", "-a", "compute_ms=4"),
}


@pytest.fixture(scope="module")
def run_of(tmp_path_factory):
    """The store of a run of an experiment, which is made once."""
    @functools.lru_cache(None)
    def store(experiment):
        one = Perfkit(tmp_path_factory.mktemp(experiment))
        assert one("run", experiment, "--device", "null", "--invocations", "3", *RUNS[experiment]).status == 0
        return one.db
    return store


@pytest.mark.parametrize("path", PROBES, ids=lambda p: p.stem)
def test_every_ratio_has_both_ends(path):
    for name, table in re.findall(r"^-- table: (\w+)\n(.*?)(?=^-- (?:table|view|chart|finding): |\Z)", path.read_text(), re.M | re.S):
        columns = re.findall(r"^-- column: (\w+)", table, re.M)
        joined = re.findall(r"^-- column: (\w+) .* interval$", table, re.M)
        for c in columns:
            if re.search(r"(^|_)(speedup|ratio|regret|overhead|saved_ns|first_steady)$", c) and c not in COUNTED:
                low = re.sub("(_ns)?$", r"_low\1", c, count=1)
                assert columns[columns.index(c) + 1] == low and low in joined, f"{path.name}, {name}: {c} has no interval beside it"


def speedups(answer):
    """Every speed-up and ratio with its ends, of all tables."""
    for table, content in answer.json()["tables"].items():
        for row in content["rows"]:
            for key in row:
                if f"{key}_low" in row and re.search("speedup|ratio", key) and row[key] is not None:
                    yield table, row, row[key], row[f"{key}_low"], row[f"{key}_high"]


@pytest.mark.parametrize("experiment, table, of, low, high", [("tree-patch", "initialisation", "saved_ns", "saved_low_ns", "saved_high_ns"),
                                                              ("ddp-bucket", "methods", "overhead", "overhead_low", "overhead_high")])
def test_differences_and_shares_have_the_interval_of_their_parts(perfkit, run_of, experiment, table, of, low, high):
    shutil.copy(run_of(experiment), perfkit.db)

    def ends():
        return [(row[low], row[of], row[high]) for row in perfkit("show", "@", "--format", "json").rows(table) if row[of] is not None]
    found = ends()
    assert len(found) >= 3 and all(a - 1e-9 <= x <= b + 1e-9 for a, x, b in found), found
    query(perfkit, "UPDATE summary SET ci_low = median * 0.9, ci_high = median * 1.1")
    narrow = [b - a for a, _, b in ends()]
    query(perfkit, "UPDATE summary SET ci_low = median * 0.5, ci_high = median * 1.5")
    assert all(b - a > less > 0 for (a, _, b), less in zip(ends(), narrow))
    query(perfkit, "UPDATE summary SET ci_low = NULL, ci_high = NULL")
    found = ends()
    assert found and all(a is None and b is None for a, _, b in found), found


@pytest.mark.parametrize("experiment", RUNS)
def test_nothing_is_concluded_where_the_interval_contains_1(perfkit, run_of, experiment):
    shutil.copy(run_of(experiment), perfkit.db)
    found = list(speedups(perfkit("show", "@", "--format", "json")))
    assert len(found) > 1 and any(low is not None for *_, low, _ in found)
    for table, row, ratio, low, high in found:
        assert low is None or low <= ratio * 1.0000001 and ratio <= high * 1.0000001, (table, row)
    query(perfkit, "UPDATE summary SET ci_low = median / 99, ci_high = median * 99")
    wide = perfkit("show", "@", "--format", "json")
    words = {(t, row["verdict"]) for t, row, *_, low, _ in speedups(wide) if low is not None and "verdict" in row}
    assert words and {verdict for _, verdict in words} == {"not told apart"}, words
    query(perfkit, "UPDATE summary SET ci_low = NULL, ci_high = NULL")
    none = perfkit("show", "@", "--format", "json")
    assert all(low is None and high is None and row.get("verdict") is None for *_, row, _, low, high in [(t, r, x, l, h) for t, r, x, l, h in speedups(none)])
    assert "it needs three processes (--invocations 3)" in none.stdout


def times(factor, spread):
    return [1e6 * factor * (1 + spread * i) for i in range(-3, 3)]


@pytest.mark.parametrize("factors, spread, words, ends", [
    ((2.0, 1.5, 0.7, 0.5), 0.001, "slower up to 512, faster from 1024 on", (512, 1024)),
    ((0.9, 0.8, 0.7, 0.5), 0.001, "faster at every measured seq_len, from 256", None),
    ((1.1, 1.2, 1.3, 1.4), 0.001, "slower at the longest measured seq_len, 2048", None),
    ((1.1, 1.0, 0.9, 0.1), 0.3, "not told apart at the longest measured seq_len, 2048", None),  # noise alone
    ((2.0, 1.01, 0.99, 0.5), 0.02, "slower up to 256, faster from 2048 on", (256, 2048)),
    ((1.01, 0.99, 0.8, 0.5), 0.02, "faster from 1024 on, not told apart at shorter ones", None),
])
def test_a_crossover_is_between_what_is_told_apart(perfkit, factors, spread, words, ends):
    store = Stored(perfkit.db)
    axes = {"d_model": 64, "dtype": "fp32"}
    store.run([(variant, {**axes, "seq_len": 256 << i}, {m: times(factor if variant == "flash" else 1, spread) for m in ("forward_ns", "backward_ns")})
               for i, factor in enumerate(factors) for variant in ("vanilla", "flash")], experiment="attention-scaling")
    row, = perfkit("show", "@", "--format", "json").rows("crossover")
    assert row["verdict"] == words and (row["crossover_low"], row["crossover_high"]) == (ends or (None, None)), row
    assert (row["crossover_seq_len"] is not None) == (ends is not None)
    if ends:
        assert ends[0] <= row["crossover_seq_len"] <= ends[1]


def test_without_three_processes_there_is_no_crossover(perfkit):
    store = Stored(perfkit.db)
    store.run([(variant, {"d_model": 64, "dtype": "fp32", "seq_len": n}, {m: [time * 1e6] * 2 for m in ("forward_ns", "backward_ns")})
               for n, time in ((256, 2), (512, 0.5)) for variant, time in (("vanilla", 1), ("flash", time))], experiment="attention-scaling")
    row, = perfkit("show", "@", "--format", "json").rows("crossover")
    assert row["verdict"] == "not known: an interval needs three processes (--invocations 3)" and row["crossover_seq_len"] is None
