"""perfkit import of traces: PyTorch's profiler, nsys."""
import collections
import copy
import json
import re
import signal
import sqlite3
import time

import pytest
from conftest import not_sanitized

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
    assert "aten::addmm" in shown.stdout and "the step of median length" in shown.stdout.lower() and "Timed median" not in shown.stdout
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
    gaps, = (json.loads(s["notes"])["breakdown"]["regions"] for s in query(perfkit.db, "SELECT notes FROM v_slice WHERE pass = 'trace'"))
    assert {g["region"]: (g["host_ns"], g["launch_ns"]) for g in gaps}["forward"] == (0, 1000)  # each was launched 20 us before
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
    (set_event(ts="now"), "'ts' is not a number"),
    (set_event(ts=1e300), "'ts' is too large"),
    (set_event(name=3), "there is no 'name'"),
    (set_event(args=3), "'args' is not an object"),
    (lambda root: root["traceEvents"][2]["args"].update(device=-7), "'device' is none"),
    (lambda root: root["traceEvents"].append(7), "not an object"),
    (without("kernel", "gpu_memcpy", "cpu_op"), "no kernel and no operator"),
    (lambda root: root.update(traceEvents=[{**root["traceEvents"][2], "args": {"device": k}} for k in range(70)]), "more than 64 devices"),
])
def test_broken_traces(perfkit, tmp_path, change, words):
    perfkit("import", gpu_trace(tmp_path / "t.json", change=change)).refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


@not_sanitized
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


# --- nsys: by hand after the tables of an export of 2026.2 (schema 3.25) ---------------------------------------------------

GLOBAL = (1 << 48) | (77 << 24)  # a serialized identifier of process 77

NSYS = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER"
    " NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER"
    " NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER"
    " NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "TARGET_INFO_GPU": "id INTEGER NOT NULL, name TEXT",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
}

ROWS = {
    "StringIds": [(1, "void softmax_warp_forward<float, 10>(float *)"), (2, "sm90_xmma_gemm_bf16"), (3, "step"), (4, "cudaLaunchKernel")],
    "CUPTI_ACTIVITY_KIND_KERNEL": [(2000 + 10000 * k, 2900 + 10000 * k + 10 * k, 0, 1, 7, 10 * k + 1, GLOBAL, 2, 2) for k in range(3)]
    + [(3000 + 10000 * k, 3500 + 10000 * k, 0, 1, 7, 10 * k + 2, GLOBAL, 1, 1) for k in range(3)]
    + [(2500, 2700, 1, 2, 13, 1, GLOBAL + (1 << 24), 1, 1)],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [(4000, 4400, 0, 1, 7, 3, GLOBAL, 1 << 20, 1), (5000, 5300, 0, 1, 7, 4, GLOBAL, 64, 2)],
    "CUPTI_ACTIVITY_KIND_MEMSET": [(5400, 5410, 0, 1, 7, 5, GLOBAL, 0, 4096)],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [(1500 + 10000 * k + i, 1600 + 10000 * k + i, 0, GLOBAL + 9, 10 * k + c, 4, 0)
                                    for k in range(3) for i, c in ((0, 1), (200, 2))]
    + [(3900, 3950, 0, GLOBAL + 9, 3, 4, 0), (1400, 1450, 0, GLOBAL + (1 << 24), 1, 4, 0)],
    "NVTX_EVENTS": [(1000 + 10000 * k, 3600 + 10000 * k + 100 * k, 59, None, GLOBAL + 9, 3, 0) for k in range(3)]
    + [(1500, 1700, 59, "aten::mm, op_id = 31", GLOBAL + 9, None, 0), (1400, 1900, 60, "aten::linear, seq = 7, op_id = 30", GLOBAL + 9, None, 0),
       (1000, None, 59, "never popped", GLOBAL + 9, None, 0), (900, None, 34, "a mark", GLOBAL + 9, None, 0)],
    "TARGET_INFO_SESSION_START_TIME": [(1779630014975716426, "2026-05-24T13:40:14", "2026-05-24T13:40:14")],
    "TARGET_INFO_GPU": [(0, "NVIDIA H100 80GB HBM3")],
    "META_DATA_EXPORT": [("EXPORT_PRODUCT_VERSION", "2026.2.1.210"), ("EXPORT_SCHEMA_VERSION", "3.25.0")],
}


def nsys(path, *statements, without=()):
    with sqlite3.connect(path) as c:
        for table, columns in NSYS.items():
            if table in without:
                continue
            c.execute('CREATE TABLE %s (%s)' % (table, columns.replace(" end ", ' "end" ')))
            c.executemany("INSERT INTO %s VALUES (%s)" % (table, ",".join("?" * len(ROWS[table][0]))), ROWS[table])
        for s in statements:
            c.execute(s)
    c.close()
    return path


def test_nsys(perfkit, tmp_path):
    row, = imported(perfkit, nsys(tmp_path / "r.sqlite"))
    assert (row["source"], row["cases"], row["added"]) == ("nsys", 2, 4)
    found = {(k["device"], k["region"], k["name"].split()[-1][:9]): (k["family"], k["calls"], k["time_ns"]) for k in query(perfkit.db, "SELECT * FROM v_kernel")}
    assert found == {("cuda:0", "step", "sm90_xmma"): ("gemm", 3, 2730), ("cuda:0", "step", "*)"): ("softmax", 3, 1500),
                     ("cuda:0", "trace", "device"): ("copy", 1, 400), ("cuda:0", "trace", "host"): ("copy", 1, 300), ("cuda:0", "trace", "fill"): ("copy", 1, 10),
                     ("cuda:1", "step", "*)"): ("softmax", 1, 200)}
    assert {c["axes"] for c in query(perfkit.db, "SELECT axes FROM v_case")} == {'{"gpu":0}', '{"gpu":1}'}
    step = {r["device"]: r for r in query(perfkit.db, "SELECT * FROM v_summary WHERE metric = 'step_ns'")}
    assert (step["cuda:0"]["median"], step["cuda:0"]["n"], step["cuda:0"]["max"]) == (2700, 3, 2800)
    run, = query(perfkit.db, "SELECT * FROM v_run")
    assert run["started_at"] == "2026-05-24T13:40:14Z"
    settings = {s["key"]: s["value"] for s in query(perfkit.db, "SELECT key, value FROM v_setting")}
    assert (settings["gpu"], settings["nsys"]) == ("NVIDIA H100 80GB HBM3", "2026.2.1.210")
    events = json.loads(perfkit("export", "trace", "@").stdout)["traceEvents"]
    kinds = collections.Counter(e.get("cat") for e in events if e["ph"] == "X")
    assert (kinds["piece"], kinds["launch"]) == (9 + 1, 2 * 2)  # aten::mm and aten::linear, on the host of each device
    assert sum(e["ph"] == "s" for e in events) == 6 + 1 + 1  # each by the call of its own process
    assert "Where the time went" in perfkit("show", "@").stdout


def test_nsys_without_what_was_not_traced(perfkit, tmp_path):
    """Tables are there only when they have rows."""
    imported(perfkit, nsys(tmp_path / "r.sqlite", without=("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_GPU", "CUPTI_ACTIVITY_KIND_MEMSET")))
    assert query(perfkit.db, "SELECT sum(calls) AS n FROM v_kernel WHERE device = 'cuda:0'")[0]["n"] == 8


SLOW_VIEW = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS \"end\", 0 AS deviceId, 0 AS streamId, 1 AS correlationId," \
    " 1 AS globalPid, 1 AS demangledName FROM n"


@pytest.mark.parametrize("statements, without, words", [
    ([], ("META_DATA_EXPORT",), "a SQLite database of another program"),
    (["UPDATE META_DATA_EXPORT SET value = '4.0.0' WHERE name LIKE '%SCHEMA%'"], (), "version 4.0.0 of nsys's tables"),
    (["ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN globalPid TO pid"], (), "CUPTI_ACTIVITY_KIND_KERNEL[0]: SQLite says: no such column"),
    (["UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = 'early' WHERE copyKind = 2"], (), "CUPTI_ACTIVITY_KIND_MEMCPY[1]: its times are not integers"),
    (["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET \"end\" = start - 1 WHERE deviceId = 1"], (), "CUPTI_ACTIVITY_KIND_KERNEL[6]: 'void softmax"),
    (["UPDATE NVTX_EVENTS SET start = -9223372036854775808"], (), "NVTX_EVENTS[0]: 'step' has no valid times"),
    (["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = -1"], (), "there is no device"),
    (["DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY", "DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET", "DELETE FROM NVTX_EVENTS"],
     (), "no kernel and no operator"),
    (["CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS " + SLOW_VIEW], ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                                                                 "NVTX_EVENTS"), "no kernel and no operator"),  # only tables are read
])
def test_broken_nsys(perfkit, tmp_path, statements, without, words):
    path = nsys(tmp_path / "r.sqlite", *statements, without=without)
    before = path.read_bytes()
    perfkit("import", path, timeout=20).refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")
    assert path.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("r.")) == ["r.sqlite"]


@pytest.mark.parametrize("size", [16, 100, 5000, 20000])
def test_nsys_that_was_cut_off(perfkit, tmp_path, size):
    path = nsys(tmp_path / "r.sqlite")
    path.write_bytes(path.read_bytes()[:size])
    perfkit("import", path).refused(1, "r.sqlite: cannot import it as a file of nsys")


def test_a_signal_ends_long_work_in_an_nsys_file(perfkit, tmp_path):
    """Names that take long: a generated column."""
    path = nsys(tmp_path / "r.sqlite", "ALTER TABLE StringIds RENAME TO s",
                "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT AS (hex(zeroblob(30000000)) || id) VIRTUAL)", "INSERT INTO StringIds(id) SELECT id FROM s",
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) "
                "SELECT x, x + 1, 0, 1, 7, 0, 0, 1, 1 FROM n")
    running = perfkit.start("import", path)
    time.sleep(1)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130 and not out and b"interrupted" in err, err
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")
