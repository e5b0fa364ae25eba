"""`run mixed-precision` through the front door: the report's models counted, its tables, what is refused, what does not fit."""
import json
import math
import pathlib
import re
import sqlite3
import sys

import numpy as np
import pytest

from conftest import not_sanitized

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "probes" / "peers"))
from shared import transformer as peer  # the layout of weights, told once more

peer.np = np
FEW = ("--min-samples", "2", "--max-samples", "2", "--warmup", "0", "--min-time", "1ms", "--max-time", "1ms", "--invocations", "1")
TINY = sum((("-a", text) for text in ("layers=2", "d_model=32", "heads=2", "d_ff=40", "vocab=50", "batch=2", "seq_len=9")), ())


def run(perfkit, *args, **kw):
    return perfkit("run", "mixed-precision", *FEW, "--tables", "all", *args, **kw)


def table(answer, name):
    assert answer.status == 0, answer
    return answer.json()["tables"][name]["rows"]


def table_notes(answer, name):
    return answer.json()["tables"][name].get("notes", [])


def rows(answer, name):
    return {(r["mode"], r["variant"], r["dtype"]): r for r in table(answer, name)}


def test_the_models_of_the_report(perfkit):
    r = run(perfkit, "--device", "null", "-a", "model=small,large", "-a", "mode=forward,step", "-a", "dtype=fp32", "--format", "json")
    models = {m["layers"]: m for m in table(r, "models")}
    assert models[12]["parameters"] == 128_625_408 and models[36]["parameters"] == 969_411_840
    assert math.isclose(models[12]["forward_flops"], 4.04e12, rel_tol=0.01)  # causal pairs alone; 4.12e12 with all
    assert models[12]["tokens"] == 16384 and models[36]["tokens"] == 8192
    assert models[12]["model"] == "12L 768D 12H 3072FF, 64 x 256"


def test_a_dry_run_counts_parameters(perfkit):
    args = ("-a", "model=small,large", "-a", "dtype=fp32,tf32", "-a", "mode=forward,step", "--variant", "eager", "--device", "cpu", "--dry-run")
    cases = table(run(perfkit, *args, "--format", "json"), "plan")
    for dtype in ("fp32", "tf32"):  # which is skipped on a CPU, and has as many
        assert [c["parameters"] for c in cases if c["axes"]["dtype"] == dtype] == [128_625_408] * 2 + [969_411_840] * 2
    odd = table(run(perfkit, *args[:2], "-a", "d_model=772", "--device", "cpu", "--dry-run", "--variant", "eager", "-a", "dtype=tf32", "--format", "json"), "plan")
    assert {c["parameters"] for c in odd} == {None}  # no shape of a model
    heading = run(perfkit, *args).stdout.splitlines()[1].split("  ")
    assert "Parameters" in [word.strip() for word in heading]


def test_a_plan_has_one_notation_in_a_column(perfkit, measured):
    """Units suit the largest; of what no address can say nothing is said."""
    huge = ("-a", "layers=20,1024", "-a", "heads=1024", "-a", "d_model=65536", "-a", "d_ff=262144", "-a", "batch=1,65536", "-a", "seq_len=1048576",
            "-a", "mode=step", "-a", "dtype=fp32", "--variant", "compiled", "--device", "cpu", "--dry-run")
    text = run(perfkit, *huge, "--width", "0").stdout
    assert "Memory (TB)" in text and "Floor (h)" in text and not re.search(r"\de[+-]\d", text), text
    cases = table(run(perfkit, *huge, "--format", "json"), "plan")
    assert [c["predicted_bytes"] is None for c in cases] == [c["floor_ns"] is None for c in cases] == [False, False, False, True]
    assert max(c["floor_ns"] for c in cases[:3]) > 1e21  # in ms it had an exponent
    text = run(perfkit, *TINY, "--device", "cpu", "--dry-run", "--width", "0").stdout
    assert "Memory (GB)  Floor (ms)  Est. time (s)" in text


def test_units_suit_a_table_and_numbers_a_column(perfkit, measured):
    """TFLOP from six digits of GFLOP on, for people; what is off by orders of magnitude has exponents."""
    shape = ("--device", "null", "--memory-limit", "8TB", "-a", "model=small", "-a", "mode=forward", "-a", "dtype=fp32", "--variant", "compiled")
    for batch, unit, shown in (64, "GFLOP", "4040.1"), (4096, "TFLOP", "258.6"):
        r = run(perfkit, *shape, "-a", f"batch={batch}")
        assert f"Forward {unit}" in r.stdout and f"Model {unit}  Step" in r.stdout and shown in r.stdout, r
        assert "  GFLOP/s  " in r.stdout
    with sqlite3.connect(perfkit.db) as db:  # as if of a GPU
        db.execute("UPDATE ceiling SET value = 600e12 WHERE device = 'null'")
    r = perfkit("show", "@", "--tables", "all")
    assert "Step (ms)  TFLOP/s  Measured ceiling (TFLOP/s)" in r.stdout and " 600.0 " in r.stdout, r
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32,bf16", "-a", "mode=step")
    off = [line.split()[4] for line in r.stdout.split("Drift from")[1].splitlines()[3:7]]
    assert off[0] == "0" and all("e-" in number for number in off if number != "0"), r


def test_values_stand_in_the_order_of_their_axis(perfkit):
    tiny = [word for word in TINY if word not in ("-a", "vocab=50")]
    r = run(perfkit, "--device", "null", *sum((("-a", word) for word in tiny), ()), "-a", "dtype=bf16,fp32", "-a", "mode=step", "-a", "recompute=block,none", "-a", "attention=flash,vanilla,fused",
            "-a", "vocab=50,9", "--variant", "eager", "--format", "json")
    other = [json.loads(s["other_axes"]) if isinstance(s["other_axes"], str) else s["other_axes"] for s in table(r, "steps") if s["dtype"] == "fp32"]
    assert [(o["attention"], o.get("recompute"), o["vocab"]) for o in other] == [
        (attention, recompute, vocab) for attention in ("vanilla", "fused", "flash") for recompute in (None, "block") for vocab in (50, 9)]


@pytest.mark.parametrize("args, meant", [
    (("-a", "precision=bf16"), "did you mean 'dtype'?"),
    (("-a", "context=256"), "did you mean 'seq_len'?"),
    (("-a", "contxt_length=256"), "did you mean 'seq_len'?"),
    (("--filter", "hidden_size=256"), "did you mean 'd_model'?"),
    (("--context-length", "256"), "did you mean --seq-len?"),
    (("-a", "dtype=bfloat16"), "did you mean -a dtype=bf16?"),
    (("-a", "flavour=256"), "use one of these names"),
])
def test_other_names_of_axes_are_known(perfkit, args, meant):
    assert run(perfkit, *args).refused(2).error()["try"] == meant


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
        assert 0.7 < m["off"] <= 1.1, (mode, variant, dtype)  # less where oneDNN multiplies bf16, more where our own product has scratch
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
    assert phases == {"Forward", "Forward, retained", "Forward + backward", "Backward", "Full training step", "Backward + optimizer", "Optimizer"}


def test_types_are_compared_with_fp32(perfkit):
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32,tf32,bf16", "-a", "mode=step", "--variant", "eager", "--format", "json")
    assert {p["dtype"] for p in table(r, "precision")} == {"tf32", "bf16"}
    bf16 = [p for p in table(r, "precision") if p["dtype"] == "bf16"][0]
    assert math.isclose(bf16["time_saved"], 1 - 1 / bf16["speedup"]) and math.isclose(bf16["throughput_gained"], bf16["speedup"] - 1)


def test_rates_beside_ceilings_and_the_data_sheet(perfkit):
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32,tf32,bf16", "-a", "mode=step", "-a", "attention=vanilla,fused", "--variant", "eager", "--format", "json")
    assert r.status == 0, r
    shares = {row["dtype"]: row["of_ceiling"] for row in table(r, "rates")}
    assert set(shares) == {"fp32", "tf32", "bf16"} and all(0 < share < 1 for share in shares.values()), shares
    assert "Above" not in " ".join(r.json()["tables"]["rates"]["notes"])
    with sqlite3.connect(perfkit.db) as db:
        db.execute("INSERT INTO setting(run_id, invocation, key, value) SELECT id, 1, 'sheet_bf16_flops_per_s', '2e3' FROM run")
        db.execute("UPDATE ceiling SET value = 1e3 WHERE key = 'tf32_flops_per_s'")
    r = perfkit("show", "@", "--format", "json")
    stated = {row["dtype"]: row["sheet_flops_per_s"] for row in table(r, "rates")}
    assert stated == {"fp32": None, "tf32": None, "bf16": 2000}
    ways = ("attention=vanilla vocab=50", "attention=fused vocab=50")
    notes = " ".join(r.json()["tables"]["rates"]["notes"])
    assert "Above the peak of the data sheet, which is impossible: eager bf16 step %s, eager bf16 step %s." % ways in notes, notes
    assert "Above the measured ceiling, which is too low: eager tf32 step %s, eager tf32 step %s." % ways in notes, notes


def test_mfu_says_when_its_ceiling_is_not_confirmed(perfkit):
    """One type's highest ceiling has no second one near it; the others' have."""
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32,tf32,bf16", "-a", "mode=step", "--variant", "eager")
    assert r.status == 0, r
    with sqlite3.connect(perfkit.db) as db:
        db.execute("INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence) SELECT machine_id, device, key, value, measured_ns, evidence FROM ceiling")

    def doubted():
        notes = table_notes(perfkit("show", "@", "--format", "json"), "rates")
        return [n for n in notes if n.startswith("Measured on a busy host")]

    assert doubted() == []
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE ceiling SET value = 2 * value WHERE rowid = (SELECT max(rowid) FROM ceiling WHERE key = 'bf16_flops_per_s')")
    (note,) = doubted()
    assert note.startswith("Measured on a busy host: the highest ceiling of bf16 was not confirmed by a second one within 5 %, so that MFU"), note


def test_shares_of_a_whole_iteration(perfkit):
    """The report's: products take a smaller share of a step than of a forward pass. Each column adds up to 100 %, gaps included."""
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32", "-a", "mode=forward,forward-retained,step", "--breakdown", "--format", "json")
    found = {(f["variant"], f["family"]): f for f in table(r, "families")}
    told = table(r, "breakdown")
    for variant in ("eager", "compiled"):
        mine = {family: f for (v, family), f in found.items() if v == variant}
        for column, mode in (("forward_share", "forward"), ("retained_share", "forward-retained"), ("step_share", "step")):
            assert sum(f[column] or 0 for family, f in mine.items() if family != "all products") == pytest.approx(1), (variant, column)
            of_case = [t for t in told if t["variant"] == variant and t["axes"]["mode"] == mode and t["family"] != "gaps"]
            whole = sum(t["time_ns"] for t in of_case)  # the null device has no gaps
            assert mine["gemm"][column] == pytest.approx(sum(t["time_ns"] for t in of_case if t["family"] == "gemm") / whole)
        assert mine["optimizer"]["forward_share"] is None and mine["optimizer"]["step_share"] > 0.1
        assert mine["gemm"]["step_share"] < mine["gemm"]["forward_share"] and mine["gemm"]["backward_share"] is None
    products, gemm, attention = (found["eager", family] for family in ("all products", "gemm", "attention matmul"))
    assert products["step_share"] == pytest.approx(gemm["step_share"] + attention["step_share"])
    assert ("compiled", "all products") not in found
    shown = perfkit("show", "--table", "families", "--width", "100").stdout
    assert "Full training" in shown and "Forward + " not in shown, shown


@pytest.mark.parametrize("preset", ["quick", "seed", "full"])
def test_presets_have_the_reports_forward_pass(perfkit, preset):
    """It kept its activations; and a pass that keeps none is beside it."""
    r = perfkit("run", "mixed-precision", "--preset", preset, "--device", "null", "--dry-run", "--format", "json")
    modes = {c["axes"]["mode"] for c in table(r, "plan") if c["axes"]["recompute"] == "none"}
    assert modes == {"forward", "forward-retained", "forward+backward", "step"}


def test_families_above_the_ceiling_are_named(perfkit):
    """What computes faster than the ceiling of its type, and what does not, told apart by region and family."""
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32,bf16", "-a", "mode=step", "--variant", "eager", "--breakdown")
    assert r.status == 0, r
    told = table(perfkit("show", "--format", "json"), "breakdown")
    rate = {(t["axes"]["dtype"], t["region"], t["family"]): t["flops_per_s"] for t in told if t["flops_per_s"]}
    low = min(rate[key] for key in rate if key[0] == "fp32")
    assert all(len({value for key, value in rate.items() if key[:2] == ("fp32", region)}) > 1 for region in ("forward", "backward")), rate

    def noted(**ceilings):
        with sqlite3.connect(perfkit.db) as db:
            for dtype, value in ceilings.items():
                db.execute("UPDATE ceiling SET value = ? WHERE key = ?", (value, dtype + "_flops_per_s"))
        notes = perfkit("show", "--format", "json").json()["tables"]["breakdown"]["notes"]
        return [note for note in notes if note.startswith("Above the measured ceiling, which is too low")]

    highest = max(rate.values())
    assert noted(fp32=1.001 * highest, bf16=1.001 * highest) == []
    (note,) = noted(fp32=1.001 * low)
    above = {"eager %s %s" % key[1:] for key, value in rate.items() if key[0] == "fp32" and value > 1.001 * low}
    assert set(note.split(": ", 1)[1].rstrip(".").split(", ")) == above and len(above) < 4, note


NULL_3 = ("--device", "null", "-a", "dtype=fp32", "--invocations", "3", "--format", "json")


def test_throughput_has_an_interval_and_memory_both_units(perfkit):
    r = run(perfkit, *TINY, *NULL_3, "-a", "mode=step", "--variant", "eager")
    (step,), (memory,) = table(r, "steps"), table(r, "memory")
    tokens = step["tokens_per_s"] * step["step_ns"]
    assert math.isclose(step["tokens_per_s_ci_low"] * step["step_ci_high_ns"], tokens)
    assert math.isclose(step["tokens_per_s_ci_high"] * step["step_ci_low_ns"], tokens)
    text = perfkit("show", "@", "--tables", "all", "--width", "0").stdout
    for what in ("allocated", "peak", "reserved"):
        assert memory[what + "_gib"] == memory[what + "_bytes"]
        assert all("%s (%s)" % (what.capitalize(), unit) in text for unit in ("GB", "GiB"))


def test_variants_have_verdicts_and_say_what_did_not_fit(perfkit):
    """Of every mode; where eager has no time, its cell says why; without three processes nothing is said of which is faster."""
    r = run(perfkit, *TINY, *NULL_3, "-a", "mode=forward,forward-retained,forward+backward,step")
    found = table(r, "variants")
    assert [v["phase"] for v in found] == ["Forward", "Forward, retained", "Forward + backward", "Backward", "Full training step",
                                           "Backward + optimizer", "Optimizer"]
    for v in found:
        assert math.isclose(v["speedup"], v["eager_ns"] / v["ns"]) and v["speedup_low"] <= v["speedup"] <= v["speedup_high"]
        assert v["verdict"] == ("faster" if v["speedup_low"] > 1 else "slower" if v["speedup_high"] < 1 else "not told apart")
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE summary SET ci_low = median / 9, ci_high = median * 9")
    assert {v["verdict"] for v in table(perfkit("show", "@", "--format", "json"), "variants")} == {"not told apart"}

    large = ("--device", "null", "-a", "model=small", "-a", "mode=step", "-a", "dtype=fp32", "--format", "json", "--memory-limit")
    found = table(run(perfkit, *large, "20GB"), "variants")
    assert [v["phase"] for v in found] == ["Full training step", "Backward + optimizer", "Optimizer"]
    assert all(v["eager"] == "OOM" and v["eager_ns"] is None and v["ns"] > 0 and v["verdict"] is None for v in found)
    assert run(perfkit, *large, "1GB").status == 6
    (v,) = table(perfkit("show", "@", "--format", "json"), "variants")
    assert (v["phase"], v["eager"], v["this"]) == ("Full training step", "OOM", "OOM")


def test_short_times_have_digits(perfkit, measured):
    """An optimizer of two microseconds is no 0.00 ms; what cannot have an interval says what would give one, in both tables."""
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32,bf16", "-a", "mode=step", "--format", "json")
    for row in table(r, "variants"):
        assert float(row["this"]) * 1e6 == pytest.approx(row["ns"], abs=50 if row["ns"] < 5000 else 5000), row
    text = perfkit("show", "--tables", "all", "--width", "0").stdout
    assert text.count("or is missing: it needs three processes (--invocations 3).") == 2, text
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE summary SET median = 2100 WHERE metric_id IN (SELECT id FROM metric WHERE name = 'step_ns')")
    answer = perfkit("show", "--format", "json")
    assert {row["this"] for name in ("precision", "variants") for row in table(answer, name) if row.get("phase") in (None, "Full training step")} == {"0.0021"}


def test_drift_of_any_mode(perfkit, measured):
    """A mode of its own tells it; of several with the same first step one does."""
    def modes(asked):
        r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32,bf16", "--variant", "eager", "-a", "mode=" + asked, "--format", "json")
        assert all(d["gradient_drift"] is not None for d in table(r, "drift") if "+" in d["mode"])
        return [(d["mode"], d["dtype"]) for d in table(r, "drift")]

    assert modes("forward+backward") == [("forward+backward", "fp32"), ("forward+backward", "bf16")]
    assert modes("forward-retained") == [("forward-retained", "fp32"), ("forward-retained", "bf16")]
    assert [mode for mode, _ in modes("forward,forward-retained,forward+backward,step")] == ["forward", "forward", "step", "step"]


def test_counts_of_what_was_not_measured(perfkit, measured):
    """Parameters and FLOPs are known of cases that do not fit, of peers, and of a forward pass that never ran alone."""
    r = run(perfkit, "--device", "null", "-a", "model=small", "-a", "mode=step", "-a", "dtype=fp32", "--memory-limit", "1GB", "--variant", "eager")
    assert r.status == 6, r
    (model,) = table(perfkit("show", "@", "--format", "json"), "models")
    assert model["parameters"] == 128_625_408 and math.isclose(model["forward_flops"], 4.04e12, rel_tol=0.01)
    r = run(perfkit, *TINY, "--device", "cpu", "-a", "mode=step", "-a", "dtype=fp32", "--variant", "eager", "--peer", "torch-eager", "--python", sys.executable)
    with sqlite3.connect(perfkit.db) as db:
        known = db.execute("SELECT variant, metric, predicted FROM v_work JOIN v_case USING (run_id, case_id) WHERE predicted IS NOT NULL "
                           "AND metric IN ('parameters', 'model_flops', 'allocated_bytes') AND run_id = (SELECT max(run_id) FROM v_run)").fetchall()
        assert {(m, p) for v, m, p in known if v == "torch-eager"} == {(m, p) for v, m, p in known if v == "eager" and m != "allocated_bytes"}
        db.execute("DELETE FROM summary WHERE metric_id IN (SELECT id FROM metric WHERE name = 'model_flops')")
    assert all(row["model_flops"] > 0 and row["rate_flops_per_s"] > 0 for row in table(perfkit("show", "@", "--format", "json"), "rates"))


def test_shapes_that_cannot_be(perfkit):
    for axis, what, choice in (("heads=3", "cannot be divided into 3 heads", "heads=2"), ("d_model=36", "a width of 36, d_model", "d_model=32 or d_model=40"),
                               ("heads=256", "heads of 1 features", "heads=128"), ("d_ff=1001", "feed-forward width of 1001, d_ff", "d_ff=1000 or d_ff=1008")):
        r = run(perfkit, "--device", "cpu", "-a", axis)
        assert r.status == 2 and what in r.stderr and choice in r.error()["try"], r
    assert not perfkit.db.exists() or "steps" not in perfkit("show", "@", "--tables", "all").stdout


def test_a_width_by_itself(perfkit):
    """Too large for the first preset, and with another's heads it could not be: it has the heads that docs say, and says that it does not fit."""
    r = run(perfkit, "--device", "cpu", "--dry-run", "--memory-limit", "8GB", "-a", "mode=step", "-a", "d_model=16384", "--format", "json")
    cases = table(r, "plan")
    assert {(c["axes"]["d_model"], c["axes"]["heads"]) for c in cases} == {(16384, 4)}
    assert all(c["status"] == "out of memory: not tried; no batch would fit within 7.5 GiB" and c["predicted_bytes"] > 40e9 for c in cases)


def test_what_is_skipped_says_why(perfkit):
    for args, why in ((("-a", "dtype=tf32"), "tf32 products need a GPU: -a dtype=fp32,bf16"), (("-a", "attention=cudnn"), "cuDNN needs an NVIDIA GPU"),
                      (("-a", "recompute=block", "-a", "mode=forward"), "has no effect in modes that keep no activations")):
        r = run(perfkit, "--device", "cpu", *TINY, *args)
        assert r.status == 6 and why in r.stderr, r


def test_where_the_memory_went(perfkit, measured):
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32", "-a", "mode=step", "--variant", "eager", "--allocations", "--format", "json")
    parts = ("parameters_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "workspace_bytes", "other_bytes")
    peaks = {p["region"]: p for p in table(r, "memory_peaks")}
    assert set(peaks) == {"forward", "backward", "optimizer"}
    for p in peaks.values():
        assert p["bytes"] == sum(p[part] for part in parts) and 0.9 < p["bytes"] / p["predicted_bytes"] < 1.1, p
    exported = perfkit("export", "json", "--what", "memory").rows("export_memory")
    assert {e["region"]: (e["bytes"], e["predicted_bytes"]) for e in exported if e["kind"] == "peak"} == {k: (p["bytes"], p["predicted_bytes"]) for k, p in peaks.items()}
    assert [(e["place"], e["bytes"]) for e in exported if e["kind"] == "timeline"] == [(t["place"], t["bytes"]) for t in table(r, "memory_timeline")]
    whole = table(r, "memory")[0]["peak_bytes"]
    assert "Live (MB)" in perfkit("show", "--tables", "all").stdout  # in GB neighbours of so small a model look alike
    timeline = table(r, "memory_timeline")
    assert max(p["bytes"] for p in peaks.values()) == whole == max(t["bytes"] for t in timeline)
    assert len(timeline) == 32 and [t["region"] for t in timeline] == sorted((t["region"] for t in timeline), key=["forward", "backward", "optimizer"].index)
    assert timeline[0]["activations_bytes"] < peaks["backward"]["activations_bytes"] and "GGG" in timeline[0]["drawn"]


def products(tokens, layers, d_model, d_ff, vocab):
    """FLOPs of the products of weights in a forward pass: 2 m n k of q, k, v and output, gate, up and down, and the head."""
    return 2 * tokens * (layers * (4 * d_model**2 + 3 * d_model * d_ff) + d_model * vocab)


def test_what_the_families_declare(perfkit, measured):
    done = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32,bf16", "-a", "mode=step", "--breakdown", "--width", "0")
    assert done.status == 0, done
    layers, d, ff, vocab, batch, seq = 2, 32, 40, 50, 2, 9
    gemm, pair = products(batch * seq, layers, d, ff, vocab), 4 * layers * batch * d  # two products for each pair of tokens
    expected = {"eager": {"forward": (gemm, pair * seq**2), "backward": (2 * gemm, 2 * pair * seq**2)},
                "compiled": {"forward": (gemm, pair * seq * (seq + 1) / 2), "backward": (2 * gemm, 2.5 * pair * seq * (seq + 1) / 2)}}
    attention = {"eager": "attention matmul", "compiled": "attention"}  # causal pairs alone, and the scores again in backward
    with sqlite3.connect(perfkit.db) as db:
        told = db.execute("SELECT variant, axes ->> 'dtype', region, family, flops, bytes, time_ns FROM v_breakdown").fetchall()
        declared = db.execute("SELECT variant, axes ->> 'dtype', replace(metric, '_ns', ''), flops, bytes FROM v_work JOIN v_case USING (case_id)"
                              " WHERE flops IS NOT NULL").fetchall()
    for variant, dtype, region, flops, traffic in declared:
        parts = {"step": ["iteration"], "backward_optimizer": ["backward", "optimizer"]}.get(region, [region])
        mine = [t for t in told if t[:2] == (variant, dtype) and t[2] in parts]
        assert [sum(t[i] for t in mine) for i in (4, 5)] == pytest.approx([flops, traffic], rel=1e-12), (variant, dtype, region)
        of_family = {t[3]: t[4] for t in mine}
        if region in expected[variant]:
            assert (of_family.pop("gemm"), of_family.pop(attention[variant])) == expected[variant][region]
            assert not any(of_family.values()), of_family  # what passes over memory computes is not counted
    assert len(declared) == 2 * 2 * 5 and all(t[5] > 0 for t in told), declared
    listed = [r for r in table(perfkit("show", "--format", "json"), "breakdown") if r["family"] != "gaps"]
    for r in listed:
        assert r["bytes_per_s"] == pytest.approx(1e9 * r["bytes"] / r["time_ns"])
        assert r["flops_per_s"] == (pytest.approx(1e9 * r["flops"] / r["time_ns"]) if r["flops"] else None) and r["flops"] != 0
    assert "FLOPs (GFLOP)" in done.stdout and "declared by each operation" in done.stdout
    assert "in captured graphs" not in done.stdout.lower() and "no kernels of its own" not in done.stdout


def graph_told(family, calls, flops, region="forward"):
    return {"region": region, "family": family, "calls": calls, "time_ns": 1000 * calls, "flops": flops, "bytes": 64.0}


def test_what_a_graph_cannot_tell_is_said(perfkit):
    """Notes as a GPU's trace would leave them."""
    r = run(perfkit, "--device", "null", *TINY, "-a", "dtype=fp32", "-a", "mode=step", "--variant", "compiled", "--breakdown")
    assert r.status == 0, r
    regions = [{"region": name, "calls": 2, "occurrences": 1, "time_ns": 9000, "busy_ns": 9000, "gap_ns": 0} for name in ("iteration", "forward")]
    told = {"whole": True, "folded": True, "regions": regions, "kernels": [], "families": [graph_told("gemm", 2, 4e9), graph_told("attention", 0, 6e6)]}

    def shown_with(breakdown):
        with sqlite3.connect(perfkit.db) as db:
            db.execute("UPDATE slice SET notes = ? WHERE pass = 'trace'", [json.dumps({"breakdown": breakdown})])
        return perfkit("show", "--tables", "all", "--width", "0").stdout

    text = shown_with(told)
    assert "the products of attention that stores its scores are counted in gemm, because kernel names do not tell them apart (compiled)" in text, text
    assert "attention (compiled) has no kernels of its own" in text and "gemm" in text
    fused = next(row for row in table(perfkit("show", "--format", "json"), "breakdown") if row["family"] == "attention")
    assert fused["flops"] == 6e6 and fused["flops_per_s"] is None and fused["bytes_per_s"] is None


def test_a_phase_that_takes_no_memory_has_a_peak(perfkit, measured):
    """The fused optimizer allocates nothing: what it found is its peak, beside what was predicted."""
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32", "-a", "mode=step", "--variant", "compiled", "--allocations", "--format", "json")
    peaks = {p["region"]: p for p in table(r, "memory_peaks")}
    assert list(peaks) == ["forward", "backward", "optimizer"]
    o = peaks["optimizer"]
    assert 0.9 < o["bytes"] / o["predicted_bytes"] < 1.1 and o["bytes"] < peaks["backward"]["bytes"]
    assert o["optimizer_bytes"] > o["gradients_bytes"] > 0 and o["workspace_bytes"] == 0


def test_what_is_made_again_is_not_kept(perfkit, measured):
    """Of a forward pass that a backward pass might follow: the blocks' inputs and the loss's, as predicted."""
    r = run(perfkit, "--device", "cpu", *TINY, "-a", "dtype=fp32", "-a", "mode=forward-retained", "-a", "recompute=none,block", "--format", "json")
    kept = {(m["variant"], bool(m["other_axes"].get("recompute"))): m for m in table(r, "memory")}
    assert len(kept) == 4
    for variant in ("eager", "compiled"):
        assert kept[variant, True]["before_backward_bytes"] < kept[variant, False]["before_backward_bytes"]
        assert 0.9 < kept[variant, True]["off"] <= 1.1


def test_what_forward_kept_has_a_prediction_too(perfkit, measured):
    """Dropped outside of every region: the most is there at its beginning, which is what was live after forward."""
    args = ("-a", "dtype=fp32", "-a", "mode=forward-retained", "--allocations", "--format", "json")
    r = run(perfkit, "--device", "cpu", *TINY, *args)
    after = {m["variant"]: m["before_backward_bytes"] for m in table(r, "memory")}
    peaks = {(p["variant"], p["region"]): p for p in table(r, "memory_peaks")}
    assert set(peaks) == {(variant, region) for variant in ("eager", "compiled") for region in ("forward", "outside")}
    for variant in after:
        assert peaks[variant, "outside"]["bytes"] == after[variant] == peaks[variant, "outside"]["predicted_bytes"]
    note = "outside: memory outside every region, such as freeing the activations that a forward pass kept."
    assert note in r.json()["tables"]["memory_peaks"]["notes"]
    r = run(perfkit, "--device", "cpu", *TINY, *args[:2], "-a", "mode=step", *args[4:])
    assert note not in r.json()["tables"]["memory_peaks"]["notes"]


# --- weights from a file ---

SIZES = {"layers": 2, "d_model": 32, "heads": 2, "d_ff": 40, "vocab": 50}
ONE = ("--device", "cpu", *TINY, "-a", "dtype=fp32", "-a", "mode=step", "--variant", "eager", "--format", "json")
OTHER = tuple(word.replace("layers=2", "layers=3") for word in ONE)


def weights(**other):
    """{name: array}: what the native variants fill in themselves."""
    made = {}
    for name, rows, cols, place in peer.layout({**SIZES, **other}):
        bound = np.float32(math.sqrt(3 * (1 if name == peer.EMBEDDING else 2 / (rows + cols))))
        made[name] = np.ones(cols, np.float32) if rows == 1 else (peer.uniform(place, rows * cols) * bound).reshape(rows, cols)
    return made


def save(path, tensors, lie=None, cut=None):
    """A safetensors file by hand; lie: the header's length; cut: the file's."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, w in tensors.items():
        header[name] = {"dtype": {"float32": "F32", "float16": "F16", "int32": "I32"}[str(w.dtype)], "shape": w.shape,
                        "data_offsets": [len(data), len(data) + w.nbytes]}
        data += w.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(((lie or len(text)).to_bytes(8, "little") + text + data)[:cut])
    return path


def test_weights_of_a_file(perfkit, measured, tmp_path):
    """The seed's weights through a file are the seed's, in a model whose largest are read in pieces too; others are not; fp16 is near."""
    def losses(path, vocab=50):
        answer = run(perfkit, *(word.replace("vocab=50", "vocab=%d" % vocab) for word in ONE), "--weights", "seeded,%s" % path)
        assert answer.status == 0, answer
        with sqlite3.connect(perfkit.db) as db:
            found = db.execute("SELECT axes ->> 'weights', max(notes ->> '$.found.loss') FROM v_slice s JOIN v_case USING (run_id, case_id) "
                               "WHERE run_id = (SELECT max(run_id) FROM v_run) GROUP BY 1 ORDER BY 1 = 'seeded'").fetchall()
        assert [bool(name == "seeded") for name, _ in found] == [False, True]
        return [loss for _, loss in found]

    w = weights()
    of_file, of_seed = losses(save(tmp_path / "same.safetensors", weights(vocab=9001)), 9001)  # 288032 elements, more than PK_TENSOR_PIECE
    assert of_file == of_seed
    of_file, of_seed = losses(save(tmp_path / "half.safetensors", {name: x.astype(np.float16) for name, x in w.items()}))
    assert of_file != of_seed and abs(of_file - of_seed) < 0.02
    w[peer.HEAD] = -w[peer.HEAD]
    of_file, of_seed = losses(save(tmp_path / "other.safetensors", w))
    assert abs(of_file - of_seed) > 0.02


def test_weights_that_do_not_fit(perfkit, tmp_path):
    w, path = weights(), tmp_path / "w.safetensors"
    without = {name: x for name, x in w.items() if name != "layers.1.ffn.w2.weight"}
    whole = save(path, w).stat().st_size
    sizes = "its sizes must be those of this model: "
    for tensors, advice in ((without, "save it with this tensor, too"), ({**w, "extra.weight": w[peer.NORM]}, "save it without this tensor"),
                            ({**w, peer.HEAD: w[peer.HEAD][:49]}, "save it in that shape"),
                            ({**w, "layers.0.ffn.w1.weight": w["layers.0.ffn.w1.weight"].T}, "save it transposed, as [out, in]")):
        r = run(perfkit, *ONE, "--weights", save(path, tensors))
        assert r.status == 2 and r.error()["try"].startswith(sizes + advice), r
    for tensors, how, what, why in (
            (without, {}, "has no tensor layers.1.ffn.w2.weight", "this model needs one of [32, 40]; the file has 20 tensors"),
            ({**w, "layers.2.ln1.weight": w["layers.1.ln1.weight"]}, {}, "has a tensor layers.2.ln1.weight", "no such parameter"),
            ({**w, peer.HEAD: w[peer.HEAD][:49]}, {}, "lm_head.weight is of [49, 32]", "this model needs [50, 32]"),
            ({**w, peer.NORM: w[peer.NORM].astype(np.int32)}, {}, "ln_final.weight is of dtype I32", "F32, BF16 and F16"),
            (w, {"cut": whole - 1}, "is not a valid safetensors file", "it is truncated"),
            (w, {"cut": 100}, "is not a valid safetensors file", "it ends before the end of its header"),
            (w, {"cut": 3}, "is not a valid safetensors file", "fewer than 8 bytes"),
            (w, {"lie": 1 << 40}, "is not a valid safetensors file", "at most 100 MB"),
            (w, {"lie": 7}, "is not a valid safetensors file", "its header is not JSON")):
        save(path, tensors, **how)
        r = run(perfkit, *ONE, "--weights", path)
        assert r.status == 2 and what in r.stderr and why in r.stderr and "try:" in r.stderr, r
    r = run(perfkit, *OTHER, "--weights", save(path, w))
    assert r.status == 2 and "has no tensor layers.2.ln1.weight" in r.stderr and "layers=2 d_model=32 d_ff=40 vocab=50" in r.stderr, r
    r = run(perfkit, *ONE, "--weights", tmp_path / "none.safetensors")
    assert r.status == 2 and "axis weights: cannot read" in r.stderr and "No such file" in r.stderr, r
    assert not perfkit.db.exists() or "steps" not in perfkit("show", "@", "--tables", "all").stdout


def test_a_loss_that_is_no_number(perfkit, measured, tmp_path):
    """It fails its case, and the others are measured."""
    w = weights()
    w["layers.0.ffn.w1.weight"][3, 3] = math.nan
    path = save(tmp_path / "nan.safetensors", w)
    for mode in ("forward", "step"):
        args = [word.replace("mode=step", "mode=" + mode) for word in ONE[:-2]]
        r = run(perfkit, *args, "--weights", "seeded,%s" % path)
        assert r.status == 1 and "in the first iteration: the loss is nan" in r.error()["why"], r
        with sqlite3.connect(perfkit.db) as db:
            states = db.execute("SELECT axes ->> 'weights' = 'seeded', status FROM v_case WHERE run_id = (SELECT max(run_id) FROM v_run)").fetchall()
        assert sorted(states) == [(0, "failed"), (1, "ok")]


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_weights_beyond_the_range_of_a_type(perfkit, measured, tmp_path, dtype):
    """Infinities that end in a loss which looks like one: the weights are named, and no bug."""
    w = {name: x if x.ndim == 1 else x * np.float32(1e12) for name, x in weights().items()}
    path = save(tmp_path / "beyond.safetensors", w)
    args = [word.replace("dtype=fp32", "dtype=" + dtype) for word in ONE[:-2]]
    r = run(perfkit, *args, "--weights", path)
    why = r.error()["why"]
    assert r.status == 1 and "the loss of token 0 of sequence 1 cannot be checked: its weights leave the range of fp32, tf32 and bf16" in why, r
    assert "float64 has" in why and "ends at 3.403e+38; try: use smaller weights" in why and "bug" not in r.stdout + r.stderr, r
    assert why in r.stdout  # of the tables


def test_a_gradient_that_is_no_number(perfkit, measured, tmp_path):
    """Of a loss that is one: not measured as if nothing were, nor held against others bin by bin; a forward pass alone is."""
    w = weights()
    w[peer.EMBEDDING] *= np.float32(1e-30)
    w[peer.HEAD] *= np.float32(3e36)
    path = save(tmp_path / "steep.safetensors", w)
    for mode, status in ("forward", 0), ("forward+backward", 1):
        r = run(perfkit, *(word.replace("mode=step", "mode=" + mode) for word in ONE[:-2]), "--weights", path)
        assert r.status == status, r
    assert "has elements that are not finite" in r.error()["why"] and "a mode without a backward pass" in r.error()["why"], r


def test_large_weights_are_checked(perfkit, measured, tmp_path):
    """Scores and logits in the thousands, which have no exponential in float64: the reference takes their differences."""
    rng = np.random.default_rng(3)
    w = {name: x if x.ndim == 1 else rng.normal(0, 9, x.shape).astype(np.float32) for name, x in weights().items()}
    r = run(perfkit, *ONE, "--weights", save(tmp_path / "large.safetensors", w))
    assert [row["status"] for row in table(r, "steps")] == ["OK"]


def test_a_type_that_no_variant_has_keeps_every_row(perfkit):
    r = run(perfkit, "--device", "cpu", "--dry-run", "-a", "dtype=tf32", "-a", "mode=step", "--format", "json")
    assert [(c["variant"], "need a GPU" in c["status"]) for c in table(r, "plan")] == [("eager", True), ("compiled", True)]


def test_what_takes_too_long_has_parameters(perfkit, measured):
    r = run(perfkit, "--device", "cpu", "--dry-run", "-a", "model=large", "-a", "dtype=fp32", "-a", "mode=step", "--variant", "eager", "--memory-limit", "80GB", "--timeout", "1s", "--format", "json")
    plan, = table(r, "plan")
    assert plan["status"].startswith("would take at least") and plan["parameters"] == 969_411_840 and plan["predicted_bytes"] > 60e9, plan


def test_what_a_context_may_be(perfkit):
    r = run(perfkit, "--device", "cpu", "-a", "seq_len=1048577")
    assert r.status == 2 and "'1048577' is out of range" in r.stderr and "from 1 to 1048576" in r.stderr and "try:" in r.stderr, r


@pytest.mark.parametrize("dtype,variant", [("fp32", "eager"), ("bf16", "compiled")])
def test_a_batch_that_cannot_fit_on_the_cpu(perfkit, measured, dtype, variant):
    """Nothing is taken for it: the row is there before a worker could have failed, and says which batch would fit; that one does."""
    args = ("--device", "cpu", "-a", "d_model=64", "-a", "d_ff=64", "-a", "heads=2", "-a", "layers=1", "-a", "vocab=50", "-a", "seq_len=64", "-a", "mode=step",
            "-a", "dtype=" + dtype, "--variant", variant, "--memory-limit", "16MiB", "--format", "json")
    r = run(perfkit, *args, "-a", "batch=60000")
    assert r.status == 6, r
    message = perfkit("export", "json", "--what", "cases", "@").stdout
    found = int(message.split("batch=")[1].split(" would fit")[0])
    assert 1 < found < 1000
    memory, steps = table(perfkit("show", "@", "--format", "json"), "memory"), perfkit("show", "@", "--tables", "all").stdout
    assert [(m["status"], m["largest_batch"]) for m in memory] == [("OOM", found)] and f"step {dtype} {variant} vocab=50: predicted to take" in steps
    assert f"batch={found} would fit within 16.0 MiB" in steps and "within the limit of the device, 16.0 MiB." in steps
    dry = run(perfkit, *args, "-a", "batch=60000", "--dry-run")
    (plan,) = table(dry, "plan")
    assert plan["status"] == f"out of memory: not tried; batch={found} would fit within 16.0 MiB"
    assert "16.0 MiB of memory is not enough for 1 case: choose smaller sizes with -a" in " ".join(dry.json()["tables"]["plan"]["notes"])
    once = perfkit("run", "mixed-precision", *args[:-2], "-a", "batch=60000", "--once")
    for words in (f"{variant} layers=1 d_model=64 ", "batch=60000", "predicted to take", f"; batch={found} would fit"):
        assert words in once.stdout, once
    memory = table(run(perfkit, *args, "-a", f"batch={found}", "--no-check"), "memory")
    assert [(m["status"], m["largest_batch"]) for m in memory] == [("OK", found)]


def test_the_time_said_beforehand_counts_nested_regions_once(perfkit, measured):
    """Of a case that was measured: its iterations take as many steps, though forward, backward and optimizer have times of their own."""
    args = ("--device", "cpu", *TINY, "-a", "dtype=fp32", "-a", "mode=step", "--variant", "eager", "--format", "json")
    step_ns = table(run(perfkit, *args), "steps")[0]["step_ns"]
    (plan,) = table(run(perfkit, *args, "--dry-run", "--min-samples", "100000", "--max-samples", "100000", "--timeout", "100h"), "plan")
    assert plan["status"] == "measured" and plan["expected_ns"] / (100_005 * step_ns) < 1.2, plan


@pytest.mark.parametrize("args, missing", [
    (("-a", "dtype=bf16"), "this run has no fp32 eager. Add it with -a dtype=fp32,bf16."),
    (("-a", "dtype=fp32", "--variant", "compiled"), "this run has no fp32 eager. Add it with --variant eager,compiled."),
    (("-a", "dtype=bf16", "--variant", "compiled"), "this run has no fp32 eager. Add it with -a dtype=fp32,bf16 --variant eager,compiled."),
    (("-a", "dtype=fp32,bf16"), None),
])
def test_drift_without_its_reference_says_what_to_add(perfkit, measured, args, missing):
    r = run(perfkit, *TINY, "-a", "mode=forward", *args, "--format", "json")
    notes = " ".join(r.json()["tables"]["drift"].get("notes", []))
    assert notes.endswith(missing) if missing else "No reference for" not in notes, notes
    shown = perfkit("show", "--tables", "all").stdout.split("Drift from fp32 eager")[1].split("\n\n")[0]
    assert ("Loss off by" in shown) == (not missing) and "Gradient" not in shown.split("After the first")[0], shown


@not_sanitized
def test_which_run_in_which_precision_by_which_attention(perfkit, measured):
    """The seed's configuration: device, precision; and what attention=auto was. Nothing of it in formats of bare rows."""
    asked = (*TINY, "-a", "mode=forward", "--label", "mine")
    r = run(perfkit, *asked, "-a", "dtype=fp32,bf16", "--threads", "1")
    assert r.status == 0, r
    first, blank, heading = [line for line in r.stdout.splitlines() if not line.startswith("noisy: ")][:3]
    assert (blank, heading.split()) == ("", ["#", "Finding"])
    found = re.fullmatch(r"Run (\d+) \(mine\), \d{4}-\d\d-\d\d \d\d:\d\d UTC: mixed-precision on cpu, .+, 1 thread, perfkit \d\S+, order seed \d+\.", first)
    assert found, first
    again = perfkit("show", found[1], "--format", "json")
    assert again.json()["notes"] == [first]
    notes = again.json()["tables"]["models"]["notes"]
    assert "fp32: full precision (FP32), weights, products and sums." in notes and any(n.startswith("bf16: master weights") for n in notes), notes
    assert "attention=auto is vanilla in eager; flash in compiled." in notes
    assert first not in perfkit("show", found[1], "--format", "csv", "--table", "models").stdout + perfkit("show", found[1], "--format", "jsonl").stdout
    r = run(perfkit, *asked[:-2], "-a", "dtype=fp32", "-a", "attention=fused", "--no-save", "--no-check", "--format", "json", "--device", "null")
    assert r.json()["notes"][0].startswith("Not kept, ")
    assert r.json()["tables"]["models"]["notes"] == ["fp32: full precision (FP32), weights, products and sums."]
