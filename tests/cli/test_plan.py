"""`plan bucket`: the model's answers agree with the simulated link, in every size and format, and bad questions are refused."""
import csv
import io
import math

import pytest

CHOICES = ["model, these tensors", "model, equal buckets", "sqrt(s o w)", "one bucket", "per tensor"]


def plan(perfkit, *args):
    r = perfkit("plan", "bucket", *args, "--format", "json")
    assert r.status == 0 and r.stderr == "", r
    return r.rows("bucket"), r.rows("terms")


@pytest.mark.parametrize("model, tensors, bytes_", [("small", 111, 4 * 128625408), ("large", 327, 4 * 969411840)])
def test_the_link_confirms_the_model(perfkit, model, tensors, bytes_):
    rows, terms = plan(perfkit, "--model", model, "--ranks", "2,64,1024", "--hop", "1us")
    assert [(r["ranks"], r["choice"]) for r in rows] == [(n, c) for n in (2, 64, 1024) for c in CHOICES]
    for r in rows:
        assert r["simulated_ns"] == pytest.approx(r["exposed_ns"], abs=r["buckets"] + 1)  # whole ns each
        assert r["loss_ns"] >= -1
        assert r["total_ns"] == pytest.approx(100e6 + r["exposed_ns"])
    for n in (2, 64, 1024):
        by = {r["choice"]: r for r in rows if r["ranks"] == n}
        assert by["one bucket"]["buckets"] == 1 and by["per tensor"]["buckets"] == tensors
        assert by["one bucket"]["simulated_ns"] == pytest.approx(20e3 + 2 * (n - 1) * 1e3 + bytes_ * 2 * (n - 1) / n / 10e9 * 1e9, abs=2)
        if (model, n) == ("small", 2):  # compute slower than the link: what one bucket exposes is hidden except for a tenth
            assert by[CHOICES[0]]["simulated_ns"] < 0.1 * by["one bucket"]["simulated_ns"]
        assert by[CHOICES[0]]["exposed_ns"] <= min(r["exposed_ns"] for r in by.values()) * 1.05
    assert {t["gradient_bytes"] for t in terms} == {bytes_}


def test_the_terms(perfkit):
    """32 MiB of equal tensors and constants that were measured once: the sizes that the model gave then."""
    (perfkit.cwd / "even").write_text("".join(f"t{i} 8192 # 32 KiB\n" for i in range(1024)))
    s, o, w = 32 << 20, 24.2e-6, 2.57e9
    for backward_ms, equal, regime in ((2 * s / w * 1e3, 61, "compute-bound"), (0.5 * s / w * 1e3, 1995, "communication-bound")):
        rows, (t,) = plan(perfkit, "--tensors", "even", "--ranks", "2", "--launch", "24200ns", "--bandwidth", "2570MB",
                          "--backward", f"{round(backward_ms * 1e6)}ns")
        assert t["regime"] == regime
        assert t["general_bytes"] / 1024 == pytest.approx(equal, rel=0.01)
        assert t["report_bytes"] == pytest.approx(math.sqrt(s * o * w), rel=0.001)
        assert (t["hidden_bytes"] is None) == (regime == "communication-bound")
        by = {r["choice"]: r for r in rows}
        assert by[CHOICES[0]]["simulated_ns"] <= by["sqrt(s o w)"]["simulated_ns"]


def test_half_the_bytes(perfkit):
    wide, _ = plan(perfkit, "--ranks", "4", "--launch", "0")
    narrow, _ = plan(perfkit, "--ranks", "4", "--launch", "0", "--dtype", "bf16")
    assert narrow[3]["exposed_ns"] == pytest.approx(wide[3]["exposed_ns"] / 2)


def test_from_a_run(perfkit):
    """The constants that were measured with 8 ranks, for 64: the same as when they are given."""
    link = ("--link-latency-us", "35", "--link-bytes-per-s", "8GB")
    r = perfkit("run", "ddp-bucket", "-d", "null", "-v", "bucket", "--bucket-bytes", "1MB,4MB,16MB", "--ranks", "8", *link,
                "--compute-ms", "4,8", "--max-time", "2ms", "--invocations", "1")
    assert r.status == 0, r
    p = perfkit("plan", "bucket", "--from", "@", "--ranks", "64", "--format", "json")
    given, _ = plan(perfkit, "--ranks", "64", "--launch", "35us", "--bandwidth", "8GB")
    assert "run 1: launch cost of an all-reduce 35.00 us, bandwidth of a link 8.000 GB/s (from 6 sizes)" in p.stderr
    assert "it has 2 settings; the first of those with most sizes is used: " in p.stderr
    assert "compute_ms=4 " in p.stderr and '{"' not in p.stderr
    for measured, known in zip(p.rows("bucket"), given):
        assert measured["exposed_ns"] == pytest.approx(known["exposed_ns"], rel=1e-4)
    perfkit("plan", "bucket", "--from", "@", "--launch", "1us").refused(2, "--from", "--launch")
    perfkit("run", "ddp-bucket", "-d", "null", "-v", "naive", "--compute-ms", "4", "--max-time", "2ms", "--invocations", "1")
    perfkit("plan", "bucket", "--from", "@").refused(6, "run 2 does not contain", "three or more sizes")


def test_ranks_are_a_sweep_and_every_model_is_known(perfkit):
    rows, terms = plan(perfkit, "--model", "tiny", "--ranks", "4,2:8:*2,4")
    assert [t["ranks"] for t in terms] == [4, 2, 8] and len(rows) == 3 * len(CHOICES)
    assert {t["gradient_bytes"] for t in terms} == {37266432}


def test_formats(perfkit):
    text = perfkit("plan", "bucket", "--ranks", "2").stdout
    assert "Best bucket size" in text and "simulated:" in text and "sqrt(s o w) (MB)" in text
    perfkit("plan", "bucket", "--ranks", "2", "--format", "csv").refused(2, "plan bucket has 2 tables", "--tables bucket")
    first = next(csv.DictReader(io.StringIO(perfkit("plan", "bucket", "--ranks", "2", "--tables", "bucket", "--format", "csv").stdout)))
    assert first["choice"] == CHOICES[0] and int(first["bucket_bytes"]) > 0


def test_bad_questions(perfkit):
    perfkit("plan", "bukcet").refused(2, "there is no plan 'bukcet'", "did you mean 'bucket'?")
    perfkit("plan").refused(2)
    for ranks in ("1", "2,x", "", "2,,4", "99999999"):
        perfkit("plan", "bucket", "--ranks=" + ranks).refused(2, "--ranks", "an integer from 2 to 1048576")
    perfkit("plan", "bucket", "--bandwidth", "0").refused(2, "bandwidth", "write for example 25GB")
    perfkit("plan", "bucket", "--hop", "1e300s").refused(2, "--hop", "without a sign or an exponent")
    perfkit("plan", "bucket", "--backward", "0").refused(2, "backward")
    perfkit("plan", "bucket", "--model", "medium").refused(2, "medium", "tiny, small, large")
    perfkit("plan", "bucket", "--tensors", "two", "--model", "large").refused(2, "--tensors", "--model")
    perfkit("plan", "bucket", "--tensors", "nowhere").refused(2, "nowhere")


def test_from_without_a_run_names_the_experiment(perfkit):
    perfkit("plan", "bucket", "--from", "@").refused(6, "perfkit run ddp-bucket --variant bucket")
    perfkit("history", "ddp-bucket").refused(6, "perfkit run ddp-bucket`")


def test_bit_rates_are_told_in_bytes(perfkit):
    for rate in ("200Gbps", "200Gb", "200gbps", "200 Gbps"):
        perfkit("plan", "bucket", "--bandwidth", rate).refused(2, rate, "are bits", "write 25GB")
    perfkit("plan", "bucket", "--bandwidth", "25").refused(2, "--bandwidth", "the unit is missing", "write for example 25GB or 25MB")
    perfkit("run", "ddp-bucket", "--link-bytes-per-s", "25GB/s").refused(2, "25GB/s", "write 25GB")
