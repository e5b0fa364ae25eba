"""Counter passes: what --counters counts, on the null device by the fake source, on the CPU by the kernel's own events."""
import contextlib
import json
import pathlib
import shutil
import signal
import sqlite3
import time

import pytest
from conftest import Perfkit, not_sanitized
from stored import Stored, query

FAST = ["--min-time", "0s", "--max-time", "20ms", "--min-samples", "3", "--invocations", "2"]


def done(result):
    assert result.status == 0, result
    return result


def counted(perfkit, *args):
    return perfkit("run", "selftest", "--variant", "ok", "--device", "null", "--tables", "all", *FAST, *args)


@pytest.fixture
def db(perfkit):
    return lambda: sqlite3.connect(perfkit.db)


@pytest.fixture(scope="module")
def faked(tmp_path_factory):
    """A store with a run that counted what the fake source has, and what the run printed."""
    one = Perfkit(tmp_path_factory.mktemp("faked"))
    return one, done(counted(one, "--busy-ns", "1000,200000", "--counters", "fake"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """As faked, of counts that were counted for a share of the time, or of everybody."""
    one = Perfkit(tmp_path_factory.mktemp("shared"))
    return one, done(counted(one, "--counters", "fake-shares"))


FLASH = ("run", "attention-scaling", "--device", "cpu", "--seq-len", "256", "--d-model", "64", "--batch", "1", "--variant", "flash", *FAST)


@pytest.fixture(scope="module")
def on_cpu(tmp_path_factory, ceilings):
    """As faked, of the kernel's counts of a case on the CPU, where fake_works cannot be counted."""
    one = Perfkit(tmp_path_factory.mktemp("on_cpu"))
    shutil.copy(ceilings, one.db)
    return one, done(one(*FLASH, "--counters", "sw,memory,fake_works"))


def test_events_and_metrics_are_exact_on_the_null_device(faked):
    rows = {(json.loads(axes)["busy_ns"], region, name): (value, unit, quality, note)
            for axes, region, name, value, unit, quality, note in
            query(faked[0], "SELECT axes, region, name, value, unit, quality, note FROM v_counter")}
    for busy in (1000, 200000):
        for region in ("work", "iteration"):
            assert rows[busy, region, "fake_ns"] == (busy + 8, "ns", "exact", "")
            assert rows[busy, region, "fake_works"][0] == 1
            assert rows[busy, region, "fake_slowdown"][:3] == (1, "1", "derived")
            assert rows[busy, region, "fake_absent"] == (None, "1", "exact", "it was not counted")
            assert rows[busy, region, "fake_nothing"][3] == "missing: fake_absent"
            assert rows[busy, region, "fake_consistency"][3] == "flops is 0"
        assert rows[busy, "work", "perturbation"][0] == 0


def test_counting_never_enters_the_times(perfkit, db):
    done(counted(perfkit, "--label", "plain"))
    done(counted(perfkit, "--label", "counted", "--counters", "fake,fake_replayed"))
    summaries = [db().execute("SELECT metric, median FROM v_summary WHERE run_id = ? ORDER BY 1", [run]).fetchall() for run in (1, 2)]
    assert summaries[0] == summaries[1] and summaries[0]
    passes = db().execute("SELECT invocation FROM v_slice WHERE run_id = 2 AND pass = 'counter' ORDER BY 1").fetchall()
    assert len(passes) >= 3 and passes == [(i + 1,) for i in range(len(passes))]
    with pytest.raises(sqlite3.IntegrityError, match="only timing passes enter statistics"):
        db().execute("INSERT INTO slice_summary(slice_id, metric_id, n) SELECT slice_id, 1, 1 FROM v_slice WHERE pass = 'counter'")


def test_the_table_says_what_is_not_known(faked):
    perfkit = faked[0]
    shown = done(perfkit("show", "--tables", "all")).stdout
    assert "fake_intensity (flops/byte)" in shown and "fake_nothing is not known: missing: fake_absent" in shown
    assert "fake_ns" not in shown.split("Counters")[1].splitlines()[1]  # a time in ms is not called ns
    table = perfkit("show", "--format", "json").rows("counted")
    assert [(row["region"], row["fake_ns"]) for row in table] == [(region, ns) for ns in (1008, 200008) for region in ("work", "iteration")]


def test_kernel_events_of_the_cpu(on_cpu):
    samples = {}
    for ordinal, metric, value in query(on_cpu[0], "SELECT ordinal, metric, value FROM v_sample WHERE metric LIKE '%.task_clock_ns'"):
        samples.setdefault(ordinal, {})[metric.split(".")[0]] = value
    assert len(samples) == 5
    assert all(s["iteration"] >= s["forward"] + s["backward"] > 0 for s in samples.values())
    (median,), = query(on_cpu[0], "SELECT value FROM v_counter WHERE name = 'task_clock_ns' AND region = 'forward'")
    assert median == sorted(s["forward"] for s in samples.values())[2]


TINY = sum((("-a", text) for text in ("layers=2", "d_model=32", "heads=2", "d_ff=40", "vocab=50", "batch=2", "seq_len=9", "dtype=fp32")), ())


def test_an_outer_region_has_what_is_counted_inside_it(perfkit, db, measured):
    run = perfkit("run", "mixed-precision", "--device", "cpu", *TINY, "-a", "mode=step", "--variant", "eager", "--counters", "sw,rusage", *FAST)
    done(run)
    samples = {}
    for ordinal, metric, value in db().execute("SELECT ordinal, metric, value FROM v_sample WHERE metric LIKE '%.task_clock_ns'"
                                               " OR metric LIKE '%.minor_faults'"):
        region, event = metric.split(".")
        samples.setdefault((ordinal, event), {})[region] = value
    assert {event for _, event in samples} >= {"minor_faults"} and len(samples) >= 3
    for (_, event), s in samples.items():
        assert s["backward_optimizer"] >= s["backward"] + s["optimizer"] and s["step"] >= s["forward"] + s["backward_optimizer"], (event, s)
        assert s["iteration"] >= s["step"] >= s["backward"] and (event != "task_clock_ns" or min(s.values()) > 0), (event, s)


def test_an_iteration_is_its_outermost_regions(perfkit, db):
    """What is declared, counted and timed of it; the null device computes nothing and counts exactly."""
    done(perfkit("run", "mixed-precision", "--device", "null", *TINY, "-a", "mode=forward,forward+backward,step", "--counters", "fake", *FAST))
    done(perfkit("run", "ddp-bucket", "--device", "null", "-a", "transport=link", "-a", "model=tiny", "-a", "compute_ms=4",
                 "-a", "bucket_bytes=1MiB", "--variant", "naive,bucket", "--counters", "fake", *FAST))
    rows = {}
    for case, region, name, value in db().execute("SELECT case_id, region, group_name || ':' || name, value FROM v_counter"
                                                  " WHERE name NOT IN ('perturbation', 'fake_absent', 'fake_nothing')"):
        rows.setdefault(case, {}).setdefault(region, {})[name] = value
    assert len(rows) == 2 * 3 + 2
    for of in rows.values():
        assert of["iteration"] == of["step"] and of["step"]["fake:fake_slowdown"] == 1 == of["forward"]["fake:fake_slowdown"], of
        parts = [of[r] for r in of if r in ("forward", "backward_optimizer", "all_reduce", "wait") or (r == "backward" and "optimizer" not in of)]
        for event in (":fake_ns", ":fake_works", ":fake_flops"):
            assert of["step"][event] == sum(part[event] for part in parts), (event, of)
        if of["step"][":fake_flops"]:  # ddp-bucket's compute is a timer
            assert of["step"]["fake:fake_consistency"] == 1 and of["step"]["roofline:flops"] == of["step"][":fake_flops"]
    declared = db().execute("SELECT s.case_id, i.flops - s.flops, i.bytes - s.bytes FROM v_work s JOIN"
                            " (SELECT case_id, max(value) FILTER (WHERE name = 'flops') AS flops, max(value) FILTER (WHERE name = 'bytes') AS bytes"
                            "  FROM v_counter WHERE region = 'iteration' AND group_name = 'roofline' GROUP BY case_id) i USING (case_id)"
                            " WHERE s.metric = 'step_ns' AND s.flops > 0").fetchall()
    assert len(declared) == 6 and all(flops == 0 for _, flops, _ in declared), declared


def test_what_kernels_need_of_a_multiprocessor(perfkit):
    store = Stored(perfkit.db)
    launch = {"grid": [132, 2, 1], "block": [384, 1, 1], "registers": 168, "static_bytes": 1024, "dynamic_bytes": 8192, "local_bytes": 0,
              "occupancy": 0.1875, "limited_by": "registers"}
    store.traced(store.run([("vanilla", {"seq_len": 256}, {"forward_ns": [1e6] * 3})]), [
        ("forward", "gemm", "gemm", 900_000, launch), ("forward", "norm", "norm", 200_000, {**launch, "registers": 32, "occupancy": 1.0, "limited_by": None}),
        ("forward", "other", "tiny", 5_000, launch), ("forward", "copy", "fill", 90_000)])
    told = done(perfkit("show", "--tables", "kernels", "--format", "json")).rows("kernels")
    assert [(k["name"], k["registers"], k["threads"], k["static_shared_bytes"], k["dynamic_shared_bytes"], k["occupancy"], k["occupancy_limit"])
            for k in told] == [("gemm", 168, 384, 1024, 8192, 0.1875, "registers"), ("norm", 32, 384, 1024, 8192, 1.0, None)]
    text = done(perfkit("show", "--tables", "kernels", "--width", "0")).stdout
    assert "at least 1 %" in text and "Static (KiB)" in text and "Local" not in text, text
    all_of_them = done(perfkit("export", "json", "--what", "kernels")).rows("export_kernels")
    assert {k["name"]: (k["registers"], k["grid"], k["local_bytes"]) for k in all_of_them} == {
        "gemm": (168, [132, 2, 1], 0), "norm": (32, [132, 2, 1], 0), "tiny": (168, [132, 2, 1], 0), "fill": (None, None, None)}


def test_idle_time_and_the_cost_of_a_trace(perfkit):
    store = Stored(perfkit.db)
    times = {"calls": 4, "occurrences": 1, "time_ns": 800, "busy_ns": 800, "gap_ns": 200, "host_ns": 150, "launch_ns": 50}
    store.traced(store.run([("vanilla", {"seq_len": 256}, {"forward_ns": [1e3] * 3})]), [], whole=True,
                 regions=[{"region": "iteration", **times}, {"region": "forward", **times}],
                 families=[{"region": r, "family": "gemm", "calls": 4, "time_ns": 800, "flops": 0, "bytes": 0} for r in ("iteration", "forward")],
                 overhead=[{"kind": "instrumentation", "calls": 8, "time_ns": 100}, {"kind": "command buffer full", "calls": 1, "time_ns": 30}])
    told = done(perfkit("show", "--tables", "breakdown_regions,overheads", "--format", "json"))
    assert [(r["region"], r["host_bound"], r["launch"]) for r in told.rows("breakdown_regions")] == [("forward", 0.15, 0.05)]
    assert [(r["kind"], r["calls"], r["time_ns"], r["share"]) for r in told.rows("overheads")] == [
        ("instrumentation", 8, 100, 0.1), ("command buffer full", 1, 30, 0.03)]
    assert "The profiler slows the host" in " ".join(told.json()["tables"]["breakdown_regions"]["notes"])


def test_usage_over_time(perfkit):
    store = Stored(perfkit.db)
    store.watched(store.run([("vanilla", {"seq_len": 256}, {"forward_ns": [1e3] * 3})], settings={"counters": "gpu-usage"}),
                  [[105_000_000, 412.5, 0.9, 0.4, None, 0.7], [210_000_000, 430.0, 0.8, 0.3, None, 0.6]])
    rows = done(perfkit("export", "json", "--what", "usage")).rows("export_usage")
    assert [(r["at_ns"], r["power_watts"], r["sm_busy"], r["warps_active"], r["tensor_busy"], r["dram_used"]) for r in rows] == [
        (105_000_000, 412.5, 0.9, 0.4, None, 0.7), (210_000_000, 430.0, 0.8, 0.3, None, 0.6)]
    assert rows[0]["axes"]["seq_len"] == 256 and perfkit("list", "counters", "gpu-usage").status == 0


def test_what_cannot_be_counted_is_said_and_the_rest_is(perfkit, on_cpu):
    done(counted(perfkit, "--counters", "fake_works,page_faults"))
    assert query(perfkit, "SELECT count(*) FROM v_counter WHERE name = 'fake_works' AND value = 1") == [(2,)]
    said = on_cpu[1].stderr
    assert "not counted: fake_works cannot be counted" in said and "this is another" in said, said
    assert query(on_cpu[0], "SELECT DISTINCT name FROM v_counter WHERE name IN ('page_faults', 'fake_works') AND value IS NOT NULL") == [("page_faults",)]


@pytest.mark.parametrize("names, told", [("swx", "did you mean 'sw'?"), ("", "--counters"), ("sw,sw", "twice")])
def test_bad_names(perfkit, names, told):
    counted(perfkit, "--counters", names).refused(2, told)


def test_not_with_once(perfkit):
    perfkit("run", "selftest", "--variant", "ok", "--device", "null", "--once", "--counters", "fake").refused(2, "--counters", "--once")


@not_sanitized
def test_resume_counts_what_was_left(perfkit, db):
    done(counted(perfkit))  # the ceilings
    p = perfkit.start("run", "selftest", "--variant", "ok", "--device", "null", *FAST, "--counters", "fake",
                      "--busy-ns", ",".join(str(n) for n in range(1000, 21000, 200)))
    end = time.monotonic() + 20
    while time.monotonic() < end and not db().execute("SELECT count(*) FROM v_slice WHERE pass = 'counter'").fetchone()[0]:
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    _, said = p.communicate(timeout=20)
    assert p.returncode == 130 and b"not every case was counted" in said, said
    done(perfkit("run", "selftest", "--resume"))
    cases, = db().execute("SELECT count(DISTINCT case_id) FROM v_counter WHERE run_id = 2 AND name = 'fake_ns' AND value IS NOT NULL").fetchone()
    assert cases == 100


@not_sanitized
def test_resume_makes_the_passes_that_a_budget_left_out(perfkit, db):
    """The times fit into the budget, passes beside them do not: which budget that is depends on how fast this machine starts processes."""
    done(counted(perfkit))  # the ceilings
    passes = ("--counters", "fake,fake_replayed", "--breakdown", "--allocations")

    def slices(status):
        return db().execute("SELECT slice_id, pass, invocation FROM v_slice WHERE run_id = (SELECT max(run_id) FROM v_run) AND status = ?"
                            " ORDER BY 1", [status]).fetchall()
    for k in range(30):
        r = perfkit("run", "selftest", "--variant", "ok", "--device", "null", *FAST[:-1], "1", *passes, "--budget", "%dms" % (20 * 1.3 ** k))
        if slices("skipped") and [s for s in slices("ok") if s[1] == "timing"]:
            break
    left, had = slices("skipped"), slices("ok")
    assert r.status == 0 and left and all(s[1] != "timing" for s in left), (r, left, had)
    assert "left out %d pass" % len(left) in r.stderr and "--resume continues them" in r.stderr, r
    assert db().execute("SELECT status FROM v_run ORDER BY run_id DESC LIMIT 1").fetchone() == ("complete",)
    told = "Some cases were not counted: --budget was used up."
    assert (told in perfkit("show", "--tables", "all").stdout) == any(s[1] == "counter" for s in left)
    r = done(perfkit("run", "selftest", "--resume", "--progress", "plain"))
    assert r.stderr.count("/%d] " % len(left)) == len(left), r  # and nothing else
    assert not slices("skipped") and set(had) < set(slices("ok"))
    assert {s[1:] for s in slices("ok")} == {s[1:] for s in had + left}
    assert told not in perfkit("show", "--tables", "all").stdout
    perfkit("run", "selftest", "--resume").refused(2, "no interrupted run of selftest")


@not_sanitized
def test_where_the_time_went(perfkit, db, measured):
    done(perfkit("run", "attention-scaling", "--device", "cpu", "--seq-len", "256", "--d-model", "64", "--batch", "1",
                 "--variant", "vanilla,flash", "--breakdown", *FAST))
    rows = db().execute("SELECT variant, region, family, calls, time_ns, busy_ns, gap_ns, whole FROM v_breakdown").fetchall()
    calls = {row[:3]: row[3] for row in rows}
    assert calls["vanilla", "forward", "attention matmul"] == 2 and calls["vanilla", "backward", "attention matmul"] == 4
    assert not any(family == "gemm" for *_, family in calls)
    assert calls["vanilla", "forward", "softmax"] == 1 and calls["flash", "forward", "attention"] == 1
    with db() as store:
        added = store.execute("SELECT b.variant, sum(b.flops) - w.flops, sum(b.bytes) - w.bytes, w.flops FROM v_breakdown b JOIN v_work w"
                              " ON w.case_id = b.case_id AND w.metric = b.region || '_ns' GROUP BY b.case_id, b.region").fetchall()
    assert len(added) == 4 and all(flops == 0 and traffic == 0 < of for _, flops, traffic, of in added), added
    assert all(0 < time <= busy and gap >= 0 and whole for *_, time, busy, gap, whole in rows)
    shown = done(perfkit("show", "--tables", "all")).stdout
    assert "Where the time went" in shown and "flash_forward" in shown
    shares = {}
    saved = done(perfkit("show", "--format", "json"))
    listed, held = saved.rows("breakdown"), saved.rows("breakdown_regions")
    for row in listed:
        shares.setdefault((row["variant"], row["region"]), []).append(row["share"])
    assert shares and all(sum(s) == pytest.approx(1, abs=1e-9) for s in shares.values())
    assert "both products (flash)" in shown and "attention matmul" in shown
    assert [(h["variant"], h["region"]) for h in held] == [(v, r) for v in ("vanilla", "flash") for r in ("forward", "backward")]
    for h in held:
        assert h["traced_ns"] == h["busy_ns"] + h["gap_ns"] and h["off"] == pytest.approx(h["traced_ns"] / h["timed_ns"] - 1)
        assert h["agrees"] == ("yes" if abs(h["off"]) <= 0.04 else "no")
    assert all(row["longest"] for row in listed if row["family"] != "gaps"), listed
    assert list(dict.fromkeys((row["variant"], row["region"]) for row in listed)) == [(h["variant"], h["region"]) for h in held]
    timed = db().execute("SELECT count(*) FROM v_invocation").fetchone()
    assert timed == (2 * 2 * db().execute("SELECT count(DISTINCT metric) FROM v_invocation").fetchone()[0],)
    assert done(perfkit("export", "csv", "--what", "kernels")).stdout.count("\n") > 5
    exported = done(perfkit("export", "json", "--what", "breakdown")).rows("export_breakdown")
    assert sorted((r["variant"], r["region"], r["family"]) for r in exported) == sorted(calls)


def test_a_narrow_table_leaves_out_the_last_columns(faked):
    perfkit = faked[0]
    wide, narrow = (done(perfkit("show", "--tables", "all", "--width", w)).stdout.split("Counters\n")[1].split("\n\n")[0] for w in ("0", "60"))
    rows = [line for line in narrow.splitlines() if line.startswith("ok ")]
    assert rows and max(map(len, rows)) <= 60 < max(map(len, wide.splitlines()[:2]))
    assert "Slower by" in wide and "Slower by" not in narrow.split("ok ")[0] and "Left out" in narrow, narrow


def test_names_do_not_command_a_terminal(perfkit):
    r = counted(perfkit, "--counters", "sw\x1b[31mx\u202e")
    assert r.status == 2 and "\x1b" not in r.stderr and "\u202e" not in r.stderr and "sw\ufffd[31mx\ufffd" in r.stderr, r


def test_two_groups_may_have_metrics_of_one_name(perfkit, db, faked):
    shutil.copy(faked[0].db, perfkit.db)
    store = db()
    store.execute("INSERT INTO counter SELECT case_id, region, 'other', name, unit, 7, source, native, quality, modes, note"
                  " FROM counter WHERE name = 'fake_slowdown'")
    store.commit()
    table = done(perfkit("show", "--format", "json")).rows("counted")
    assert {(row["fake.fake_slowdown"], row["other.fake_slowdown"]) for row in table} == {(1, 7)}


def test_counts_of_two_passes_are_approximate(faked):
    one, run = faked
    rows = dict(query(one, "SELECT name, quality || ' ' || note FROM v_counter WHERE region = 'work' AND group_name = 'fake'"))
    assert rows["fake_pace"] == "approximate fake_ns and fake_works were counted in different passes"
    assert rows["fake_intensity"] == "derived "
    assert "fake_pace is approximate: fake_ns and fake_works were counted in different passes" in run.stdout


def test_a_level_is_not_divided_by_repetitions(perfkit, db):
    done(counted(perfkit, "--busy-ns", "100,100000", "--counters", "fake_percent,fake_works"))
    rows = db().execute("SELECT name, value FROM v_counter WHERE group_name = ''").fetchall()
    assert {r for r in rows if r[0] != "perturbation"} == {("fake_percent", 0.005), ("fake_works", 1)}
    assert db().execute("SELECT max(reps) FROM v_sample WHERE metric = 'work.fake_works'").fetchone()[0] > 1


def test_more_cpus_than_there_are_get_a_note(perfkit, faked):
    shutil.copy(faked[0].db, perfkit.db)
    with contextlib.closing(sqlite3.connect(perfkit.db)) as own, own:
        own.execute("UPDATE counter SET name = 'cpus_used', value = 99999 WHERE name = 'fake_works' AND region = 'work'")
    assert "cpus_used of work is above the " in perfkit("show", "--tables", "all").stdout


def test_a_scaled_count_says_so(shared):
    one, run = shared
    assert query(one, "SELECT DISTINCT quality, note FROM v_counter WHERE name = 'fake_scaled'") == [("approximate", "scaled from 50 % of the time")]
    assert "fake_scaled is approximate: scaled from 50 % of the time" in run.stdout


def test_one_process_does_not_say_how_processes_differ(perfkit, db):
    notes = "SELECT DISTINCT note FROM v_counter WHERE name = 'perturbation' AND run_id = %d"
    for run, invocations in ((1, "1"), (2, "2")):
        done(counted(perfkit, "--counters", "fake_works", "--invocations", invocations))
        told = [note for note, in db().execute(notes % run)]
        assert told == (["one process was timed: the difference between processes is not known"] if run == 1 else ["within the difference between processes without counters"])


def test_ratios_of_unlike_shares_are_refused(shared):
    one, run = shared
    assert "fake_reach is not known: fake_scaled was counted 50 % of the time, fake_works 100 %" in run.stdout, run
    assert query(one, "SELECT DISTINCT value FROM v_counter WHERE name = 'fake_reach'") == [(None,)]


def test_what_everybody_there_did_is_said(shared):
    one, run = shared
    assert query(one, "SELECT DISTINCT quality, note FROM v_counter WHERE name = 'fake_shared'") == [("exact", "of everything that ran there")]
    assert "fake_shared: of everything that ran there" in run.stdout and "fake_shared: of everything" in one("show", "--tables", "all").stdout


def test_a_source_stands_for_its_events(on_cpu):
    names = {n for n, in query(on_cpu[0], "SELECT name FROM v_counter WHERE group_name = ''")}
    assert {"resident_peak_bytes", "pool_peak_bytes"} <= names
    (peak,), = query(on_cpu[0], "SELECT value FROM v_counter WHERE name = 'resident_peak_bytes' AND region = 'iteration'")
    assert peak > 1 << 20


def test_a_saved_run_says_what_was_not_counted(perfkit):
    run = done(counted(perfkit, "--counters", "fake,energy,cpu-mem"))
    shown = done(perfkit("show", "--tables", "all")).stdout
    for name in ("energy (", "cpu-mem ("):
        if name[:-2] + " is not counted" in run.stderr:
            assert name in shown.split("Not counted here: ")[1], shown


def test_a_saved_run_says_that_the_budget_ended_counting(perfkit):
    done(perfkit("run", "selftest", "--variant", "ok", "--device", "null", *FAST))  # the ceilings
    run = perfkit("run", "selftest", "--variant", "ok", "--device", "null", "--counters", "fake", "--budget", "1ms", *FAST)
    if "not counted: the budget is spent" in run.stderr:  # it also may have been spent on times
        assert "Some cases were not counted: the budget was spent" in run.stdout
        assert "Some cases were not counted: the budget was spent" in perfkit("show", "--tables", "all").stdout


@not_sanitized
def test_products_are_counted_as_declared(perfkit, db, measured):
    """Where the processor counts FLOPs: those of two products and a softmax, within what a library pads and an exponential takes."""
    if perfkit("list", "counters", "cpu-flops-sp", "--format", "json").rows("groups")[0]["available"] == "no":
        pytest.skip("this processor counts no floating-point operations: perfkit list counters cpu-flops-sp")
    done(perfkit("run", "attention-scaling", "--variant", "vanilla", "-a", "d_model=128", "-a", "seq_len=512", "--counters", "cpu-flops-sp", *FAST))
    ratios = dict(db().execute("SELECT region, coalesce(value, 0) FROM v_counter WHERE name = 'counted_over_declared'"))
    assert set(ratios) == {"forward", "backward", "iteration"} and max(ratios.values()) < 1.2, ratios
    if min(ratios.values()) <= 0.98 and " hypervisor" in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip(f"counters of this virtual machine stood still for a while, as its host lets them: {ratios}")
    assert min(ratios.values()) > 0.98, ratios


def roofs(perfkit, *args):
    return {row["region"]: row for row in done(perfkit(*args, "--format", "json")).rows("roofline")}


def test_roofline_of_declared_and_of_counted_work(perfkit, db, on_cpu, faked):
    shutil.copy(on_cpu[0].db, perfkit.db)
    shown = roofs(perfkit, "show")
    top = dict(db().execute("SELECT key, value FROM v_ceiling WHERE device = 'cpu'"))
    levels = dict(db().execute("SELECT level, bytes_per_s FROM v_level WHERE device = 'cpu'"))
    work = {m: (f, b) for m, f, b in db().execute("SELECT metric, flops, bytes FROM v_work WHERE flops > 0")}
    times = dict(db().execute("SELECT metric, median FROM v_summary WHERE unit = 'ns'"))
    for region in ("forward", "backward"):
        row, (flops, nbytes) = shown[region], work[f"{region}_ns"]
        attainable = min(top["fp32_flops_per_s"], flops / nbytes * levels[row["lives_in"]])
        assert (row["flops_from"], row["bytes_from"]) == ("declared", "declared")
        assert row["intensity"] == pytest.approx(flops / nbytes) and row["attainable_flops_per_s"] == pytest.approx(attainable)
        assert row["flops_per_s"] == pytest.approx(1e9 * flops / times[f"{region}_ns"])
        assert row["share_of_roof"] == pytest.approx(row["flops_per_s"] / attainable)
        assert row["bound"] == ("compute" if attainable == top["fp32_flops_per_s"] else "memory")
    assert shown["iteration"]["intensity"] == pytest.approx(sum(f for f, _ in work.values()) / sum(b for _, b in work.values()))
    # a share above 1 is marked in its row and explained, and below not
    for share, explained in (0.99, False), (1.04, True):
        with sqlite3.connect(perfkit.db) as store:
            store.execute("UPDATE counter SET value = ? WHERE name = 'share_of_roof' AND region = 'forward'", (share,))
            store.execute("UPDATE counter SET value = 0.5 WHERE name = 'share_of_roof' AND region <> 'forward'")
        printed = done(perfkit("show", "--tables", "all")).stdout
        assert ("! above 100 % of the roof" in printed) == explained == ("!104.0" in printed)
        if explained:  # what computes is not faster because of where its bytes are
            computes = shown["forward"]["bound"] == "compute"
            assert ("most of the bytes stayed in a faster level" in " ".join(printed.split())) != computes, printed
        assert roofs(perfkit, "show")["forward"]["above_roof"] is explained and not roofs(perfkit, "show")["backward"]["above_roof"]
    # without counters nothing more is printed, but it can be exported; what counted it is said
    done(perfkit(*FLASH))
    assert "Roofline" not in done(perfkit("show", "--tables", "all")).stdout
    assert done(perfkit("export", "csv", "--what", "roofline")).stdout.count("\n") == 4
    work = roofs(faked[0], "show")["work"]
    assert (work["flops_from"], work["bytes_from"], work["bound"], work["intensity"]) == ("fake", "fake", "memory", 0)
