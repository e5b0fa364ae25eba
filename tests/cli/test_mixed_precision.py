"""`run mixed-precision` through the front door: the report's models counted, its tables, what is refused, what does not fit."""
import math

FEW = ("--min-samples", "2", "--min-time", "1ms", "--max-time", "5ms", "--invocations", "1")
TINY = sum((("-a", text) for text in ("layers=2", "d_model=32", "heads=2", "d_ff=40", "vocab=50", "batch=2", "seq_len=9")), ())


def run(perfkit, *args, **kw):
    return perfkit("run", "mixed-precision", *FEW, *args, **kw)


def table(answer, name):
    assert answer.status == 0, answer
    return answer.json()["tables"][name]["rows"]


def rows(answer, name):
    return {(r["mode"], r["variant"], r["dtype"]): r for r in table(answer, name)}


def test_the_models_of_the_report(perfkit):
    r = run(perfkit, "--device", "null", "-a", "model=small,large", "-a", "mode=forward,step", "-a", "dtype=fp32", "--format", "json")
    models = {m["layers"]: m for m in table(r, "models")}
    assert models[12]["parameters"] == 128_625_408 and models[36]["parameters"] == 969_411_840
    assert math.isclose(models[12]["forward_flops"], 4.04e12, rel_tol=0.01)  # causal pairs alone; 4.12e12 with all
    assert models[12]["tokens"] == 16384 and models[36]["tokens"] == 8192
    assert models[12]["model"] == "12L 768D 12H 3072FF, 64 x 256"


def test_what_does_not_fit_says_what_would(perfkit):
    args = ("--device", "null", "-a", "model=large", "-a", "mode=step", "-a", "dtype=fp32", "--memory-limit", "32GiB", "--format", "json")
    r = run(perfkit, *args, "--variant", "eager")
    assert r.status == 6, r
    message = perfkit("export", "json", "--what", "cases", "@").stdout
    found = int(message.split("batch=")[1].split(" would fit")[0])
    assert 1 <= found < 32
    assert table(run(perfkit, *args, "--variant", "eager", "-a", f"batch={found}"), "memory")[0]["status"] == "OK"
    r = run(perfkit, *args, "--variant", "eager", "-a", f"batch={found + 1}")
    assert r.status == 6, r


def test_every_mode_and_variant(perfkit, measured):
    modes = ("forward", "forward-retained", "forward+backward", "step")
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32,bf16", "-a", "mode=" + ",".join(modes), "--format", "json")
    steps = rows(r, "steps")
    assert {(mode, variant, dtype) for mode in modes for variant in ("eager", "compiled") for dtype in ("fp32", "bf16")} == set(steps)
    assert all(s["status"] == "OK" and s["step_ns"] > 0 for s in steps.values())
    memory = rows(r, "memory")
    for (mode, variant, dtype), m in memory.items():
        assert m["off"] >= 1 and ((variant, dtype) != ("eager", "fp32") or m["off"] < 1.1), (mode, variant)  # scratch of flash's threads is not predicted
        assert m["allocated_bytes"] < m["peak_bytes"] <= m["reserved_bytes"] and m["largest_batch"] >= 2
        assert (m["before_backward_bytes"] > m["allocated_bytes"]) == (mode != "forward")
    drift = rows(r, "drift")
    losses = [d["loss"] for (_, _, dtype), d in drift.items() if dtype == "fp32"]
    assert max(losses) - min(losses) < 1e-4 and 3 < losses[0] < 6  # log 50 is 3.9
    assert 0 <= drift["step", "compiled", "fp32"]["gradient_drift"] < 1e-4 and drift["step", "eager", "fp32"]["gradient_drift"] == 0
    for variant in ("eager", "compiled"):
        bf16 = drift["step", variant, "bf16"]
        assert 1e-4 < bf16["gradient_drift"] < 0.1 and 0 < abs(bf16["loss_drift"]) < 0.05
    phases = {p["phase"] for p in table(r, "variants")}
    assert phases == {"Forward", "Full training step", "Backward + optimizer", "Optimizer"}


def test_types_are_compared_with_fp32(perfkit):
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32,tf32,bf16", "-a", "mode=step", "--variant", "eager", "--format", "json")
    assert {p["dtype"] for p in table(r, "precision")} == {"tf32", "bf16"}
    bf16 = [p for p in table(r, "precision") if p["dtype"] == "bf16"][0]
    assert math.isclose(bf16["time_saved"], 1 - 1 / bf16["speedup"]) and math.isclose(bf16["throughput_gained"], bf16["speedup"] - 1)


def test_shapes_that_cannot_be(perfkit):
    for axis, what in (("heads=3", "cannot be divided into 3 heads"), ("d_model=36", "heads of 9 features"), ("d_ff=41", "feed-forward width of 41")):
        r = run(perfkit, "--device", "cpu", "-a", axis)
        assert r.status == 2 and what in r.stderr and "try:" in r.stderr, r
    assert not perfkit.db.exists() or "steps" not in perfkit("show", "@").stdout


def test_what_is_skipped_says_why(perfkit):
    for args, why in ((("-a", "dtype=tf32"), "tf32 products are of GPUs: -a dtype=fp32,bf16"), (("-a", "attention=cudnn"), "cuDNN is of NVIDIA GPUs"),
                      (("-a", "recompute=block", "-a", "mode=forward"), "changes nothing without a backward pass")):
        r = run(perfkit, "--device", "cpu", *TINY, *args)
        assert r.status == 6 and why in r.stderr, r


def test_where_the_memory_went(perfkit, measured):
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32", "-a", "mode=step", "--variant", "eager", "--allocations", "--format", "json")
    parts = ("parameters_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "workspace_bytes", "other_bytes")
    peaks = {p["region"]: p for p in table(r, "memory_peaks")}
    assert set(peaks) == {"forward", "backward", "optimizer"}
    for p in peaks.values():
        assert p["bytes"] == sum(p[part] for part in parts) and 0.9 < p["bytes"] / p["predicted_bytes"] < 1.1, p
    whole = table(r, "memory")[0]["peak_bytes"]
    timeline = table(r, "memory_timeline")
    assert max(p["bytes"] for p in peaks.values()) == whole == max(t["bytes"] for t in timeline)
    assert len(timeline) == 32 and [t["region"] for t in timeline] == sorted((t["region"] for t in timeline), key=["forward", "backward", "optimizer"].index)
    assert timeline[0]["activations_bytes"] < peaks["backward"]["activations_bytes"] and "GGG" in timeline[0]["drawn"]
