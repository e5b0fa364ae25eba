"""`export trace`: a timeline of a run, in a file that Perfetto opens, with everything that the store has."""
import collections
import gzip
import itertools
import json
import resource
import signal
import sqlite3
import subprocess
import time

import pytest
from conftest import BINARY, not_sanitized
from stored import Stored, query

HAS_ZLIB = b"libz.so" in subprocess.run(["ldd", BINARY], capture_output=True, check=False).stdout

SMALL = ("run", "attention-scaling", "--device", "null", "-a", "seq_len=64,128", "-a", "d_model=16", "--variant", "vanilla,flash", "-q")
FAST = ("--invocations", "1", "--min-samples", "3", "--max-samples", "5", "--min-time", "0s", "--max-time", "20ms")
PHASES = {"X", "C", "M", "s", "f", "i"}


class Trace:
    """A file of events, checked as it is read: what a viewer needs of each, nesting, and that arrows have both ends."""

    def __init__(self, text):
        assert text.endswith("]}")  # what Perfetto's reader takes for the end
        self.whole = json.loads(text)
        self.events = self.whole["traceEvents"]
        self.processes = {e["pid"]: e["args"]["name"] for e in self.events if e["name"] == "process_name"}
        self.threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.events if e["name"] == "thread_name"}
        assert {e["ph"] for e in self.events} <= PHASES
        # Perfetto: a thread belongs to one process, and the one with the number of its process is where counters belong
        assert len({tid for _, tid in self.threads}) == len(self.threads)
        assert not {tid for _, tid in self.threads} & self.processes.keys()
        assert all(e["tid"] == e["pid"] for e in self.events if e["name"].startswith("process_"))
        for e in self.events:
            assert e["pid"] in self.processes, e
            assert e["ph"] in "MC" or (e["pid"], e["tid"]) in self.threads, e
            assert e["ph"] == "M" or 0 <= e["ts"] < 1e12, e
        self.slices = [e for e in self.events if e["ph"] == "X"]
        self.check_nesting()
        self.check_arrows()

    def track(self, e):
        return f"{self.processes[e['pid']]}: {self.threads[e['pid'], e['tid']]}"

    def of(self, category):
        return [e for e in self.slices if e["cat"] == category]

    def tracks(self, category):
        return collections.Counter(self.track(e) for e in self.of(category))

    def counters(self, name):
        return [e for e in self.events if e["ph"] == "C" and e["name"] == name]

    def check_nesting(self):
        """Slices of a thread do not overlap unless one is within the other."""
        for _, group in itertools.groupby(sorted(self.slices, key=lambda e: e["tid"]), key=lambda e: e["tid"]):
            open_ = []
            for e in sorted(group, key=lambda e: (e["ts"], -e["dur"])):
                begin, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
                while open_ and open_[-1] <= begin:
                    open_.pop()
                assert not open_ or end <= open_[-1], e
                open_.append(end)

    def check_arrows(self):
        """Each begins in a slice that is open, and ends where one begins."""
        at = {(e["tid"], e["ts"]) for e in self.slices}
        begun, ended = ({e["id"]: e for e in self.events if e["ph"] == ph} for ph in "sf")
        assert begun.keys() == ended.keys() and len(begun) == sum(e["ph"] == "s" for e in self.events)
        for e in begun.values():
            assert any(s["tid"] == e["tid"] and ns(s["ts"]) <= ns(e["ts"]) < ns(s["ts"]) + ns(s["dur"]) for s in self.slices), e
        for e in ended.values():
            assert e["bp"] == "e" and (e["tid"], e["ts"]) in at, e


def ns(microseconds):
    return round(microseconds * 1000)


def exported(perfkit, *args, **kw):
    r = perfkit("export", "trace", *args, **kw)
    assert r.status == 0, r
    return Trace(r.stdout)


def kernels_of(trace):
    """(case, region, family, name) -> (calls, ns) of the pieces of trace passes, cases in the order of the file."""
    sums, cases = collections.Counter(), collections.Counter()
    labels = [e for e in trace.of("case") if e["args"]["pass"] == "trace"]
    for e in trace.of("piece"):
        label = next(c for c in labels if c["ts"] <= e["ts"] and ns(e["ts"] + e["dur"]) <= ns(c["ts"] + c["dur"]))
        key = (label["name"].split(" ")[0], label["ts"], e["args"].get("region", "outside"), e["args"]["family"], e["name"])
        sums[key] += ns(e["dur"])
        cases[key] += 1
    return sorted((k[0], *k[2:], cases[k], sums[k]) for k in sums)


def stored_kernels(store):
    return sorted(query(store, "SELECT variant, region, family, name, calls, time_ns FROM v_kernel"))


# --- recorded here ---------------------------------------------------------------------------------------------------


@not_sanitized
@pytest.mark.parametrize("device", ["null", "cpu"])
def test_every_kernel_region_and_byte_of_a_run(measured, perfkit, device):
    args = ("--device", device) if device == "cpu" else ()
    assert perfkit(*SMALL, *FAST, *args, "--breakdown", "--allocations").status == 0
    t = exported(perfkit, "@")
    stored = stored_kernels(perfkit)
    assert len(stored) > 10 and kernels_of(t) == stored
    assert t.whole["otherData"]["experiment"] == "attention-scaling"
    assert t.tracks("piece").keys() == {f"{device}: compute"}
    # forward and backward of four cases, in the trace pass and in the memory pass
    assert collections.Counter(e["name"] for e in t.of("region")) == {"forward": 8, "backward": 8}
    assert collections.Counter(e["args"]["pass"] for e in t.of("case")) == {"trace": 4, "memory": 4}
    points = query(perfkit, "SELECT json_array_length(trace, '$.memory') FROM v_trace WHERE pass = 'memory'")
    assert len(points) == 4 and len(t.counters("memory")) == len(t.counters("memory by tag")) == sum(n for n, in points)
    peak, = query(perfkit, "SELECT max(bytes) FROM (SELECT r.value ->> 'bytes' AS bytes FROM slice, json_each(notes, '$.memory.regions') r)")[0]
    assert max(e["args"]["bytes"] for e in t.counters("memory")) == peak
    for whole, tags in zip(t.counters("memory"), t.counters("memory by tag")):
        assert whole["args"]["bytes"] == sum(tags["args"].values()) and whole["ts"] == tags["ts"]


@not_sanitized
def test_each_region_holds_its_pieces(perfkit):
    assert perfkit(*SMALL, *FAST, "--breakdown").status == 0
    t = exported(perfkit)
    regions = t.of("region")
    for e in t.of("piece"):
        assert any(r["name"] == e["args"]["region"] and r["tid"] == e["tid"] and ns(r["ts"]) <= ns(e["ts"])
                   and ns(e["ts"]) + ns(e["dur"]) <= ns(r["ts"]) + ns(r["dur"]) for r in regions), e


def test_the_allreduces_of_each_process(perfkit):
    r = perfkit("run", "ddp-bucket", "-d", "null", "--preset", "quick", "-v", "naive,bucket", "--bucket-bytes", "1MB,4MB", "--invocations", "2",
                "--min-samples", "2", "--max-samples", "3", "--min-time", "0s", "-q", "--breakdown")  # whose passes have all-reduces, too
    assert r.status == 0, r
    t = exported(perfkit)
    assert {e["args"]["pass"] for e in t.of("case")} == {"timing", "trace"}
    rows = query(perfkit, "SELECT ended_ns - started_ns, bytes FROM v_timeline")
    assert len(rows) > 8
    assert sorted((ns(e["dur"]), e["args"]["bytes"]) for e in t.of("all-reduce")) == sorted(rows)
    slices, = query(perfkit, "SELECT count(DISTINCT case_id || ' ' || invocation) FROM v_timeline")[0]
    assert sum(e["args"]["pass"] == "timing" for e in t.of("case")) == slices
    tensors, = query(perfkit, "SELECT sum(json_array_length(notes, '$.timeline.tensors')) FROM slice WHERE pass = 'timing'")[0]
    assert sum(e["ph"] == "i" for e in t.events) == tensors
    assert {track.split(": ")[1].split(" #")[0] for track in t.tracks("all-reduce")} == {"comm"}


@not_sanitized
def test_phases_are_the_samples_of_the_run(perfkit):
    assert perfkit(*SMALL, *FAST, "--breakdown").status == 0
    t = exported(perfkit, "@", "--phases")
    expected = query(perfkit, "SELECT phase, count(*) FROM (SELECT DISTINCT case_id, invocation, pass, metric, rank, ordinal, phase FROM v_sample"
                              " WHERE unit = 'ns') GROUP BY phase")
    assert collections.Counter(e["name"] for e in t.of("sample")) == dict(expected) and len(expected) > 1
    slices = query(perfkit, "SELECT started_ns, elapsed_ns FROM v_slice ORDER BY started_ns, slice_id")
    begin = slices[0][0]
    assert sorted((ns(e["ts"]), ns(e["dur"])) for e in t.of("slice")) == sorted((s - begin, n) for s, n in slices)
    assert kernels_of(t) == stored_kernels(perfkit)


# --- a GPU's, and strangers': stored here --------------------------------------------------------------------------------


def stored_trace(perfkit, trace, device="cuda:0", variant="flash", more=(), **notes):
    """A trace, and those of further ranks; a text is stored as it is."""
    store = Stored(perfkit.db)
    run = store.run([(variant, {"seq_len": 64}, {})], device=device)
    case, = store.db.execute("SELECT id FROM run_case").fetchone()
    store.insert("slice", case_id=case, invocation=1, status="ok", message="", started_ns=1, elapsed_ns=1,
                 notes=json.dumps(notes), **{"pass": "trace"})
    last, = store.db.execute("SELECT max(id) FROM slice").fetchone()
    for rank, one in enumerate([trace, *more]):
        store.insert("slice_trace", slice_id=last, rank=rank, json=one if isinstance(one, str) else json.dumps(one))
    store.db.commit()
    return run


GPU = {"names": ["step", "host", "forward", "gemm", "stream 7", "softmax", "stream 8", "all-reduce", "comm", "launch gemm"],
       "regions": [[0, 1, 0, 900, 300, 1700], [2, 1, 10, 500, 300, 1000]],
       # of the three in stream 7 the second begins within the first (programmatic dependent launch), the third lies within both
       "pieces": [[3, 4, 3, 2, 300, 400, 20], [5, 4, 5, 2, 600, 700, 120], [3, 4, 3, 2, 650, 30, 220], [7, 6, 8, -1, 400, 1600, 950]],
       "ops": [[9, 1, 3, 2, 15, 50], [9, 1, 3, 2, 110, 40]]}


def test_streams_launches_and_overlap(perfkit):
    state = {"sm_clock_hz": [1.9e9, 1.7e9], "power_w": [90.5, 400], "temperature_c": [None, 60]}
    stored_trace(perfkit, GPU, **{"state:gpu": state, "state": {"frequency_hz": [3e9, 2.9e9]}})
    t = exported(perfkit)
    # nothing overlaps within a lane (Trace), and nothing is lost
    assert t.tracks("piece") == {"cuda:0: stream 7": 1, "cuda:0: stream 7 #2": 1, "cuda:0: stream 7 #3": 1, "cuda:0: stream 8": 1}
    assert t.tracks("region") == {"cuda:0: host": 2} and t.tracks("launch") == {"cuda:0: host": 2}
    assert [(e["name"], ns(e["ts"]), ns(e["dur"])) for e in t.of("region of pieces")] == [("step", 300, 1700), ("forward", 300, 1000)]
    arrows = {e["id"]: ns(e["ts"]) for e in t.events if e["ph"] == "s"}
    assert sorted(arrows.values()) == [20, 120, 220, 950]
    assert {e["name"]: e["args"] for e in t.events if e["ph"] == "C" and e["ts"] == 0} == {
        "GPU clock": {"Hz": 1.9e9}, "GPU power": {"W": 90.5}, "CPU clock": {"Hz": 3e9}}
    assert {e["name"]: ns(e["ts"]) for e in t.events if e["ph"] == "C" and e["ts"] > 0} == {
        "GPU clock": 2000, "GPU power": 2000, "CPU clock": 2000, "GPU temperature": 2000}


def test_ranks_are_processes(perfkit):
    stored_trace(perfkit, GPU, more=[GPU], ranks={"size": 2})
    t = exported(perfkit)
    assert sorted(t.processes.values()) == ["cuda:0, rank 0", "cuda:0, rank 1"]
    assert len(t.of("piece")) == 8 and sum(e["ph"] == "s" for e in t.events) == 8


HOSTILE = ["</script>", "a\"b\\c", "\x1b[31mred", "line\nfeed", "\u202eevil", "\x00", "é" * 300, "::error::x", ""]


def test_names_of_strangers_are_text(perfkit):
    pieces = [[i, len(HOSTILE), 0, 0, i * 10, 5, i * 10] for i in range(len(HOSTILE))]
    stored_trace(perfkit, {"names": [*HOSTILE, "host"], "regions": [], "pieces": pieces, "ops": []}, device="\x1b]0;x\x07", variant="\x1b[2J")
    r = perfkit("export", "trace", f"{perfkit.db}:@")
    assert r.status == 0, r
    t = Trace(r.stdout)
    assert len(t.of("piece")) == len(HOSTILE)
    assert "\x1b" not in json.dumps(t.whole, ensure_ascii=False) and "\u202e" not in r.stdout and "\x1b" not in r.stderr
    assert {"</script>", "a\"b\\c", "é" * 300} <= {e["name"] for e in t.of("piece")}


def test_numbers_out_of_range_are_left_out_and_counted(perfkit):
    wrong = [[0, 1, 0, 0, -5, 5], [0, 1, 0, 0, 2**62, 5], [0, 1, 0, 0, 5, 2**62], [0, 1, 0, 0, 1.5, 2], [0, 1, 0, 0, "x", "y"], [], [None] * 7,
             "text", 7, {"a": 1}, [0, 1, 0, 0, 0, 10, -1], [0, 1, 0, 0, 9e99, 1]]
    right = [[0, 1, 0, 0, 100, 50], [99, -7, 2**40, 10**18, 200, 5], [2, "x", None, 1.5, 300, 5]]
    stored_trace(perfkit, {"names": ["gemm", "compute", 7], "regions": "none", "pieces": wrong + right, "ops": {"a": [1, 2]}, "memory": [
        {"at_ns": 5, "bytes": 7}, {"at_ns": -1, "bytes": 7, "x": 1}, 3, {"at_ns": "x"}]}, device="cpu")
    r = perfkit("export", "trace")
    assert r.status == 0, r
    t = Trace(r.stdout)
    assert {"gemm", "?"} == {e["name"] for e in t.of("piece")}
    assert sorted(ns(e["ts"]) for e in t.of("piece")) == [0, 100, 200, 300]  # the one at 0 lacks its arrow
    assert len(t.counters("memory")) == 1 and " were left out" in r.stderr, r.stderr


@pytest.mark.parametrize("notes", ["{x}", "{\"trace\":}", "{}", "{\"trace\":{}}", "{\"timeline\":null}"])
def test_notes_that_are_no_trace(perfkit, notes):
    stored_trace(perfkit, "{x}")
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE slice SET notes = ?", (notes,))
    perfkit("export", "trace").refused(6, "no timeline", "--breakdown", "--phases")


@pytest.mark.parametrize("note", [{}, {"names": {}}, {"names": "x", "regions": {"a": 1}, "pieces": None, "ops": 1, "memory": "y"}])
def test_a_trace_of_nothing(perfkit, note):
    stored_trace(perfkit, note)
    t = exported(perfkit)
    assert len(t.slices) <= 1


def test_more_overlap_than_there_are_lanes(perfkit):
    n = 300
    stored_trace(perfkit, {"names": ["k", "stream 1"], "regions": [], "pieces": [[0, 1, 0, -1, i, 1000] for i in range(n)], "ops": []})
    r = perfkit("export", "trace")
    t = Trace(r.stdout)
    assert 64 <= len(t.of("piece")) < n and f"{n - len(t.of('piece'))} were left out" in r.stderr


# --- where it goes -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(HAS_ZLIB, reason="this build has zlib")
def test_gzip_without_zlib(perfkit):
    stored_trace(perfkit, GPU)
    packed = perfkit.root / "run.json.gz"
    error = perfkit("export", "trace", "-o", packed).refused(6, "ends in .gz", "zlib").error()
    assert "-o run.json" in error["try"] and not packed.exists()


@pytest.mark.skipif(not HAS_ZLIB, reason="this build has no zlib")
def test_gzip_by_the_name_of_the_file(perfkit):
    stored_trace(perfkit, GPU)
    plain, packed = perfkit.root / "run.json", perfkit.root / "run.json.gz"
    for path in (plain, packed):
        r = perfkit("export", "trace", "@", "-o", path)
        assert (r.status, r.stdout) == (0, "") and "slices" in r.stderr
        perfkit("export", "trace", "@", "-q", "-o", path)
    assert gzip.decompress(packed.read_bytes()).decode() == plain.read_text() == perfkit("export", "trace").stdout
    assert packed.stat().st_size < plain.stat().st_size
    Trace(plain.read_text())


def test_what_is_refused(perfkit):
    perfkit("export", "trace").refused(6, "there is no store")
    stored_trace(perfkit, GPU)
    perfkit("export", "trace", "1", "1").refused(2, "one run")
    perfkit("export", "trace", "@~5").refused(2, "@~5")
    perfkit("export", "trace", "--what", "cases").refused(2, "--what")
    perfkit("export", "csv", "--phases").refused(2, "--phases")
    perfkit("export", "xml").refused(2, "xml", "trace")
    perfkit("export", "trace", "-o", "/nowhere/run.json.gz").refused(1, "/nowhere/run.json.gz")
    perfkit("export", "trace", "-o", f"{perfkit.root}/").refused(2, "directory")


def test_the_shell_completes_it(perfkit):
    assert perfkit("completion", "--", "perfkit", "export", "t").stdout == "trace\n"
    assert perfkit("completion", "--", "perfkit", "export", "--format", "t").stdout == "table\n"
    assert "--phases\n" in perfkit("completion", "--", "perfkit", "export", "trace", "--p").stdout


def test_a_run_without_a_timeline(perfkit):
    assert perfkit(*SMALL, *FAST).status == 0
    out = perfkit.root / "run.json"
    error = perfkit("export", "trace", "-o", out).refused(6, "run 1 has no timeline", "--breakdown", "--allocations", "ddp-bucket").error()
    assert "--phases" in error["try"] and not out.exists()
    assert exported(perfkit, "--phases").of("sample")


def test_a_run_of_an_older_perfkit(perfkit):
    store = Stored(perfkit.db)
    store.traced(store.run([("v", {}, {})]), [("forward", "gemm", "gemm", 5)])
    perfkit("export", "trace").refused(6, "older perfkit")


def big(perfkit, pieces):
    rows = [[0, 1, 0, -1, i * 10, 9] for i in range(pieces)]
    stored_trace(perfkit, {"names": ["k", "compute"], "regions": [], "pieces": rows, "ops": []}, device="cpu")


@not_sanitized
@pytest.mark.parametrize("name", ["run.json", pytest.param("run.json.gz", marks=pytest.mark.skipif(not HAS_ZLIB, reason="no zlib"))])
def test_a_full_disk_leaves_no_file(perfkit, name):
    big(perfkit, 30000)
    out = perfkit.root / name
    # gzip makes a tenth of it
    limit = 20000 if name.endswith(".gz") else 500000
    r = perfkit("export", "trace", "-o", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    r.refused(1, "cannot be written")
    assert not list(perfkit.root.glob("run.json*"))
    out.write_text("before")
    perfkit("export", "trace", "-o", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))).refused(1)
    assert out.read_text() == "before"


def test_a_reader_that_leaves_is_no_error(perfkit):
    big(perfkit, 30000)
    p = perfkit.start("export", "trace")
    p.stdout.read(1000)
    p.stdout.close()
    assert p.wait(timeout=60) == 0 and b"perfkit: " not in p.stderr.read().replace(b"perfkit: the timeline has", b"")


def test_interrupted_it_leaves_no_file(perfkit):
    big(perfkit, 200000)
    out = perfkit.root / "run.json"
    p = perfkit.start("export", "trace", "-o", out)
    deadline = time.monotonic() + 60
    while not list(perfkit.root.glob("run.json.*")) and p.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    p.wait(timeout=60)
    left = list(perfkit.root.glob("run.json*"))
    assert (p.returncode, left) == (130, []) or (p.returncode == 0 and left == [out]), p.stderr.read()


def store_samples(store, samples, instances=1):
    """A run of a case with so many samples: instances, whose times are summed, and two phases."""
    store.run([("v", {"n": samples}, {})])
    case, = store.db.execute("SELECT max(id) FROM run_case").fetchone()
    of = store.insert("slice", case_id=case, invocation=7, status="ok", message="", started_ns=1, elapsed_ns=10**12, notes="{}",
                      **{"pass": "timing"})
    for instance in range(instances):
        phases = [store.insert("series", slice_id=of, metric_id=store.metric("run_ns"), rank=0, instance=instance, phase=phase, reps=1)
                  for phase in ("steady", "disturbed")]
        store.db.executemany("INSERT INTO sample VALUES(?, ?, ?)", ((phases[i % 7 == 0], i, 1000 + i) for i in range(samples)))
    store.db.commit()


def test_many_samples_lie_end_to_end(perfkit):
    """Those of the instances of one ordinal are one; the ordinals begin again after a hole."""
    store = Stored(perfkit.db)
    store_samples(store, 9000, instances=2)
    store.db.execute("UPDATE sample SET ordinal = ordinal + (1 << 40) WHERE ordinal >= 5000")
    store.db.commit()
    found = exported(perfkit, "--phases").of("sample")
    expected = [(i + (1 << 40) * (i >= 5000), 2 * (1000 + i), "disturbed" if i % 7 == 0 else "steady") for i in range(9000)]
    assert [(e["args"]["ordinal"], ns(e["dur"]), e["name"]) for e in found] == expected
    assert all(ns(a["ts"] + a["dur"]) == ns(b["ts"]) for a, b in zip(found, found[1:]))


@not_sanitized
def test_memory_does_not_grow_with_the_samples(perfkit):
    """By `exec`, whose small process starts the program: a child of this one would count what Python has."""
    store, peaks = Stored(perfkit.db), []
    for samples in (1000, 100000):
        store_samples(store, samples)
        r = perfkit("exec", "-r", "1", "--no-save", "-q", "--format", "json", "--", BINARY, "export", "trace", "--phases", "--db", perfkit.db,
                    "-o", perfkit.root / "run.json")
        peaks.append(r.rows("commands")[0]["peak_bytes"])
        assert (perfkit.root / "run.json").read_text().count('"cat":"sample"') == samples
    assert peaks[1] < peaks[0] + (4 << 20), peaks  # sorted at once they took 7 MB more
