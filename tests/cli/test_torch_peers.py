"""The PyTorch peers where there is no PyTorch: each skips and says why. Where it is installed, eager is measured on the CPU."""
import importlib.util
import json
import pathlib
import re
import sqlite3
import sys

import pytest

from stored import query

pytestmark = pytest.mark.usefixtures("measured")
PEERS = ["torch-eager", "torch-compile", "torch-sdpa", "torch-sdpa-math", "torch-sdpa-efficient",
         "torch-sdpa-flash", "torch-sdpa-cudnn"]
TINY = ("run", "attention-scaling", "--device", "cpu", "--variant", "vanilla", "-a", "d_model=16", "-a", "seq_len=33", "--invocations", 1,
        "--max-time", "5ms", "--min-time", "1ms", "--min-samples", 3, "--python", sys.executable, "--format", "json")
CASES = "SELECT DISTINCT variant, s.status, s.message FROM slice s JOIN run_case c ON c.id = s.case_id WHERE variant LIKE 'torch-%'"
FOUND = importlib.util.find_spec("torch")
HAS_TORCH = FOUND is not None and FOUND.origin is not None  # a folder of that name is not it


@pytest.mark.skipif(HAS_TORCH, reason="torch is installed here")
def test_without_torch_every_peer_says_so(perfkit):
    r = perfkit(*TINY, *(word for peer in PEERS for word in ("--peer", peer)))
    assert r.status == 0, r
    rows = query(perfkit, CASES)
    assert sorted(row[0] for row in rows) == sorted(PEERS)
    assert all(status == "skipped" and "torch is not installed for this Python" in message for _, status, message in rows)


def test_overrides_of_numerics_are_ignored(perfkit):
    r = perfkit(*TINY, "--peer", "torch-eager", env={"NVIDIA_TF32_OVERRIDE": "0"})
    assert r.status == 0 and "NVIDIA_TF32_OVERRIDE would change how products are computed: it is ignored" in r.stderr, r
    assert query(perfkit, "SELECT count(*) FROM setting WHERE key = 'torch-eager.numerics_warning'") == [(1,)]
    r = perfkit(*TINY, "--peer", "torch-eager")
    assert r.status == 0 and "OVERRIDE" not in r.stderr, r


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_eager_on_the_cpu(perfkit):
    r = perfkit(*TINY, "--peer", "torch-eager", "--peer", "torch-sdpa-math")
    assert r.status == 0, r
    rows = query(perfkit, CASES)
    assert sorted(rows) == [("torch-eager", "ok", ""), ("torch-sdpa-math", "ok", "")]


def test_cudnn_beside_pytorch(perfkit):
    """The table's arithmetic, on two variants that are measured here and then called by other names."""
    assert perfkit(*TINY, "--variant", "fused").status == 0
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE run_case SET variant = CASE variant WHEN 'vanilla' THEN 'torch-sdpa' ELSE 'cudnn' END")
    tables = perfkit("show", "@", "--format", "json").json()["tables"]
    (row,) = tables["vendor"]["rows"]
    times = {t["variant"]: t["forward_ns"] + t["backward_ns"] for t in tables["scaling"]["rows"]}
    assert row["peer"] == "torch-sdpa" and row["total_speedup"] == pytest.approx(times["torch-sdpa"] / times["cudnn"])
    least, low = re.search(r"Least total speed-up: ([\d.]+) x \((?:([\d.]+) to|no interval).*\) against torch-sdpa\.", perfkit("show", "@", "--tables", "all").stdout).groups()
    assert float(least) == pytest.approx(row["total_speedup"], abs=0.06) and (low is None) == (row["total_speedup_low"] is None)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_the_same_transformer(perfkit):
    """Weights, tokens, loss and gradient of PyTorch are those of the native variants: 4e-7 apart where this was written."""
    shape = sum((("-a", text) for text in ("layers=2", "d_model=64", "heads=2", "d_ff=128", "vocab=100", "batch=2", "seq_len=32")), ())
    r = perfkit("run", "mixed-precision", "--device", "cpu", *shape, "-a", "dtype=fp32", "-a", "mode=step", "--peer", "torch-eager", "--python", sys.executable,
                "--invocations", 1, "--max-time", "5ms", "--min-time", "1ms", "--min-samples", 3, "--format", "json")
    assert r.status == 0, r
    rows = {row["variant"]: row for row in r.json()["tables"]["drift"]["rows"]}
    assert abs(rows["torch-eager"]["loss_drift"]) < 1e-5 and rows["torch-eager"]["gradient_drift"] < 1e-5
    assert rows["torch-eager"]["gradient_norm"] == pytest.approx(rows["eager"]["gradient_norm"], rel=1e-5)


DDP = ("run", "ddp-bucket", "--device", "cpu", "--variant", "bucket", "-a", "bucket_bytes=4MB", "-a", "compute_ms=0.1", "--invocations", 1, "--max-time", "5ms",
       "--min-time", "1ms", "--min-samples", 2, "--python", sys.executable, "--format", "json")


def test_ranks_over_gloo_are_no_virtual_ones(measured, perfkit):
    peers = ["torch-ddp", "torch-ddp-flat", "torch-ddp-naive"]
    r = perfkit(*DDP, *(word for peer in peers for word in ("--peer", peer)))
    assert r.status == 0, r
    rows = query(perfkit, CASES)
    assert sorted(row[0] for row in rows) == peers
    expected = "are processes over gloo: --transport mpi" if HAS_TORCH else "torch is not installed for this Python"
    assert all(status == "skipped" and expected in message for _, status, message in rows)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_compiled_weights_stay_where_they_are():
    """torch.compile is told that parameters keep their addresses: a CUDA graph then reads them in place instead of copying each in every step."""
    import numpy
    import torch
    from torch import _dynamo
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "probes" / "peers"))
    from shared import transformer as peer
    peer.torch, peer.np = torch, numpy
    kinds = {}

    def look(module, inputs):
        for node in module.graph.nodes:
            if node.op == "placeholder":
                kinds[node.name] = (node.meta.get("tensor_dict") or {}).get("_dynamo_static_input_type")
        return module.forward

    case = {**peer.KNOWN, "layers": 1, "d_model": 16, "heads": 2, "d_ff": 16, "vocab": 20, "batch": 1, "seq_len": 4}
    trial = peer.Trial(case, "eager", "cpu")
    _dynamo.reset()
    trial.fn = torch.compile(trial.fn, dynamic=False, backend=look)
    assert float(trial.step().detach()) > 0
    weights = [kind for name, kind in kinds.items() if "weight" in name]
    assert len(weights) == 12 and None not in weights, kinds
    assert [kind for name, kind in kinds.items() if "tokens" in name and "weight" not in name] == [None]


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed here")
def test_compiling_is_apart_from_the_times(perfkit):
    r = perfkit(*TINY, "--peer", "torch-compile", "--peer", "torch-eager")
    assert r.status == 0, r
    notes = dict(query(perfkit, "SELECT variant, notes ->> 'startup' FROM v_slice JOIN v_case USING (case_id) WHERE variant LIKE 'torch-%'"))
    compiled, eager = (json.loads(notes[name]) for name in ("torch-compile", "torch-eager"))
    assert compiled["compile_ns"] > 10**6 and compiled["start_ns"] > 10**6 and set(eager) == {"start_ns"}
    first, = query(perfkit, "SELECT max(value) FROM v_sample JOIN v_case USING (case_id) WHERE variant = 'torch-compile' AND phase = 'first' AND metric = 'forward_ns'")[0]
    assert first < compiled["compile_ns"] / 2
    assert "torch-compile took" in perfkit("show", "--tables", "all").stdout
