"""`run attention-scaling` through the front door: what its tables say of the configuration, of memory, and of the rows that are slower."""
from collections import Counter

import pytest
from stored import query

FEW = ("--device", "null", "--min-samples", "2", "--max-samples", "2", "--invocations", "3", "--format", "json")


def run(perfkit, *args):
    r = perfkit("run", "attention-scaling", *FEW, "--tables", "all", *args)
    assert r.status == 0, r
    return r


def test_a_configuration_is_above_the_tables(perfkit):
    r = run(perfkit, "-a", "batch=2", "-a", "heads=4", "-a", "dtype=fp32,bf16", "-a", "causal=on", "-a", "d_model=64,32", "-a", "seq_len=128,64",
            "--variant", "vanilla")
    same = {"batch": 2, "heads": 4, "math": None, "causal": "yes", "d_models": "32, 64", "seq_lens": "64, 128"}
    assert r.rows("configuration") == [{"dtype": dtype, **same} for dtype in ("fp32", "bf16")]
    assert next(iter(r.json()["tables"])) == "configuration"
    run(perfkit, "-a", "seq_len=64", "-a", "d_model=16,32", "--filter", "d_model=16", "--variant", "flash", "-a", "math=ieee,3xtf32")
    rows = perfkit("show", "--format", "json").rows("configuration")
    assert [(row["math"], row["d_models"], row["seq_lens"]) for row in rows] == [(None, "16", "64"), ("3xtf32", "16", "64")]


@pytest.mark.parametrize("dtype, width", [("fp32", 4), ("bf16", 2)])
def test_the_peak_in_score_matrices(perfkit, dtype, width):
    """The report's 4.01 of vanilla and a model of fused: the longer the sequence, the nearer to whole matrices."""
    batch, heads, seq = 2, 2, 4096
    r = run(perfkit, "-a", f"batch={batch}", "-a", f"heads={heads}", "-a", "d_model=32", "-a", f"seq_len=256,{seq}", "-a", f"dtype={dtype}",
            "--variant", "vanilla,fused,flash")
    peak = {(row["variant"], row["seq_len"]): row for row in r.rows("scaling")}
    for row in peak.values():
        assert row["peak_matrices"] == pytest.approx(row["peak_bytes"] / (batch * heads * row["seq_len"] ** 2 * width))
    assert 4 < peak["vanilla", seq]["peak_matrices"] < 4.05 < peak["vanilla", 256]["peak_matrices"]
    assert 1 < peak["fused", seq]["peak_matrices"] < 1.05 and peak["flash", seq]["peak_matrices"] < 0.1
    assert f"Peak / S²: the peak in score matrices, batch × heads × seq_len² elements of {width} bytes." in r.stdout


def test_rows_are_counted_by_their_intervals(perfkit):
    r = run(perfkit, "-a", "d_model=16,64", "-a", "seq_len=64,256,1024", "--variant", "vanilla,fused,flash")
    variants = [row for row in r.rows("variants") if row["variant"] != "vanilla"]
    for row in r.rows("counts"):
        mine = [v for v in variants if v["variant"] == row["variant"]]
        column = {"forward": "forward_speedup", "backward": "backward_speedup", "both": "total_speedup"}[row["phase"]]
        told = Counter("faster" if v[column + "_low"] > 1 else "slower" if v[column + "_high"] < 1 else "not told apart" for v in mine)
        assert row["rows"] == 6 and row["unknown"] == 0
        assert (row["faster"], row["slower"], row["untold"]) == (told["faster"], told["slower"], told["not told apart"])
        assert row["medians_slower"] == sum(v[column] < 1 for v in mine)
    assert [(row["variant"], row["phase"]) for row in r.rows("counts")] == [(v, p) for v in ("fused", "flash") for p in ("forward", "backward", "both")]
    assert sum(row["slower"] for row in r.rows("counts")) > 0, "flash computes its scores twice"
    query(perfkit, "UPDATE summary SET ci_low = median / 99, ci_high = median * 99")
    assert {(row["faster"], row["slower"], row["untold"]) for row in perfkit("show", "--format", "json").rows("counts")} == {(0, 0, 6)}
    query(perfkit, "UPDATE summary SET ci_low = NULL, ci_high = NULL")
    rows = perfkit("show", "--format", "json").rows("counts")
    assert {(row["faster"], row["slower"], row["untold"], row["unknown"]) for row in rows} == {(0, 0, 0, 6)}
    assert any(row["medians_slower"] for row in rows)
