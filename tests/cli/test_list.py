"""What `list` shows, for people and for programs, and how fast."""
import csv
import io
import os
import re
import resource

import pytest
from conftest import not_sanitized
from stored import Stored, query


def test_experiments_for_programs(perfkit):
    rows = {r["name"]: r for r in perfkit("list", "experiments", "--all", "--format", "json").rows("experiments")}
    selftest = rows["selftest"]
    axes = {x["name"]: x for x in selftest["axes"]}
    assert axes["memory"]["type"] == "size" and axes["memory"]["unit"] == "bytes" and axes["memory"]["min"] == 4
    assert axes["busy_ns"]["default"] == "100000" and axes["busy_ns"]["help"]
    assert {"name", "summary", "unavailable"} == set(selftest["variants"][0])
    assert selftest["presets"][0]["name"] == "quick" and selftest["presets"][1]["settings"] == ["min-samples=20"]
    summaries = {m["name"]: m["summary"] for m in selftest["metrics"]}
    assert {"work_ns", "work_host_ns", "peak_bytes"} <= set(summaries) and summaries["work_ns"] != summaries["work_host_ns"]
    assert all(m["summary"] and m["unit"] and m["direction"] in ("lower", "higher", "none") for m in selftest["metrics"])


def test_hidden_experiments_are_hidden(perfkit):
    assert "selftest" not in perfkit("list").stdout
    assert "selftest" in perfkit("list", "--all").stdout


def test_one_experiment(perfkit):
    listed = perfkit("list", "experiments", "selftest")
    assert listed.status == 0
    for word in ("busy_ns", "an integer from 0 to 10000000000 (ns)", "slow-start", "quick", "held_bytes"):
        assert word in listed.stdout
    tables = perfkit("list", "experiments", "selftest", "--format", "json").json()["tables"]
    assert list(tables) == ["axes", "variants", "presets", "metrics"]


def test_unknown_experiment(perfkit):
    perfkit("list", "experiments", "selftset").refused(2, "there is no experiment 'selftset'")


@pytest.mark.parametrize("args, words", [
    (("experimnets",), ("did you mean 'experiments'?",)),
    (("weather",), ("'weather' cannot be listed", "choose experiments, devices, counters or runs")),
    (("baselines/foo",), ("cannot be listed", "choose experiments, devices, counters or runs", "perfkit list runs")),
    (("devices", "cpu"), ("too many arguments",)),
])
def test_unknown_subject(perfkit, args, words):
    perfkit("list", *args).refused(2, *words)


def test_devices_and_counters_say_why_not(perfkit):
    for what, table in (("devices", "devices"), ("counters", "counters"), ("counters", "groups")):
        rows = perfkit("list", what, "--format", "json").rows(table)
        assert any(r["available"] == "yes" for r in rows)
        for r in rows:
            assert (r["available"] == "no") == bool(r["reason"]), r


def counters(perfkit, *args):
    r = perfkit("list", "counters", *args, "--format", "json")
    assert r.status == 0, r
    return {table: {row["name"]: row for row in r.rows(table)} for table in ("sources", "groups", "counters")}


def test_counters_have_a_source_a_unit_and_a_name_of_the_vendor(perfkit):
    shown = counters(perfkit)
    assert {"memory", "rusage", "sw-events", "cpu-events", "energy", "uncore"} <= set(shown["sources"])
    assert all(row["source"] in shown["sources"] and row["unit"] and row["quality"] in ("exact", "approximate")
               for row in shown["counters"].values())
    assert shown["counters"]["minor_faults"]["available"] == "yes"
    assert "instructions" in shown["groups"]["cpu-basic"]["events"].split()
    assert "fake" not in shown["sources"] and "fake" in counters(perfkit, "--all")["groups"]


def test_counters_by_pattern(perfkit):
    shown = counters(perfkit, "cpu-*")
    assert set(shown["sources"]) == {"cpu-events"} and set(shown["groups"]) >= {"cpu-basic", "cpu-mem"}
    assert all(name.startswith("cpu-") for name in shown["groups"])
    assert {row["source"] for row in shown["counters"].values()} == {"cpu-events"}
    assert set(counters(perfkit, "*_faults")["counters"]) == {"page_faults", "minor_faults", "major_faults"}
    text = perfkit("list", "counters", "cpu-basic").stdout
    assert "instructions / cycles" in text and "An IPC near" in text
    perfkit("list", "counters", "cpu-bsaic").refused(2, "nothing matches 'cpu-bsaic'", "did you mean 'cpu-basic'?")


def test_csv_is_csv(perfkit):
    r = perfkit("list", "experiments", "--all", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    assert any(row["name"] == "selftest" and row["axes"].startswith("[{") for row in rows)


def test_runs_without_a_store(perfkit):
    perfkit("list", "runs").refused(6, str(perfkit.db), "perfkit run")
    assert not perfkit.db.exists()


@not_sanitized
def test_runs_count_the_cases_that_were_measured(perfkit):
    """As `run` counts them: "2 cases measured" of four."""
    Stored(perfkit.db).run([(v, {"n": n}, m) for n, v, m in ((1, "a", {"x_ns": [1.0]}), (1, "b", "skipped"), (2, "a", {"x_ns": [2.0]}), (2, "b", "oom"))])
    assert [r["cases"] for r in perfkit("list", "runs", "--format", "json").rows("runs")] == [2]
    r = perfkit("run", "tree-patch", "--device", "null", "-a", "model=2L-256H", "-a", "op=patch,combine", "--min-time", "0", "--max-time", "1ms", "--max-samples", "3",
                "--min-samples", "3", "--invocations", "1")
    measured, = re.findall(r"(\d+) cases measured", r.stderr)
    assert perfkit("list", "runs", "--format", "json").rows("runs")[0]["cases"] == int(measured) < query(perfkit, "SELECT count(*) FROM run_case WHERE run_id = 2")[0][0]


def test_runs_in_a_file_that_is_no_store(perfkit):
    perfkit.db.write_text("not a database, but long enough to be read as the header of one; " * 20)
    r = perfkit("list", "runs")
    assert r.status == 1 and str(perfkit.db) in r.error()["what"]


@pytest.mark.skipif("PERFKIT_SANITIZED" in os.environ, reason="sanitizers are slow")
def test_listing_experiments_is_quick(perfkit):
    """The figure is 20 ms warm; CPU time is asserted, so that a busy machine does not matter."""
    perfkit("list", "experiments")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(20):
        assert perfkit("list", "experiments").status == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 20
    assert cpu_s < 0.020, f"{cpu_s * 1e3:.1f} ms of CPU time"


def test_narrow_lists_break_at_blanks(perfkit):
    r = perfkit("list", "devices", "--width", "60")
    whole = perfkit("list", "devices").stdout
    words = {word for word in r.stdout.split() if set(word) != {"-"}}
    assert r.status == 0 and words <= set(whole.split())
    assert max(map(len, r.stdout.splitlines())) <= 60 < max(map(len, whole.splitlines()))


def test_columns_that_nobody_fills_are_for_programs(perfkit):
    plain, partly = perfkit("help", "mixed-precision"), perfkit("help", "run", "attention-scaling")
    assert plain.status == 0 and "one kernel per operation" in plain.stdout and "Not on" not in plain.stdout
    assert "Not on" in partly.stdout
    assert perfkit("list", "experiments", "mixed-precision", "--format", "csv").stdout.count("name,summary,unavailable") == 1
