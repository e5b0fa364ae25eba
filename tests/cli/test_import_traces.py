"""perfkit import of traces: PyTorch's profiler."""
import collections
import copy
import json
import re

import pytest

from test_import import FILES, imported, query, summaries

# --- PyTorch profiler, on the CPU ----------------------------------------------------------------------------------------


def printed(name):
    """Of key_averages().table(): name, (self, average, calls) as they are printed."""
    rows = re.findall(r"^ *(\S.*?) +[\d.]+% +(\S+) +[\d.]+% +\S+ +(\S+) +(\d+)$", (FILES / name).read_text(), re.M)
    return {n: (self_, average, int(calls)) for n, self_, average, calls in rows}


def as_pytorch_prints(ns):
    return "%.3fs" % (ns / 1e9) if ns >= 1e9 else "%.3fms" % (ns / 1e6) if ns >= 1e6 else "%.3fus" % (ns / 1e3)


def kernels(perfkit, run):
    """By name: time and calls over all regions."""
    sums = collections.defaultdict(lambda: [0, 0])
    for k in query(perfkit.db, "SELECT name, calls, time_ns FROM v_kernel WHERE run_id = ?", run):
        sums[k["name"]][0] += k["time_ns"]
        sums[k["name"]][1] += k["calls"]
    return sums


def calls_itself(ops, name):
    own = [e for e in ops if e["name"] == name]
    return sum(any(p is not e and p["ts"] <= e["ts"] and e["ts"] + e["dur"] <= p["ts"] + p["dur"] for p in own) for e in own)


def test_operators_have_the_times_that_pytorch_prints(perfkit):
    row, = imported(perfkit, FILES / "pytorch-plain.json")
    assert (row["source"], row["cases"], row["added"]) == ("pytorch-profiler", 1, 2)
    table = printed("pytorch-plain.txt")
    found = kernels(perfkit, row["run_id"])
    ranges = {n for n in table if re.match("forward|backward|optimizer|Optimizer", n)}
    assert len(table) > 40 and set(found) == set(table) - ranges
    ops = [e for e in json.loads((FILES / "pytorch-plain.json").read_text())["traceEvents"] if e.get("cat") == "cpu_op"]
    for name, (ns, calls) in found.items():  # PyTorch counts an operator that calls itself once
        assert (as_pytorch_prints(ns), calls) == (table[name][0], table[name][2] + calls_itself(ops, name)), name
    for name in ranges:
        s = summaries(perfkit, row["run_id"], name + "_ns")["trace", "{}"]
        assert (as_pytorch_prints(s["mean"]), s["n"]) == (table[name][1], table[name][2]), name
    families = {f["family"]: f["calls"] for f in query(perfkit.db, "SELECT * FROM v_breakdown WHERE region = 'forward'")}
    assert families["gemm"] == 2 and "softmax" not in families  # aten::linear, aten::addmm
    run, = query(perfkit.db, "SELECT * FROM v_run")
    whole = json.loads((FILES / "pytorch-plain.json").read_text())
    first = min(e["ts"] for e in whole["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation"))
    assert json.loads(run["machine"])["host"] == whole["host_name"] and run["started_at"][:4] == "2026"
    started, = query(perfkit.db, "SELECT started_ns FROM v_slice WHERE pass = 'trace'")
    assert abs(started["started_ns"] - whole["baseTimeNanoseconds"] - first * 1e3) < 1e6


def test_steps_are_samples_and_the_median_one_is_described(perfkit):
    row, = imported(perfkit, FILES / "pytorch-steps.json")
    table = printed("pytorch-steps.txt")
    step = summaries(perfkit, row["run_id"], "step_ns")["trace", "{}"]
    assert (as_pytorch_prints(step["mean"]), step["n"]) == (table["ProfilerStep*"][1], table["ProfilerStep*"][2] == 3 and 3)
    events = [e for e in json.loads((FILES / "pytorch-steps.json").read_text())["traceEvents"] if e["ph"] == "X"]
    steps = sorted((e["dur"], e["ts"]) for e in events if e["name"].startswith("ProfilerStep"))
    length, begin = steps[1]
    ops = [e for e in events if e["cat"] == "cpu_op" and begin <= e["ts"] < begin + length]
    found = kernels(perfkit, row["run_id"])
    assert sum(calls for _, calls in found.values()) == len(ops)
    shown = perfkit("show", row["run_id"])
    assert "aten::addmm" in shown.stdout and "the step of median length" in shown.stdout.lower() and "Traced and timed" not in shown.stdout
    timeline = perfkit("export", "trace", row["run_id"])
    pieces = [e for e in json.loads(timeline.stdout)["traceEvents"] if e.get("cat") == "piece"]
    assert len(pieces) == len(ops)
    assert {round(e["dur"], 3) for e in pieces} == {round(e["dur"], 3) for e in ops}


# --- PyTorch profiler, with a GPU: by hand ---------------------------------------------------------------------------------


class Trace:
    """As Kineto's output_json.cpp writes it (114171d), with the events of one process and its GPU."""

    def __init__(self):
        self.events, self.id, self.ts = [], 0, 1000.0

    def x(self, cat, name, ts, dur, tid, pid=77, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})

    def kernel(self, name, dur, launch=5.0, cat="kernel", stream=7, **args):
        self.id += 1
        self.x("cuda_runtime", "cudaLaunchKernel", self.ts, launch, 77, correlation=self.id)
        self.x(cat, name, self.ts + 20, dur, stream, pid=0, device=0, stream=stream, correlation=self.id, **args)
        self.ts += max(dur, launch) + 1

    def step(self, k, scale=1.0):
        begin = self.ts
        self.x("cpu_op", "aten::linear", begin + .5, 3, 77)
        self.kernel("nvjet_tst_128x64_64x9_2x1_v_bz_TNN", 40.0 * scale)
        self.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::relu>(int)", 10.0)
        self.x("user_annotation", "forward", begin, self.ts - begin, 77)
        middle = self.ts
        self.kernel("Memcpy HtoD (Pinned -> Device)", 4.0, cat="gpu_memcpy", bytes=4096)
        self.x("user_annotation", "data", middle, self.ts - middle, 77)
        self.x("user_annotation", "ProfilerStep#%d" % k, begin, self.ts - begin, 77)
        self.x("gpu_user_annotation", "forward", begin, 3, 7, pid=0)
        self.x("python_function", "main.py(1): step", begin, 3, 77)

    def root(self):
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85028765696, "numSms": 132}],
                "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "trace_id": "00", "displayTimeUnit": "ms",
                "baseTimeNanoseconds": 1790857026000000000, "traceEvents": self.events, "traceName": "t.json"}


def gpu_trace(path, scale=1.0, change=lambda root: None, jitter=0.0):
    t = Trace()
    for k in range(3):
        t.step(k, scale * (1 + jitter + .01 * k))
    root = copy.deepcopy(t.root())
    change(root)
    path.write_text(json.dumps(root))
    return path


def test_kernels_of_a_gpu(perfkit, tmp_path):
    row, = imported(perfkit, gpu_trace(tmp_path / "t.json"))
    case, = query(perfkit.db, "SELECT * FROM v_case")
    assert (case["device"], case["axes"], row["added"]) == ("cuda:0", '{"rank":3}', 2)
    found = {(k["region"], k["name"][:10]): (k["family"], k["calls"], k["time_ns"]) for k in query(perfkit.db, "SELECT * FROM v_kernel")}
    assert found == {("forward", "nvjet_tst_"): ("gemm", 1, 40400), ("forward", "void at::n"): ("elementwise", 1, 10000),
                     ("data", "Memcpy Hto"): ("copy", 1, 4000)}
    regions = {b["region"]: (b["busy_ns"], b["gap_ns"]) for b in query(perfkit.db, "SELECT * FROM v_breakdown")}
    assert regions["forward"] == (50400, 1000) and regions["iteration"] == (54400, 2000)
    forward = summaries(perfkit, row["run_id"], "forward_ns")["trace", '{"rank":3}']
    assert (forward["n"], forward["median"], forward["unit"], forward["direction"]) == (3, pytest.approx(52400), "ns", "lower")
    events = json.loads(perfkit("export", "trace", "@").stdout)["traceEvents"]
    assert collections.Counter(e.get("cat") for e in events if e["ph"] == "X") == {"piece": 3, "launch": 1, "region": 3, "region of pieces": 3, "case": 1}
    assert sum(e["ph"] == "s" for e in events) == 3
    assert {s["value"] for s in query(perfkit.db, "SELECT value FROM v_setting WHERE key = 'gpu'")} == {"NVIDIA H100 80GB HBM3"}


def test_compare_names_the_kernel_that_got_slower(perfkit, tmp_path):
    for label, scale in (("base", 1), ("slow", 1.5)):
        imported(perfkit, "--label", label, *(gpu_trace(tmp_path / ("%s%d.json" % (label, k)), scale, jitter=.001 * k) for k in range(5)))
    done = perfkit("compare", "base", "slow", "--metric", "forward_ns")
    assert "slower" in done.stdout
    assert re.search(r"in the traces nvjet_tst_128x64_64x9_2x1_v_bz_TNN took 20\.\d+ us more \(\+50 %\)", done.stdout), done


def without(*cats):
    return lambda root: root.update(traceEvents=[e for e in root["traceEvents"] if e["cat"] not in cats])


def test_kernels_whose_launch_is_not_in_the_trace(perfkit, tmp_path):
    imported(perfkit, gpu_trace(tmp_path / "t.json", change=without("cuda_runtime", "cpu_op", "user_annotation")))
    rows = query(perfkit.db, "SELECT region, sum(calls) AS calls FROM v_kernel GROUP BY 1")
    assert [(r["region"], r["calls"]) for r in rows] == [("trace", 9)]
    events = json.loads(perfkit("export", "trace", "@").stdout)["traceEvents"]
    assert not any(e["ph"] == "s" for e in events)


def set_event(**members):
    return lambda root: root["traceEvents"][1].update(**members)


@pytest.mark.parametrize("change, words", [
    (lambda root: root.update(schemaVersion=2), "schemaVersion"),
    (set_event(ts=-1), "traceEvents[1]: 'ts' is below zero"),
    (set_event(dur=-1), "traceEvents[1]: 'dur' is below zero"),
    (set_event(ts="now"), "'ts' is no number"),
    (set_event(ts=1e300), "'ts' is too large"),
    (set_event(name=3), "there is no 'name'"),
    (set_event(args=3), "'args' is no object"),
    (lambda root: root["traceEvents"][2]["args"].update(device=-7), "'device' is none"),
    (lambda root: root["traceEvents"].append(7), "it is no object"),
    (without("kernel", "gpu_memcpy", "cpu_op"), "no kernel and no operator"),
    (lambda root: root.update(traceEvents=[{**root["traceEvents"][2], "args": {"device": k}} for k in range(70)]), "more than 64 devices"),
])
def test_broken_traces(perfkit, tmp_path, change, words):
    perfkit("import", gpu_trace(tmp_path / "t.json", change=change)).refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


def test_hostile_traces(perfkit, tmp_path):
    """Names with escapes, more ranges than regions, operators that overlap, a kernel before its launch."""
    t = Trace()
    for k in range(200):
        t.x("user_annotation", "range\x1b[31m %d" % k, 10.0 * k, 9.0, 77)
    for k in range(2000):
        t.x("cpu_op", "aten::add" if k % 2 else "x" * 5000, k * 1.0, 1.7, k % 3)
    t.x("user_annotation", "trace", 3, 9, 77)
    (tmp_path / "t.json").write_text(json.dumps(t.root()))
    row, = imported(perfkit, tmp_path / "t.json")
    shown = perfkit("show", "@")
    assert shown.status == 0 and "\x1b" not in shown.stdout
    metrics = query(perfkit.db, "SELECT metric, n FROM v_summary")
    assert len(metrics) == 64 and sum(k[1] for k in kernels(perfkit, row["run_id"]).values()) > 100
