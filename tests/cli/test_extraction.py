"""`run extraction` through the front door: exact on the null device, the report's own numbers, a folder that continues, what is refused."""
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import BINARY, not_sanitized
from stored import query
from test_ranks import real
from test_torch_peers import HAS_TORCH

HERE = pathlib.Path(__file__).parent
HAS_ZSTD = b"libzstd" in subprocess.run(["ldd", BINARY], capture_output=True, check=False).stdout
REPORT = str(HERE / "report_extraction.py")
KILLS = int(os.environ.get("PERFKIT_TEST_KILLS", 4))  # random moments
# Of layers as small as these a second thread would mostly wait; the stages of a pass have threads of their own.
ONE = ("--preset", "smoke", "--invocations", "1", "--min-samples", "1", "--min-time", "0", "--max-time", "1ms", "--warmup", "0", "--threads", "1")
SHORT = ("--seq-len", "16")  # where files are the subject, and no time
SEED = ("--layers", "24", "--d-model", "896", "--heads", "14", "--kv-heads", "2", "--d-ff", "4864", "--vocab", "151936", "--extract-from", "10",
        "--extract-to", "23", "--batch", "4", "--seq-len", "512", "--samples", "9")


def seed(*others):
    """The report's shape, with other values."""
    values = dict(zip(SEED[::2], SEED[1::2]))
    return [word for pair in {**values, **dict(zip(others[::2], others[1::2]))}.items() for word in pair]


STORE_NS = 3 * 4 * 64 * 128 * 4  # of a batch of the model tiny in fp32: a byte a ns and thread


def run(perfkit, *args, device="null", **kw):
    all_of_them = () if "--samples" in args else ("--samples", "61")
    r = perfkit("run", "extraction", "-d", device, *ONE, *all_of_them, *args, "--format", "json", **kw)
    assert r.status == 0, r
    return r


def by_variant(r, table):
    return {row["variant"]: row for row in r.rows(table)}


# --- a simulated clock ---

@not_sanitized
def test_a_pass_is_fill_and_bound_and_drain_to_the_nanosecond(perfkit):
    """16 batches; the store of one thread is the bottleneck."""
    r = run(perfkit)
    passes = {v: row["extract_ns"] for v, row in by_variant(r, "comparison").items()}
    front = passes["sequential"] / 16 - STORE_NS
    assert passes["replanned"] > passes["sequential"] and front == int(front) > 0
    assert passes["pipelined"] == max(front + 16 * STORE_NS, 16 * front + STORE_NS)
    steady = by_variant(r, "batches")
    assert steady["pipelined"]["steady_ns"] == max(front, STORE_NS) and steady["sequential"]["steady_ns"] == front + STORE_NS


@not_sanitized
def test_one_slot_overlaps_nothing(perfkit):
    rows = by_variant(run(perfkit, "--slots", "1"), "comparison")
    assert rows["pipelined"]["extract_ns"] == rows["sequential"]["extract_ns"]


@not_sanitized
def test_another_shape_is_counted_and_flagged(perfkit):
    rows = by_variant(run(perfkit), "plans")
    assert [(rows[v]["plans"], rows[v]["replans"], rows[v]["flag"]) for v in ("sequential", "pipelined")] == 2 * [(0, 0, "")]
    assert (rows["replanned"]["plans"], rows["replanned"]["replans"]) == (16, 15)
    rows = by_variant(run(perfkit, "--pad", "off"), "plans")  # 61 = 15 * 4 + 1
    assert (rows["pipelined"]["shapes"], rows["pipelined"]["replans"], rows["pipelined"]["flag"]) == (2, 1, "planned again")


@not_sanitized
def test_padding_is_no_throughput(perfkit):
    row = by_variant(run(perfkit, "--samples", "9"), "throughput")["pipelined"]
    assert (row["real_samples"], row["slot_samples"]) == (9, 12)
    assert row["samples_per_s"] * 12 == pytest.approx(row["slots_per_s"] * 9)


@not_sanitized
def test_a_dry_run_counts_the_reports_shape(perfkit):
    def planned(*args):
        (row,) = perfkit("run", "extraction", "-d", "null", "-v", "pipelined", "--preset", "smoke", "--dry-run", *seed(*args), "--format", "json").rows("plan")
        return row

    row = planned()
    assert row["raw_bytes"] == 231_211_008 and planned("--dtype", "bf16")["raw_bytes"] == 115_605_504
    assert planned("--samples", "4")["raw_bytes"] == 102_760_448
    assert row["parameters"] == 24 * 14_911_232 + 151936 * 896
    assert planned("--kv-heads", "14")["parameters"] == 663_169_920 - 151936 * 896 - 896


@not_sanitized
def test_the_preset_seed_is_the_reports_shape(perfkit):
    """Its gzip, and a filter with zstd in both types; every table on a clock without noise."""
    args = ("run", "extraction", "-d", "null", "--preset", "seed")
    plan = perfkit(*args, "--dry-run", "--format", "json").rows("plan")
    assert [row["variant"] for row in plan] == 3 * ["sequential", "replanned", "pipelined"]
    assert {row["parameters"] for row in plan} == {24 * 14_911_232 + 151936 * 896}
    assert [row["raw_bytes"] for row in plan] == 6 * [231_211_008] + 3 * [115_605_504]
    r = perfkit(*args, *ONE[2:], "--format", "json")
    assert r.status == 0, r
    tables = {"batches", "warm_up", "stages", "overlap", "throughput", "plans", "comparison", "projection"}
    settings = [row["setting"] for row in r.rows("overlap")]
    assert tables <= set(r.json()["tables"]) and len(settings) == 3 and all("layers 10 to 23 of 24, batch 4 x 512, 9 samples" in s for s in settings), settings
    assert [words in s for s, words in zip(settings, ("zlib-6", "zstd-huffman after exponent", "bf16"))] == [True, HAS_ZSTD, True]


@not_sanitized
def test_overlap_efficiency_of_the_slowest_stage(perfkit):
    """On a clock without noise the store never waits once it has a batch. Where forward is slower, it waits for the copies alone."""
    store = STORE_NS * 4 // 3
    r = run(perfkit, "--extract-from", "0")
    front = by_variant(r, "comparison")["sequential"]["extract_ns"] / 16 - store
    (row,) = r.rows("overlap")
    assert (row["slowest"], row["fill_ns"], row["drain_ns"], row["efficiency"]) == ("checksum, filter, compress", front, 0, 1) and front < store
    r = run(perfkit, "--compress-threads", "64")
    forward = next(s["batch_ns"] for s in r.rows("stages") if (s["variant"], s["stage"]) == ("pipelined", "forward"))
    (row,) = r.rows("overlap")
    assert row["slowest"] == "forward" and STORE_NS / 64 <= row["drain_ns"] < forward and row["fill_ns"] < 1000
    assert 0.9 < row["efficiency"] < 1 and row["efficiency"] == pytest.approx(16 * forward / (row["extract_ns"] - row["fill_ns"] - row["drain_ns"]))


@not_sanitized
def test_overlap_of_passes_that_were_measured(perfkit):
    """Of each sample, then of the median process: not the quotient of medians. Half of 95 %, in two processes of three."""
    args = ("-d", "null", "-v", "pipelined", "--preset", "smoke", "--invocations", "3", "--min-samples", "3")
    assert perfkit("run", "extraction", *args).status == 0
    series = "(SELECT e.id FROM series e JOIN metric m ON m.id = e.metric_id JOIN slice l ON l.id = e.slice_id WHERE m.name = '%s' AND l.invocation %s)"
    for name, value in (("extract_ns", 1000), ("fill_ns", 30), ("drain_ns", 20), ("bound_ns", 475)):
        query(perfkit, f"UPDATE sample SET value = ? WHERE series_id IN {series % (name, '> 0')}", value)
    query(perfkit, f"UPDATE sample SET value = 950 WHERE series_id IN {series % ('bound_ns', '= 2')}")
    (row,) = perfkit("show", "@", "--format", "json").rows("overlap")
    assert row["efficiency"] == 0.5 and row["efficiency_low"] < 0.5 and row["efficiency_high"] == 1
    assert (row["fill_ns"], row["drain_ns"]) == (30, 20)
    sentences = {r["finding"]: r["sentence"] for r in perfkit("show", "@", "--format", "json").rows("findings")}
    assert re.search(r"is at work for 50.0 % of the time \(25.0 to 100.0\)", sentences["bound"]), sentences
    assert re.search(r"8,000 samples: .* on one host with pipelined; four hosts are [\d.]+ x as fast", sentences["projection"]), sentences


@not_sanitized
def test_warm_up_in_parts(perfkit):
    """Each part is a column, the sum has all but the plan that is there, and what is there costs less than what is made."""
    r = run(perfkit)
    for row in r.rows("warm_up"):
        parts = [row[f"{part}_ns"] for part in ("module", "allocation", "weights", "plan", "first_extra")]
        assert row["module_ns"] > 0 and sum(parts) == row["warm_up_ns"], row
        assert row["plan_warm_ns"] <= row["plan_ns"], row
    assert {v: row["warm_up_ns"] for v, row in by_variant(r, "batches").items()} == {v: row["warm_up_ns"] for v, row in by_variant(r, "warm_up").items()}


def spread(perfkit, factor):
    """The first and the steady batches of the processes are that far apart."""
    query(perfkit, "UPDATE slice SET notes = json_set(notes, '$.extraction.steady_ns', 1000000 * (1 + ? * (invocation - 2)) * "
          "(SELECT 1 + (variant = 'sequential') FROM run_case c WHERE c.id = case_id))", factor)
    return perfkit("show", "@", "--format", "json")


@not_sanitized
def test_differences_have_intervals_of_processes(perfkit):
    assert perfkit("run", "extraction", "-d", "null", "-v", "sequential,pipelined", "--preset", "smoke", "--invocations", "3").status == 0
    widths = []
    for factor, verdict in ((0.001, "faster"), (0.9, "not told apart")):
        r = spread(perfkit, factor)
        row = next(row for row in r.rows("projection") if row["variant"] == "pipelined" and row["hosts"] == 1)
        assert row["saved_low_ns"] <= row["saved_ns"] <= row["saved_high_ns"] and row["projected_low_ns"] <= row["projected_ns"] <= row["projected_high_ns"]
        assert row["verdict"] == verdict, row
        widths.append(row["saved_high_ns"] - row["saved_low_ns"])
        batch = by_variant(r, "batches")["pipelined"]
        assert batch["first_steady_low"] <= batch["first_steady"] <= batch["first_steady_high"], batch
    assert widths[1] > 10 * widths[0] > 0
    query(perfkit, "DELETE FROM slice WHERE invocation = 3")
    r = perfkit("show", "@", "--format", "json")
    assert all(row[key] is None for row in r.rows("projection") for key in ("saved_low_ns", "saved_high_ns", "verdict"))
    assert all(row["first_steady_low"] is None for row in r.rows("batches")) and "they need three (--invocations 3)" in r.stdout


# --- the report ---

def test_the_reports_numbers(perfkit):
    """Steady batches of 0.075 s: 171.8 s for 8,000 samples and 59.3 s on four hosts, which is 2.90 x and not 4 x."""
    r = run(perfkit, "--peer", REPORT, "--python", sys.executable, "-f", "variant!=sequential|replanned|pipelined", *SEED)
    (batches,) = r.rows("batches")
    assert batches["first_ns"] == 21.85e9 and batches["steady_ns"] == 0.075e9
    one, four = r.rows("projection")
    assert round(one["projected_ns"] / 1e9, 1) == 171.8 and round(four["projected_ns"] / 1e9, 1) == 59.3
    assert (one["host_batches"], four["host_batches"]) == (2000, 500) and round(four["against_one"], 2) == 2.90
    (row,) = r.rows("throughput")
    assert round(row["steady_per_s"], 1) == 53.3 and row["samples_per_s"] == pytest.approx(9 / 22)


# --- beside PyTorch ---

@pytest.mark.parametrize("times, invocations, ten, verdict", [((30, 30.3, 29.8), 3, "shown", "faster"), ((10, 40, 17), 3, "not shown", None),
                                                              ((8, 8.1, 7.9), 3, "no", "faster"), ((30,), 1, "not shown", None)])
@not_sanitized
def test_ten_times_is_shown_by_the_whole_interval_alone(perfkit, tmp_path, times, invocations, ten, verdict):
    """A peer's passes in ms; one of pipelined takes 1.66 ms on this clock."""
    peer, left = tmp_path / "peer.py", tmp_path / "left"
    text = pathlib.Path(REPORT).read_text()
    peer.write_text(text.replace('say("hello"', f'left = json.load(open({str(left)!r}))\njson.dump(left[1:], open({str(left)!r}, "w"))\nsay("hello"', 1)
                    .replace("[22_000_000_000], [22_000_000_000]", "[left[0]], [left[0]]"))
    pipelined = by_variant(run(perfkit, "-v", "pipelined"), "comparison")["pipelined"]["extract_ns"]
    left.write_text(json.dumps([int(t * pipelined) for t in times]))
    r = run(perfkit, "-v", "pipelined", "--peer", peer, "--python", sys.executable, "--invocations", str(invocations))
    (row,) = r.rows("peers")
    assert row["variant"] == str(peer) and row["pipelined_ns"] == pipelined and row["speedup"] == pytest.approx(sorted(times)[len(times) // 2], 1e-6)
    assert (row["ten_times"], row["verdict"] if verdict else None) == (ten, verdict), row
    assert (row["speedup_low"] is None) == (invocations == 1)


# --- on the CPU ---

@not_sanitized
def test_every_variant_is_measured_and_checked(measured, perfkit):
    query(perfkit, "UPDATE ceiling SET device = 'cpu 2 threads' WHERE device = 'cpu'")  # measuring them would take most of its time
    r = run(perfkit, "--dtype", "fp32,bf16", "--samples", "9", "--threads", "2", device="cpu")
    assert [check for (check,) in query(perfkit, "SELECT notes ->> '$.check' FROM slice WHERE pass = 'timing'")] == 6 * ["passed"]
    assert all(("zstd-huffman after exponent" if HAS_ZSTD else "none after exponent") in row["setting"] for row in r.rows("plans"))
    layers = r.rows("verification")
    assert [row["layer"] for row in layers] == [1, 2, 3, 1, 2, 3]
    for row in layers:
        assert row["samples"] == 9 and (1.1 < row["raw_per_stored"] < row["bound"] * 1.02 or not HAS_ZSTD), row
    if HAS_ZSTD:
        (stored,) = [row["sentence"] for row in r.rows("findings") if row["finding"] == "stored"]
        of_bound = 100 * layers[0]["raw_per_stored"] / (sum(row["bound"] for row in layers[:3]) / 3)
        assert f"{of_bound:.1f} % of what the entropy of their exponents allows" in stored, stored
    stages = {row["stage"] for row in r.rows("stages")}
    assert stages == {"forward", "gather (in forward)", "plan", "d2h", "checksum, filter, compress", "write, sync"}


# --- a folder ---

def manifests(folder):
    """By the configuration's hash, which names its subfolder."""
    found = {f.parent.name: json.loads(f.read_text()) for f in folder.glob("*/manifest.json")}
    assert all(m["hash"] == name for name, m in found.items())
    return found


def samples_of(folder):
    (m,) = manifests(folder).values()
    return sum(s["samples"] for s in m["shards"])


def contents(folder):
    return {f.name: f.read_bytes() for f in sorted(folder.glob("*/*.safetensors"))}


@not_sanitized
def test_a_folder_is_complete_and_untouched(measured, perfkit, tmp_path):
    folder = tmp_path / "out"
    run(perfkit, "-v", "pipelined", "-a", f"sink={folder}", *SHORT, device="cpu")
    assert samples_of(folder) == 61 and not list(folder.glob("*/timing"))
    before = contents(folder)
    run(perfkit, "-v", "sequential,pipelined", "-a", f"sink={folder}", *SHORT, device="cpu")
    assert contents(folder) == before


@not_sanitized
def test_files_of_others_stay(measured, perfkit, tmp_path):
    """Beside what timed passes write, and where a link leads."""
    folder, mine = tmp_path / "out", tmp_path / "mine"
    args = ("-v", "pipelined", "--samples", "9", "-a", f"sink={folder}", *SHORT)
    run(perfkit, *args, device="cpu")
    (timing,) = [f / "timing" for f in folder.iterdir()]
    timing.mkdir()
    (timing / "thesis.txt").write_text("mine")
    (timing / ".manifest.json.tmp").write_text("of a killed process")
    run(perfkit, *args, device="cpu")
    assert [f.name for f in timing.iterdir()] == ["thesis.txt"]
    timing.rename(mine)
    (mine / "manifest.json").write_text("mine too")
    timing.symlink_to(mine)
    r = perfkit("run", "extraction", "--preset", "smoke", "-d", "cpu", "--invocations", "1", *args)
    assert r.status == 1 and "timing is not a folder" in str(r), r
    assert sorted(f.name for f in mine.iterdir()) == ["manifest.json", "thesis.txt"] and timing.is_symlink()


def test_each_configuration_has_a_subfolder(measured, perfkit, tmp_path):
    """The presets have two types; one folder takes both, and one verification checks both."""
    folder = tmp_path / "out"
    run(perfkit, "-v", "pipelined", "-a", f"sink={folder}", "-a", "dtype=fp32,bf16", "--samples", "9", device="cpu")
    types = {name: m["config"]["dtype"] for name, m in manifests(folder).items()}
    assert sorted(types.values()) == ["BF16", "F32"]
    r = perfkit("verify", folder, "--format", "json")
    assert r.status == 0 and {row["folder"] for row in r.rows("layers")} == {f"{folder}/{name}" for name in types}
    assert [row["samples"] for row in r.rows("layers")] == 6 * [9]
    broken = next(folder.glob("*/*.safetensors"))
    broken.write_bytes(broken.read_bytes()[:-1])
    r = perfkit("verify", folder, "--format", "json")
    assert r.status != 0 and [row["folder"] for row in r.rows("broken")] == [str(broken.parent)], r
    assert len({row["folder"] for row in r.rows("layers")}) == 2


@not_sanitized
def test_beside_a_configuration_that_is_not_complete_no_other_begins(measured, perfkit, tmp_path):
    """What continues with other options by mistake is no second extraction."""
    args = ("-v", "pipelined", "-a", f"sink={tmp_path}/out", *SHORT)
    run(perfkit, *args, "-a", "codec=none", "--samples", "20", device="cpu")
    (file,) = (tmp_path / "out").glob("*/manifest.json")
    m = json.loads(file.read_text())
    (file.parent / m["shards"].pop()["file"]).unlink()
    file.write_text(json.dumps(m))
    for others, word in ((("--codec", "lz4", "--samples", "20"), 'codec is "none" there and "lz4" here'), (("--codec", "none", "--samples", "5"), "samples"),
                       (("--codec", "none", "--d-ff", "392", "--samples", "20"), "d_ff")):
        r = perfkit("run", "extraction", "-d", "cpu", *ONE, *args, *others)
        assert r.status == 1 and "shards of another configuration" in r.stderr and "16 of 20 samples" in r.stderr and word in r.stderr, r
    run(perfkit, *args, "-a", "codec=none", "--samples", "20", device="cpu")
    assert samples_of(tmp_path / "out") == 20
    run(perfkit, *args, "-a", "codec=none", "--samples", "5", device="cpu")
    assert len(manifests(tmp_path / "out")) == 2


def test_the_subfolder_itself_is_of_one_configuration(measured, perfkit, tmp_path):
    run(perfkit, "-v", "pipelined", "-a", f"sink={tmp_path}/out", "-a", "codec=none", "--samples", "4", device="cpu")
    (file,) = (tmp_path / "out").glob("*/manifest.json")
    r = perfkit("run", "extraction", "-d", "cpu", *ONE, "-v", "pipelined", "-a", f"sink={file.parent}", "-a", "codec=none", "--samples", "5")
    assert r.status == 1 and "shards of another configuration" in r.stderr and "samples" in r.stderr, r


@pytest.mark.parametrize("args, words", [
    (("-a", "extract_to=4"), ("layers 1 to 4 of a model of 4 layers", "extract_to=3")),
    (("-a", "extract_from=3", "-a", "extract_to=2"), ("no layer is chosen", "extract_from <= extract_to < 4")),
    (("--kv-heads", "3"), ("4 heads cannot share 3 heads of keys and values", "kv_heads=2")),
    (("--batch", "60000", "--seq-len", "100000"), ("do not fit", "9216000000000 bytes", "fewer slots")),
    (("-a", "sink=/etc/passwd"), ("'/etc/passwd' is not a folder", "sink=null")),
    (("-a", "codec=zstd-99"), ("codec", "zstd-1")),
])
def test_what_is_refused(perfkit, args, words):
    perfkit("run", "extraction", "-d", "cpu", *ONE, *args).refused(2, *words)


def test_a_folder_that_cannot_be_written(measured, perfkit):
    r = perfkit("run", "extraction", "-d", "cpu", *ONE, "-v", "pipelined", "-a", "sink=/proc/nothing")
    assert r.status == 1 and "/proc/nothing" in r.stderr, r


@not_sanitized
def test_a_shard_that_was_cut_is_no_part_of_a_continued_extraction(measured, perfkit, tmp_path):
    folder, args = tmp_path / "out", ("-v", "pipelined", "-a", f"sink={tmp_path}/out", "-a", "codec=none", *SHORT)
    run(perfkit, *args, device="cpu")
    good, shard = contents(folder), sorted(folder.glob("*/*.safetensors"))[1]
    shard.write_bytes(good[shard.name][:-1])
    r = perfkit("run", "extraction", "-d", "cpu", *ONE, *args, "--samples", "61")
    size = len(good[shard.name])
    assert r.status == 1 and f"{shard} is broken" in r.stderr and f"it has {size - 1} bytes, and the manifest says {size}" in r.stderr and "remove the file" in r.stderr, r
    shard.unlink()
    run(perfkit, *args, device="cpu")
    assert contents(folder) == good


def kill_at(perfkit, folder, after, args):
    """Starts it, and kills all of it after a time."""
    p = perfkit.start("run", "extraction", "-d", "cpu", *ONE, "-v", "pipelined", "-a", f"sink={folder}", *args, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(p.pid, signal.SIGKILL)
    p.wait()


@not_sanitized
def test_kills_leave_no_broken_shard_and_the_next_run_continues(measured, perfkit, tmp_path):
    """Every shard that the manifest lists has the bytes of an extraction that nobody ended."""
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    args = ("--samples", "96", "-a", "codec=zlib-6")
    run(perfkit, "-v", "pipelined", "-a", f"sink={whole}", *args, device="cpu")
    good, rng, seen = contents(whole), random.Random(1), set()
    for _ in range(KILLS):
        kill_at(perfkit, folder, rng.uniform(0.1, 0.5), args)
        for name, m in manifests(folder).items():
            seen.add(samples_of(folder))
            for shard in m["shards"]:
                assert (folder / name / shard["file"]).read_bytes() == good[shard["file"]], shard
    run(perfkit, "-v", "pipelined", "-a", f"sink={folder}", *args, device="cpu")
    (note,) = query(perfkit, "SELECT notes ->> '$.extraction.resumed_from' FROM slice WHERE pass = 'timing' ORDER BY id DESC LIMIT 1")[0]
    assert note == max(seen, default=0)
    assert contents(folder) == good and samples_of(folder) == 96


FULL = """mount -t tmpfs -o size=3m none "$1" || exit 99
shift
"$@" >/dev/null; echo "status $?"
find "$0" -name '.*' | wc -l
"$1" verify "$0" --format json >/dev/null; echo "status $?"
mount -o remount,size=30m "$0" && "$@" >/dev/null; echo "status $?"
"$1" verify "$0" --format json
"""


@not_sanitized
def test_a_full_disk(measured, perfkit, tmp_path):
    """The message names the disk, what is there is whole, and with room the same command continues."""
    folder = tmp_path / "out"
    folder.mkdir()
    args = ("run", "extraction", "-d", "cpu", *ONE, "-v", "pipelined", "-a", f"sink={folder}", "-a", "codec=none", "--samples", "61")
    p = subprocess.run(["unshare", "-rm", "sh", "-c", FULL, folder, folder, BINARY, *args], capture_output=True, text=True, check=False,
                       env=perfkit.environment(), cwd=perfkit.cwd, timeout=120)
    if p.returncode == 99 or "unshare" in p.stderr:
        pytest.skip("this user may not mount a tmpfs")
    lines = p.stdout.split("\n", 5)
    assert lines[:4] == ["status 1", "0", "status 0", "status 0"], p
    assert "No space left on device" in p.stderr and "free space, or choose another folder" in p.stderr, p.stderr
    assert [row["samples"] for row in json.loads("\n".join(lines[4:]))["tables"]["layers"]["rows"]] == 3 * [61]
    (note,) = query(perfkit, "SELECT notes ->> '$.extraction.resumed_from' FROM slice WHERE status = 'ok' AND pass = 'timing'")[0]
    assert 0 < note < 61 and note % 16 == 0


@real
def test_two_ranks_extract_a_part_each(measured, perfkit, tmp_path):
    """Whole batches each; both parts together are what one process extracts. Every process runs the check points, which are of one rank."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    args = ("-v", "pipelined", "-a", "codec=none", "-a", "byte_filter=none", "--samples", "9")
    run(perfkit, *args, "-a", f"sink={whole}", device="cpu")
    r = run(perfkit, *args, "-a", f"sink={parts}", "--ranks", "2", device="cpu")
    assert by_variant(r, "throughput")["pipelined"]["real_samples"] == 9
    samples = [m["config"]["samples"] for k in (0, 1) for m in manifests(parts / f"rank-{k}").values()]
    assert samples == [4, 5]
    rows = perfkit("verify", parts, "--format", "json").rows("layers")
    assert sorted((row["layer"], row["samples"]) for row in rows) == sorted((layer, n) for layer in (1, 2, 3) for n in samples)
    assert data(whole) == [a + b for a, b in zip(data(parts / "rank-0"), data(parts / "rank-1"))]


def data(folder):
    """The bytes of each layer in plain shards."""
    layers = {}
    for f in sorted(folder.glob("*/*.safetensors")):
        raw = f.read_bytes()
        end = 8 + int.from_bytes(raw[:8], "little")
        for name, t in json.loads(raw[8:end]).items():
            if name != "__metadata__":
                begin, stop = t["data_offsets"]
                layers[name] = layers.get(name, b"") + raw[end + begin:end + stop]
    return [layers[name] for name in sorted(layers)]


def peers(perfkit, *args):
    return run(perfkit, "-v", "pipelined", "--peer", "torch-eager", "--peer", "torch-sdpa", "--python", sys.executable, "--samples", "9", *args, device="cpu")


@not_sanitized
@pytest.mark.skipif(HAS_TORCH, reason="torch is installed here")
def test_without_torch_the_peers_say_so(measured, perfkit):
    peers(perfkit)
    rows = query(perfkit, "SELECT variant, s.status, s.message FROM slice s JOIN run_case c ON c.id = s.case_id WHERE variant LIKE 'torch-%'")
    assert sorted(row[0] for row in rows) == ["torch-eager", "torch-sdpa"]
    assert all(status == "skipped" and "torch is not installed for this Python" in message for _, status, message in rows)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_the_peers_extract_the_same(measured, perfkit, tmp_path):
    """The hidden states in both peers' files are perfkit's."""
    import gzip
    import pickle
    import numpy as np
    folder = tmp_path / "out"
    r = peers(perfkit, "-a", f"sink={folder}", "-a", "codec=none", "-a", "byte_filter=none")
    rows = by_variant(r, "batches")
    assert {"pipelined", "torch-eager", "torch-sdpa"} == set(rows) and all(row["steady_ns"] > 0 for row in rows.values())
    assert {row["raw_bytes_per_s"] > 0 for row in r.rows("throughput")} == {True}
    ours = [np.frombuffer(x, "<f4") for x in data(folder)]
    with gzip.open(folder / "torch-eager" / "fp32" / "shard_0001.pkl.gz") as f:
        hooks = pickle.load(f)
    raw = (folder / "torch-sdpa" / "fp32" / "shard_0001.safetensors").read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    states = [np.frombuffer(raw[end + t["data_offsets"][0]:end + t["data_offsets"][1]], "<f4") for _, t in sorted(json.loads(raw[8:end]).items())]
    for a, layer, b in zip(ours, (1, 2, 3), states):
        assert np.abs(a - hooks[layer].ravel()).max() < 1e-4 and np.abs(a - b).max() < 1e-4
