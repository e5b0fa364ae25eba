"""`run batch-scaling` and `make-tokens` through the front door: exact counts, the report's own numbers, ranks, files of strangers."""
import importlib.util
import json
import os
import pathlib
import shutil
import struct
import sys

import pytest
from conftest import BINARY, not_sanitized
from stored import query

FOUND = importlib.util.find_spec("torch")
HAS_TORCH = FOUND is not None and FOUND.origin is not None
HERE = pathlib.Path(__file__).parent
SEED = HERE / "seed_report.py"
SHORT = ("--min-samples", "2", "--max-samples", "2", "--min-time", "1ms", "--max-time", "2ms", "--invocations", "1")
TINY = ("--layers", "1", "--d-model", "16", "--heads", "2", "--d-ff", "16", "--vocab", "64", "--seq-len", "8")
PARTS = ("data", "h2d", "forward", "loss", "backward", "all_reduce", "optimizer", "wait")
real = pytest.mark.skipif(not (pathlib.Path(BINARY).parent / "perfkit-mpi.so").exists() or not shutil.which("mpiexec")
                          or "PERFKIT_SANITIZED" in os.environ, reason="needs an MPI, and no sanitizer")


def run(perfkit, *args, device="null", **kw):
    r = perfkit("run", "batch-scaling", "-d", device, *SHORT, *TINY, *args, "--format", "json", **kw)
    assert r.status == 0, r
    return r


def regions(r):
    """{setting: {batch: {region: row}}}; unaccounted ones by their parent."""
    found = {}
    for row in r.rows("regions"):
        name = row["region"].strip()
        of = found.setdefault((row["setting"], row["batch"]), {})
        of["rest of " + row["parent"] if name == "unaccounted" else name] = row
    return found


# --- counts ---

@not_sanitized
@pytest.mark.parametrize("sync", ["last", "every"])
def test_counts_of_an_epoch(perfkit, sync):
    r = run(perfkit, "--samples", "46", "--batch", "1,2,4", "--global-batch", "16", "--ranks", "2", "--transport", "link", "--sync", sync,
            "--bucket-bytes", "4KiB", "--validation", "0.25")
    elements = 4 * 1024 // 4
    for (_, batch), of in regions(r).items():
        steps, windows = -(-46 // (2 * batch)), -(-46 // 16)
        for part in ("data", "h2d", "forward", "loss", "backward"):
            assert of[part]["count"] == steps
        assert of["optimizer"]["count"] == windows
        assert of["all_reduce"]["count"] == (windows if sync == "last" else steps)
    for row in r.rows("derived"):
        steps, windows = -(-46 // (2 * row["batch"])), -(-46 // 16)
        assert row["micro_steps"] == steps and row["optimizer_steps"] == windows
        assert row["all_reduces"] % (windows if sync == "last" else steps) == 0
        assert row["all_reduces"] // (windows if sync == "last" else steps) == len_of_buckets(elements)
    for row in r.rows("summary"):
        assert row["micro_steps"] * row["batch"] * 2 * 8 == 46 * 8 + row["padding_tokens"]
        assert row["accum"] == 16 // (2 * row["batch"])


def len_of_buckets(elements, width=16, ff=16, vocab=64):
    """The flat array of gradients: q k v and gate up are adjacent, everything else begins at a multiple of 64 elements."""
    groups = [vocab * width, width, 3 * width * width, width * width, width, 2 * ff * width, width * ff, width, vocab * width]
    return -(-sum(-(-n // 64) * 64 for n in groups) // elements)


@not_sanitized
def test_children_are_at_most_their_parent(perfkit):
    r = run(perfkit, "--samples", "30", "--batch", "1,4", "--global-batch", "8")
    for of in regions(r).values():
        for clock in ("device_ns", "host_ns"):
            for parent, children in (("training", PARTS), ("epoch", ("training", "validation")), ("total", ("init", "epoch")),
                                     ("init", ("init_load", "init_device", "init_comm", "init_weights", "init_first_step"))):
                rest = of["rest of " + parent][clock]
                assert rest >= 0
                assert sum(of[c][clock] for c in children) + rest == pytest.approx(of[parent][clock], abs=0.5)  # to the nanosecond
        assert of["init_load"]["device_ns"] == 0  # the clock is simulated


@not_sanitized
def test_an_epoch_is_its_steps_to_the_nanosecond(perfkit):
    """Whatever its length: times of one window, as often as there are windows, and the link as its formula says."""
    args = ("--batch", "2", "--global-batch", "16", "--ranks", "4", "--transport", "link", "--validation", "0", "-v", "compiled,overlapped")
    one, ten = (regions(run(perfkit, *args, "--samples", n)) for n in (32, 320))
    for (few, many) in zip(one.values(), ten.values()):
        link = 20e3 + 4 * 64 * sum(-(-n // 64) for n in (1024, 16, 768, 256, 16, 512, 256, 16, 1024)) * 2 * 3 / 4 / 10e9 * 1e9
        for part in ("forward", "loss", "backward", "optimizer", "all_reduce", "h2d"):
            # the first micro-step of a window overwrites, the others add
            assert many[part]["device_ns"] == 10 * few[part]["device_ns"], part
        assert many["training"]["device_ns"] == 10 * few["training"]["device_ns"]
        assert few["all_reduce"]["device_ns"] / few["all_reduce"]["count"] == pytest.approx(link, abs=1)
        assert few["training"]["device_ns"] == sum(few[part]["device_ns"] for part in PARTS)


@not_sanitized
def test_drop_last(perfkit):
    kept, dropped = (run(perfkit, "-v", "eager", "--samples", "46", "--batch", "4", "--global-batch", "16", "--drop-last", v) for v in ("off", "on"))
    (kept,), (dropped,) = kept.rows("summary"), dropped.rows("summary")
    assert (kept["micro_steps"], dropped["micro_steps"]) == (6, 5)
    assert kept["padding_tokens"] == 2 * 8 and dropped["padding_tokens"] == 0


def test_a_dry_run_has_the_counts(perfkit):
    r = perfkit("run", "batch-scaling", "-d", "null", "--dry-run", "--samples", "46", "--batch", "4", "--format", "json")
    assert r.status == 0, r
    assert all(row["micro_steps"] == 6 for row in r.rows("plan"))


def test_presets_are_planned(perfkit):
    """`seed` is the report's: its model, ranks, batch sizes and accumulation, and a tenth of its 56,832 samples."""
    plans = {}
    for preset in ("quick", "smoke", "seed"):
        r = perfkit("run", "batch-scaling", "--preset", preset, "-d", "null", "--dry-run", "--format", "json")
        assert r.status == 0, r
        plans[preset] = {name: [row for row in r.rows("plan") if row["variant"] == name] for name in ("eager", "compiled", "overlapped")}
        assert all(rows and row["status"] == "measured" for rows in plans[preset].values() for row in rows), preset
    for rows in plans["seed"].values():
        assert [(row["axes"]["batch"], row["accum"], row["micro_steps"], row["optimizer_steps"]) for row in rows] \
            == [(n, 1024 // n, -(-5683 // n), 6) for n in (16, 32, 64, 128, 256, 512, 1024)]
        assert all([row["axes"][a] for a in ("ranks", "layers", "d_model", "vocab", "seq_len")] == [4, 12, 768, 10000, 256] for row in rows)
    assert [row["axes"]["batch"] for row in plans["quick"]["eager"]] == [1, 2, 4, 8, 16, 32]


@not_sanitized
def test_declared_work_of_the_loss_is_its_own(perfkit):
    """As many full micro-steps in validation as in training: its work, which is forward and loss, is the sum of theirs."""
    run(perfkit, "--samples", "16", "--batch", "4", "--global-batch", "16", "--validation", "1", "-v", "eager,compiled", "--transport", "self")
    rows = query(perfkit, "SELECT c.variant, w.metric, w.flops, w.bytes, w.exps FROM v_work w JOIN v_case c USING (case_id) WHERE w.predicted IS NULL")
    work = {(variant, metric): amounts for variant, metric, *amounts in rows}
    for variant in ("eager", "compiled"):
        forward, loss, both = (work[variant, region + "_ns"] for region in ("forward", "loss", "validation"))
        assert [f + l for f, l in zip(forward, loss)] == pytest.approx(both)
        # an exponential of every logit, of 4 micro-steps of 4 x 8 tokens and a vocabulary of 64, and no product
        assert loss[2] >= 4 * 4 * 8 * 64 and loss[0] == 0 < forward[0] and loss[1] > 0


# --- losses ---

def note_losses(perfkit):
    rows = query(perfkit, "SELECT c.variant, c.axes ->> 'batch', s.notes ->> '$.losses', s.notes ->> '$.check' FROM v_case c JOIN v_slice s USING (case_id) "
                 "WHERE s.invocation = 1 AND s.pass = 'timing' AND c.run_id = (SELECT max(run_id) FROM v_run)")
    return {(variant, batch): (json.loads(of), check) for variant, batch, of, check in rows}


@not_sanitized
def test_losses_do_not_depend_on_the_batch_size(measured, perfkit):
    perfkit("run", "batch-scaling", "-d", "cpu", *SHORT, *TINY, "--samples", "70", "--batch", "1,4,16", "--global-batch", "16", "--transport", "self", "--format", "json")
    found = note_losses(perfkit)
    assert len(found) == 9 and all(check == "passed" for _, check in found.values())
    first, _ = found["eager", 16]
    assert len(first) == 5 and first[-1] < first[0] + 0.5
    for of, _ in found.values():
        assert of == pytest.approx(first, rel=1e-4)
        assert of[0] == pytest.approx(first[0], rel=1e-5)


@real
def test_ranks_with_unequal_last_windows(measured, perfkit):
    """Rank 1 has nothing in the last micro-step, and one sample less before."""
    r = perfkit("run", "batch-scaling", "-d", "cpu", *SHORT, *TINY, "--samples", "9", "--batch", "2", "--global-batch", "8", "--ranks", "2", "--transport", "mpi",
                 "--sync", "last,every", "-v", "eager,overlapped", "--format", "json")
    assert len(r.rows("summary")) == 4
    assert all(check == "passed" for _, check in note_losses(perfkit).values())


# --- the report ---

def report(perfkit, *args, **kw):
    r = perfkit("run", "batch-scaling", "-d", "null", "--peer", SEED, "-f", "variant!=eager|compiled|overlapped", *TINY, "--batch", "16:1024:*2", "--global-batch", "1024", "--batch-of", "all",
                "--ranks", "4", "--transport", "link", "--samples", "56832", *args, "--format", "json", **kw)
    assert r.status == 0, r
    return r


@not_sanitized
def test_the_reports_numbers(perfkit):
    r = report(perfkit, "--invocations", "1")
    rows = r.rows("derived")
    assert [row["batch"] for row in rows] == [16, 32, 64, 128, 256, 512, 1024]
    assert [row["micro_steps"] for row in rows] == [3552, 1774, 888, 444, 222, 111, 55]
    assert [round(100 * row["unaccounted"], 1) for row in rows] == [29.9, 31.1, 33.4, 44.1, 41.9, 40.8, 41.8]
    assert [round(row["init_ns"] / 1e9, 2) for row in rows] == [45.96, 45.99, 45.10, 44.52, 47.73, 47.69, 66.39]
    assert [round(row["typical_total_ns"] / 1e9, 1) for row in rows] == [314.0, 184.9, 119.8, 96.7, 88.1, 84.7, 82.4]
    assert [round(100 * row["efficiency"], 1) for row in rows] == [100, 96.7, 92.8, 67.9, 41.6, 22.8, 12.1]
    best = {row["rule"]: row["batch"] for row in r.rows("optimum")}
    assert best == {"epoch": 1024, "total": 512, "total with typical init": 1024}
    init = {row["batch"]: row for row in r.rows("init")}
    assert [b for b, row in init.items() if row["verdict"]] == [1024]
    assert round(init[1024]["deviations"], 1) == 9.4
    line, hinge = r.rows("step")
    assert line["shape"] == "line" and round(line["a_ns"] / 1e6, 1) == 47.8 and round(line["b_ns"] / 1e6, 3) == 0.540
    # of whole micro-steps; with "total / mean" of the backward pass in their place it would be 88.60
    assert round(line["r2"], 4) == 0.9975 and round(line["half"], 3) == 88.505
    assert hinge["shape"] == "hinge" and round(hinge["r2"], 5) == 0.9999 and round(hinge["floor_ns"] / 1e6, 3) == 74.290
    assert round(hinge["knee"], 2) == 72.41 and round(hinge["half"], 2) == 66.49
    assert line["half_low"] is hinge["knee_low"] is hinge["half_low"] is None


@not_sanitized
def test_what_the_report_printed_is_seen_at_120_columns(perfkit):
    """Batch size, steps, times, and of the parts both the time of an epoch and that of a micro-step."""
    report(perfkit, "--invocations", "1")
    lines = perfkit("show", "@", "--table", "summary", "--width", "120").stdout.splitlines()
    rows = {cells[0]: cells[1:] for line in lines if (cells := line.split()) and cells[0] in ("16", "1024")}
    assert max(map(len, lines)) <= 120
    assert rows["16"][-7:] == ["111.54", "31.402", "1.78", "0.500", "64.65", "18.200", "2090"]  # loss and forward of training alone
    assert rows["16"][:4] == ["64", "3552", "314.00", "268.04"] and rows["1024"][:4] == ["1", "55", "102.82", "36.43"]


@not_sanitized
def test_a_process_that_starts_late_is_named(perfkit):
    r = report(perfkit, "--invocations", "6", env={"SEED_REPORT": "late"})
    late = {row["batch"]: row["verdict"] for row in r.rows("init")}
    assert late[64] == "outlier" and late[32] is None
    text = perfkit("show", "@", "--tables", "all").stdout
    assert "batch size 64, process 3: 65.13 s" in " ".join(text.split())
    assert all(row["low_ns"] is not None for row in r.rows("optimum"))
    assert "by total 512 is best, with typical init 1024" in " ".join(text.split())


@not_sanitized
def test_what_is_tied_decides_nothing(perfkit):
    r = report(perfkit, "--invocations", "6", env={"SEED_REPORT": "unsteady"})
    best = {row["rule"]: row for row in r.rows("optimum")}
    assert best["total"]["batch"] == 512 and "1024" in best["total"]["tied"] and best["total with typical init"]["batch"] == 1024
    assert "decides" not in perfkit("show", "@", "--tables", "optimum").stdout


@not_sanitized
def test_intervals_of_a_fit_follow_from_the_processes(perfkit):
    """Training of process i is (1 + f_i) as long: a / b and the knee stay, a floor does not move alone; without a spread an interval is a point."""
    r = report(perfkit, "--invocations", "4", env={"SEED_REPORT": "late"})
    for row in r.rows("step"):
        assert row["half_low"] == pytest.approx(row["half"]) == row["half_high"]
    r = report(perfkit, "--invocations", "4", env={"SEED_REPORT": "floor"})
    line, hinge = r.rows("step")
    # 16, 32 and 64 are on the floor, which is 74.290 ms times 0.99, 1, 1.01 and 1.02; the line does not move
    floors = [74.29007502429148 * (0.99 + 0.01 * i) for i in range(4)]
    knees = [(f - 33.83783783783784) / 0.5586852477477472 for f in floors]
    mean = sum(knees) / 4
    margin = 3.182446305284263 * (sum((k - mean) ** 2 for k in knees) / 3 / 4) ** 0.5
    assert (hinge["knee_high"] - hinge["knee_low"]) / 2 == pytest.approx(margin)
    assert hinge["knee_low"] < hinge["knee"] < hinge["knee_high"] and line["half_low"] < line["half"] < line["half_high"]
    notes = " ".join(perfkit("show", "@", "--tables", "all").stdout.split())
    assert "The intervals follow from the same fit through each process alone" in notes and "No interval" not in notes


# --- PyTorch ---

@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
@pytest.mark.parametrize("ranks", [("--transport", "self"), pytest.param(("--transport", "mpi", "--ranks", "2"), marks=real)])
def test_pytorch_has_the_same_losses(measured, perfkit, ranks):
    """Over 20 optimizer steps, with no_sync (sync=last) and without."""
    r = perfkit("run", "batch-scaling", "-d", "cpu", "--threads", "1", *SHORT, *TINY, "--samples", "320", "--batch", "4", "--global-batch", "16", *ranks, "--sync", "last,every",
                "-v", "compiled", "--peer", "torch-ddp", "--python", sys.executable, "--format", "json", timeout=600)
    assert r.status == 0, r
    rows = query(perfkit, "SELECT c.axes ->> 'sync', c.variant, s.message, s.notes ->> '$.losses' FROM v_case c JOIN v_slice s USING (case_id) WHERE s.pass = 'timing'")
    found = {(sync, variant): json.loads(losses) for sync, variant, message, losses in rows if not message}
    for sync in ("last", "every"):
        ours, theirs = found[sync, "compiled"], found[sync, "torch-ddp"]
        assert len(ours) == len(theirs) == 20
        assert ours == pytest.approx(theirs, rel=1e-5)
    assert {row["variant"] for row in r.rows("variants") if row["micro_step_ns"]} == {"compiled", "torch-ddp"}


def test_virtual_ranks_are_no_ranks_of_pytorch(measured, perfkit):
    r = perfkit("run", "batch-scaling", "-d", "cpu", *SHORT, *TINY, "--samples", "16", "--batch", "4", "--global-batch", "8", "-v", "compiled", "--peer", "torch-ddp",
                "--python", sys.executable, "--format", "json")
    assert r.status == 0, r
    ((status, message),) = query(perfkit, "SELECT s.status, s.message FROM v_case c JOIN v_slice s USING (case_id) WHERE c.variant = 'torch-ddp'")
    assert status == "skipped" and ("--transport mpi" if HAS_TORCH else "torch is not installed") in message


# --- files ---

def test_tokens_of_a_text(measured, perfkit, tmp_path):
    text, out = tmp_path / "a.txt", tmp_path / "a.u16"
    text.write_bytes(bytes(range(60)) * 20)
    r = perfkit("make-tokens", text, "-o", out)
    assert r.status == 0 and "1200 tokens" in r.stderr
    assert out.read_bytes() == struct.pack("<1200H", *(list(range(60)) * 20))
    args = ("--samples", "32", "--batch", "4", "--global-batch", "16", "--validation", "0.25", "-v", "overlapped")
    perfkit("run", "batch-scaling", "-d", "cpu", *SHORT, *TINY, *args, "--tokens", out, "--format", "json")
    (narrow, _), = note_losses(perfkit).values()
    wide = tmp_path / "a.u32"
    assert "1200 tokens of 4 bytes" in perfkit("make-tokens", text, "-o", wide).stderr
    assert wide.read_bytes() == struct.pack("<1200I", *(list(range(60)) * 20))
    perfkit("run", "batch-scaling", "-d", "cpu", *SHORT, *TINY, *args, "--tokens", wide, "--workers", "3", "--format", "json")
    assert next(iter(note_losses(perfkit).values()))[0] == narrow


def test_a_text_is_not_replaced_by_its_tokens(perfkit, tmp_path):
    text, link = tmp_path / "a.txt", tmp_path / "a.u16"
    text.write_text("my thesis")
    link.symlink_to(text)
    for out in (text, link):
        perfkit("make-tokens", text, "-o", out).refused(2, "the text itself", "another file")
    assert text.read_text() == "my thesis" and sorted(p.name for p in tmp_path.glob("a.*")) == ["a.txt", "a.u16"]


def refused_tokens(perfkit, path, *words, args=()):
    perfkit("run", "batch-scaling", "-d", "null", *SHORT, *TINY, "--samples", "8", "--batch", "2", "--global-batch", "4", "--tokens", path, *args).refused(2, *words)


def test_files_of_strangers(perfkit, tmp_path):
    odd, few, high, empty, fifo = (tmp_path / n for n in ("odd.u16", "few.u16", "high.u16", "empty.u16", "fifo.u16"))
    odd.write_bytes(b"\0" * 401)
    few.write_bytes(b"\0" * 20)
    high.write_bytes(struct.pack("<200H", *([1] * 7 + [64] + [1] * 192)))
    empty.write_bytes(b"")
    os.mkfifo(fifo)
    refused_tokens(perfkit, odd, "odd.u16", "whole number of tokens", "401 bytes", "make-tokens")
    refused_tokens(perfkit, few, "few.u16 has 1 samples, not 9", "10 tokens")
    refused_tokens(perfkit, high, "high.u16: token 7, at byte 14, is 64", "tokens 0 to 63", "--vocab")
    refused_tokens(perfkit, empty, "empty.u16")
    refused_tokens(perfkit, fifo, "fifo.u16", "not a regular file")
    refused_tokens(perfkit, tmp_path / "none.u16", "none.u16")
    for path, *words in ((fifo, "not a regular file", "copy its contents"), (empty, "is empty"), (tmp_path, "not a regular file"), (tmp_path / "none", "cannot read")):
        perfkit("make-tokens", path, "-o", tmp_path / "out").refused(2, *words)
        assert not (tmp_path / "out").exists()


def test_bad_input(perfkit):
    def refused(*args, words):
        perfkit("run", "batch-scaling", "-d", "null", *SHORT, *args).refused(2, *words)
    refused("--samples", "1000000", "--batch", "1", words=("micro-steps", "--samples"))
    refused("--heads", "3", "--batch", "1", words=("width of 64",))
    for args, word in ((("--batch", "3"), "do not divide global_batch"), (("--batch", "64"), "exceed global_batch"),
                       (("--batch", "32", "--samples", "3"), "fewer samples"), (("--batch", "1", "--batch-of", "all"), "ranks must divide batch")):
        r = perfkit("run", "batch-scaling", "-d", "null", *SHORT, *TINY, *args, "--dry-run", "--format", "json")
        assert word in r.stdout + r.stderr, r
