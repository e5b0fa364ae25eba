"""`run ddp-bucket` through the front door: exact on the null device, the model's choice, what is refused."""
import math
import re

import pytest
from stored import query

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
    rows = by_way(run(perfkit, "--compute-ms", "30", "--transport", "link", "--ranks", ranks, "--bucket-bytes", "1GB"))
    assert list(rows) == WAYS
    for way, calls in (("naive", TENSORS), ("coalesced", 1), ("flat", 1), ("bucket", 1)):
        expected = link_ns(calls, BYTES, ranks)
        for figure in ("comm_ns", "exposed_ns"):
            assert rows[way][figure] == pytest.approx(expected, abs=calls), way  # whole ns each
        assert rows[way]["total_ns"] == pytest.approx(30e6 + expected, abs=calls)
    assert rows["none"]["total_ns"] == 30e6 and rows["none"]["comm_ns"] == 0
    assert rows["overlap"]["exposed_ns"] < rows["naive"]["exposed_ns"]
    assert rows["naive"]["total_speedup"] == 1 and rows["flat"]["comm_speedup"] > 1


def test_rows_of_a_method_stand_together(perfkit):
    rows = run(perfkit, "-v", "flat,bucket", "--gradients", "views,copy", "--compute-ms", "1", "--bucket-bytes", "1MiB,4MiB").rows("methods")
    assert [(row["variant"], row["gradients"]) for row in rows][:2] == [("flat", "views"), ("flat", "copy")]
    assert [row["variant"] for row in rows] == 2 * ["flat"] + 4 * ["bucket"]


def test_buckets_are_counted(perfkit):
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "1MB,12MB", "--first-bucket-bytes", "0,1MB")
    rows = {(b["bucket_bytes"], b["first_bucket_bytes"]): b for b in r.rows("buckets")}
    for b in rows.values():
        assert b["mean_bucket_bytes"] * b["buckets"] == pytest.approx(BYTES, rel=1e-5)
        assert b["least_bucket_bytes"] <= b["mean_bucket_bytes"] <= b["most_bucket_bytes"]
    assert rows[1e6, None]["oversize"] == 2 + 4 * 3  # head, embedding, and the wide matrices of four layers
    assert rows[12e6, None]["oversize"] == 0 and rows[12e6, None]["most_bucket_bytes"] <= 12e6
    assert rows[12e6, 1e6]["oversize"] == 1  # the head, in the first bucket


def test_the_flat_array_is_cut_at_the_cap(perfkit):
    """The report's 388 all-reduces of 10 MB: 3.88 GB in equal parts. Whole tensors make 255 buckets."""
    r = run(perfkit, "-v", "bucket,flat", "--model", "large", "--compute-ms", "200", "--bucket-bytes", "10MB,200MB,1GB", "--split", "off,on")
    rows = {(b["bucket_bytes"], b["gradients"]): b for b in r.rows("buckets")}
    bytes_ = 4 * 969_411_840
    assert (rows[10e6, "views"]["buckets"], rows[10e6, "views, split"]["buckets"]) == (255, 388)
    assert rows[200e6, "views, split"]["buckets"] == 20 and rows[1e9, "views, split"]["buckets"] == 4
    for (cap, gradients), b in rows.items():
        assert b["mean_bucket_bytes"] * b["buckets"] == pytest.approx(bytes_, rel=1e-5)
        if gradients == "views, split":
            assert b["oversize"] == 0 and b["most_bucket_bytes"] == cap and b["least_bucket_bytes"] == bytes_ - cap * (b["buckets"] - 1)
        assert b["comm_ns"] == pytest.approx(link_ns(b["buckets"], bytes_), abs=b["buckets"])  # whole ns each
        assert b["predicted_exposed_ns"] == pytest.approx(b["exposed_ns"], abs=2 * b["buckets"])
    assert {x["range"] for x in r.rows("ranges")} >= {"Wait for All Buckets (388 handles)", "Wait for All Buckets (20 handles)"}
    assert [f["variant"] for f in r.rows("methods")].count("flat") == 1, "it has no buckets to cut"
    assert {(x["gradients"], x["n"]) for x in r.rows("link")} >= {("views, split", 5)}, "three caps, and what two of them leave"
    assert len(r.rows("choice")) == 2 * 4 and any(t["setting"].endswith(", split") for t in r.rows("timeline"))


def test_what_is_not_split_is_the_case_it_was(perfkit):
    """A stored case without the axis is the one with split=off."""
    run(perfkit, "-v", "bucket", "--bucket-bytes", "1MB", "--compute-ms", "4")
    (identity,), = query(perfkit, "SELECT DISTINCT identity FROM v_case")
    assert "split" not in identity
    run(perfkit, "-v", "bucket", "--bucket-bytes", "1MB", "--compute-ms", "4", "--split", "on")
    assert len(query(perfkit, "SELECT DISTINCT identity FROM v_case")) == 2


def test_the_fit_finds_the_link(perfkit):
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "64KiB:16MiB:*4", "--compute-ms", "4", "--transport", "link", "--ranks", "8")
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
    assert choice["model, equal buckets"]["chosen_bytes"] == pytest.approx(general, rel=0.01)
    assert choice["sqrt(s o w)"]["chosen_bytes"] == pytest.approx(math.sqrt(s * o * w), rel=0.01)
    assert choice["best measured"]["regret_ns"] == 0
    assert choice["model, equal buckets"]["regret"] <= 0.05
    assert choice["model, these tensors"]["regret_ns"] == pytest.approx(0, abs=10)  # whole ns each
    if regime == "compute-bound":
        assert choice["sqrt(s o w)"]["regret_ns"] > choice["model, equal buckets"]["regret_ns"]


def test_real_tensors_played_through(perfkit):
    """On a link without jitter what was predicted of each size is what was measured, and the choice is the best."""
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "64KiB:64MiB:*2", "--compute-ms", "8")
    for b in r.rows("buckets"):
        assert b["predicted_exposed_ns"] == pytest.approx(b["exposed_ns"], abs=2 * b["buckets"])
    choice = {row["choice"]: row for row in r.rows("choice")}
    assert choice["model, these tensors"]["regret"] < 1e-6
    assert choice["sqrt(s o w)"]["regret_ns"] > 0


def test_choice_on_a_link_with_jitter(perfkit):
    """o, w and ready times from what was measured, tensors that cannot be split: at most 5 % above the best in 9 of 10 runs."""
    good = 0
    for seed in range(10):
        r = run(perfkit, "-v", "bucket", "--bucket-bytes", "128KiB:32MiB:*4", "--compute-ms", "6", "--link-jitter", "0.05", "--seed", seed + 1,
                "--min-samples", "9", "--max-samples", "9", "--tables", "choice")
        choice = {row["choice"]: row for row in r.rows("choice")}
        good += choice["model, these tensors"]["regret"] <= 0.05
    assert good >= 9


def test_timeline(perfkit):
    r = run(perfkit, "-v", "bucket,flat", "--bucket-bytes", "1MB,4MB", "--compute-ms", "4")
    rows = r.rows("timeline")
    (best,) = [c for c in r.rows("choice") if c["choice"] == "best measured"]
    assert {row["bucket_bytes"] for row in rows} == {best["bucket_bytes"]}
    assert sum(row["bytes"] for row in rows) == BYTES
    free = 0
    for i, row in enumerate(rows):
        assert row["bucket"] == i and row["started_ns"] == max(free, row["ready_ns"])
        assert row["ended_ns"] - row["started_ns"] == pytest.approx(link_ns(1, row["bytes"]), abs=1)
        free = row["ended_ns"]
    assert free - rows[0]["backward_ns"] == best["exposed_ns"]
    everything = perfkit("export", "json", "--what", "timeline").json()["tables"]["export_timeline"]["rows"]
    assert [e for e in everything if e["variant"] == "flat"][0]["bytes"] == BYTES
    assert len(everything) == 1 + sum(b["buckets"] for b in r.rows("buckets"))


def test_a_first_bucket_has_a_choice_of_its_own(perfkit):
    """As PyTorch's: 1 MB, then others. Sizes are compared with each other for one cap of the first bucket."""
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "1MB:16MB:*2", "--first-bucket-bytes", "0,1MB", "--compute-ms", "4", "--gradients", "views,copy")
    best = {(b["gradients"], b["first_bucket_bytes"]): b for b in r.rows("choice") if b["choice"] == "best measured"}
    assert set(best) == {(g, f) for g in ("views", "copy") for f in (None, 1e6)}
    for (gradients, first), b in best.items():
        measured = [x for x in r.rows("buckets") if (x["gradients"], x["first_bucket_bytes"]) == (gradients, first)]
        assert b["exposed_ns"] == min(x["exposed_ns"] for x in measured) and b["regret_ns"] == 0
    assert len(r.rows("choice")) == 4 * 4
    assert len({t["setting"] for t in r.rows("timeline")}) == 4
    told = [(x["range"], x["bucket_bytes"], x["first_bucket_bytes"], x["gradients"]) for x in r.rows("ranges")]
    assert len(told) == len(set(told))


def test_settings_are_in_the_order_of_the_grid(perfkit):
    r = run(perfkit, "-v", "bucket", "--bucket-bytes", "1MB:8MB:*2", "--compute-ms", "4,20,100")
    for table in ("methods", "link", "choice", "timeline"):
        assert [x for x in dict.fromkeys(row["setting"].split(", ")[1] for row in r.rows(table))] == [f"compute {n} ms" for n in (4, 20, 100)], table


def test_why_nothing_is_predicted(perfkit):
    """One size, or more tensors than a timeline has."""
    one = perfkit("run", "ddp-bucket", "-d", "null", *FEW, "--tables", "all", "-v", "bucket", "--bucket-bytes", "25MB", "--compute-ms", "20")
    assert "all-reduces of three or more sizes between the smallest and the largest cap" in " ".join(one.stdout.split()), one
    (perfkit.cwd / "many").write_text("".join(f"t{i} 10\n" for i in range(4097)))
    many = perfkit("run", "ddp-bucket", "-d", "null", *FEW, "--tables", "all", "-v", "bucket", "--tensors", "many", "--bucket-bytes", "1KB:16KB:*2", "--compute-ms", "20")
    assert "more than 4096 tensors" in " ".join(many.stdout.split()), many
    known = perfkit("run", "ddp-bucket", "-d", "null", *FEW, "--tables", "all", "-v", "bucket", "--bucket-bytes", "1MB:8MB:*2", "--compute-ms", "20")
    assert "rows of the model are missing" not in " ".join(known.stdout.split()) and "w is above the average" in known.stdout, known


def test_a_transformers_backward_pass(perfkit):
    """All ways and types, with the memory that was predicted."""
    size = ("--work", "transformer", "--seq-len", "4", "--bucket-bytes", "4MB")
    rows = run(perfkit, *size, "--dtype", "fp32,bf16", "--gradients", "views,copy").rows("methods")
    assert {row["variant"] for row in rows} == set(WAYS) and {row["status"] for row in rows} == {"OK"}
    assert "tiny, transformer 1 x 4" in rows[0]["setting"]
    predicted = {(c["variant"], c["axes"]["dtype"], c["axes"].get("gradients")): c["predicted_bytes"]
                 for c in perfkit("export", "json", "--what", "cases").json()["tables"]["export_cases"]["rows"]}
    for row in rows:
        dtype = "bf16" if "bf16" in row["setting"] else "fp32"
        assert row["peak_bytes"] == predicted[row["variant"], dtype, row["gradients"]]


def test_a_transformers_backward_pass_on_the_cpu(measured, perfkit):
    """Its gradients are compared with a single process's; the time at which each was complete is its own."""
    r = perfkit("run", "ddp-bucket", "-d", "cpu", *FEW, "--work", "transformer", "--seq-len", "4", "--bucket-bytes", "4MB", "-v", "bucket",
                "--dtype", "bf16", "--gradients", "copy", "--format", "json")
    assert r.status == 0 and r.rows("methods")[0]["exposed_ns"] > 0
    times = [row["ready_ns"] for row in r.rows("timeline")]
    assert times == sorted(times) and len(set(times)) > 3


def test_an_axis_that_means_nothing_to_the_variants(perfkit):
    r = run(perfkit, "-v", "flat", "--bucket-bytes", "4MB", "--compute-ms", "0.1")
    assert "-a bucket_bytes=4MB changes nothing" in r.stderr


def test_a_list_has_no_layers(perfkit):
    (perfkit.cwd / "two").write_text("a 1000\nb 2000\n")
    perfkit("run", "ddp-bucket", "-d", "null", "--work", "transformer", "--tensors", "two").refused(
        2, "work=transformer with tensors=two", "does not describe the layers", "tiny, small or large")


def test_a_transformer_that_does_not_fit(perfkit):
    r = perfkit("run", "ddp-bucket", "-d", "cpu", "--work", "transformer", "--model", "large", "--batch", "64", "-v", "bucket", "--memory-limit", "4GiB",
                "--dtype", "fp32", "--bucket-bytes", "25MB", "--tables", "all")
    assert r.status == 6, r
    assert "1 case out of memory" in r.stderr and "the device's limit is 4.0 GiB" in r.stderr and "smaller sizes" in r.stderr
    assert "not tried" in r.stdout and "OOM" in r.stdout and "Not measured: bucket 25 MB: " in " ".join(r.stdout.split())


def test_show_prints_it_again(perfkit):
    r = run(perfkit, "--compute-ms", "4", "--bucket-bytes", "1MB,2MB,4MB", "--link-jitter", "0.1")
    again = perfkit("show", "--format", "json")
    assert r.json()["tables"].keys() >= {"methods", "ranges", "buckets", "link", "choice", "timeline"}
    for table in ("methods", "ranges", "buckets", "link", "choice", "timeline"):
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
    r = run(perfkit, "-v", "bucket", "--tensors", "two", "--bucket-bytes", "4KB,1MB", "--first-bucket-bytes", "8KB,1GB", "--compute-ms", "0.1")
    assert "first_bucket_bytes 1GB is larger than the model: a single bucket" in r.stderr and "bucket_bytes 1MB is" not in r.stderr


def test_a_bandwidth_as_it_is_printed_can_be_given_back(perfkit):
    planned = ("run", "ddp-bucket", "-d", "null", "-v", "flat", "--compute-ms", "1", "-n", "--link-bytes-per-s")
    for given, printed in (("25000000001B", "25000000001B"), ("25000MB", "25GB"), ("7B", "7B")):
        (text,) = re.findall(r"link_bytes_per_s=(\S+)", perfkit(*planned, given).stdout)
        assert text == printed
        (row,) = perfkit(*planned, text, "--format", "json").rows("plan")
        assert row["axes"]["link_bytes_per_s"] == int(given.removesuffix("B").replace("000M", "000000000"))


def test_bad_input(perfkit):
    (perfkit.cwd / "bad").write_text("a 10\nb ten\n")
    perfkit("run", "ddp-bucket", "-d", "null", "--tensors", "bad").refused(2, "bad:2: 'b ten'", "a name and an integer", "layers.0.query")
    perfkit("run", "ddp-bucket", "-d", "null", "--tensors", "nowhere").refused(2, "nowhere")
    perfkit("run", "ddp-bucket", "-d", "null", "--ranks", "0").refused(2, "ranks")
    perfkit("run", "ddp-bucket", "-d", "null", "--link-bytes-per-s", "0B").refused(2, "link_bytes_per_s")
    perfkit("run", "ddp-bucket", "-d", "null", "--link-bytes-per-s", "25").refused(2, "link_bytes_per_s", "the unit is missing", "write for example 25GB or 25MB")
    perfkit("run", "ddp-bucket", "-d", "null", "-a", "link_bytes_per_s=1GB:8GB:+1000000000").refused(2, "the unit is missing", "link_bytes_per_s=10GB:40GB:*2")
    perfkit("run", "ddp-bucket", "-d", "null", "--model", "medium").refused(2, "medium", "tiny, small, large")
