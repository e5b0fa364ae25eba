"""The GPU check, tried on the CPU: its stages, time limits, what a second call repeats, what a kill leaves, and what it says without a GPU."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time

import pytest

from conftest import BINARY, make_other_libraries

ROOT = pathlib.Path(__file__).parents[2]
TESTS = os.environ.get("PK_GPU_TESTS", str(ROOT / "build" / "tests" / "gpu"))
KILLS = int(os.environ.get("PK_KILLS", "3"))
sys.path.insert(0, str(ROOT / "tests" / "gpu"))
from gpucheck import figures, report, session, stages  # noqa: E402
from gpucheck.session import Failed, Session, Skip  # noqa: E402

NAMES = stages.NAMES
GPU_ONLY = [s.name for s in stages.STAGES if s.needs == "gpu"]
NOT_TINY = ["step-peers", "flash-peers", "step-compiled", "attention-compiled", "numerics-full", "large"]


def command(*args, perfkit=BINARY):
    return [sys.executable, ROOT / "tests" / "gpu" / "check.py", "--perfkit", perfkit, "--tests", TESTS, *args]


def check(out, *args, perfkit=BINARY, device="cpu"):
    p = subprocess.run(command("--device", device, "--quick", "--out", out, *args, perfkit=perfkit), capture_output=True, text=True,
                       timeout=300, check=False)
    lines = [line.split(": ", 2)[1:] for line in p.stdout.splitlines() if line.startswith("gpu-check: ")]
    return p.returncode, [tuple(said[0].split(" ", 1)) for said in lines if said[0].split(" ")[0] in NAMES], p


def recorded(out, device="cpu"):
    return json.loads((out / "status.json").read_text())[device + "-quick"]["stages"]


def states(out, device="cpu"):
    return {name: row["state"] for name, row in recorded(out, device).items()}


def stub(tmp_path, script):
    """A perfkit that does something else first."""
    path = tmp_path / "perfkit"
    path.write_text("#!/bin/sh\n%s\nexec %s \"$@\"\n" % (script, BINARY))
    path.chmod(0o755)
    return path


@pytest.fixture
def out(tmp_path, ceilings):
    (tmp_path / "out").mkdir()
    shutil.copy(ceilings, tmp_path / "out" / "perfkit.db")
    return tmp_path / "out"


# Fewer cases, and by the null device except flash and ranks: other tests run them on the CPU, here or under gpu-check's own names. doctor is
# asked once.
FEW = r"""case "$*" in
    *--resume*) ;;
    run\ mixed-precision*) set -- "$@" --device null --variant compiled ;;
    run\ attention-scaling*) set -- "$@" --variant flash ;;
    run\ tree-patch*) set -- "$@" --device null --variant naive ;;
    run\ ddp-bucket*) for word; do shift; [ "$word" != none,naive,bucket ] || word=bucket; set -- "$@" "$word"; done ;;
    doctor\ --ceilings*) set -- "$@" --device null ;;
    doctor\ --width*) exit ;;
    doctor*) [ -e "$0.doctor" ] || %s "$@" > "$0.doctor"; exec cat "$0.doctor" ;;
esac""" % BINARY

# The first run takes so long that a call of 16 seconds begins no stage after it.
SLOW = '[ "$1" != run ] || [ -e "$0.slow" ] || { touch "$0.slow"; sleep 3; }\n'


@pytest.fixture(scope="module")
def checked(tmp_path_factory, ceilings):
    """Two calls: one that has too little time, and one that does the rest."""
    folder = tmp_path_factory.mktemp("check")
    out, perfkit = folder / "out", stub(folder, SLOW + FEW)
    out.mkdir()
    shutil.copy(ceilings, out / "perfkit.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERFKIT_CUDA_LIBS", str(make_other_libraries(folder / "libraries")))
        began = time.monotonic()
        first = check(out, "--within", "16", perfkit=perfkit)
        seconds, left = time.monotonic() - began, states(out)
        return out, first, seconds, left, check(out, perfkit=perfkit)


def test_a_call_ends_within_its_time(checked):
    """What is left out is named and partial; a stage that was not begun is that, too."""
    _, (status, said, p), seconds, left, _ = checked
    assert seconds < (16 if "PERFKIT_SANITIZED" not in os.environ else 60), p.stdout
    partial = [s for s, state in left.items() if state == "partial"]
    assert status == 1 and partial and set(left) == set(NAMES), left
    assert all((s, "partial") in said for s in partial) and "left out, not enough is left of --within" in p.stdout
    assert set(left.values()) <= {"passed", "skipped", "partial"}


def test_the_next_call_does_the_rest(checked):
    out, _, _, left, (status, said, p) = checked
    assert status == 0, p.stdout + p.stderr
    assert [s for s, what in said if what == "has passed before"] == [s for s in NAMES if left[s] == "passed"]
    mpi = [] if states(out)["ranks"] == "passed" else ["ranks"]
    assert not mpi or "MPI" in recorded(out)["ranks"]["said"]
    assert states(out) == {**dict.fromkeys(NAMES, "passed"), **dict.fromkeys([*GPU_ONLY, *NOT_TINY, *mpi], "skipped")}
    assert all(row["said"] for row in recorded(out).values())


def test_few_files_and_an_archive_of_them(checked):
    out, *_ = checked
    files = {f.name for f in out.iterdir()}
    assert files == {"perfkit.db", "status.json", "log.txt", "report.md"}
    with tarfile.open("%s.tar.gz" % out) as tar:
        assert {pathlib.Path(n).name for n in tar.getnames()} == files
    with contextlib.closing(sqlite3.connect(out / "perfkit.db")) as db:
        labels = {label for label, in db.execute("SELECT label FROM v_run")}
    runs = {s.name for s in stages.STAGES if isinstance(s.work, stages.Run)} | {"ranks"}
    assert labels == {"gpu-check-%s-cpu-quick" % s for s in runs if states(out)[s] == "passed"}
    text = (out / "report.md").read_text()
    assert all("## Run %d: " % (i + 1) in text for i in range(len(labels))) and "| numerics | passed |" in text
    assert re.search(r"\| kernels \| at least 1 \| test-gpu-ops passed \d+ tests \| holds \|", text)
    assert re.search(r"\| flash-3xtf32 \| +\| numerics passed \| not measured \|", text), "a test that is skipped shows nothing"


def test_a_named_stage_is_repeated(checked):
    out, *_ = checked
    before = recorded(out)
    status, said, _ = check(out, "products")
    after = recorded(out)
    assert (status, said) == (0, [("products", "passed")])
    assert after["products"]["when"] >= before["products"]["when"] and after["flash"] == before["flash"]


def test_a_stage_that_fails_stops_no_other(out, tmp_path):
    failing = stub(tmp_path, 'case "$*" in "run mixed-precision"*) echo "perfkit: made to fail" >&2; exit 1 ;; esac')
    status, said, _ = check(out, "captured", "products", perfkit=failing)
    assert status == 1 and states(out) == {"captured": "failed", "products": "passed"}
    assert "made to fail" in (out / "log.txt").read_text() and "made to fail" in recorded(out)["captured"]["said"]
    status, said, _ = check(out, "captured", perfkit=stub(tmp_path, FEW))
    assert (status, states(out)["captured"]) == (0, "passed")


def test_an_interrupted_stage_goes_on(out, tmp_path):
    waiting = stub(tmp_path, 'case "$1" in run) touch %s/begun; exec sleep 100 ;; esac' % tmp_path)
    p = subprocess.Popen(command("--device", "cpu", "--quick", "--out", out, "flash", perfkit=waiting), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert states(out) == {"flash": "running"}
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 143
    assert states(out) == {"flash": "partial"}
    status, _, _ = check(out, "flash", perfkit=stub(tmp_path, FEW))
    assert (status, states(out)) == (0, {"flash": "passed"})


def test_the_scratch_folder_of_a_killed_call_is_removed_by_the_next(out, tmp_path, monkeypatch):
    """That of a call that is still running stays."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(session.tempfile, "tempdir", str(tmp_path / "tmp"))
    waiting = stub(tmp_path, 'case "$1" in run) touch %s/begun; exec sleep 100 ;; esac' % tmp_path)
    p = subprocess.Popen(command("--device", "cpu", "--quick", "--out", out, "flash", perfkit=waiting), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    left, = (tmp_path / "tmp").glob("gpu-check-*")
    session.remove_dead_scratch()
    assert left.is_dir()
    p.kill()
    p.wait()
    assert left.is_dir()
    session.remove_dead_scratch()
    assert not left.exists()


def test_what_time_cut_short_is_resumed_beside_other_runs(out, tmp_path):
    """perfkit says so on standard error; the words here must be its own. Two stages of one experiment: each has its own run."""
    short = stub(tmp_path, FEW + '\ncase "$*" in *--resume*) ;; run*) exec %s "$@" --budget 1ms ;; esac' % BINARY)
    status, _, _ = check(out, "captured", "step", perfkit=short)
    assert (status, states(out)) == (1, {"captured": "partial", "step": "partial"})
    status, _, _ = check(out, "captured", "step", perfkit=short)
    assert (status, states(out)) == (0, {"captured": "passed", "step": "passed"})
    assert (out / "log.txt").read_text().count("run mixed-precision --resume --label gpu-check-") == 2
    with contextlib.closing(sqlite3.connect(out / "perfkit.db")) as db:
        assert db.execute("SELECT count(*), count(DISTINCT label) FROM v_run").fetchall() == [(2, 2)]


def survivors(out):
    """Processes that have this folder's store in their environment: perfkit and its workers."""
    found = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if b"PERFKIT_DB=%s/" % str(out).encode() in (p / "environ").read_bytes():
                found.append(p.name)
    return found


def test_a_kill_loses_at_most_the_slice_in_flight(out, tmp_path):
    """SIGKILL at random moments. What perfkit committed stays, the store is sound, nothing keeps running, and a later call ends the work."""
    slices, rng = 0, random.Random(7)
    for _ in range(KILLS):
        p = subprocess.Popen(command("--device", "cpu", "--quick", "--out", out, "captured", "flash"), stdout=subprocess.DEVNULL,
                             env={**os.environ, "TMPDIR": str(tmp_path)})
        time.sleep(rng.uniform(0.3, 2))
        p.kill()
        p.wait()
        deadline = time.monotonic() + 10
        while survivors(out) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not survivors(out)
        if (out / "status.json").exists():
            assert set(states(out).values()) <= {"running", "passed"}
        if (out / "perfkit.db").exists():
            with contextlib.closing(sqlite3.connect(out / "perfkit.db")) as db:
                assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'slice'").fetchall():
                    now, = db.execute("SELECT count(*) FROM slice").fetchone()
                    assert now >= slices
                    slices = now
    status, _, p = check(out, "captured", "flash")
    assert status == 0 and {states(out)[s] for s in ("captured", "flash")} == {"passed"}, p.stdout
    with contextlib.closing(sqlite3.connect(out / "perfkit.db")) as db:
        assert db.execute("SELECT count(*) FROM v_run WHERE status = 'running'").fetchone() == (0,)


def test_a_run_whose_end_nobody_saw_is_measured_anew(out, tmp_path):
    """The call was killed with its machine, and the folder goes on elsewhere: the run still stands as running."""
    few = stub(tmp_path, FEW)
    assert check(out, "captured", perfkit=few)[0] == 0
    with contextlib.closing(sqlite3.connect(out / "perfkit.db")) as db, db:
        db.execute("UPDATE run SET status = 'running', host = 'another'")
    status = json.loads((out / "status.json").read_text())
    status["cpu-quick"]["stages"]["captured"]["state"] = "running"
    (out / "status.json").write_text(json.dumps(status))
    assert check(out, "captured", perfkit=few)[0] == 0 and states(out) == {"captured": "passed"}
    with contextlib.closing(sqlite3.connect(out / "perfkit.db")) as db:
        assert db.execute("SELECT status FROM v_run ORDER BY run_id").fetchall() == [("running",), ("complete",)]


def test_what_a_tool_leaves_running_is_ended(out, tmp_path):
    stubborn = stub(tmp_path, "case \"$1\" in run) trap '' INT; sleep 100 & touch %s/begun; wait ;; esac" % tmp_path)
    p = subprocess.Popen(command("--device", "cpu", "--quick", "--out", out, "flash", perfkit=stubborn), stdout=subprocess.DEVNULL)
    while not (tmp_path / "begun").exists() and p.poll() is None:
        time.sleep(0.05)
    p.send_signal(signal.SIGTERM)
    assert p.wait(60) == 143 and states(out) == {"flash": "partial"} and not survivors(out)


@pytest.mark.parametrize("place,words", [("file/out", "Not a directory"), ("missing", "cannot be found")])
def test_what_does_not_begin_is_an_error_with_words(tmp_path, place, words):
    (tmp_path / "file").write_text("")
    broken = stub(tmp_path, "echo 'libc.so.6: cannot be found' >&2; exit 127") if place == "missing" else BINARY
    status, _, p = check(tmp_path / place, "products", perfkit=broken)
    assert status == 1 and words in p.stderr and "try: " in p.stderr and "Traceback" not in p.stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "3"])
def test_times_that_make_no_sense(tmp_path, seconds):
    status, _, p = check(tmp_path / "out", "--within", seconds)
    assert status == 2 and "--within" in p.stderr and not (tmp_path / "out").exists()


def test_without_the_device_everything_is_skipped(tmp_path):
    answer = json.dumps({"tables": {"devices": {"rows": [{"name": "cuda", "reason": "there is no NVIDIA driver"}]}}})
    perfkit = stub(tmp_path, "echo '%s'; exit 0" % answer)
    status, said, p = check(tmp_path / "out", perfkit=perfkit, device="cuda")
    assert status == 77 and not (tmp_path / "out").exists()
    assert said == [(s, "skipped") for s in NAMES] and p.stdout.count("there is no NVIDIA driver") == len(NAMES)


@pytest.mark.parametrize("cupti,trace,counters,status,state,said", [
    ("no", "ok", "ok", 0, "skipped", "CUPTI: made up"),
    ("ok", "unavailable", "unavailable", 0, "skipped", "gpu-counters unavailable: made up"),
    ("ok", "ok", "unavailable", 0, "passed", "gpu-counters unavailable: made up"),
    ("ok", "ok", "degraded", 1, "failed", "gpu-counters degraded: made up"),
])
def test_counters_of_a_made_up_gpu(tmp_path, cupti, trace, counters, status, state, said):
    """Which groups are counted follows from what doctor found."""
    rows = [{"name": n, "state": s, "found": "made up", "advice": "end other profilers" if s == "unavailable" else None} for n, s in (("cupti", cupti), ("gpu-state", "unavailable"), ("gpu-trace", trace),
                                                                  ("gpu-counters", counters))]
    answers = {"doctor": {"sources": {"rows": rows}}, "list": {"devices": {"rows": [{"name": "cuda", "reason": None}]}}}
    perfkit = stub(tmp_path, "echo \"$*\" >> %s/asked; echo a note >&2\ncase $1 in\n%s\nesac\nexit 0" % (tmp_path, "\n".join(
        "%s) echo '%s' ;;" % (k, json.dumps({"tables": v})) for k, v in answers.items())))
    out = tmp_path / "out"
    assert check(out, "counters", perfkit=perfkit, device="cuda")[0] == status
    row = recorded(out, "cuda")["counters"]
    assert row["state"] == state and said in row["said"]
    refusals = [(f["what"], f["holds"]) for f in row["figures"] if f["claim"] == "cupti-refusals"]
    assert refusals == [("gpu-counters refused, with advice", True)] * (said.startswith("gpu-counters unavailable") and state == "passed")
    runs = [line for line in (tmp_path / "asked").read_text().splitlines() if line.startswith("run attention-scaling")]
    wanted = [] if state == "skipped" else ["gpu-trace"] + ["gpu-lite,gpu-roof,gpu-tensor,gpu-cache"] * (counters != "unavailable")
    assert len(runs) == bool(wanted) and all("--counters %s " % ",".join(wanted) in r for r in runs)
    assert not (out / "gpu-status.md").exists(), "what is tiny is no result to be recorded"


class Store:
    """Queries against a made-up store."""

    def __init__(self, *statements):
        self.db = sqlite3.connect(":memory:")
        for s in statements:
            self.db.execute(*s) if isinstance(s, tuple) else self.db.execute(s)

    def query(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def read(self, *rows):
        return {f["what"]: (round(f["value"], 6), f["holds"]) for f in figures.read(self, "x", rows)}


RUNS = ["CREATE TABLE v_run(run_id, label)", "INSERT INTO v_run VALUES (6, 'x'), (7, 'x'), (8, 'other')"]
SUMMARY = "CREATE TABLE v_summary(run_id, case_id, ordinal, variant, axes, metric, median)"


def summary(run, case, variant, axes, metric, median):
    return "INSERT INTO v_summary VALUES (?, ?, ?, ?, ?, ?, ?)", (run, case, case, variant, json.dumps(axes, sort_keys=True), metric, median)


def test_figures_of_a_step():
    rows = [summary(7, i, v, {"mode": "step", "dtype": d}, m, x) for i, (v, d, m, x) in enumerate((
        ("compiled", "bf16", "step_ns", 1e6), ("torch-eager", "bf16", "step_ns", 2e6), ("torch-compile", "bf16", "step_ns", 1.25e6),
        ("compiled", "fp32", "peak_bytes", 100), ("torch-eager", "fp32", "peak_bytes", 80)))]
    rows += [summary(6, 90, "compiled", {"mode": "step", "dtype": "bf16"}, "step_ns", 9e9), summary(7, 0, "compiled", {"mode": "step", "dtype": "bf16"}, "model_flops", 4e11)]
    store = Store(*RUNS, SUMMARY, *rows, "CREATE TABLE v_setting(run_id, key, value)",
                  "INSERT INTO v_setting VALUES (6, 'sheet_bf16_flops_per_s', '312e12'), (7, 'sheet_bf16_flops_per_s', '989.4e12'), (7, 'gpu', 'x')")
    assert store.read(*figures.eager_step()) == {"bf16 step_ns over torch-eager": (0.5, True), "fp32 peak_bytes over torch-eager": (1.25, False)}
    assert store.read(*figures.compiled_step()) == {"bf16 step_ns over torch-compile": (0.8, True)}
    assert store.read(figures.mfu("step-mfu", 40)) == {"bf16 MFU": (40.428543, True)}
    assert store.read(figures.mfu("step-mfu", 41)) == {"bf16 MFU": (40.428543, False)}


def test_figures_of_attention():
    """The least ratio over all settings that both have whole; rates are of declared FLOPs."""
    rows = []
    for case, (variant, seq, forward, backward) in enumerate((("cudnn", 4096, 100, 200), ("torch-sdpa", 4096, 200, 400), ("cudnn", 8192, 100, 100),
                                                              ("torch-sdpa", 8192, 150, 150), ("torch-sdpa-cudnn", 4096, 100, None))):
        axes = {"dtype": "bf16", "d_model": 64, "seq_len": seq}
        rows += [summary(7, case, variant, axes, m, ns) for m, ns in (("forward_ns", forward), ("backward_ns", backward)) if ns]
    store = Store(*RUNS, SUMMARY, *rows, "CREATE TABLE v_work(case_id, metric, flops)", "INSERT INTO v_work VALUES (0, 'forward_ns', 5e6), (1, 'forward_ns', 5e6)")
    assert store.read(*figures.CUDNN) == {"least time of torch-sdpa over cudnn": (1.5, False), "cudnn bf16 d=64 S=4096 forward": (50, None)}


def test_figures_of_the_gpu_s_state():
    store = Store(*RUNS, "CREATE TABLE v_case(run_id, case_id, device)", "INSERT INTO v_case VALUES (7, 1, 'cuda:0'), (7, 2, 'cuda:0'), (7, 3, 'cpu')",
                  "CREATE TABLE v_slice(case_id, notes)", """INSERT INTO v_slice VALUES (1, '{"state:gpu":{}}'), (1, '{"state:gpu":{}}'), (2, NULL)""")
    assert store.read(figures.STEP[0]) == {"cases with the state of the GPU": (1, True)}


def test_figures_of_flash_beside_peers_that_have_one_way_to_multiply():
    rows = []
    for case, (variant, math, ns) in enumerate((("flash", "ieee", 50), ("flash", "3xtf32", 20), ("torch-eager", "ieee", 100))):
        axes = {"dtype": "fp32", "d_model": 64, "seq_len": 1024, **({"math": math} if math else {})}
        rows += [summary(7, case, variant, axes, m, ns) for m in ("forward_ns", "backward_ns")]
    store = Store(*RUNS, SUMMARY, *rows, "CREATE TABLE v_work(case_id, metric, flops)")
    assert store.read(*figures.FLASH_PEERS) == {"least time of torch-eager over flash ieee": (2, None), "least time of torch-eager over flash 3xtf32": (5, None)}


def test_figures_of_fp16x3():
    """The least of each width, at equal settings; a length that one of the two lacks has none."""
    rows = [summary(7, case, "flash", {"d_model": d, "seq_len": seq, "math": math}, "forward_ns", ns) for case, (d, seq, math, ns) in enumerate(
        ((64, 1024, "3xtf32", 30), (64, 1024, "fp16x3", 20), (64, 4096, "3xtf32", 90), (64, 4096, "fp16x3", 30), (128, 1024, "3xtf32", 40)))]
    assert Store(*RUNS, SUMMARY, *rows).read(figures.FP16X3[0]) == {"time of 3xtf32 over fp16x3, d=64, at least": (1.5, True)}


def test_figures_of_ranks():
    """Each method beside the peer that does the same, at equal caps."""
    measured = [("bucket", 1e6, 50), ("bucket", 4e6, 90), ("flat", None, 100), ("naive", None, 300), ("torch-ddp", 1e6, 100), ("torch-ddp", 4e6, 100),
                ("torch-ddp-flat", 1e6, 200), ("torch-ddp-flat", 4e6, 100)]
    store = Store(*RUNS, SUMMARY, *(summary(7, i, v, {"work": "timer", "model": "small", **({"bucket_bytes": cap} if cap else {})}, "exposed_ns", x)
                                    for i, (v, cap, x) in enumerate(measured)))
    assert store.read(*figures.RANKS) == {"exposed communication of bucket over torch-ddp, at most": (0.9, None),
                                          "exposed communication of flat over torch-ddp-flat, at most": (1, None)}


def test_how_far_memory_is_from_its_prediction():
    """On a GPU alone: a CPU's libraries take memory of their own."""
    store = Store(*RUNS, SUMMARY, "CREATE TABLE v_case(case_id, variant, device, predicted_bytes)",
                  *(summary(7, i, v, {}, "peak_bytes", b) for i, (v, b) in enumerate((("flash", 90), ("flash", 100), ("cudnn", 300), ("flash", 999)))),
                  "INSERT INTO v_case VALUES (0, 'flash', 'cuda', 100), (1, 'flash', 'cuda', 100), (2, 'cudnn', 'cuda', 44), (3, 'flash', 'cpu', 1)")
    assert store.read(figures.memory_error("c", 9, "variant = 'flash'")) == {"peak memory from predicted, at most": (10, False)}
    assert store.read(figures.memory_error("c", 256, "variant = 'cudnn'")) == {"peak memory from predicted, at most": (256, True)}
    assert store.read(figures.memory_error("c", 0, "variant = 'vanilla'")) == {}


def test_figures_of_programs():
    lines = "norm, residual  bf16     24 x 768          9.7 us     15.5 GB/s   10.8 % of a copy  below its aim\n1 below their aim\n"
    rows = figures.of_program(lines, "layer-bandwidth", figures.BANDWIDTH_LINE, "%")
    assert [(r["what"], r["value"], r["holds"]) for r in rows] == [("lines below their aim", 1, False), ("norm, residual bf16 24 x 768", 10.8, None)]
    rows = figures.of_program("large gate up  of W     bf16     40 x 16    x 24           0.8 us     0.04 TFLOP/s\n0 below their aim\n", "c", figures.PRODUCT_LINE, "")
    assert [(r["what"], r["value"], r["holds"]) for r in rows] == [("lines below their aim", 0, True), ("large gate up of W bf16 40 x 16 x 24", 0.04, None)]
    rows = figures.of_program("3xtf32 16 x 4096  d=128 causal five    4321.0 us, seven    6049.4 us, dq off by 4.1e-07, between runs 2.0e-08:   1.40 x\n0 below their aim\n", "c",
                              figures.FIVE_LINE, "x")
    assert [(r["what"], r["value"], r["holds"]) for r in rows] == [("lines below their aim", 0, True), ("3xtf32 16 x 4096 d=128 causal", 1.4, None)]


def test_every_claim_has_an_id_of_its_own_and_stages_name_them():
    page = report.status_page()
    ids = [m.group(1) for m in report.CLAIM.finditer(page)]
    assert len(ids) == len(set(ids)) and len(ids) == len([line for line in page.splitlines() if line.startswith("| `")])
    of_figures = {f.claim for s in stages.STAGES for f in getattr(s.work, "read", ()) if f.claim} | {f.claim for _, f in figures.OF_SOURCES}
    assert {c for s in stages.STAGES for c in s.claims.split()} | of_figures <= set(ids)
    assert len(set(NAMES)) == len(NAMES)


def test_results_fill_the_page_in():
    """A copy of gpu-status.md records a run: verdict, date, GPU, command and figures; what was not run is left as it is."""
    page = "| id | claim |\n| `step-eager` | a | b | never |\n| `memcheck` | c | d | never |\n| `kernels` | e | f | never |\n| `step-mfu` | g | h | never |\n"
    row = {"when": "2026-01-02T03:04:05+00:00", "gpu": "NVIDIA H100 80GB HBM3", "said": ""}
    figure = {"claim": "step-eager", "what": "bf16 step_ns over torch-eager", "value": 0.52, "unit": "x", "bound": ["at most", 0.6], "holds": True}
    done = {"step-peers": {**row, "state": "passed", "figures": [figure]}, "memcheck": {**row, "state": "failed", "said": "2 found"}, "numerics": {**row, "state": "skipped"},
            "step": {**row, "state": "passed"}}
    assert report.recorded(page, done).splitlines()[1:] == [
        "| `step-eager` | a | b | passed 2026-01-02, NVIDIA H100 80GB HBM3, `gpu/check.py step-peers`: bf16 step_ns over torch-eager 0.52 x (at most 0.6) |",
        "| `memcheck` | c | d | failed 2026-01-02, NVIDIA H100 80GB HBM3, `gpu/check.py memcheck`: memcheck failed: 2 found |", "| `kernels` | e | f | never |", "| `step-mfu` | g | h | never |"]
    done["memcheck"]["state"] = "partial"
    assert "| `memcheck` | c | d | never |" in report.recorded(page, done)
    figure["holds"] = False
    assert "| `step-eager` | a | b | failed 2026-01-02" in report.recorded(page, done)


ROW = {"when": "2026-01-02T03:04:05+00:00", "gpu": "NVIDIA H100 80GB HBM3", "said": ""}


def figure(claim, what, value, bound):
    return {"claim": claim, "what": what, "value": value, "unit": "", "bound": bound, "holds": figures.holds(bound, value)}


def test_a_claim_of_which_nothing_was_measured_is_not_passed():
    """Stages that passed without a figure of the claim: counters not permitted, no cuDNN, no PyTorch, no JAX, no library."""
    done = {s: {**ROW, "state": "passed"} for s in NAMES}
    for claim in report.claims_in(report.status_page()):
        assert report.verdict(claim, done)[0] != "passed" or claim == "gpu-check", claim
    done["counters"]["figures"] = [figure("gpu-trace", "cases with traced kernels", 2, (figures.AT_LEAST, 1))]
    assert report.verdict("gpu-trace", done)[0] == "passed" and report.verdict("gpu-counters", done)[0] == "not measured"
    assert report.verdict("gpu-check", done)[0] == "passed" and report.verdict("gpu-check", {"machine": done["machine"]})[0] == "partial"
    assert report.verdict("memcheck", {"memcheck": {**ROW, "state": "failed"}})[0] == "failed"


def test_every_claim_of_a_stage_has_a_figure_with_a_threshold():
    """Else it could only ever be 'not measured'."""
    read = {f.claim for s in stages.STAGES for f in getattr(s.work, "read", ()) if f.bound} | {f.claim for _, f in figures.OF_SOURCES}
    read |= {c for c, _, _ in stages.TEST_CLAIMS} | {f.claim for f in figures.WORK}
    by_hand = {"libraries", "bundle", "gpu-check", "gpu-topology", "gpu-uuid", "memcheck", "racecheck", "ceilings", "tf32-products", "layer-bandwidth", "flash-parts", "flash-five-speed", "profilers", "gpu-tests",
               "nccl-one-rank", "ddp-bucket", "nccl-two-refused", "mpi-staged", "dry-run", "cupti-refusals",
               "dependent-launch", "dependent-launch-speed"}
    assert not {c for s in stages.STAGES for c in s.claims.split()} - read - by_hand


def test_a_failed_test_fails_the_claims_that_it_shows_alone():
    tests = {"test-gpu-device": {"pool": "passed"}, "test-gpu-ops": {"gemm_fp32": "failed", "softmax_bf16": "passed"}, "test-gpu-comm": {}, "test-gpu-cudnn": {"sdpa": "skipped"}}
    done = {"numerics": {**ROW, "state": "failed", "said": "test-gpu-ops: gemm_fp32", "figures": stages.test_figures(tests, stages.TEST_CLAIMS, ["test-gpu-comm"])}}
    words = {c: report.verdict(c, done)[0] for c in ("device", "products", "kernels", "bf16-elements", "lanes", "cudnn")}
    assert words == {"device": "passed", "products": "failed", "kernels": "failed", "bf16-elements": "passed", "lanes": "failed", "cudnn": "not measured"}


def test_the_page_says_what_ran_and_keeps_other_gpus():
    page = "So far: **No GPU has run this code yet.**\n| `memcheck` | a | b | never |\n| `racecheck` | a | b | never |\n"
    done = {"memcheck": {**ROW, "state": "failed", "said": "memcheck: status 9, 2 found | bad"},
            "racecheck": {**ROW, "state": "passed", "figures": [figure("racecheck", "tests watched", 3, (figures.AT_LEAST, 1))]}}
    first = report.recorded(page, done)
    assert first.startswith("So far: **Last run on a GPU: 2026-01-02, NVIDIA H100 80GB HBM3; stages: 1 passed, 1 failed.**")
    assert r"`gpu/check.py memcheck`: memcheck failed: memcheck: status 9, 2 found \| bad |" in first
    for r in done.values():
        r.update(gpu="NVIDIA H200", when="2026-02-03T03:04:05+00:00")
    both = report.recorded(first, done).splitlines()[2]
    assert both == ("| `racecheck` | a | b | passed 2026-01-02, NVIDIA H100 80GB HBM3, `gpu/check.py racecheck`: tests watched 3 (at least 1)<br>"
                    "passed 2026-02-03, NVIDIA H200, `gpu/check.py racecheck`: tests watched 3 (at least 1) |")
    assert report.recorded("\n\n" + both + "\n", done).strip() == both, "the same GPU replaces its own"


def test_the_claims_are_printed_last(checked):
    *_, (_, _, p) = checked
    lines = p.stdout.splitlines()
    at, = (i for i, line in enumerate(lines) if line.split() == ["claim", "verdict", "threshold", "measured"])
    table = lines[at:]
    assert not any(line.startswith("gpu-check: ") for line in table) and len(table) < 60 and max(map(len, table)) <= 120
    words = {line.split()[0]: line[23:35].strip() for line in table}
    assert words["kernels"] == "passed" and words["flash-3xtf32"] == "not measured"
    assert "memcheck" in " ".join(table).partition("not run: ")[2].split()


def test_a_call_that_fails_prints_why():
    done = {"memcheck": {**ROW, "state": "failed", "said": "2 found\nmore"}, "products": {**ROW, "state": "failed", "figures": [
        figure("tf32-products", "lines below their aim", 1, (figures.AT_MOST, 0))]}}
    lines = {line.split()[0]: line for line in report.summary(done)}
    assert lines["memcheck"].split(None, 2)[1:] == ["failed", "memcheck failed: 2 found more"]
    assert lines["tf32-products"].split(None, 2)[1:] == ["failed", "at most 0      lines below their aim 1"]


PASSES = ["CREATE TABLE v_case(run_id, case_id, variant, axes, status)", "CREATE TABLE v_slice(run_id, case_id, invocation, pass, status, message, notes)"]


def test_figures_of_what_was_measured_at_all():
    """Counts of 0, untraced cases and variants that only skipped; perfkit's status is 0 with all of them."""
    store = Store(*RUNS, *PASSES, "CREATE TABLE v_counter(run_id, case_id, source, name, value)", "CREATE TABLE v_breakdown(case_id, calls)",
                  """INSERT INTO v_case VALUES (7, 1, 'flash', '{}', 'ok'), (7, 2, 'fused', '{}', 'ok'), (7, 3, 'cudnn', '{}', 'skipped'),
                     (7, 4, 'torch-eager', '{}', 'ok'), (7, 5, 'fused', '{}', 'oom'), (7, 6, 'vanilla', '{}', 'failed')""",
                  """INSERT INTO v_slice VALUES (7, 1, 1, 'trace', 'failed', 'made up', '{}'), (7, 2, 1, 'trace', 'skipped', 'budget', '{}'), (7, 2, 1, 'trace', 'ok', NULL,
                     '{"breakdown": {"kernels": [{"name": "a"}, {"name": "b", "launch": {"registers": 32, "occupancy": 0.5}}],
                      "regions": [{"gap_ns": 9, "host_ns": 5, "launch_ns": 4}], "overhead": [{"kind": "a", "calls": 3}]}}'),
                     (7, 1, 1, 'counter', 'ok', '', '{}'), (7, 1, 2, 'counter', 'failed', 'second pass', '{}'), (7, 2, 1, 'counter', 'ok', '', '{}')""",
                  """INSERT INTO v_counter VALUES (7, 1, 'gpu-counters', 'a', 0), (7, 2, 'gpu-counters', 'a', 5), (7, 1, 'declared', 'b', 7),
                     (7, 1, 'gpu-state', 'gpu_watts', 0), (7, 1, 'gpu-state', 'gpu_held_by_heat_ns', NULL), (7, 2, 'gpu-state', 'gpu_held_by_power_cap_ns', 0)""")
    assert store.read(figures.cases("c")) == {"flash cases measured": (1, True), "fused cases measured": (1, True), "vanilla cases measured": (0, False)}
    assert store.read(*figures.PEER_CASES) == {"torch-eager cases measured": (1, True)}
    counts = {f.claim: store.read(f) for _, f in figures.OF_SOURCES}
    assert counts["gpu-counters"] == counts["counter-runs"] == {"cases with counts above 0": (1, True)}
    assert counts["gpu-state"] == {"cases with counts above 0": (0, False)} and counts["gpu-trace"] == {"cases with traced kernels": (0, False)}
    assert counts["kernel-needs"] == {"cases with registers and occupancy of kernels": (1, True)}
    assert counts["idle-time"] == {"cases whose idle time has the host's and the launch's part": (1, True)}
    assert counts["trace-overhead"] == {"records of overhead": (3, True)}
    assert counts["clock-reasons"] == {"reasons for held clocks that the driver tells": (1, True)}
    assert store.query(figures.UNTRACED, "x", "trace") == [("made up", 1)] and store.query(figures.UNTRACED, "x", "counter") == [("second pass", 1)]


def test_a_stage_fails_when_a_case_was_not_traced(out, tmp_path):
    """perfkit's status is 0 and its warning says why; the store lacks the trace."""
    script = tmp_path / "untrace.py"
    script.write_text("import os, sqlite3\nwith sqlite3.connect(os.environ['PERFKIT_DB']) as db:\n"
                      "    db.execute(\"UPDATE slice SET status = 'failed', message = 'made up' WHERE pass = 'trace'\")\n")
    untraced = stub(tmp_path, FEW + '\ncase "$1" in run) %s "$@" && exec %s %s ;; esac' % (BINARY, sys.executable, script))
    status, _, p = check(out, "captured", perfkit=untraced)
    assert status == 1 and "cases not traced: 2: made up" in recorded(out)["captured"]["said"], p.stdout


@pytest.mark.parametrize("text,status,state", [("==ERROR== ERR_NVGPUCTRPERM - no permission", 1, "skipped"), ("==ERROR== broken", 1, "failed"), ("forward", 0, "passed")])
def test_profilers_that_are_not_permitted(tmp_path, monkeypatch, text, status, state):
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\necho '%s'\nexit %d\n" % (text, status))
    tool.chmod(0o755)
    monkeypatch.setattr(stages, "tool", lambda name: str(tool) if name == "ncu" else None)
    session = Session(Arguments(tmp_path / "out"))
    session.folder.begin()
    try:
        stages.profilers(session, None)
        got = "passed"
    except (Failed, Skip) as e:
        got = {Failed: "failed", Skip: "skipped"}[type(e)]
        assert text.split()[1] in str(e)
    assert got == state


def test_a_failing_program_keeps_its_figures(tmp_path):
    program = tmp_path / "test-gpu-products"
    program.write_text("#!/bin/sh\necho 'large gate  bf16  40 x 16   0.8 us     0.04 TFLOP/s'\necho '1 below their aim'\nexit 1\n")
    program.chmod(0o755)
    session = Session(Arguments(tmp_path / "out"))
    session.folder.begin()
    session.tests = tmp_path
    with pytest.raises(Failed) as e:
        stages.program(program.name, "tf32-products", figures.PRODUCT_LINE, "TFLOP/s")(session, None)
    assert [(f["what"], f["value"], f["holds"]) for f in e.value.figures] == [("lines below their aim", 1, False), ("large gate bf16 40 x 16", 0.04, None)]


def test_the_sanitizer_watches_every_kernel_of_ours():
    """compute-sanitizer's filter, beside the names that the kernels have; those of cuBLASLt are not among them."""
    pattern = stages.OWN_KERNELS.removeprefix("regex=")
    assert not re.search(pattern, "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n") and not re.search(pattern, "_ZN8cublasLt19splitKreduce_kernelILi32")
    program = pathlib.Path(TESTS) / "test-gpu-ops"
    if not program.exists() or not shutil.which("nm"):
        pytest.skip("no test-gpu-ops or no nm")
    names = set(re.findall(r"__device_stub__(_?Z\w+)", subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout))
    if not names:
        pytest.skip("built without CUDA")
    assert len(names) > 50 and not [n for n in names if not re.search(pattern, "_" + n.removeprefix("_"))]


@pytest.mark.parametrize("lines,state", [
    ("[       OK ] gemm\n========= ERROR SUMMARY: 0 errors", "passed"), ("========= ERROR SUMMARY: 0 errors", "failed"),
    ("[       OK ] gemm\n========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 2 errors", "failed"), ("[       OK ] gemm", "failed"),
    ("========= Error: Device not supported", "skipped")])
def test_what_the_sanitizer_says(tmp_path, monkeypatch, lines, state):
    """A test program that ran nothing, or a tool that watched nothing, is no proof; each process of it has a summary."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\ncat <<'END'\n%s\nEND\n" % lines)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (tmp_path, os.environ["PATH"]))
    session = Session(Arguments(tmp_path / "out"))
    session.folder.begin()
    try:
        stages.sanitizer("memcheck")(session, None)
        got = "passed"
    except (Failed, Skip) as e:
        got = {Failed: "failed", Skip: "skipped"}[type(e)]
    assert got == state


def test_the_list_of_stages(tmp_path):
    p = subprocess.run(command("--list"), capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in p.stdout.splitlines()[1:1 + len(NAMES)]] == NAMES and "estimates" in p.stdout
    status, _, p = check(tmp_path / "out", "numeric")
    assert status == 2 and "there is no stage 'numeric'" in p.stderr and "numerics" in p.stderr


class Arguments:
    device, quick, perfkit, tests, within = "cuda", False, BINARY, TESTS, None

    def __init__(self, out):
        self.out = out


class Planning(Session):
    """A GPU on which runs are planned and not measured; doctor finds everything."""
    def __init__(self, out):
        super().__init__(Arguments(out))
        self.folder.begin()
        self.planned = []

    def doctor(self):
        return dict.fromkeys(["cupti", "nccl", "mpi", *stages.GPU_SOURCES], {"state": "ok", "found": "made up"})

    def measure(self, stage, experiment, *options):
        p = subprocess.run([self.perfkit, "run", experiment, "--device", self.device, "--label", self.label(stage), *map(str, options), "--dry-run",
                            "--format", "json"], env=self.env, capture_output=True, text=True, timeout=60, check=False)
        assert p.returncode == 0, (stage, p.stderr)
        self.planned.append((stage, sum(1 for r in next(iter(json.loads(p.stdout)["tables"].values()))["rows"] if r["status"].startswith("measured"))))


def test_every_run_on_a_gpu_can_be_planned(tmp_path):
    """The words of every stage's run, as they are on a GPU: an option that perfkit refuses would cost the stage."""
    session = Planning(tmp_path / "out")
    for s in stages.STAGES:
        if isinstance(s.work, stages.Run) or s.name in ("counters", "counters-full", "nccl", "buckets"):
            s.work(session, s)
    assert len(session.planned) == sum(isinstance(s.work, stages.Run) for s in stages.STAGES) + 4
    assert all(cases for _, cases in session.planned), session.planned


def test_large_models_by_the_memory_of_the_card(tmp_path):
    session = Session(Arguments(tmp_path / "out"))
    for memory, dtypes in ((81559 << 20, "bf16"), (143771 << 20, "fp32,tf32,bf16")):
        session.folder.machine["memory_bytes"] = memory
        assert "dtype=" + dtypes in stages.large(session)
