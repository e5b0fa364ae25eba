"""The GPU check, tried on the CPU: its stages, what a second call repeats, what it leaves, and what it says without a GPU."""
import gzip
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
STAGES = ["doctor", "numerics", "ceilings", "bandwidth", "attention", "bf16", "tf32", "transformer", "large", "counters", "sanitizer",
          "tree", "structure", "report"]


def command(*args, perfkit=BINARY):
    return [sys.executable, ROOT / "tests" / "gpu" / "check.py", "--perfkit", perfkit, "--tests", TESTS, *args]


def check(out, *args, perfkit=BINARY, device="cpu"):
    p = subprocess.run(command("--device", device, "--quick", "--out", out, *args, perfkit=perfkit), capture_output=True, text=True,
                       timeout=300, check=False)
    lines = [line.split(": ", 2)[1:] for line in p.stdout.splitlines() if line.startswith("gpu-check: ")]
    return p.returncode, [(said[0].split(" ")[0], " ".join(said[0].split(" ")[1:])) for said in lines], p


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
    assert states(out) == {**dict.fromkeys(STAGES, "passed"), "bf16": "skipped", "tf32": "skipped", "large": "skipped", "counters": "skipped",
                          "sanitizer": "skipped"}


def test_few_files_and_a_whole_store(checked, tmp_path):
    out, _ = checked
    files = list(out.iterdir())
    assert len(files) <= 8 and all(f.stat().st_size <= 16 << 20 for f in files)
    db = tmp_path / "perfkit.db"
    db.write_bytes(gzip.decompress((out / "perfkit.db.gz").read_bytes()))
    labels = {row[0] for row in sqlite3.connect(db).execute("SELECT label FROM run")}
    assert labels == {"gpu-check-attention-cpu", "gpu-check-transformer-cpu", "gpu-check-tree-cpu", "gpu-check-structure-cpu"}
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
    assert all(before[s] == after[s] for s in STAGES if s not in ("bf16", "tf32", "large", "counters", "sanitizer", "report"))


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
    """perfkit says so on standard error; the words here must be its own."""
    out = tmp_path / "out"
    stub = tmp_path / "perfkit"
    stub.write_text('#!/bin/sh\ncase "$*" in *--resume*) ;; run*) exec %s "$@" --budget 1ms ;; esac\nexec %s "$@"\n' % (BINARY, BINARY))
    stub.chmod(0o755)
    status, _, _ = check(out, "attention", perfkit=stub)
    assert (status, states(out)) == (1, {"attention": "partial"})
    status, _, _ = check(out, perfkit=stub)
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


def test_unknown_stages_are_refused(tmp_path):
    status, _, p = check(tmp_path / "out", "numeric")
    assert status == 2 and "there is no stage 'numeric'" in p.stderr and "numerics" in p.stderr
