#!/usr/bin/env python3
"""All that is to be known of perfkit on a GPU, in stages that can be taken one at a time: `./bootstrap gpu-check [STAGE...]`.

A stage is bounded, writes into one folder (at most 8 files of at most 16 MiB), and does not stop those after it. Without names, what did
not end is gone on with twice. A later call goes on where the one before stopped: what passed is not done again unless named. Needs Python alone, no network. Status 0 when every
stage passed, 1 when one did not, 77 when the device is not here."""
import argparse
import contextlib
import datetime
import gzip
import itertools
import json
import os
import pathlib
import platform
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FILES_MOST, FILE_BYTES_MOST, TEXT_BYTES_MOST = 8, 16 << 20, 2 << 20
STAGE_SECONDS = 460  # under the 8 minutes that a call may be allowed
ROUNDS = 3  # of a call that names no stage: what a budget cut short is gone on with
PEERS = ["torch-eager", "torch-compile", "torch-sdpa-math", "torch-sdpa-efficient", "torch-sdpa-flash",
         "torch-sdpa-cudnn"]
TF32_PEERS = ["torch-eager", "torch-compile", "torch-sdpa-math"]
BF16_PEERS = ["torch-eager", "torch-compile", "torch-sdpa", "torch-sdpa-flash", "torch-sdpa-cudnn"]
TREE_PEERS = ["equinox-tree-at", "equinox-batched"]
QUICK = ["--invocations", "1", "--min-samples", "3", "--min-time", "1ms", "--max-time", "5ms"]
LEFT_OUT = "--resume goes on with them"  # what perfkit says when a budget left cases out


class Skip(Exception):
    """This stage cannot run here; the text says why."""


class Failed(Exception):
    """The stage's result is not what it should be."""


class Partial(Exception):
    """More is left to do; a later call goes on."""


class Check:
    """One call: where things are, what earlier calls did, and how commands are run."""

    def __init__(self, args):
        self.args, self.device, self.quick = args, args.device, args.quick
        bundle = HERE.parent / "perfkit"
        root = HERE.parents[1]
        self.perfkit = pathlib.Path(args.perfkit or (bundle if bundle.is_file() else root / "build" / "perfkit")).resolve()
        self.tests = pathlib.Path(args.tests or (HERE if (HERE / "test-gpu-ops").exists() else root / "build" / "tests" / "gpu")).resolve()
        self.out = pathlib.Path(args.out).resolve()
        self.status_file, self.packed = self.out / "status.json", self.out / "perfkit.db.gz"
        self.status = json.loads(self.status_file.read_text()) if self.status_file.exists() else {}
        self.scratch = tempfile.TemporaryDirectory(prefix="gpu-check-")
        self.db = pathlib.Path(self.scratch.name) / "perfkit.db"
        if self.packed.exists():
            self.db.write_bytes(gzip.decompress(self.packed.read_bytes()))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_") or k in ("PERFKIT_PYTHON", "PERFKIT_CUDA_LIBS")}
        self.env.update(PERFKIT_DB=str(self.db), LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
        self.env.setdefault("PERFKIT_PYTHON", sys.executable)
        if (HERE.parent / "peers").is_dir():
            self.env["PERFKIT_PEERS"] = str(HERE.parent / "peers")
        self.log = None
        self.deadline = 0

    def before(self, stage):
        return self.status.get(self.device, {}).get(stage, {}).get("state")

    def save(self):
        """The store and the status, whole or not at all."""
        if self.db.exists():
            replace(self.packed, gzip.compress(self.db.read_bytes(), 9))
        replace(self.status_file, (json.dumps(self.status, indent=1, sort_keys=True) + "\n").encode())

    def run(self, *command):
        """Runs a command into the stage's file. Returns (status, what it said); past the stage's time it is interrupted."""
        self.log.write("$ %s\n" % " ".join(map(str, command)))
        self.log.flush()
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            p = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                 env=self.env, cwd=self.scratch.name)
            late = False
            try:
                p.wait(max(1, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                late = True
            finally:  # whatever ends the wait, nothing is left running
                end(p)
            said.seek(0)
            text = said.read()
        self.log.write(text[-TEXT_BYTES_MOST // 4:] + "\nstatus %d\n\n" % p.returncode)
        self.log.flush()
        if late:
            raise Partial("%s did not end within the stage's %d s" % (pathlib.Path(str(command[0])).name, STAGE_SECONDS))
        return p.returncode, text

    def must(self, *command):
        rc, text = self.run(*command)
        if rc:
            raise Failed("%s: status %d: %s" % (pathlib.Path(str(command[0])).name, rc, reason_in(text)))
        return text

    def experiment(self, stage, name, *options):
        """A run, or the rest of one that an earlier call began; Partial when its budget left something out."""
        label = "gpu-check-%s-%s" % (stage, self.device)
        newest = next((r for r in self.runs() if r["experiment"] == name), {})
        how = ["--device", self.device, "--label", label, *options]
        if self.before(stage) == "partial" and newest.get("label") == label:
            how = ["--resume"]
        budget = "%ds" % max(10, self.deadline - time.monotonic() - 20)
        rc, text = self.run(self.perfkit, "run", name, *how, "--budget", budget, "--progress", "none", "--width", "0")
        if LEFT_OUT in text:
            raise Partial("the budget left cases out; call again")
        if rc:
            raise Failed("run %s: status %d: %s" % (name, rc, reason_in(text)))

    def runs(self):
        """What the store has, newest first."""
        if not self.db.exists():
            return []
        p = subprocess.run([self.perfkit, "list", "runs", "--format", "json"], env=self.env, capture_output=True, text=True, check=False)
        return json.loads(p.stdout)["tables"]["runs"]["rows"] if p.returncode == 0 else []


def replace(path, data):
    part = path.with_name(".%s.part" % path.name)
    part.write_bytes(data)
    os.replace(part, path)


def end(p):
    """Interrupted first, so that perfkit records what it has; then killed."""
    for sign, seconds in ((signal.SIGINT, 15), (signal.SIGKILL, 15)):
        if p.poll() is None:
            p.send_signal(sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(seconds)


def reason_in(text):
    """perfkit's error or a test's where there is one, else the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.lstrip().startswith(("perfkit:", "why:", "ERROR", "[  ERROR", "[   LINE", "========= ERROR SUMMARY"))]
    return "; ".join((told or lines or ["it said nothing"])[-3:])[:500]


def doctor(c):
    c.must(c.perfkit, "--version")
    c.must(c.perfkit, "doctor", "--width", "0")
    for package in ("torch", "triton", "jax", "equinox", "numpy"):
        c.run(c.env["PERFKIT_PYTHON"], "-c", "import importlib.metadata as m; print('%s', m.version('%s'))" % (package, package))
    if shutil.which("nvidia-smi"):
        c.run("nvidia-smi")
    return "facts of this machine are in doctor.txt"


def numerics(c):
    """All programs run, whatever the first says."""
    failed, skipped, passed = [], [], 0
    for name in ("test-gpu-device", "test-gpu-ops", "test-gpu-comm", "test-gpu-cudnn"):
        if not (c.tests / name).exists():  # built without cuDNN's headers
            continue
        rc, text = c.run(c.tests / name, c.device, *(["tiny"] if c.quick else []))
        tests = {}
        for line in text.splitlines():
            for mark, state in (("[       OK ]", "passed"), ("[  SKIPPED ]", "skipped"), ("[  FAILED  ]", "failed")):
                if line.startswith(mark):
                    tests[line[len(mark):].split(",")[0].strip()] = state
        passed += sum(s == "passed" for s in tests.values())
        skipped += [t for t, s in tests.items() if s == "skipped" and "(s)" not in t]
        if rc == 77:
            skipped.append("%s (%s)" % (name, reason_in(text)))
        elif rc:
            failed.append("%s: status %d: %s" % (name, rc, reason_in(text)))
    told = "%d tests passed%s" % (passed, ", skipped: " + ", ".join(skipped) if skipped else "")
    if failed or not passed:
        raise Failed("; ".join([told, *failed]))
    return told


def sanitizer(c):
    if not c.device.startswith("cuda"):
        raise Skip("compute-sanitizer watches GPUs, and the device is %s" % c.device)
    folders = [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"), os.environ.get("PATH", "")]
    tool = shutil.which("compute-sanitizer", path=os.pathsep.join(folders))
    if not tool:
        raise Skip("compute-sanitizer was not found in PATH or $CUDA_HOME/bin")
    told = []
    for check in ("memcheck", "racecheck"):
        rc, text = c.run(tool, "--tool", check, "--error-exitcode", "9", "--report-api-errors", "no", c.tests / "test-gpu-ops",
                         c.device, "tiny")
        if "not supported" in text.lower():
            raise Skip("compute-sanitizer refuses this machine: %s" % reason_in(text))
        if rc or "ERROR SUMMARY: 0 errors" not in text and "RACECHECK SUMMARY: 0 hazards" not in text:
            raise Failed("%s: status %d: %s" % (check, rc, reason_in(text)))
        told.append("%s found nothing" % check)
    return ", ".join(told)


def ceilings(c):
    c.must(c.perfkit, "doctor", "--ceilings", "--device", c.device, "--width", "0")
    return "measured and stored; the table is in runs.txt"


def bandwidth(c):
    """Layers beside a copy, each at a transformer's shapes: lines in runs.txt."""
    text = c.must(c.tests / "test-gpu-bandwidth", c.device, *(["tiny"] if c.quick else []))
    return "%s of %d" % (text.splitlines()[-1], text.count("of a copy"))


def products(c):
    """Matrix products of the reports' models in fp32, tf32 and bf16: lines in runs.txt."""
    text = c.must(c.tests / "test-gpu-products", c.device, *(["tiny"] if c.quick else []))
    return "%s of %d" % (text.splitlines()[-1], text.count("TFLOP/s"))


def peers_here(c, names):
    """Those whose file is here, as options."""
    folder = pathlib.Path(c.env.get("PERFKIT_PEERS", HERE.parents[1] / "probes" / "peers"))
    return [word for n in names if (folder / (n.replace("-", "_") + ".py")).exists() for word in ("--peer", n)]


def attention(c):
    if c.quick:
        c.experiment("attention", "attention-scaling", "-a", "d_model=16", "-a", "seq_len=32", *QUICK)
    else:
        c.experiment("attention", "attention-scaling", "--preset", "seed", "--invocations", "2", "--max-time", "150ms", "--timeout",
                     "90s", *peers_here(c, PEERS))
    return "measured; tables are in report.txt"


def bf16(c):
    """cuDNN beside PyTorch's kernels, its own way to cuDNN among them: the table `vendor` has the ratios. Vanilla and fused in bf16."""
    if not c.device.startswith("cuda"):
        raise Skip("cuDNN is of GPUs, and the device is %s" % c.device)
    c.experiment("bf16", "attention-scaling", *(QUICK if c.quick else ["--preset", "seed", "--max-time", "150ms", "--timeout", "90s"]),
                 "-a", "dtype=bf16", *([] if c.quick else peers_here(c, BF16_PEERS)))
    return "measured; tables are in report.txt"


def tf32(c):
    """The same storage as fp32, products by tensor cores."""
    if not c.device.startswith("cuda"):
        raise Skip("tf32 is of GPUs, and the device is %s" % c.device)
    c.experiment("tf32", "attention-scaling", *(QUICK if c.quick else ["--preset", "seed", "--max-time", "150ms", "--timeout", "90s"]),
                 "-a", "dtype=tf32", *([] if c.quick else peers_here(c, TF32_PEERS)))
    return "measured; tables are in report.txt"


STEP_PEERS = ["torch-eager", "torch-compile"]
STEP_ASKED = [("torch-eager", "step_ns", "bf16", 0.6), ("torch-compile", "step_ns", "bf16", 0.88),  # peer, metric, dtype, at most
              *((peer, "peak_bytes", dtype, 1) for peer in STEP_PEERS for dtype in ("fp32", "tf32", "bf16"))]
SHEET_FIGURES = """SELECT substr(key, length('sheet_') + 1, length(key) - length('sheet__flops_per_s')), max(CAST(value AS REAL)) FROM v_setting
    WHERE key GLOB 'sheet_*_flops_per_s' AND run_id = (SELECT max(run_id) FROM v_run WHERE label = ?) GROUP BY key"""
STEP_FIGURES = """SELECT variant, axes ->> 'dtype', metric, median FROM v_summary WHERE axes ->> 'mode' = 'step' AND run_id =
    (SELECT max(run_id) FROM v_run WHERE label = ?)"""
TRACE_FIGURES = """SELECT max(abs((b.busy_ns + b.gap_ns) / t.median - 1)) FROM v_breakdown b JOIN v_summary t ON t.case_id = b.case_id AND
    t.metric = b.region || '_ns' WHERE b.variant = 'compiled' AND b.run_id = (SELECT max(run_id) FROM v_run WHERE label = ?)"""


DECLARED_FIGURES = """WITH declared AS (SELECT case_id, region, sum(flops) AS flops, sum(bytes) AS bytes, min(whole) AS whole FROM v_breakdown
    WHERE run_id = (SELECT max(run_id) FROM v_run WHERE label = ?) GROUP BY 1, 2)
    SELECT count(*), max(abs(coalesce(d.flops, 0) - w.flops) / max(w.flops, 1)), max(abs(coalesce(d.bytes, 0) - w.bytes) / max(w.bytes, 1))
    FROM v_work w LEFT JOIN declared d ON d.case_id = w.case_id AND w.metric = d.region || '_ns'
    WHERE w.case_id IN (SELECT case_id FROM declared WHERE whole) AND w.metric IN ('forward_ns', 'backward_ns', 'optimizer_ns')"""


def declared_told(c, label):
    """The families of every traced region against what its case declares: the same operations, counted where they are asked for."""
    if not c.db.exists():
        return []
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        n, flops, traffic = db.execute(DECLARED_FIGURES, (label,)).fetchone()
    if n and max(flops, traffic) > 1e-9:
        raise Failed("families of the trace add up to other work than the cases declare: FLOPs off by %g, bytes by %g" % (flops, traffic))
    return ["FLOPs and bytes of the trace's families add up to what is declared (%d regions)" % n] if n else []


def sheet_peaks(db, label):
    """FLOP/s by type that the GPU's data sheet states, as perfkit recorded it: {} for a GPU whose sheet it does not have."""
    return dict(db.execute(SHEET_FIGURES, (label,)))


def step_told(seen, dtypes, peers, peaks, least_mfu):
    """What is asked of a step beside what was seen: {(variant, dtype, metric): median}. Returns it, and the names of what was not measured."""
    told, missing = [], ["compiled %s %s" % key for key in itertools.product(dtypes, ("step_ns", "peak_bytes")) if ("compiled", *key) not in seen]
    for peer, metric, dtype, most in STEP_ASKED:
        ours, theirs = (seen.get((variant, dtype, metric)) for variant in ("compiled", peer))
        if ours and theirs:
            told.append("%s %s %.2f x %s (at most %.2f)" % (dtype, metric, ours / theirs, peer, most))
        elif not theirs and peer in peers and dtype in dtypes:
            missing.append("%s %s %s" % (peer, dtype, metric))
    for dtype, peak in peaks.items():
        flops, ns = (seen.get(("compiled", dtype, metric)) for metric in ("model_flops", "step_ns"))
        if flops and ns:
            told.append("%s MFU %.1f %% of the data sheet (bf16: at least %d)" % (dtype, 100e9 * flops / ns / peak, least_mfu))
    return told, missing


def step_figures(c, name, least_mfu):
    """The text of a stage; it fails when a step of perfkit's own was not measured. What was not of PyTorch or the trace is named."""
    label, cuda = "gpu-check-%s-%s" % (name, c.device), c.device.startswith("cuda")
    dtypes = ("fp32", "tf32", "bf16") if cuda and not c.quick else ("fp32", "bf16")
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        seen = {row[:3]: row[3] for row in db.execute(STEP_FIGURES, (label,))}
        (off,) = db.execute(TRACE_FIGURES, (label,)).fetchone()
        peaks = sheet_peaks(db, label)
    told, missing = step_told(seen, dtypes, [] if c.quick else STEP_PEERS, peaks, least_mfu)
    if cuda and not peaks:
        missing.append("MFU (perfkit has no data sheet of this GPU)")
    if off is None:
        missing.append("the trace")
    else:
        told.append("union and gaps of the trace %.1f %% from the timed regions (at most 4)" % (100 * off))
    told += declared_told(c, label)
    told += ["not measured: " + ", ".join(missing)] if missing else []
    if any(m.startswith("compiled ") for m in missing):
        raise Failed("; ".join(told))
    return "; ".join(["measured; tables are in report.txt", *told])


def transformer(c):
    """The report's small model in every type and mode, beside PyTorch."""
    if c.quick:
        c.experiment("transformer", "mixed-precision", *sum((["-a", text] for text in (
            "layers=1", "d_model=32", "heads=2", "d_ff=32", "vocab=50", "batch=2", "seq_len=8", "mode=step")), []), "--breakdown", *QUICK)
    else:
        c.experiment("transformer", "mixed-precision", "--preset", "seed", "-a", "model=small", "--invocations", "2", "--max-time", "1s",
                     "--timeout", "120s", "--breakdown", *peers_here(c, STEP_PEERS))
    return step_figures(c, "transformer", 40)


def large(c):
    """The report's large model: a whole step."""
    if c.quick:
        raise Skip("the large model takes minutes")
    c.experiment("large", "mixed-precision", "--preset", "seed", "-a", "model=large", "-a", "mode=step", "--invocations", "1", "--max-time", "2s",
                 "--timeout", "200s", "--breakdown", *peers_here(c, STEP_PEERS))
    return step_figures(c, "large", 45)


def doctor_rows(c):
    tables = json.loads(c.must(c.perfkit, "doctor", "--format", "json"))["tables"]
    return {r["name"]: r for table in tables.values() for r in table["rows"]}


BUCKETS = ["-a", "model=small", "-a", "bucket_bytes=1MB,10MB,25MB,100MB"]
BUCKETS_QUICK = ["-a", "compute_ms=1", "-a", "bucket_bytes=4MB", *QUICK]


def nccl(c):
    """Averaging of gradients by NCCL: one rank, which is what one GPU has; and that two on one GPU are refused with words."""
    if not c.device.startswith("cuda"):
        raise Skip("NCCL is of GPUs, and the device is %s" % c.device)
    found = doctor_rows(c)
    if found["nccl"]["state"] != "ok":
        raise Skip("NCCL: %s" % found["nccl"]["found"])
    c.experiment("nccl", "ddp-bucket", "-a", "transport=nccl", "-a", "ranks=1",
                 *(BUCKETS_QUICK if c.quick else [*BUCKETS, "-a", "compute_ms=30", "-a", "dtype=fp32,bf16", "--timeout", "60s"]))
    if found["mpi"]["state"] != "ok":
        return "measured; that two ranks on one GPU are refused was not tried: MPI: %s" % found["mpi"]["found"]
    _, text = c.run(c.perfkit, "run", "ddp-bucket", "--device", c.device, "-a", "transport=nccl", "-a", "ranks=2", "--timeout", "60s",
                    "--db", pathlib.Path(c.scratch.name) / "refused.db", *BUCKETS_QUICK)
    told = "refused with words" if "two ranks on one GPU" in text else "not refused with words (more than one GPU, or a later NCCL?)"
    return "measured; tables are in report.txt; two ranks: " + told


RANK_PEERS = ["torch-ddp", "torch-ddp-flat", "torch-ddp-naive"]
RANK_FIGURES = """SELECT o.variant, p.variant, min(o.median / p.median), max(o.median / p.median), count(*) FROM v_summary o JOIN v_summary p
    ON p.run_id = o.run_id AND p.metric = o.metric AND p.axes ->> 'work' = o.axes ->> 'work' AND p.axes ->> 'model' = o.axes ->> 'model'
    AND coalesce(p.axes ->> 'bucket_bytes' = o.axes ->> 'bucket_bytes', 1) AND p.median > 0
    WHERE o.metric = 'exposed_ns' AND o.run_id = (SELECT max(run_id) FROM v_run WHERE label = ?)
    AND (o.variant, p.variant) IN (VALUES ('bucket', 'torch-ddp'), ('flat', 'torch-ddp-flat'), ('naive', 'torch-ddp-naive'))
    GROUP BY 1, 2 ORDER BY 2"""


def ranks_told(db, label, peers):
    """Exposed communication of each way beside PyTorch's over gloo, least and most over the settings; and which of it was not measured."""
    rows = db.execute(RANK_FIGURES, (label,)).fetchall()
    missing = [peer for peer in peers if peer not in {row[1] for row in rows}]
    told = ["exposed communication of %s %.2f to %.2f x %s over gloo (%d settings)" % (ours, least, most, peer, n) for ours, peer, least, most, n in rows]
    return told + (["not compared: " + ", ".join(missing)] if missing else [])


def ranks(c):
    """Two ranks over MPI on one device, gradients staged through the host where it is a GPU, beside PyTorch over gloo."""
    found = doctor_rows(c)
    if found["mpi"]["state"] != "ok":
        raise Skip("MPI: %s" % found["mpi"]["found"])
    c.experiment("ranks", "ddp-bucket", "-a", "transport=mpi", "-a", "ranks=2",
                 *(BUCKETS_QUICK if c.quick else [*BUCKETS, "-a", "work=timer,transformer", "-a", "compute_ms=300", "-a", "seq_len=512",
                                                  "-a", "batch=8", "--timeout", "90s", *peers_here(c, RANK_PEERS)]))
    with contextlib.closing(sqlite3.connect(c.db)) as db:
        return "; ".join(["measured; tables are in report.txt", *ranks_told(db, "gpu-check-ranks-%s" % c.device, [] if c.quick else RANK_PEERS)])


GPU_SOURCES = ["gpu-state", "gpu-trace", "gpu-counters"]


def counters(c):
    """Self-tests of the GPU's sources, then attention-scaling with what works of them: kernels, rooflines, tensor cores."""
    if not c.device.startswith("cuda"):
        raise Skip("gpu-trace, gpu-counters and gpu-state are of GPUs, and the device is %s" % c.device)
    found = doctor_rows(c)
    if found["cupti"]["state"] != "ok":
        raise Skip("CUPTI: %s" % found["cupti"]["found"])
    told = ["%s %s: %s" % (s, found[s]["state"], found[s]["found"]) for s in GPU_SOURCES]
    groups = {"gpu-trace": "gpu-trace", "gpu-counters": "gpu-lite,gpu-roof,gpu-tensor,gpu-cache", "gpu-state": "gpu-state"}
    wanted = [groups[s] for s in GPU_SOURCES if found[s]["state"] != "unavailable"]
    if not wanted:
        raise Skip("; ".join(told))
    c.experiment("counters", "attention-scaling", *(QUICK if c.quick else ["--preset", "quick", "--timeout", "90s"]),
                 "-a", "dtype=fp32,bf16", "--breakdown", "--counters", ",".join(wanted))
    wrong = [t for s, t in zip(GPU_SOURCES, told) if found[s]["state"] == "degraded" and s != "gpu-state"]
    if wrong:
        raise Failed("; ".join(wrong))
    return "; ".join(told + declared_told(c, "gpu-check-counters-%s" % c.device))


def tree(c):
    if c.quick:
        c.experiment("tree", "tree-patch", "-a", "model=2L-256H", "-a", "weights=real", "-a", "tp=2", *QUICK)
    else:
        c.experiment("tree", "tree-patch", "--preset", "weights", "-a", "slicing=per-leaf,batched,graph", "--invocations", "2")
    return "measured; tables are in report.txt"


def structure(c):
    """Without weights, for that is what the peers have."""
    if c.quick:
        c.experiment("structure", "tree-patch", "-a", "model=2L-256H", *QUICK)
    else:
        c.experiment("structure", "tree-patch", "-a", "model=4L-768H,12L-768H", "--invocations", "2", "--timeout", "120s",
                     *peers_here(c, TREE_PEERS))
    return "measured; tables are in report.txt"


def report(c):
    """The newest run of every stage, as text and as markdown, below what the stages came to."""
    newest = {r["label"]: r["run_id"] for r in reversed(c.runs()) if (r["label"] or "").startswith("gpu-check-")}
    stages = ["%s %s: %s, %s" % (s, r["state"], r["when"], r["said"]) for s, r in sorted(c.status.get(c.device, {}).items())]
    for style, path, head in (("table", "report.txt", ""), ("markdown", "report.md", "# ")):
        parts = ["%sperfkit on %s\n\n%s\n" % (head, c.device, "\n".join("- " + s for s in stages))]
        for label, run in newest.items():
            rc, text = c.run(c.perfkit, "show", str(run), "--format", style, "--width", "0", "--quiet")
            parts.append("\n%s%s\n\n%s" % (head and "## ", label, text if rc == 0 else "cannot be shown: " + reason_in(text)))
        replace(c.out / path, "".join(parts).encode()[:FILE_BYTES_MOST])
    if not newest:
        raise Partial("no run has been recorded yet")
    return "%d runs in report.txt and report.md" % len(newest)


# In order of worth: what a person would want to know if nothing after it could be done. The text file that each writes.
STAGES = {"doctor": (doctor, "doctor.txt"), "numerics": (numerics, "numerics.txt"), "ceilings": (ceilings, "runs.txt"),
          "bandwidth": (bandwidth, "runs.txt"), "products": (products, "runs.txt"), "attention": (attention, "runs.txt"), "bf16": (bf16, "runs.txt"), "tf32": (tf32, "runs.txt"),
          "transformer": (transformer, "runs.txt"), "large": (large, "runs.txt"), "nccl": (nccl, "runs.txt"), "ranks": (ranks, "runs.txt"),
          "counters": (counters, "runs.txt"),
          "sanitizer": (sanitizer, "sanitizer.txt"), "tree": (tree, "runs.txt"), "structure": (structure, "runs.txt"), "report": (report, "runs.txt")}


def absent(c):
    """Why the device cannot be used, or None."""
    p = subprocess.run([c.perfkit, "list", "devices", "--format", "json"], env=c.env, capture_output=True, text=True, check=True)
    for row in json.loads(p.stdout)["tables"]["devices"]["rows"]:
        if row["name"] == c.device.split(":")[0]:
            return row["reason"]
    return "perfkit has no device %s" % c.device


def stage(c, name):
    """Runs one and records what came of it. Returns its state."""
    function, file = STAGES[name]
    began = time.monotonic()
    c.deadline = began + STAGE_SECONDS
    path = c.out / file
    kept = path.read_bytes()[-TEXT_BYTES_MOST:].decode(errors="replace") if file == "runs.txt" and path.exists() else ""
    ending = None
    with open(path, "w", encoding="utf-8") as c.log:
        c.log.write(kept)
        try:
            state, said = "passed", function(c)
        except (Skip, Failed, Partial) as e:
            state, said = {Skip: "skipped", Failed: "failed", Partial: "partial"}[type(e)], str(e)
        except OSError as e:
            state, said = "failed", str(e)
        except (KeyboardInterrupt, SystemExit) as e:
            state, said, ending = "partial", "it was interrupted", e
    when = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    c.status.setdefault(c.device, {})[name] = {"state": state, "said": said, "when": when, "host": platform.node(),
                                               "seconds": round(time.monotonic() - began, 1)}
    c.save()
    if ending:
        raise ending
    print("gpu-check: %s %s: %s" % (name, state, said), flush=True)
    return state


def limits(c):
    """What is in the folder that must not be: too many files, or too large ones."""
    files = [f for f in c.out.iterdir() if f.is_file()]
    wrong = ["%s has %d bytes" % (f.name, f.stat().st_size) for f in files if f.stat().st_size > FILE_BYTES_MOST]
    return wrong + (["%d files" % len(files)] if len(files) > FILES_MOST else [])


def main():
    p = argparse.ArgumentParser(prog="gpu-check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("stages", nargs="*", metavar="STAGE", help="these, even if they passed: " + ", ".join(STAGES))
    p.add_argument("--out", default="gpu-check", metavar="DIR", help="where files go, and where an earlier call left its own")
    p.add_argument("--device", default="cuda", help="cuda, cuda:1; cpu tries the check itself")
    p.add_argument("--quick", action="store_true", help="tiny shapes and no peers, to try the check itself")
    p.add_argument("--perfkit", help="the program; default: of the bundle or the tree that this file is in")
    p.add_argument("--tests", help="folder of the programs test-gpu-*; default likewise")
    args = p.parse_args()
    unknown = [s for s in args.stages if s not in STAGES]
    if unknown:
        p.error("there is no stage '%s'; the stages are %s" % (unknown[0], ", ".join(STAGES)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a stage's command ends with us
    c = Check(args)
    if not c.perfkit.is_file():
        sys.exit("gpu-check: there is no %s\n  why: perfkit is not built\n  try: ./bootstrap build" % c.perfkit)
    why = absent(c)
    wanted = [s for s in STAGES if s in args.stages or not args.stages]
    if why:
        for s in wanted:
            print("gpu-check: %s skipped: device %s: %s" % (s, args.device, why))
        return 77
    done = [s for s in wanted if not args.stages and s != "report" and c.before(s) == "passed"]
    for s in done:
        print("gpu-check: %s has passed before" % s, flush=True)
    c.out.mkdir(parents=True, exist_ok=True)
    states = {s: "partial" for s in wanted if s not in done}
    for again in range(1 if args.stages else ROUNDS):
        cut_short = [s for s, state in states.items() if state == "partial"]
        for s in cut_short + ["report"] * (again and bool(cut_short)):
            states[s] = stage(c, s)
    wrong = limits(c)
    for w in wrong:
        print("gpu-check: the folder %s is not as promised: %s" % (c.out, w))
    return int(bool(wrong) or any(s in ("failed", "partial") for s in states.values()))


if __name__ == "__main__":
    sys.exit(main())
