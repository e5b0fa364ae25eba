"""attention-scaling in fp32, tf32 and bf16: what a device or variant has not is a skipped row with its reason, never another numerics."""
import sqlite3

import pytest

pytestmark = pytest.mark.usefixtures("measured")
TINY = ("run", "attention-scaling", "-a", "d_model=16", "-a", "seq_len=33", "--invocations", 1, "--max-time", "5ms", "--min-time", "1ms",
        "--min-samples", 3, "--format", "json", "-a", "dtype=fp32,tf32,bf16")


def cases(perfkit):
    with sqlite3.connect(perfkit.db) as db:
        rows = db.execute("SELECT variant, c.axes ->> 'dtype', s.status, coalesce(s.message, ''), c.identity FROM slice s "
                          "JOIN run_case c ON c.id = s.case_id").fetchall()
    return {(variant, dtype): (status, message, identity) for variant, dtype, status, message, identity in rows}


def by_dtype(answer):
    """The rows of `scaling`, by variant and dtype."""
    return {(t["variant"], (t["other_axes"] or {}).get("dtype", "fp32")): t for t in answer.json()["tables"]["scaling"]["rows"]}


def test_the_cpu_has_no_tf32(perfkit):
    """bf16 it has in every variant, checked like the rest, and a worker says what multiplies it."""
    r = perfkit(*TINY, "--device", "cpu", "--variant", "vanilla,fused,flash")
    assert r.status == 0, r
    rows = by_dtype(r)
    for variant in ("vanilla", "fused", "flash"):
        for dtype in ("fp32", "bf16"):
            assert rows[variant, dtype]["status"] == "OK" and rows[variant, dtype]["forward_ns"] > 0
        row = rows[variant, "tf32"]
        assert row["status"] == "skipped" and row["forward_ns"] is None and row["lives_in"] is None
    assert "tf32 products need a GPU: -a dtype=fp32" in perfkit("show", "@", "--tables", "all").stdout
    with sqlite3.connect(perfkit.db) as db:
        said = {value for value, in db.execute("SELECT value FROM v_setting WHERE key = 'bf16'")}
    assert len(said) == 1 and next(iter(said)).startswith(("onednn ", "widened to fp32: "))


def test_a_widened_bf16_is_said_once(perfkit):
    """On stderr, whatever the reason is; a run without bf16 says nothing of it."""
    one = ("run", "attention-scaling", "-a", "d_model=16", "-a", "seq_len=33,65", "--invocations", 2, "--max-time", "5ms", "--min-time", "1ms",
           "--min-samples", 3, "--device", "cpu", "--variant", "vanilla")
    r = perfkit(*one, "-a", "dtype=bf16", env={"PERFKIT_BF16": "widened"})
    assert r.status == 0 and r.stderr.count("warning: products of bf16 are widened to fp32: PERFKIT_BF16=widened: bf16 saves memory here, not time") == 1, r
    r = perfkit(*one, "-a", "dtype=fp32", env={"PERFKIT_BF16": "widened"})
    assert r.status == 0 and "products of bf16" not in r.stderr, r


def test_types_are_cases_of_their_own(perfkit):
    """fp32 keeps the identity that it had before there were others. Half the bytes in bf16."""
    r = perfkit(*TINY, "--device", "null", "--variant", "vanilla,fused")
    assert r.status == 0, r
    found = {dtype: identity for (variant, dtype), (status, _, identity) in cases(perfkit).items() if variant == "vanilla"}
    assert '"dtype"' not in found["fp32"] and '"dtype":"tf32"' in found["tf32"] and '"dtype":"bf16"' in found["bf16"]
    peak = {at: row["peak_bytes"] for at, row in by_dtype(r).items()}
    for variant in ("vanilla", "fused"):
        assert peak[variant, "fp32"] == peak[variant, "tf32"] > 1.9 * peak[variant, "bf16"]


def test_math_is_of_fp32(perfkit):
    r = perfkit("run", "attention-scaling", "--device", "null", "--dry-run", "-a", "dtype=fp32,bf16", "-a", "d_model=16", "-a", "seq_len=33",
                "--variant", "vanilla", "--format", "json")
    assert r.status == 0, r
    maths = {row["axes"]["dtype"]: row["axes"].get("math") for row in r.json()["tables"]["plan"]["rows"]}
    assert maths == {"fp32": "ieee", "bf16": None}


def test_fp16x3_is_refused_before_anything_runs(perfkit):
    """No GPU has checked its kernels: --dry-run says how to switch them on."""
    dry = ("run", "attention-scaling", "--device", "null", "--dry-run", "-a", "d_model=64", "-a", "seq_len=64", "-a", "math=fp16x3", "-v", "flash")
    r = perfkit(*dry)
    assert "set PERFKIT_FP16X3=on, or -a math=3xtf32" in " ".join(r.stdout.split()) + r.stderr, r
    r = perfkit(*dry, env={"PERFKIT_FP16X3": "on"})
    assert r.status == 0 and "PERFKIT_FP16X3" not in r.stdout, r


def test_products_of_parts_are_of_flash_on_gpus(perfkit):
    """Skipped with the reason elsewhere, an identity of its own where it runs."""
    tiny = [a for a in TINY if a != "dtype=fp32,tf32,bf16"][:-1] + ["-a", "math=ieee,3xtf32,fp16x3"]
    r = perfkit(*tiny, "--device", "cpu", "--variant", "flash")
    assert r.status == 0, r
    said = perfkit("show", "@", "--tables", "all").stdout
    assert all(f"{math} products need a GPU: -a math=ieee" in said for math in ("3xtf32", "fp16x3"))
    r = perfkit(*tiny, "--device", "null", "--variant", "fused,flash")
    assert r.status == 0, r
    said = perfkit("show", "@", "--tables", "all").stdout
    assert all(f"only flash has {math} products: -a math=ieee" in said for math in ("3xtf32", "fp16x3"))
    shares = {(row["other_axes"] or {}).get("math"): row["forward_of_floor"] for row in perfkit("show", "@", "--format", "json").rows("scaling")
              if row["variant"] == "flash"}
    assert shares["3xtf32"] is None and shares[None] > 0, "no ceiling of tensor cores is measured"
    with sqlite3.connect(perfkit.db) as db:
        rows = db.execute("SELECT s.status, c.identity FROM slice s JOIN run_case c ON c.id = s.case_id WHERE c.variant = 'flash'").fetchall()
    assert [status for status, identity in rows if '"math":"3xtf32"' in identity] == ["skipped", "ok"]
    assert [status for status, identity in rows if '"math"' not in identity] == ["ok", "ok"]
