"""`run ddp-bucket` through the front door: exact on the null device, the model's choice, what is refused."""
import math

import pytest

FEW = ("--min-samples", "2", "--min-time", "1ms", "--max-time", "5ms", "--invocations", "1")
WAYS = ["none", "naive", "coalesced", "flat", "overlap", "bucket"]
TENSORS, BYTES = 39, 37266432  # of the model tiny, fp32


def run(perfkit, *args, **kw):
    r = perfkit("run", "ddp-bucket", "-d", "null", *FEW, *args, "--format", "json", **kw)
    assert r.status == 0, r
    return r


def by_way(r):
    return {row["variant"]: row for row in r.rows("methods")}


def link_ns(calls, bytes_, ranks=2, latency_us=20, bytes_per_s=10e9):
    return calls * latency_us * 1e3 + bytes_ * 2 * (ranks - 1) / ranks / bytes_per_s * 1e9


@pytest.mark.parametrize("ranks", [2, 8])
def test_what_is_not_hidden_is_the_link_to_the_nanosecond(perfkit, ranks):
    rows = by_way(run(perfkit, "--compute-ms", "30", "--ranks", ranks, "--bucket-bytes", "1GB"))
    assert list(rows) == WAYS
    for way, calls in (("naive", TENSORS), ("coalesced", 1), ("flat", 1), ("bucket", 1)):
        expected = link_ns(calls, BYTES, ranks)
        for figure in ("comm_ns", "exposed_ns"):
            assert rows[way][figure] == pytest.approx(expected, abs=calls), way  # whole ns each
        assert rows[way]["total_ns"] == pytest.approx(30e6 + expected, abs=calls)
    assert rows["none"]["total_ns"] == 30e6 and rows["none"]["comm_ns"] == 0
    assert rows["overlap"]["exposed_ns"] < rows["naive"]["exposed_ns"]
    assert rows["naive"]["total_speedup"] == 1 and rows["flat"]["comm_speedup"] > 1


def test_buckets_are_counted(perfkit):
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "1MB,12MB", "--first-bucket-bytes", "0,1MB")
    rows = {(b["bucket_bytes"], b["first_bucket_bytes"]): b for b in r.rows("buckets")}
    for b in rows.values():
        assert b["mean_bucket_bytes"] * b["buckets"] == pytest.approx(BYTES, rel=1e-5)
        assert b["least_bucket_bytes"] <= b["mean_bucket_bytes"] <= b["most_bucket_bytes"]
    assert rows[1e6, None]["oversize"] == 2 + 4 * 3  # head, embedding, and the wide matrices of four layers
    assert rows[12e6, None]["oversize"] == 0 and rows[12e6, None]["most_bucket_bytes"] <= 12e6
    assert rows[12e6, 1e6]["oversize"] == 1  # the head, in the first bucket


def test_the_fit_finds_the_link(perfkit):
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "64KiB:16MiB:*4", "--compute-ms", "4", "--ranks", "8")
    (link,) = r.rows("link")
    assert link["launch_ns"] == pytest.approx(20e3, rel=0.001)
    assert link["link_bytes_per_s"] == pytest.approx(10e9 * 8 / 14, rel=0.001)
    assert link["produced_bytes_per_s"] == pytest.approx(BYTES / (4e-3 * 2 / 3), rel=0.001)
    for b in r.rows("buckets"):
        assert b["bus_bytes_per_s"] == pytest.approx(b["algorithm_bytes_per_s"] * 2 * 7 / 8)


@pytest.mark.parametrize("compute_ms, regime", [(4, "communication-bound"), (60, "compute-bound")])
def test_the_models_choice(perfkit, compute_ms, regime):
    """Tensors of one size and every size of bucket: the model's is the best, or as good."""
    (perfkit.cwd / "even").write_text("".join(f"t{i} 65536\n" for i in range(256)))
    r = run(perfkit, "-v", "bucket", "--tensors", "even", "--bucket-bytes", "256KiB:64MiB:*2", "--compute-ms", compute_ms)
    (link,) = r.rows("link")
    choice = {row["choice"]: row for row in r.rows("choice")}
    s, o, w, g = 256 * 65536 * 4, 20e-6, 10e9, 256 * 65536 * 4 / (compute_ms * 1e-3 * 2 / 3)
    general = min(math.sqrt(s * o * g), o / (1 / g - 1 / w) if g < w else math.inf, s)
    assert link["regime"] == regime
    assert choice["model"]["chosen_bytes"] == pytest.approx(general, rel=0.01)
    assert choice["formula of reports"]["chosen_bytes"] == pytest.approx(math.sqrt(s * o * w), rel=0.01)
    assert choice["best measured"]["regret_ns"] == 0
    assert choice["model"]["regret"] <= 0.05
    if regime == "compute-bound":
        assert choice["formula of reports"]["regret_ns"] > choice["model"]["regret_ns"]


def test_show_prints_it_again(perfkit):
    r = run(perfkit, "--compute-ms", "4", "--bucket-bytes", "1MB,2MB,4MB", "--link-jitter", "0.1")
    again = perfkit("show", "--format", "json")
    assert r.json()["tables"].keys() >= {"methods", "ranges", "buckets", "link", "choice"}
    for table in ("methods", "ranges", "buckets", "link", "choice"):
        assert r.rows(table) == again.rows(table)
    assert "jitter 0.1" in r.rows("methods")[0]["setting"]
    assert {row["range"] for row in r.rows("ranges")} >= {
        "Backward Pass (compute only)", "All-Reduce Gradients (sequential)", "Backward Pass (with async comm)",
        "Backward Pass (buckets overlap)"}


def test_buckets_that_make_no_sense_are_warned_about(perfkit):
    (perfkit.cwd / "two").write_text("a 1000\nb 2000\n")
    r = run(perfkit, "-v", "bucket", "--tensors", "two", "--bucket-bytes", "100,1MB", "--compute-ms", "0.1")
    assert "bucket_bytes 100 is smaller than every tensor" in r.stderr
    assert "bucket_bytes 1MB is larger than the model" in r.stderr
    assert [b["buckets"] for b in r.rows("buckets")] == [2, 1]


def test_bad_input(perfkit):
    (perfkit.cwd / "bad").write_text("a 10\nb ten\n")
    perfkit("run", "ddp-bucket", "-d", "null", "--tensors", "bad").refused(2, "bad:2: 'b ten'", "a name and an integer", "layers.0.query")
    perfkit("run", "ddp-bucket", "-d", "null", "--tensors", "nowhere").refused(2, "nowhere")
    perfkit("run", "ddp-bucket", "-d", "null", "--ranks", "0").refused(2, "ranks")
    perfkit("run", "ddp-bucket", "-d", "null", "--link-bytes-per-s", "0").refused(2, "link_bytes_per_s")
    perfkit("run", "ddp-bucket", "-d", "null", "--model", "medium").refused(2, "medium", "tiny, small, large")
