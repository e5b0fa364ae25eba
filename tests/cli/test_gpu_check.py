"""The GPU check, tried on the CPU: its stages, what a second call repeats, what it leaves, and what it says without a GPU."""
import gzip
import importlib.util
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import BINARY

ROOT = pathlib.Path(__file__).parents[2]
TESTS = os.environ.get("PK_GPU_TESTS", str(ROOT / "build" / "tests" / "gpu"))
STAGES = ["doctor", "numerics", "ceilings", "bandwidth", "products", "attention", "bf16", "tf32", "transformer", "large", "nccl", "ranks", "counters", "sanitizer",
          "tree", "structure", "report"]


def command(*args, perfkit=BINARY):
    return [sys.executable, ROOT / "tests" / "gpu" / "check.py", "--perfkit", perfkit, "--tests", TESTS, *args]


def check(out, *args, perfkit=BINARY, device="cpu"):
    p = subprocess.run(command("--device", device, "--quick", "--out", out, *args, perfkit=perfkit), capture_output=True, text=True,
                       timeout=300, check=False)
    lines = [line.split(": ", 2)[1:] for line in p.stdout.splitlines() if line.startswith("gpu-check: ")]
    return p.returncode, [(said[0].split(" ")[0], " ".join(said[0].split(" ")[1:])) for said in lines], p


def without_mpi():
    env = {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_")}
    tables = json.loads(subprocess.run([BINARY, "doctor", "--format", "json"], capture_output=True, text=True, check=True, env=env).stdout)["tables"]
    return [s for s in ("ranks",) for table in tables.values() for r in table["rows"] if r["name"] == "mpi" and r["state"] != "ok"]


def states(out, device="cpu"):
    return {name: row["state"] for name, row in json.loads((out / "status.json").read_text())[device].items()}


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    out = tmp_path_factory.mktemp("check") / "out"
    return out, check(out)


def test_every_stage_runs(checked):
    out, (status, said, p) = checked
    assert status == 0, p.stdout + p.stderr
    assert [s for s, _ in said] == STAGES
    skipped = ["bf16", "tf32", "large", "nccl", "counters", "sanitizer", *without_mpi()]
    assert states(out) == {**dict.fromkeys(STAGES, "passed"), **dict.fromkeys(skipped, "skipped")}


def test_few_files_and_a_whole_store(checked, tmp_path):
    out, _ = checked
    files = list(out.iterdir())
    assert len(files) <= 8 and all(f.stat().st_size <= 16 << 20 for f in files)
    db = tmp_path / "perfkit.db"
    db.write_bytes(gzip.decompress((out / "perfkit.db.gz").read_bytes()))
    labels = {row[0] for row in sqlite3.connect(db).execute("SELECT label FROM run")}
    stages = ["attention", "transformer", "tree", "structure", *(() if without_mpi() else ["ranks"])]
    assert labels == {"gpu-check-%s-cpu" % s for s in stages}
    for name in ("report.txt", "report.md"):
        text = (out / name).read_text()
        assert all(label in text for label in labels) and "numerics passed" in text


def test_what_passed_is_not_repeated(checked):
    out, _ = checked
    before = json.loads((out / "status.json").read_text())["cpu"]
    status, said, _ = check(out)
    after = json.loads((out / "status.json").read_text())["cpu"]
    assert status == 0
    assert [what for stage, what in said if stage in ("doctor", "attention")] == ["has passed before"] * 2
    assert all(before[s] == after[s] for s in STAGES if s not in ("bf16", "tf32", "large", "nccl", *without_mpi(), "counters", "sanitizer", "report"))


def test_a_named_stage_is_repeated(checked):
    out, _ = checked
    before = json.loads((out / "status.json").read_text())["cpu"]
    status, said, _ = check(out, "doctor")
    assert (status, said) == (0, [("doctor", "passed")])
    assert json.loads((out / "status.json").read_text())["cpu"]["attention"] == before["attention"]


def failing(tmp_path, words):
    """A perfkit that fails when its arguments begin with these words."""
    path = tmp_path / "perfkit"
    path.write_text('#!/bin/sh\ncase "$*" in "%s"*) echo "perfkit: made to fail" >&2; exit 1 ;; esac\nexec %s "$@"\n' % (words, BINARY))
    path.chmod(0o755)
    return path


def test_a_stage_that_fails_stops_no_other(tmp_path):
    out = tmp_path / "out"
    wanted = ["doctor", "attention", "structure", "report"]
    status, said, _ = check(out, *wanted, perfkit=failing(tmp_path, "run attention-scaling"))
    assert status == 1
    assert states(out) == {"doctor": "passed", "attention": "failed", "structure": "passed", "report": "passed"}
    assert "made to fail" in (out / "runs.txt").read_text()
    assert "made to fail" in json.loads((out / "status.json").read_text())["cpu"]["attention"]["said"]
    status, said, _ = check(out, "attention")
    assert (status, states(out)["attention"]) == (0, "passed")


def test_an_interrupted_stage_goes_on(tmp_path):
    out = tmp_path / "out"
    stub = tmp_path / "perfkit"
    stub.write_text('#!/bin/sh\ncase "$1" in run) touch %s/begun; exec sleep 100 ;; esac\nexec %s "$@"\n' % (tmp_path, BINARY))
    stub.chmod(0o755)
    p = subprocess.Popen(command("--device", "cpu", "--quick", "--out", out, "attention", perfkit=stub), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 143
    assert states(out) == {"attention": "partial"}
    status, _, _ = check(out, "attention")
    assert (status, states(out)) == (0, {"attention": "passed"})


def test_a_budget_that_left_cases_out_is_resumed(tmp_path):
    """perfkit says so on standard error; the words here must be its own. A call without names goes on by itself."""
    out = tmp_path / "out"
    stub = tmp_path / "perfkit"
    stub.write_text('#!/bin/sh\ncase "$*" in *--resume*) ;; run*) exec %s "$@" --budget 1ms ;; esac\nexec %s "$@"\n' % (BINARY, BINARY))
    stub.chmod(0o755)
    status, _, _ = check(out, "attention", perfkit=stub)
    assert (status, states(out)) == (1, {"attention": "partial"})
    (out / "status.json").write_text(json.dumps({"cpu": {s: {"state": "passed", "when": "", "said": ""} for s in STAGES if s != "attention"}}))
    for f in ("perfkit.db.gz", "runs.txt"):
        (out / f).unlink()
    status, said, _ = check(out, perfkit=stub)
    assert status == 0 and [name for name, what in said if what != "has passed before"] == ["attention", "report", "attention", "report"]
    assert states(out)["attention"] == "passed"
    assert "run attention-scaling --resume" in (out / "runs.txt").read_text()


def test_without_the_device_everything_is_skipped(tmp_path):
    perfkit = tmp_path / "perfkit"
    answer = json.dumps({"tables": {"devices": {"rows": [{"name": "cuda", "reason": "there is no NVIDIA driver"}]}}})
    perfkit.write_text("#!/bin/sh\necho '%s'\n" % answer)
    perfkit.chmod(0o755)
    status, said, p = check(tmp_path / "out", perfkit=perfkit, device="cuda")
    assert status == 77 and not (tmp_path / "out").exists()
    assert said == [(s, "skipped") for s in STAGES] and p.stdout.count("there is no NVIDIA driver") == len(STAGES)


@pytest.mark.parametrize("cupti,trace,counters,status,state,said", [
    ("no", "ok", "ok", 0, "skipped", "CUPTI: made up"),
    ("ok", "unavailable", "unavailable", 0, "skipped", "gpu-counters unavailable: made up"),
    ("ok", "ok", "unavailable", 0, "passed", "gpu-counters unavailable: made up"),
    ("ok", "ok", "degraded", 1, "failed", "gpu-counters degraded: made up"),
])
def test_counters_of_a_made_up_gpu(tmp_path, cupti, trace, counters, status, state, said):
    """Which groups are asked for follows from what doctor found."""
    perfkit = tmp_path / "perfkit"
    rows = [{"name": n, "state": s, "found": "made up"} for n, s in (("cupti", cupti), ("gpu-state", "unavailable"), ("gpu-trace", trace),
                                                                  ("gpu-counters", counters))]
    answers = {"doctor": {"sources": {"rows": rows}}, "list": {"devices": {"rows": [{"name": "cuda", "reason": None}]}}}
    perfkit.write_text("#!/bin/sh\necho \"$*\" >> %s/asked\ncase $1 in\n%s\nesac\n" % (tmp_path, "\n".join(
        "%s) echo '%s' ;;" % (k, json.dumps({"tables": v})) for k, v in answers.items())))
    perfkit.chmod(0o755)
    out = tmp_path / "out"
    assert check(out, "counters", perfkit=perfkit, device="cuda")[0] == status
    row = json.loads((out / "status.json").read_text())["cuda"]["counters"]
    assert row["state"] == state and said in row["said"]
    runs = [line for line in (tmp_path / "asked").read_text().splitlines() if line.startswith("run attention-scaling")]
    wanted = [] if state == "skipped" else ["gpu-trace"] + ["gpu-lite,gpu-roof,gpu-tensor,gpu-cache"] * (counters != "unavailable")
    assert len(runs) == bool(wanted) and all("--counters %s " % ",".join(wanted) in r for r in runs)


def test_a_step_that_was_not_measured_fails_its_stage(tmp_path):
    out, stub = tmp_path / "out", tmp_path / "perfkit"
    stub.write_text('#!/bin/sh\ncase "$1" in run) exec %s "$@" --variant eager ;; esac\nexec %s "$@"\n' % (BINARY, BINARY))
    stub.chmod(0o755)
    status, said, _ = check(out, "transformer", perfkit=stub)
    row = json.loads((out / "status.json").read_text())["cpu"]["transformer"]
    assert (status, row["state"]) == (1, "failed"), row
    assert "not measured: compiled fp32 step_ns, compiled fp32 peak_bytes, compiled bf16 step_ns, compiled bf16 peak_bytes" in row["said"], row


def test_figures_of_a_step():
    """What is asked of it is said; what was not measured is named, perfkit's own and PyTorch's."""
    spec = importlib.util.spec_from_file_location("check", ROOT / "tests" / "gpu" / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    variants = {"compiled": 1e6, "torch-eager": 2e6, "torch-compile": 1.25e6}
    seen = {(v, d, m): x for v, x in variants.items() for d in ("fp32", "tf32", "bf16") for m in ("step_ns", "peak_bytes")}
    seen.update({("compiled", d, "model_flops"): 4e11 for d in ("fp32", "tf32", "bf16")})

    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE v_run(run_id, label)")
        db.execute("INSERT INTO v_run VALUES (6, 'step'), (7, 'step')")
        db.execute("CREATE TABLE v_setting(run_id, invocation, key, value)")
        db.execute("INSERT INTO v_setting VALUES (6, 1, 'sheet_bf16_flops_per_s', '312e12'), (7, 1, 'sheet_bf16_flops_per_s', '989.4e12'),"
                   " (7, 2, 'sheet_bf16_flops_per_s', '989.4e12'), (7, 1, 'sheet_tf32_flops_per_s', '494.7e12'), (7, 1, 'gpu', 'x')")
        peaks = module.sheet_peaks(db, "step")
        assert peaks == {"bf16": 989.4e12, "tf32": 494.7e12} and module.sheet_peaks(db, "other") == {}

    def figures(*without):
        kept = {k: x for k, x in seen.items() if k[:2] not in without}
        return module.step_told(kept, ("fp32", "tf32", "bf16"), ["torch-eager", "torch-compile"], peaks, 40)

    told, missing = figures()
    assert len(told) == 10 and not missing
    assert {"bf16 step_ns 0.50 x torch-eager (at most 0.60)", "bf16 MFU 40.4 % of the data sheet (bf16: at least 40)"} < set(told)
    told, missing = figures(("compiled", "bf16"), ("torch-compile", "tf32"))
    assert len(told) == 4 and missing == ["compiled bf16 step_ns", "compiled bf16 peak_bytes", "torch-compile tf32 peak_bytes"]


def test_ranks_beside_pytorchs():
    """Each way beside the peer that does the same, at equal caps; which was not compared is named."""
    spec = importlib.util.spec_from_file_location("check", ROOT / "tests" / "gpu" / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    measured = [("bucket", 1e6, 50), ("bucket", 4e6, 90), ("flat", None, 100), ("naive", None, 300),
                ("torch-ddp", 1e6, 100), ("torch-ddp", 4e6, 100), ("torch-ddp-flat", 1e6, 200), ("torch-ddp-flat", 4e6, 100)]
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE TABLE v_run(run_id, label)")
        db.execute("INSERT INTO v_run VALUES (7, 'ranks')")
        db.execute("CREATE TABLE v_summary(run_id, variant, axes, metric, median)")
        for variant, cap, median in measured:
            axes = {"work": "timer", "model": "small", **({"bucket_bytes": cap} if cap else {})}
            db.execute("INSERT INTO v_summary VALUES (7, ?, ?, 'exposed_ns', ?)", (variant, json.dumps(axes), median * 1e6))
        told = module.ranks_told(db, "ranks", module.RANK_PEERS)
    assert told == ["exposed communication of bucket 0.50 to 0.90 x torch-ddp over gloo (2 settings)",
                    "exposed communication of flat 0.50 to 1.00 x torch-ddp-flat over gloo (2 settings)", "not compared: torch-ddp-naive"]


def test_unknown_stages_are_refused(tmp_path):
    status, _, p = check(tmp_path / "out", "numeric")
    assert status == 2 and "there is no stage 'numeric'" in p.stderr and "numerics" in p.stderr
