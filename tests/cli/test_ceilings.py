"""Ceilings that doctor measures, and a store of made-up repeats: the highest counts, a lone one is told, an old one is measured again. Memory
has levels: a case is compared with the one in which its bytes live."""
import csv
import json
import signal
import sqlite3
import time

import pytest
from conftest import Perfkit, confirm_ceilings, not_sanitized, on_one_cpu

from stored import Stored, query

FEW = ("run", "attention-scaling", "--device", "null", "--variant", "flash", "--invocations", "1", "-a", "d_model=16", "-a", "seq_len=64")
RATES = ("fp32_flops_per_s", "memory_bytes_per_s")
BUSY = "measured on a busy host"


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """A store into which doctor measured the ceilings of a thread, and what it printed; of memory the shared ones are looked at."""
    one = Perfkit(tmp_path_factory.mktemp("rated"))
    r = one("doctor", "--ceilings", "--memory-limit", "16MiB", "--threads", "1")
    confirm_ceilings(one)
    return one, r


@pytest.fixture
def printed(ceilings):
    """The tables that doctor printed of the ceilings that tests share."""
    return json.loads(ceilings.with_suffix(".json").read_text())["tables"]


@pytest.fixture
def one(perfkit):
    """Runs one case on the null device, whose work takes exactly its floor."""
    return lambda *args: perfkit(*FEW, "--format", "json", *args)


def repeats(perfkit):
    return query(perfkit, "SELECT count(*) FROM ceiling WHERE key = 'fp32_flops_per_s'")[0][0]


def add(perfkit, factor, keys=("fp32_flops_per_s",), times=1):
    """Repeats that reached factor x the lowest, measured now."""
    for key in keys * times:
        query(perfkit, f"""INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence)
                            SELECT machine_id, device, key, {factor} * min(value), {time.time_ns()}, max(evidence) FROM ceiling WHERE key = '{key}'"""
              )


def of_floor(result):
    assert result.status == 0, result
    (row,) = result.rows("scaling")
    return row["forward_of_floor"]


def test_measured_once_when_repeats_agree(perfkit, one):
    assert of_floor(one()) == pytest.approx(1)
    assert repeats(perfkit) == 3
    r = one()
    assert of_floor(r) == pytest.approx(1) and repeats(perfkit) == 3 and BUSY not in r.stderr


def test_the_highest_counts_and_a_saved_run_keeps_its_own(perfkit, one):
    one()
    add(perfkit, 2, RATES, times=2)
    add(perfkit, 0.5, RATES)
    assert of_floor(one()) == pytest.approx(0.5)
    assert of_floor(perfkit("show", "@~1", "--format", "json")) == pytest.approx(1)
    assert repeats(perfkit) == 6, "none of them asked for another"


def test_a_lone_highest_is_told_and_measured_again(perfkit, one):
    one()
    add(perfkit, 1.06)
    r = one()
    assert repeats(perfkit) == 5, "one more"
    assert BUSY in r.stderr and "fp32_flops_per_s" in r.stderr
    assert "Measured on a busy host: fp32_flops_per_s" in perfkit("show", "@", "--tables", "all").stdout
    assert "Measured on a busy host" in perfkit("doctor", "--ceilings", "--device", "null").stdout
    add(perfkit, 2, RATES)
    busy, = perfkit("doctor", "--ceilings", "--device", "null", "--format", "json").rows("ceilings")
    assert busy["doubtful"] == ", ".join(RATES), "each of them"
    query(perfkit, "DELETE FROM ceiling WHERE value IN (SELECT max(value) FROM ceiling GROUP BY key HAVING key IN ('fp32_flops_per_s', 'memory_bytes_per_s'))")
    add(perfkit, 1.05)
    before = repeats(perfkit)
    r = one()
    assert BUSY not in r.stderr and repeats(perfkit) == before, "confirmed"
    assert "busy host" not in perfkit("show", "@", "--tables", "all").stdout
    assert "busy host" in perfkit("show", "@~1", "--tables", "all").stdout, "a saved run says what was true of it"


def test_a_day_later_one_repeat_is_added(perfkit, one):
    one()
    query(perfkit, "UPDATE ceiling SET measured_ns = measured_ns - 86300 * 1000000000")
    one()
    assert repeats(perfkit) == 3
    query(perfkit, "UPDATE ceiling SET measured_ns = measured_ns - 200 * 1000000000")
    one()
    assert repeats(perfkit) == 4


def test_a_lone_copy_rate_is_told_under_slicing(perfkit):
    tree = ("run", "tree-patch", "--tables", "all", "--device", "null", "--layers", "1", "--hidden", "8", "--intermediate", "8", "--vocab", "9", "--weights", "real",
            "--tp", "2", "--variant", "grouped", "--patches", "0", "--invocations", "1")
    said = "Measured on a busy host: the highest copy ceiling"
    r = perfkit(*tree)
    assert r.status == 0 and "% of copy ceiling" in r.stdout and said not in r.stdout, r
    add(perfkit, 2, ("copy_bytes_per_s",))
    assert said in perfkit(*tree).stdout


MIB = 1 << 20
GB = 1e9
LEVELS = {"l1": (64 << 10, 400 * GB), "l2": (2 * MIB, 300 * GB), "l3": (32 * MIB, 200 * GB), "between": (512 * MIB - 1, 100 * GB)}
FLAT, LIMITED = 63, 29


def store_with(perfkit, bytes_of_cases, evidence, seconds=1.0, flops=1):
    """A run of attention-scaling with a case for each peak memory, all of which move 40 GB in `seconds`, and ceilings of a CPU."""
    store = Stored(perfkit.db)
    run = store.run([("flash", {"d_model": 16, "seq_len": i + 1, "dtype": "fp32"},
                      {"forward_ns": [seconds * 1e9], "backward_ns": [seconds * 1e9], "peak_bytes": [peak]})
                     for i, peak in enumerate(bytes_of_cases)], experiment="attention-scaling")
    machine, = store.db.execute("SELECT machine_id FROM run").fetchone()
    for case, in store.db.execute("SELECT id FROM run_case").fetchall():
        for metric in ("forward_ns", "backward_ns"):
            store.insert("work", case_id=case, metric=metric, flops=flops, bytes=40 * GB)
    values = {"fp32_flops_per_s": 1e12, "cache_bytes": 32 * MIB, "memory_bytes_per_s": 40 * GB, "copy_bytes_per_s": 30 * GB}
    if evidence:
        for name, (size, rate) in LEVELS.items():
            values |= {f"{name}_bytes": size, f"{name}_bytes_per_s": rate, f"{name}_copy_bytes_per_s": rate / 2}
    for key, value in values.items():
        of_curve = key not in ("fp32_flops_per_s", "cache_bytes")
        store.insert("ceiling", machine_id=machine, device="cpu", key=key, value=value, measured_ns=1, evidence=evidence if of_curve else 0)
    store.db.commit()
    store.db.close()
    return run


SIZES = {64 << 10: ("L1", 400), MIB: ("L2", 300), 2 * MIB + 1: ("L3", 200), 40 * MIB: ("between", 100), 512 * MIB: ("memory", 40), 1 << 40: ("memory", 40)}


def test_a_case_is_compared_with_the_level_in_which_its_bytes_live(perfkit):
    store_with(perfkit, SIZES, FLAT)
    rows = perfkit("show", "@", "--format", "json").rows("scaling")
    assert [(row["lives_in"], row["forward_of_floor"]) for row in rows] == [(level, pytest.approx(40 / rate)) for level, rate in SIZES.values()]
    assert not any(row["forward_above_floor"] or row["backward_above_floor"] for row in rows)
    assert "not proved flat" not in perfkit("show", "@", "--tables", "all").stdout
    assert query(perfkit, "SELECT level, above_bytes, to_bytes, bytes_per_s / 1e9, copy_bytes_per_s / 1e9 FROM v_level ORDER BY place") == [
        ("L1", 0, 64 << 10, 400, 200), ("L2", 64 << 10, 2 * MIB, 300, 150), ("L3", 2 * MIB, 32 * MIB, 200, 100),
        ("between", 32 * MIB, 512 * MIB - 1, 100, 50), ("memory", 512 * MIB - 1, None, 40, 30)]


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json", "jsonl"])
def test_a_share_above_100_is_marked_in_its_row(perfkit, form):
    store_with(perfkit, [MIB, 512 * MIB], FLAT, seconds=0.8)
    r = perfkit("show", "@", "--format", form, "--table", "scaling")
    if form in ("json", "jsonl"):
        cached, in_memory = r.rows("scaling") if form == "json" else [
            row for row in map(json.loads, r.stdout.splitlines()) if row["table"] == "scaling"]
        assert (cached["forward_above_floor"], in_memory["forward_above_floor"], in_memory["backward_above_floor"]) == (False, True, True)
    elif form == "csv":
        cached, in_memory = list(csv.DictReader(r.stdout.splitlines()))[:2]
        assert (cached["forward_above_floor"], in_memory["forward_above_floor"]) == ("false", "true")
    else:
        assert r.stdout.count("!125") == 2 and " 17 " in r.stdout, r
        assert "! above 100 % of the floor: the work was faster than the measured ceilings allow (memory)" in r.stdout


@pytest.mark.parametrize("size, seconds, flops, ceiling, bytes_moved", [
    (MIB, 0.8, 1e12, "fp32", False),  # 40 GB take 0.13 s from L2, 1 TFLOP takes 1 s
    (MIB, 0.1, 1, "L2", True),
    (512 * MIB, 0.8, 1, "memory", True),
])
def test_the_ceiling_that_was_exceeded_is_named(perfkit, size, seconds, flops, ceiling, bytes_moved):
    store_with(perfkit, [size], FLAT, seconds, flops)
    note = [line for line in perfkit("show", "@", "--tables", "all").stdout.splitlines() if line.startswith("! above 100 %")]
    assert len(note) == 1 and f"allow ({ceiling}). " in note[0] and ("most of the bytes" in note[0]) == bytes_moved, note


def test_several_ceilings_are_a_list_and_the_mark_stays_where_it_is_narrow(perfkit):
    store_with(perfkit, [MIB, 3 * MIB], FLAT, seconds=0.1)
    r = perfkit("show", "@", "--tables", "all", "--width", "80")
    assert "allow (L2, L3). " in r.stdout.replace("\n", " ") and "!133" in r.stdout and "!200" in r.stdout, r
    assert "Left out at 80 columns: " in r.stdout and all(len(line) <= 80 for line in r.stdout.splitlines()), r


def test_a_rate_that_is_not_proved_flat_is_said(perfkit):
    store_with(perfkit, [512 * MIB], LIMITED)
    assert "The rate of memory is not proved flat" in perfkit("show", "@", "--tables", "all").stdout


def test_a_store_from_before_levels(perfkit):
    """Its one rate of memory stays what a saved run is compared with; the next run measures again, and has levels."""
    store_with(perfkit, [MIB, 40 * MIB], 0)
    rows = perfkit("show", "@", "--format", "json").rows("scaling")
    assert [(row["lives_in"], row["forward_of_floor"]) for row in rows] == [("cache", 1), ("memory", 1)]
    assert query(perfkit, "SELECT count(*) FROM v_level") == [(0,)]


def test_a_rate_of_one_size_is_measured_again(perfkit, one):
    of_memory = "SELECT run_id, value FROM v_ceiling WHERE key = 'memory_bytes_per_s' ORDER BY run_id"
    one()
    [(_, rate)] = query(perfkit, of_memory)
    query(perfkit, "UPDATE ceiling SET evidence = 0, value = 5 * value WHERE key = 'memory_bytes_per_s'")
    query(perfkit, "UPDATE ceiling SET evidence = 0 WHERE key = 'copy_bytes_per_s'")
    assert query(perfkit, of_memory) == [(1, 5 * rate)]
    r = one()
    assert "measuring the ceilings of null" in r.stderr and repeats(perfkit) == 6
    assert query(perfkit, of_memory) == [(1, 5 * rate), (2, rate)], "the old one, though higher, counts for the old run alone"


# --- measured ---


def test_ceilings_are_measured_and_stored(rated, printed, ceilings):
    perfkit, r = rated
    assert r.status == 0 and "cpu 1 thread" in r.stdout and "Rates of memory, all lanes" in r.stdout and "Rates over size" in r.stdout, r
    keys = dict(query(perfkit, "SELECT device, count(DISTINCT measured_ns) FROM ceiling GROUP BY device"))
    assert keys.keys() == {"cpu 1 thread"} and keys["cpu 1 thread"] >= 3, keys
    (row,) = printed["ceilings"]["rows"]
    assert row["device"] == "cpu"
    for key in ("fp32_flops_per_s", "exp_per_s", "memory_bytes_per_s", "copy_bytes_per_s", "cache_bytes"):
        assert row[key] > 0
    db = sqlite3.connect(ceilings)
    stored = dict(db.execute("SELECT key, max(value) FROM ceiling WHERE device = 'cpu' GROUP BY key"))
    of_levels = {k: v for k, v in stored.items() if k.startswith(("l1_", "l2_", "l3_", "between_"))}
    assert {k: v for k, v in stored.items() if k not in of_levels} == {
        k: v for k, v in row.items() if k not in ("device", "doubtful", "memory_flat", "memory_bytes_per_s", "copy_bytes_per_s") and v is not None
    } | {k: stored[k] for k in ("memory_bytes_per_s", "copy_bytes_per_s")}
    assert stored["bf16_flops_per_s"] >= stored["fp32_flops_per_s"] and row["tf32_flops_per_s"] is None, "of tensor cores, which a CPU has not"
    assert "busy host" not in perfkit("doctor", "--ceilings", "--device", "null").stdout


def test_rates_over_size(perfkit, measured, printed):
    """The levels that cases are compared with, and the curve, for all lanes and for one."""
    key, = query(perfkit, "SELECT DISTINCT device FROM curve")[0]
    levels, curve, (top,) = (printed[table]["rows"] for table in ("levels", "curve", "ceilings"))
    assert key == top["device"] == "cpu"
    names = [row["level"] for row in levels]
    assert names == [name for name in ("L1", "L2", "L3", "between", "memory") if name in names] and names[-1] == "memory"
    assert levels[-1]["bytes_per_s"] == top["memory_bytes_per_s"] and levels[-1]["to_bytes"] is None
    assert [row["above_bytes"] for row in levels[1:]] == [row["to_bytes"] for row in levels[:-1]]
    lanes = sorted({row["lanes"] for row in curve})
    assert lanes in ([1], [1, max(lanes)])
    for n in lanes:
        rows = [row for row in curve if row["lanes"] == n]
        sizes = [row["bytes"] for row in rows]
        assert sizes == [n * (16 << 10) << i for i in range(len(sizes))] and rows[-1]["stop"] in ("flat", "room", "time")
        assert all(row["bytes_per_s"] == max(row[k + "_bytes_per_s"] for k in ("copy", "triad", "read")) and row["update_bytes_per_s"] > 0 for row in rows)
    notes = " ".join(printed["curve"]["notes"])
    assert "as STREAM counts them" in notes and "Fastest: of copy, triad and read." in notes
    assert top["memory_flat"] is (f"with {max(lanes)} lane" not in notes), "what is not proved flat is said"
    assert query(perfkit, "SELECT count(*) FROM curve WHERE level NOT IN ('L1', 'L2', 'L3', 'between', 'memory')") == [(0,)]


def test_ceilings_of_nothing(perfkit):
    perfkit("doctor", "--ceilings", "--device", "cuad").refused(2, "device 'cuad' is not known", "devices are cpu, null, cuda", "did you mean 'cuda'?")
    perfkit("doctor", "--ceilings", "--device", "cuda").refused(6, "cuda", "list devices")
    perfkit("doctor", "--ceilings", "--threads", "2", preexec_fn=on_one_cpu).refused(
        2, "--threads 2", "allow 1 for this process", "--threads 1 or fewer")


def test_ceilings_into_a_store_that_cannot_be_written(perfkit):
    perfkit.db.write_text("not a database, but long enough to be read as the header of one; " * 20)
    assert perfkit("doctor", "--ceilings").status == 1


@not_sanitized
def test_a_run_takes_the_ceilings_that_doctor_stored(perfkit, rated):
    again = "measuring the ceilings of cpu 1 thread"
    one = ("run", "selftest", "--device", "cpu", "--threads", "1", "--variant", "ok", "--invocations", "1", "--min-time", "1ms", "--max-time", "20ms")
    p = perfkit.start(*one)
    try:
        assert any(again in line.decode() for line in iter(p.stderr.readline, b""))
    finally:
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    r = perfkit(*one, db=rated[0].db)
    assert r.status == 0 and again not in r.stderr, r
