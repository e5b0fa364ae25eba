"""The stages: one row each, in order of worth, so that somebody who has ten minutes, twenty or forty learns most in them: every path once
with tiny work, then perfkit's own figures, then peers that need no compilation, then compiled ones, then what takes longest."""
import ctypes
import os
import pathlib
import platform
import re
from typing import Callable, NamedTuple

from . import figures
from .session import HERE, Failed, Skip, reason_in, tool

QUICK = ["--invocations", "1", "--min-samples", "3", "--min-time", "1ms", "--max-time", "5ms"]
OWN = ["--invocations", "1", "--min-samples", "5", "--max-time", "150ms", "--timeout", "60s"]
PEERS = ["--invocations", "2", "--min-samples", "5", "--max-time", "150ms", "--timeout", "90s"]
TINY_STEP = [word for axis in ("layers=1", "d_model=32", "heads=2", "d_ff=32", "vocab=50", "batch=2", "seq_len=8", "mode=step") for word in ("-a", axis)]
TINY_ATTENTION = ["-a", "d_model=16", "-a", "seq_len=32"]
BIG_CARD_BYTES = 100e9  # what the large model takes in fp32 with PyTorch beside it: about 67 GB and perfkit's own


class Result(NamedTuple):
    said: str
    figures: list = []


class Stage(NamedTuple):
    name: str
    proves: str
    seconds: int  # on one H100: an estimate
    claims: str  # ids of docs/gpu-status.md
    work: Callable  # (session, stage) -> Result
    needs: str = ""  # "gpu": nothing of it is on a CPU
    least: int = 0  # seconds without which it is not begun: what it starts with cannot be resumed


class Run:
    """A run of one experiment, and figures of it."""

    def __init__(self, experiment, options, quick, peers=(), read=(), env=None):
        self.experiment, self.options, self.quick, self.peers, self.read, self.env = experiment, options, quick, peers, read, env or {}

    def __call__(self, session, stage):
        if session.quick and self.quick is None:
            raise Skip("it has nothing tiny")
        session.env.update(self.env)
        try:
            return self.run(session, stage)
        finally:
            for name in self.env:
                session.env.pop(name)

    def run(self, session, stage):
        options = self.quick + QUICK if session.quick else self.options(session) if callable(self.options) else self.options
        session.measure(stage.name, self.experiment, *options, *([] if session.quick else session.peers(self.peers)))
        return measured(session, stage, "measured", self.read, ["trace"] if "--breakdown" in options else [])


def measured(session, stage, said, read, passes=(), wrong=(), known=()):
    """The figures of a stage's run, after those that are known already. It fails, with what it measured, where a case has no result of a pass (trace, counter): perfkit only
    warns of that."""
    label = session.label(stage.name)
    rows, wrong = [*known, *figures.read(session, label, read)], list(wrong)
    for p in passes:
        wrong += ["cases not %s: %d: %s" % ({"trace": "traced", "counter": "counted"}[p], n, why) for why, n in session.query(figures.UNTRACED, label, p)]
    if wrong:
        raise Failed("; ".join([*wrong, said]), rows)
    return Result(said, rows)


def seen(claim, what, value=1):
    return figures.at_least(claim, what, value)


def axes(*texts):
    return [word for text in texts for word in ("-a", text)]


def machine(session, stage):
    """What is here: every later figure is of it."""
    libc = ctypes.CDLL(None)
    libc.gnu_get_libc_version.restype = ctypes.c_char_p
    session.folder.append("facts", "%s\nlibc %s\npython %s" % (" ".join(platform.uname()), libc.gnu_get_libc_version().decode(), platform.python_version()), 0, 0)
    session.must(session.perfkit, "--version")
    session.must(session.perfkit, "doctor", "--width", "0")
    doctor = session.doctor()
    libraries = sum(doctor[n]["state"] == "ok" for n in LIBRARIES if n in doctor)
    names = ("torch", "triton", "jax", "equinox", "numpy", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "nvidia-cublas", "nvidia-cuda-cupti")
    session.run(session.env["PERFKIT_PYTHON"], "-c", "import importlib.metadata as m\nfor n in %r:\n try: print(n, m.version(n))\n"
                " except m.PackageNotFoundError: print(n, 'is not installed')" % (names,))
    for path in ("/proc/driver/nvidia/version", "/proc/driver/nvidia/params"):
        if os.path.exists(path):
            session.run("cat", path)
    for name, *words in (("nvidia-smi", "-q"), ("nvcc", "--version"), ("ncu", "--version"), ("nsys", "--version"), ("compute-sanitizer", "--version")):
        if tool(name):
            session.run(tool(name), *words)
    planned = [figures.at_least("dry-run", "cases planned for the GPU with their memory", sum(c["status"] == "measured" and c["predicted_bytes"] > 0 for c in
               session.tables("run", "attention-scaling", "--dry-run", "--device", session.device)["plan"]))] if session.cuda else []
    joined = [seen("gpu-topology", "doctor tells how GPUs are joined", int("NUMA node by GPU" in doctor["gpu-state"]["found"]))] if session.cuda else []
    uuids = re.findall(r"UUID: ((?:GPU|MIG)-[\w/-]+)", session.run(tool("nvidia-smi"), "-L")[1]) if session.cuda and tool("nvidia-smi") else []
    joined += [seen("gpu-uuid", "cases run on " + uuid[:12], int(session.run(session.perfkit, "run", "attention-scaling", "--device", "cuda:" + uuid, "--variant", "flash",
                    *TINY_ATTENTION, "--once")[0] == 0)) for uuid in uuids[-1:]]  # an instance, where the GPU is divided
    bundle = [seen("bundle", "run from a bundle")] if (HERE.parent / "perfkit").is_file() else []
    return Result("facts of this machine are in log.txt", [figures.at_least("libraries", "CUDA libraries opened", libraries), *planned, *joined, *bundle])


LIBRARIES = ("cublaslt", "cudnn", "nccl", "cupti", "nvml")
PROGRAMS = ("test-gpu-device", "test-gpu-ops", "test-gpu-comm", "test-gpu-cudnn")
# Claims by the tests that show them: a test that is skipped shows nothing.
TEST_CLAIMS = [
    ("device", "test-gpu-device", ""),
    ("capture-errors", "test-gpu-device", "captures_refuse"),
    ("sticky-error", "test-gpu-device", "a_bad_address|a_new_process"),
    ("gpu-tests-isolated", "test-gpu-device", "a_new_process"),
    ("kernels", "test-gpu-ops", ""),
    ("products", "test-gpu-ops", "gemm"),
    ("flash-3xtf32", "test-gpu-ops", "flash_3xtf32"),
    ("flash-fp16x3", "test-gpu-ops", "flash_fp16x3"),
    ("flash-five", "test-gpu-ops", "flash_five"),
    ("bf16-elements", "test-gpu-ops", "(softmax|scale|causal_mask)_bf16"),
    ("layers", "test-gpu-ops", "norm|heads|glu|map|embed|cross_entropy|nll|adamw"),
    ("lanes", "test-gpu-comm", "lanes|calls"),
    ("cudnn", "test-gpu-cudnn", ""),
    ("cudnn-tests", "test-gpu-cudnn", ""),
]


def outcomes(text):
    """{test: passed, skipped or failed}, from cmocka's lines."""
    marks = (("[       OK ]", "passed"), ("[  SKIPPED ]", "skipped"), ("[  FAILED  ]", "failed"))
    return {line[len(mark):].split(",")[0].strip(): state for line in text.splitlines() for mark, state in marks
            if line.startswith(mark) and "test(s)" not in line}


def test_figures(tests, claims, broken=()):
    """Of {program: {test: state}}: for each claim how many tests that show it passed, and how many failed. A program that broke, and names no
    failed test, fails each of its claims."""
    rows = []
    for claim, name, pattern in claims:
        states = [s for t, s in tests.get(name, {}).items() if re.match(pattern, t)]
        for what, bound in (("failed", (figures.AT_MOST, 0)), ("passed", (figures.AT_LEAST, 1))):
            n = states.count(what) + (what == "failed" and name in broken)
            if set(states) - {"skipped"} or name in broken:
                rows.append({"claim": claim, "what": "%s %s" % (name, what), "value": n, "unit": "tests", "bound": bound, "holds": figures.holds(bound, n)})
    return rows


def run_programs(session, claims, *words, programs=PROGRAMS, env=None):
    """All test programs run, whatever the first says; a test that fails costs itself."""
    failed, broken, skipped, passed, all_tests = [], [], [], 0, {}
    for name in programs:
        if not (session.tests / name).exists():  # built without cuDNN's headers
            skipped.append("%s (not built)" % name)
            continue
        rc, text = session.run(session.tests / name, session.device, *words, env=env)
        tests = all_tests[name] = outcomes(text)
        passed += sum(s == "passed" for s in tests.values())
        skipped += [t for t, s in tests.items() if s == "skipped"] + (["%s (%s)" % (name, reason_in(text))] if rc == 77 else [])
        if rc not in (0, 77):
            broken += [] if "failed" in tests.values() else [name]
            failed.append("%s: status %d: %s" % (name, rc, ", ".join(t for t, s in tests.items() if s == "failed") or reason_in(text)))
    said = "%d tests passed%s" % (passed, ", skipped: " + ", ".join(skipped) if skipped else "")
    rows = test_figures(all_tests, claims, broken)
    if failed or not passed:
        raise Failed("; ".join([*failed, said]), rows)
    return Result(said, rows)


def numerics(session, stage):
    return run_programs(session, TEST_CLAIMS, "tiny")


def numerics_full(session, stage):
    if session.quick:
        raise Skip("stage numerics has its tiny form")
    return run_programs(session, [("gpu-tests", name, "") for name in PROGRAMS])


# In mangled names: perfkit's kernels stand in unnamed namespaces of .cu files, except one. Those of NVIDIA's libraries do not.
OWN_KERNELS = r"regex=_GLOBAL__N__[0-9a-f]+_[0-9]+_[a-z0-9_]+_cu_|^_Z5delay"
SUMMARY = r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)"


def sanitizer(which):
    def work(session, stage):
        path = tool("compute-sanitizer")
        if not path:
            raise Skip("compute-sanitizer was not found in PATH or $CUDA_HOME/bin")
        # The test program starts a child for its tests and uses no GPU itself.
        rc, text = session.run(path, "--tool", which, "--error-exitcode", "9", "--report-api-errors", "no", "--require-cuda-init", "no",
                               "--kernel-name", OWN_KERNELS, session.tests / "test-gpu-ops", session.device, "tiny", env={"PK_TEST_SECONDS": "600"})
        if "device not supported" in text.lower():
            raise Skip("compute-sanitizer refuses this machine: %s" % reason_in(text))
        found = [int(a or b) for a, b in re.findall(SUMMARY, text)]
        if rc or not found or any(found):
            raise Failed("%s: status %d, %d found: %s" % (which, rc, sum(found), reason_in(text)))
        passed = list(outcomes(text).values()).count("passed")
        if not passed:
            raise Failed("%s watched no test: %s" % (which, reason_in(text)))
        return Result("%s found nothing in perfkit's kernels, %d tests" % (which, passed), [figures.at_least(which, "tests watched, nothing found", passed)])
    return work


GPU_SOURCES = ["gpu-state", "gpu-trace", "gpu-counters"]
GPU_GROUPS = {"gpu-trace": "gpu-trace", "gpu-counters": "gpu-lite,gpu-roof,gpu-tensor,gpu-cache", "gpu-state": "gpu-state"}


def counters(options):
    """Self-tests of the GPU's sources, then attention-scaling with what works of them."""
    def work(session, stage):
        found = session.doctor()
        if found["cupti"]["state"] != "ok":
            raise Skip("CUPTI: %s" % found["cupti"]["found"])
        said = ["%s %s: %s" % (s, found[s]["state"], found[s]["found"]) for s in GPU_SOURCES]
        wanted = [GPU_GROUPS[s] for s in GPU_SOURCES if found[s]["state"] != "unavailable"]
        if not wanted:
            raise Skip("; ".join(said))
        session.measure(stage.name, "attention-scaling", *options, *axes("dtype=fp32,bf16"), "--breakdown", "--counters", ",".join(wanted))
        wrong = [t for s, t in zip(GPU_SOURCES, said) if found[s]["state"] == "degraded" and s != "gpu-state"]
        works = {s for s in GPU_SOURCES if found[s]["state"] != "unavailable"}
        read = [f for s, f in figures.OF_SOURCES if s in works]
        refused = [figures.at_least("cupti-refusals", "%s refused, with advice" % s, int(bool(found[s]["advice"])))
                   for s in ("gpu-trace", "gpu-counters") if s not in works]
        passes = ["trace"] * ("gpu-trace" in works) + ["counter"]
        return measured(session, stage, "; ".join(said), [*read, *figures.WORK], passes, wrong, refused)
    return work


def nccl(claim, options):
    def work(session, stage):
        found = session.doctor()["nccl"]
        if found["state"] != "ok":
            raise Skip("NCCL: %s" % found["found"])
        session.measure(stage.name, "ddp-bucket", *axes("transport=nccl", "ranks=1"), *(BUCKETS_QUICK if session.quick else options))
        return measured(session, stage, "measured", [figures.cases(claim)])
    return work


BUCKETS = axes("model=small", "bucket_bytes=1MB,10MB,25MB,100MB", "split=off,on")
BUCKETS_QUICK = axes("compute_ms=1", "bucket_bytes=4MB") + ["--variant", "none,naive,bucket"] + QUICK
RANK_PEERS = ["torch-ddp", "torch-ddp-flat", "torch-ddp-naive"]


def ranks(session, stage):
    """Two ranks over MPI on one device, gradients staged through the host where it is a GPU, beside PyTorch over gloo."""
    found = session.doctor()
    if found["mpi"]["state"] != "ok":
        raise Skip("MPI: %s" % found["mpi"]["found"])
    rows = []
    if session.cuda and found["nccl"]["state"] == "ok":
        _, text = session.run(session.perfkit, "run", "ddp-bucket", "--device", session.device, *axes("transport=nccl", "ranks=2"), "--timeout", "20s",
                              "--budget", "30s", "--db", pathlib.Path(session.scratch.name) / "refused.db", *BUCKETS_QUICK)
        refused = "two ranks on one GPU" in text
        rows = [{"claim": "nccl-two-refused", "what": "refusals of two NCCL ranks on one GPU", "value": int(refused), "unit": "", "bound": (figures.AT_LEAST, 1),
                 "holds": refused}]
    full = [*axes("model=small", "bucket_bytes=25MB", "work=timer,transformer", "compute_ms=300", "seq_len=512", "batch=8"), "--invocations", "1",
            "--min-samples", "5", "--max-time", "1s", "--timeout", "60s"]
    session.measure(stage.name, "ddp-bucket", *axes("transport=mpi", "ranks=2"), *(BUCKETS_QUICK if session.quick else full + session.peers(RANK_PEERS)))
    return Result("measured", rows + figures.read(session, session.label(stage.name), [figures.cases("mpi-staged"), *figures.RANKS]))


def ceilings(session, stage):
    row, = session.tables("doctor", "--ceilings", "--device", session.device)["ceilings"]
    rows = [{"claim": None, "what": key, "value": value, "unit": "", "bound": None, "holds": None} for key, value in row.items()
            if isinstance(value, float) and not key.startswith("sheet_")]
    rows.insert(0, figures.at_least("ceilings", "rates above 0", sum(r["value"] > 0 for r in rows)))
    return Result("measured and stored" + (", not settled: %s" % row["doubtful"] if row.get("doubtful") else ""), rows)


def program(name, claim, pattern, unit, env=None):
    def work(session, stage):
        rc, text = session.run(session.tests / name, session.device, *(["tiny"] if session.quick else []), env=env)
        rows = figures.of_program(text, claim, pattern, unit)
        if rc or not rows:
            raise Failed("%s: status %d%s: %s" % (name, rc, "" if rows else ", no figures", reason_in(text)), rows)
        return Result(text.strip().splitlines()[-1] + " of %d" % (len(rows) - 1), rows)
    return work


# Every process of a stage with it launches kernels that may start early.
DEPENDENT = {"PERFKIT_DEPENDENT_LAUNCH": "on"}


def overlap(session, stage):
    """The tests of every op and a step, eager and captured, with dependent launch; then chains of short kernels with and without it."""
    failed, rows = [], []
    try:
        rows += run_programs(session, [("dependent-launch", "test-gpu-ops", "")], "tiny", programs=["test-gpu-ops"], env=DEPENDENT).figures
    except Failed as f:
        failed, rows = [str(f)], f.figures
    session.env.update(DEPENDENT)
    try:
        session.measure(stage.name, "mixed-precision", *TINY_STEP, "--breakdown", *QUICK)
    finally:
        session.env.pop("PERFKIT_DEPENDENT_LAUNCH")
    steps = figures.read(session, session.label(stage.name), [figures.cases("dependent-launch", "axes ->> 'mode' = 'step' AND %s" % figures.OWN)])
    rc, text = session.run(session.tests / "test-gpu-overlap", session.device, *(["tiny"] if session.quick else []))
    lines = figures.of_program(text, "dependent-launch-speed", figures.OVERLAP_LINE, "x")
    rows += [*steps, figures.at_least("dependent-launch", "chains with the same results to the bit", len(lines) - 1 if not rc else 0), *lines]
    failed += [] if rc in (0, 77) else ["test-gpu-overlap: status %d: %s" % (rc, reason_in(text))]
    if failed:
        raise Failed("; ".join(failed), rows)
    if rc == 77:
        raise Skip(reason_in(text))
    return Result("same results with dependent launch; " + text.strip().splitlines()[-1] + " of %d" % (len(lines) - 1), rows)


def large(session):
    """In fp32 PyTorch takes about 67 GB of it."""
    dtypes = "fp32,tf32,bf16" if session.folder.machine.get("memory_bytes", 0) >= BIG_CARD_BYTES else "bf16"
    return ["--preset", "seed", *axes("model=large", "mode=step", "dtype=" + dtypes), "--invocations", "1", "--max-time", "2s", "--timeout", "200s", "--breakdown"]


def profilers(session, stage):
    """Some iterations under NVIDIA's own profilers, as docs/profilers.md says it. What is outside of their range is not recorded: of ncu, flash has one forward kernel
    in an iteration; of nsys, perfkit's table is printed after its report."""
    one = [session.perfkit, "run", "attention-scaling", "--device", session.device, "--variant", "flash", *axes("d_model=64", "seq_len=1024"), "--profile", "3"]
    lines = {"ncu": ["--profile-from-start", "off", "--clock-control", "none", "--kernel-name", "regex:forward"],
             "nsys": ["profile", "--trace", "cuda,nvtx", "--capture-range", "cudaProfilerApi", "--capture-range-end", "stop", "--force-overwrite", "true",
                      "--output", os.path.join(session.scratch.name, "profile")]}
    said, failed, rows = [], [], []
    for name, words in lines.items():
        path = tool(name)
        if not path:
            said.append("%s is not here" % name)
            continue
        rc, text = session.run(path, *words, *one)
        if "ERR_NVGPUCTRPERM" in text:
            said.append("%s: ERR_NVGPUCTRPERM: this user may not read the GPU's counters" % name)
        elif rc == 0 and (name != "ncu" or "forward" in text):
            rows.append(seen("profilers", "%s ran one case" % name))
            if name == "ncu":
                rows.append(seen("profilers", "ncu saw the iterations of the range alone", int(text.count("==PROF== Profiling") == 3)))
        else:
            failed.append("%s: status %d: %s" % (name, rc, reason_in(text)))
    if failed:
        raise Failed("; ".join(failed + said), rows)
    if not rows:
        raise Skip("; ".join(said))
    return Result("; ".join([r["what"] for r in rows] + said), rows)


STEP = ["--preset", "seed", *axes("model=small", "mode=step"), "--invocations", "1", "--max-time", "1s", "--timeout", "120s"]
LONG_ATTENTION = axes("d_model=64,128", "seq_len=1024,4096,16384,65536", "dtype=fp32", "math=ieee,3xtf32")
CUDNN_WORKSPACE = 4096  # bytes: its prediction leaves it out; 256 in cuDNN 9.19
GRID = axes("d_model=64,128", "seq_len=1024,4096,16384")
FP32_PEERS = ["torch-eager", "torch-sdpa-math", "torch-sdpa-efficient"]
BF16_PEERS = ["torch-eager", "torch-sdpa", "torch-sdpa-flash", "torch-sdpa-cudnn"]
TREE_PEERS = ["equinox-tree-at", "equinox-batched"]

STAGES = [
    # Every path once, tiny: about ten minutes.
    Stage("machine", "GPU, driver, toolkit, libraries, Python packages; perfkit doctor", 60, "libraries dry-run gpu-check bundle gpu-topology gpu-uuid", machine),
    Stage("numerics", "every kernel and library call agrees with the references, tiny shapes", 60,
          "device capture-errors sticky-error gpu-tests-isolated kernels products flash-3xtf32 flash-fp16x3 flash-five bf16-elements layers lanes cudnn cudnn-tests", numerics),
    Stage("memcheck", "no bad memory access in perfkit's kernels", 90, "memcheck", sanitizer("memcheck"), "gpu", 60),
    Stage("counters", "CUPTI's counters and trace and NVML's state of one case", 90, "gpu-counters gpu-trace kernel-needs idle-time trace-overhead gpu-state counter-runs clock-reasons cupti-refusals",
          counters([*axes("d_model=64", "seq_len=512"), *QUICK]), "gpu"),
    Stage("captured", "a captured training step, traced", 40, "graphs declared-work",
          Run("mixed-precision", [*TINY_STEP, "--breakdown", *QUICK], [*TINY_STEP, "--breakdown"], read=[figures.cases("graphs", "variant = 'compiled'"), *figures.WORK])),
    Stage("nccl", "gradients averaged by NCCL, one rank", 40, "nccl-one-rank", nccl("nccl-one-rank", [*axes("compute_ms=1", "bucket_bytes=4MB"), *QUICK]), "gpu"),
    # perfkit's own figures: to about twenty minutes.
    Stage("ceilings", "the rates that figures are judged by", 40, "ceilings", ceilings),
    Stage("products", "matrix products of the models in fp32, tf32 and bf16", 30, "tf32-products",
          program("test-gpu-products", "tf32-products", figures.PRODUCT_LINE, "TFLOP/s")),
    Stage("bandwidth", "layers of a transformer beside a copy", 40, "layer-bandwidth",
          program("test-gpu-bandwidth", "layer-bandwidth", figures.BANDWIDTH_LINE, "% of a copy")),
    Stage("parts", "flash attention of one or few heads, in parts beside whole", 30, "flash-parts",
          program("test-gpu-parts", "flash-parts", figures.PARTS_LINE, "x"), "gpu"),
    Stage("five", "flash attention's backward pass with five products, an experiment, beside seven", 30, "flash-five-speed",
          program("test-gpu-parts", "flash-five-speed", figures.FIVE_LINE, "x", {"PERFKIT_FIVE_PRODUCTS": "on"}), "gpu"),
    Stage("overlap", "dependent launch: same results, launched and captured between marks; time of short kernels with and without it", 60,
          "dependent-launch dependent-launch-speed", overlap, "gpu"),
    Stage("flash", "fp32 attention up to 65536 tokens, ieee and 3xtf32", 150, "attention",
          Run("attention-scaling", [*LONG_ATTENTION, "--variant", "flash,fused", *OWN], TINY_ATTENTION, read=[figures.cases("attention"), figures.memory_error("attention", 0, "variant IN ('flash', 'fused')"), *figures.RATES])),
    Stage("flash-fp16x3", "fp32 attention by products of fp16 numbers, an experiment, beside 3xtf32", 60, "flash-fp16x3-speed",
          Run("attention-scaling", [*axes("d_model=64,128", "seq_len=4096,16384,65536", "dtype=fp32", "math=3xtf32,fp16x3"), "--variant", "flash", *OWN],
              axes("d_model=64", "seq_len=1024", "math=3xtf32,fp16x3"), read=figures.FP16X3, env={"PERFKIT_FP16X3": "on"}), "gpu"),
    Stage("cudnn", "bf16 attention by cuDNN, vanilla and fused", 90, "cudnn-memory",
          Run("attention-scaling", ["--preset", "seed", *axes("dtype=bf16"), *OWN], [*TINY_ATTENTION, *axes("dtype=bf16")], read=[figures.cases("cudnn-memory", "variant = 'cudnn'"), figures.memory_error("cudnn-memory", CUDNN_WORKSPACE, "variant = 'cudnn'"), *figures.RATES]), "gpu"),
    Stage("step", "a step of the small model in fp32, tf32 and bf16: MFU and trace", 90, "step step-mfu step-trace",
          Run("mixed-precision", [*STEP, "--breakdown"], [*TINY_STEP, "--breakdown"], read=[figures.cases("step"), figures.mfu("step-mfu", 40), *figures.STEP])),
    # Peers that need no compilation.
    Stage("cudnn-peers", "bf16 attention beside PyTorch's kernels", 180, "cudnn-speed",
          Run("attention-scaling", [*GRID, *axes("dtype=bf16"), "--variant", "cudnn", *PEERS], None, BF16_PEERS, figures.CUDNN), "gpu"),
    Stage("step-peers", "a step of the small model beside PyTorch eager", 120, "step-eager step-memory",
          Run("mixed-precision", STEP, None, ["torch-eager"], figures.eager_step())),
    Stage("flash-peers", "fp32 attention up to 65536 tokens beside PyTorch", 240, "torch-peers",
          Run("attention-scaling", [*LONG_ATTENTION, "--variant", "flash", *PEERS], None, FP32_PEERS, [*figures.PEER_CASES, *figures.FLASH_PEERS])),
    Stage("ranks", "two ranks over MPI on one device, beside PyTorch over gloo", 180, "mpi-staged nccl-two-refused", ranks),
    Stage("tree", "real weights sliced and patched on the device", 120, "tree-table tree-weights",
          Run("tree-patch", ["--preset", "weights", *axes("slicing=per-leaf,batched,graph"), "--invocations", "1"],
              axes("model=2L-256H", "weights=real", "tp=2"), read=figures.TREE)),
    # Compiled peers.
    Stage("step-compiled", "a bf16 step of the small model beside torch.compile", 300, "step-compiled",
          Run("mixed-precision", [*STEP, *axes("dtype=bf16")], None, ["torch-compile"], figures.compiled_step()), least=200),
    Stage("attention-compiled", "fp32 attention beside torch.compile", 240, "torch-peers",
          Run("attention-scaling", [*GRID, *axes("dtype=fp32"), "--variant", "vanilla,fused,flash", *PEERS], None, ["torch-compile"], figures.PEER_CASES), least=120),
    # What takes longest.
    Stage("numerics-full", "the tests of stage numerics with large and odd shapes", 240, "gpu-tests", numerics_full),
    Stage("usage", "power and utilisation over time, by NVML", 40, "gpu-usage", Run("attention-scaling", [
        "--variant", "flash", *axes("d_model=128", "seq_len=16384"), "--invocations", "1", "--max-time", "3s", "--min-time", "3s", "--counters", "gpu-usage"], None,
        read=[figures.Figure("gpu-usage", "", (figures.AT_LEAST, 5), figures.USAGE)]), "gpu"),
    Stage("profilers", "one case under ncu and nsys", 90, "profilers", profilers, "gpu"),
    Stage("buckets", "exposed communication of every method over NCCL, one rank", 180, "ddp-bucket",
          nccl("ddp-bucket", [*BUCKETS, *axes("compute_ms=30", "dtype=fp32,bf16"), "--invocations", "1", "--timeout", "60s"]), "gpu"),
    Stage("counters-full", "counters, rooflines and breakdowns of attention's usual shapes", 240, "gpu-counters counter-runs",
          counters(["--preset", "quick", "--timeout", "90s"]), "gpu"),
    Stage("attention-tf32", "attention with tf32 products beside PyTorch, two processes that share the choice of products", 180, "attention product-choice",
          Run("attention-scaling", [*GRID, *axes("dtype=tf32"), *PEERS], None, ["torch-eager", "torch-sdpa-math"], [figures.cases("attention"), figures.Figure("product-choice", "", (figures.AT_MOST, 0), figures.CHOICES)]), "gpu"),
    Stage("tree-peers", "trees patched beside Equinox", 180, "",
          Run("tree-patch", [*axes("model=4L-768H,12L-768H"), "--invocations", "2", "--timeout", "120s"], axes("model=2L-256H"), TREE_PEERS)),
    Stage("large", "a step of the large model beside PyTorch", 400, "large-mfu step-memory",
          Run("mixed-precision", large, None, ["torch-eager", "torch-compile"], [figures.mfu("large-mfu", 45), *figures.STEP, *figures.memory("torch-eager")]), least=200),
    Stage("racecheck", "no race in shared memory in perfkit's kernels", 300, "racecheck", sanitizer("racecheck"), "gpu", 120),
]
NAMES = [s.name for s in STAGES]
