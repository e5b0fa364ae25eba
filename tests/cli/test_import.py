"""perfkit import: files that other tools wrote (tests/imports), and files that are broken or hostile."""
import json
import pathlib
import re
import resource
import signal
import sqlite3
import time

import pytest

from conftest import not_sanitized

FILES = pathlib.Path(__file__).parents[1] / "imports"


def query(db, sql, *args):
    with sqlite3.connect(db) as c:
        c.row_factory = sqlite3.Row
        return c.execute(sql, args).fetchall()


def summaries(perfkit, run, metric):
    """By variant and axes."""
    rows = query(perfkit.db, "SELECT * FROM v_summary WHERE run_id = ? AND metric = ?", run, metric)
    return {(r["variant"], r["axes"]): r for r in rows}


def imported(perfkit, *args):
    done = perfkit("import", *args, "--format", "json")
    assert done.status == 0, done
    return done.rows("import")


def digits(x):
    return "%.14g" % x


# --- hyperfine ---------------------------------------------------------------------------------------------------------


def test_hyperfine(perfkit):
    path = FILES / "hyperfine.json"
    row, = imported(perfkit, path)
    assert (row["source"], row["cases"], row["added"], row["known"]) == ("hyperfine", 4, 40, 0)
    found = summaries(perfkit, row["run_id"], "wall_ns")
    for result in json.loads(path.read_text())["results"]:
        axes = json.dumps(result["parameters"], separators=(",", ":"))
        s = found.pop((result["command"], axes))
        assert digits(s["median"]) == digits(result["median"] * 1e9) and digits(s["mean"]) == digits(result["mean"] * 1e9)
        assert digits(s["sd"]) == digits(result["stddev"] * 1e9)
        assert (s["n"], s["invocations"], s["unit"], s["direction"]) == (10, 10, "ns", "lower")
        assert s["ci_low"] <= s["median"] <= s["ci_high"]
        user = summaries(perfkit, row["run_id"], "user_ns")[result["command"], axes]
        assert (digits(user["mean"]), user["n"], user["sd"], user["combine"]) == (digits(result["user"] * 1e9), 10, None, "mean")
    assert not found
    notes = [json.loads(r["notes"]) for r in query(perfkit.db, "SELECT notes FROM v_slice WHERE invocation = 1 ORDER BY case_id")]
    assert [n.get("runs_that_failed") for n in notes] == [None, 10, None, 10]
    assert notes[0]["summaries"]["user_ns"] == {"n": 10}
    shown = perfkit("show", "@").stdout
    assert "Summaries of the file, without samples: system_ns, user_ns." in shown and "--invocations" not in shown


def test_a_byte_order_mark_is_passed_over(perfkit, tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + (FILES / "hyperfine.json").read_bytes())
    row, = imported(perfkit, tmp_path / "f")
    assert (row["source"], row["added"]) == ("hyperfine", 40)
    (tmp_path / "f").write_bytes(b"\xef\xbb{" + (FILES / "hyperfine.json").read_bytes())
    perfkit("import", tmp_path / "f").refused(1, "none of these")


def test_hyperfine_of_later_versions_has_memory(perfkit, tmp_path):
    results = [{"command": "true", "mean": 2.0, "stddev": None, "median": 2.0, "user": 1.0, "system": 0.5, "min": 2.0, "max": 2.0,
                "times": [2.0, 2.5], "memory_usage_byte": [4096, 8192], "exit_codes": [0, None]},
               {"command": "true", "times": [1.0], "memory_usage_byte": [4096]}]
    (tmp_path / "h.json").write_text(json.dumps({"results": results}))
    row, = imported(perfkit, tmp_path / "h.json")
    peak = summaries(perfkit, row["run_id"], "peak_bytes")
    assert peak["true", "{}"]["median"] == 6144
    assert peak["true", '{"occurrence":2}']["median"] == 4096  # the same command again is another case
    results[0]["memory_usage_byte"].append(1)
    (tmp_path / "h.json").write_text(json.dumps({"results": results}))
    perfkit("import", tmp_path / "h.json").refused(1, "results[0]: 'memory_usage_byte' has 3 values, 'times' 2")


# --- google-benchmark --------------------------------------------------------------------------------------------------


def as_google_prints(x):
    return "%.3f" % x if x < 1 else "%.2f" % x if x < 10 else "%.1f" % x if x < 100 else "%.0f" % x


def test_google_benchmark_prints_the_same_medians(perfkit):
    row, = imported(perfkit, FILES / "google-repetitions.json")
    assert (row["source"], row["cases"], row["added"]) == ("google-benchmark", 5, 5)
    names = {("BM_sort", '{"arg0":64}'): "BM_sort/64", ("BM_sort", '{"arg0":4096}'): "BM_sort/4096",
             ("BM_sum<double>", '{"cols":64,"rows":32}'): "BM_sum<double>/rows:32/cols:64/real_time",
             ("BM_empty", '{"threads":2}'): "BM_empty/threads:2"}
    real, cpu = (summaries(perfkit, row["run_id"], m) for m in ("real_ns", "cpu_ns"))
    assert set(real) == set(names)
    printed = (FILES / "google-repetitions.txt").read_text()
    for case, name in names.items():
        time_, unit, cpu_time = re.search(r"^" + re.escape(name) + r"_median +(\S+) (\w+) +(\S+) ", printed, re.M).groups()
        scale = {"ns": 1, "us": 1e3}[unit]
        assert as_google_prints(real[case]["median"] / scale) == time_
        assert as_google_prints(cpu[case]["median"] / scale) == cpu_time
        deviation, = re.search(r"^" + re.escape(name) + r"_stddev +(\S+) ", printed, re.M).groups()
        assert as_google_prints(real[case]["sd"] / scale) == deviation
        assert (real[case]["n"], real[case]["invocations"]) == (5, 1)
    rate = summaries(perfkit, row["run_id"], "bytes_per_s")["BM_sort", '{"arg0":64}']
    assert (rate["unit"], rate["direction"], rate["class"]) == ("bytes/s", "higher", "rate")
    assert summaries(perfkit, row["run_id"], "elements")["BM_sum<double>", '{"cols":64,"rows":32}']["direction"] == "none"
    failed, = query(perfkit.db, "SELECT * FROM v_case WHERE status <> 'ok'")
    assert (failed["variant"], failed["status"], failed["message"]) == ("BM_fails", "failed", "no such device")


def test_google_benchmark_names_the_host(perfkit):
    imported(perfkit, FILES / "google-repetitions.json")
    assert " on cpu, vm, " in perfkit("show", "@").stdout.splitlines()[0]


def test_google_benchmark_aggregates_stay_summaries(perfkit):
    row, = imported(perfkit, FILES / "google-aggregates.json")
    assert not query(perfkit.db, "SELECT * FROM v_sample")
    s = summaries(perfkit, row["run_id"], "real_ns")["BM_sort", '{"arg0":64}']
    rows = {b["aggregate_name"]: b for b in json.loads((FILES / "google-aggregates.json").read_text())["benchmarks"]
            if b.get("run_name") == "BM_sort/64" and b["run_type"] == "aggregate"}
    assert (s["median"], s["mean"], s["sd"], s["n"]) == (*(rows[k]["real_time"] for k in ("median", "mean", "stddev")), 5)
    assert (s["min"], s["ci_low"]) == (None, None) and abs(s["cv"] / rows["cv"]["real_time"] - 1) < 1e-12
    notes = json.loads(query(perfkit.db, "SELECT notes FROM v_slice LIMIT 1")[0]["notes"])
    assert notes["summaries"]["real_ns"] == {"n": 5, "dispersion": "standard deviation of the repetitions, n - 1"}


def test_google_benchmark_of_another_version(perfkit, tmp_path):
    whole = json.loads((FILES / "google-repetitions.json").read_text())
    for change, words in (({"json_schema_version": 2}, "json_schema_version"), ({"host_name": 3}, "'host_name' is not a string")):
        (tmp_path / "g.json").write_text(json.dumps({**whole, "context": {**whole["context"], **change}}))
        perfkit("import", tmp_path / "g.json").refused(1, words)
    whole["benchmarks"][2]["time_unit"] = "min"
    (tmp_path / "g.json").write_text(json.dumps(whole, indent=1))
    perfkit("import", tmp_path / "g.json").refused(1, "benchmarks[2]: time_unit 'min'", "line ")
    whole["benchmarks"] = whole["benchmarks"][:1]
    (tmp_path / "g.json").write_text(json.dumps(whole).replace("4.1618", "NaN, \"x\": 4.1618"))
    whole["benchmarks"][0]["items_per_second"] = float("nan")  # google-benchmark writes such counters
    (tmp_path / "g.json").write_text(json.dumps(whole))
    imported(perfkit, tmp_path / "g.json")
    assert query(perfkit.db, "SELECT DISTINCT metric FROM v_summary ORDER BY 1")[0]["metric"] == "bytes_per_s"
    assert not query(perfkit.db, "SELECT 1 FROM v_summary WHERE metric = 'items_per_s'")


# --- pytest-benchmark --------------------------------------------------------------------------------------------------


def test_pytest_benchmark_prints_the_same_medians(perfkit):
    row, = imported(perfkit, FILES / "pytest-samples.json")
    found = summaries(perfkit, row["run_id"], "time_ns")
    printed, n = (FILES / "pytest-samples.txt").read_text(), 0
    for unit, table in re.findall(r"Name \(time in (\w+)\)(.*?)\n\n", printed, re.S):
        for name, *_ in re.findall(r"^(test_\w+(\[\S+\])?) ", table, re.M):
            cells = re.search("^" + re.escape(name) + r" +(.*)$", table, re.M).group(1)
            lowest, _, mean, sd, median = re.findall(r"([\d,.]+) (?:\([^)]*\))?", cells + " ")[:5]
            param = re.search(r"\[(\w+)-(\d+)\]", name)
            axes = json.dumps({"kind": param[1], "n": int(param[2])}, separators=(",", ":")) if param else "{}"
            s = found["test_sorting.py::" + name.split("[")[0], axes]
            scale = {"ns": 1, "us": 1e3}[unit]
            for mine, theirs in (("min", lowest), ("mean", mean), ("sd", sd), ("median", median)):
                assert "{:,.4f}".format(s[mine] / scale) == theirs, (name, mine)
            n += 1
    assert n == len(found) == 5
    whole = json.loads((FILES / "pytest-samples.json").read_text())
    run, = query(perfkit.db, "SELECT * FROM v_run")
    assert (run["experiment"], run["git_commit"], run["git_dirty"], run["git_branch"]) == (
        "pytest-benchmark", whole["commit_info"]["id"], 0, "master")
    assert run["started_at"] == whole["datetime"][:19] + "Z"
    assert json.loads(run["machine"])["cpu_model"] == whole["machine_info"]["cpu"]["brand_raw"]


def test_pytest_benchmark_without_samples(perfkit, tmp_path):
    first, second = imported(perfkit, FILES / "pytest-samples.json", FILES / "pytest-summary.json")
    s = summaries(perfkit, second["run_id"], "time_ns")["test_sorting.py::test_join", "{}"]
    stats = [b for b in json.loads((FILES / "pytest-summary.json").read_text())["benchmarks"] if b["name"] == "test_join"][0]["stats"]
    assert digits(s["median"]) == digits(stats["median"] * 1e9) and digits(s["sd"]) == digits(stats["stddev"] * 1e9)
    assert (s["n"], s["invocations"]) == (25, 1)
    assert not query(perfkit.db, "SELECT 1 FROM v_sample JOIN v_case USING (case_id) WHERE v_case.run_id = ?", second["run_id"])
    compared = perfkit("compare", first["run_id"], second["run_id"], "--format", "json")
    assert compared.status == 0 and "unreplicated" in compared.stdout
    whole = json.loads((FILES / "pytest-summary.json").read_text())
    for b in whole["benchmarks"]:
        b["stats"]["rounds"] = 5000
    (tmp_path / "p.json").write_text(json.dumps(whole))
    third, = imported(perfkit, tmp_path / "p.json")
    perfkit("compare", third["run_id"], first["run_id"], "--metric", "time_ns:p90").refused(5, "imported from a file without samples")


def test_pytest_benchmark_of_another_version(perfkit, tmp_path):
    text = (FILES / "pytest-samples.json").read_text()
    (tmp_path / "p.json").write_text(text.replace('"version": "5.3.1"', '"version": "9.0.0"'))
    perfkit("import", tmp_path / "p.json").refused(1, "version 9.0.0 of pytest-benchmark", "versions 3 to 5")
    (tmp_path / "p.json").write_text(re.sub(r'"data": \[\s*\d', '"data": ["fast", 1', text, count=1))
    perfkit("import", tmp_path / "p.json").refused(1, "benchmarks[0]: value 0 is not a number")
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


# --- criterion -----------------------------------------------------------------------------------------------------------


def test_criterion_has_the_same_medians(perfkit):
    row, = imported(perfkit, FILES / "criterion")
    found = summaries(perfkit, row["run_id"], "time_ns")
    for variant, axes, folder in (("sort/unstable", '{"value":64}', "sort/unstable/64"), ("sort/unstable", '{"value":4096}', "sort/unstable/4096"),
                                  ("sum", "{}", "sum")):
        s, estimates = found.pop((variant, axes)), json.loads((FILES / "criterion" / folder / "new" / "estimates.json").read_text())
        for mine, theirs in (("median", "median"), ("mean", "mean"), ("sd", "std_dev")):
            assert "%.12g" % s[mine] == "%.12g" % estimates[theirs]["point_estimate"], (folder, mine)
        assert s["n"] == 10
    assert not found


def criterion(folder, full_id, name, iters, times, mode="Linear"):
    """A benchmark as criterion leaves it, made by hand; `base` beside `new` is the run before."""
    for which, scale in (("base", 3), ("new", 1)):
        at = folder / full_id / which
        at.mkdir(parents=True)
        (at / "benchmark.json").write_text(json.dumps({**dict.fromkeys(("function_id", "value_str", "throughput")), **name, "full_id": full_id,
                                                       "directory_name": full_id, "title": full_id}))
        (at / "sample.json").write_text(json.dumps({"sampling_mode": mode, "iters": iters, "times": [t * scale for t in times]}))
        (at / "estimates.json").write_text("{}")


def test_criterion(perfkit, tmp_path):
    folder = tmp_path / "criterion"
    criterion(folder, "sort/unstable/64", {"group_id": "sort", "function_id": "unstable", "value_str": "64", "throughput": {"Elements": 64}},
              [10.0, 20.0, 30.0], [5000.0, 11000.0, 15300.0])
    criterion(folder, "sum", {"group_id": "sum"}, [1.0, 1.0], [7.0, 8.0], mode="Flat")
    (folder / "report").mkdir()
    (folder / "loop").symlink_to(folder)
    row, = imported(perfkit, folder)
    assert (row["source"], row["cases"], row["added"]) == ("criterion", 2, 2)
    found = summaries(perfkit, row["run_id"], "time_ns")
    assert {k: (r["median"], r["n"], r["invocations"]) for k, r in found.items()} == {
        ("sort/unstable", '{"value":64}'): (510, 3, 1), ("sum", "{}"): (7.5, 2, 1)}
    notes = json.loads(query(perfkit.db, "SELECT notes FROM v_slice ORDER BY case_id")[0]["notes"])
    assert notes == {"throughput": {"Elements": 64}, "sampling_mode": "Linear"}
    assert imported(perfkit, folder)[0]["known"] == 2


@pytest.mark.parametrize("sample, words", [
    ([[1.0], [2.0]], "there is no object"),  # of old versions
    ({"sampling_mode": "Flat", "iters": [1.0], "times": [1.0, 2.0]}, "'iters' has 1 values, 'times' 2"),
    ({"sampling_mode": "Flat", "iters": [0.0], "times": [1.0]}, "sample 0"),
    ({"sampling_mode": "Flat", "iters": [], "times": []}, "'iters' has 0"),
    ({"iters": [1.0], "times": [1.0]}, "sampling_mode"),
])
def test_broken_criterion(perfkit, tmp_path, sample, words):
    criterion(tmp_path, "sum", {"group_id": "sum"}, [1.0], [1.0])
    (tmp_path / "sum" / "new" / "sample.json").write_text(json.dumps(sample))
    perfkit("import", tmp_path).refused(1, words, "sum/new/sample.json")


def test_criterion_follows_no_links(perfkit, tmp_path):
    criterion(tmp_path / "a", "sum", {"group_id": "sum"}, [1.0], [1.0])
    sample = tmp_path / "a" / "sum" / "new" / "sample.json"
    sample.rename(tmp_path / "elsewhere")
    sample.symlink_to(tmp_path / "elsewhere")
    perfkit("import", tmp_path / "a").refused(1, "sample.json")


# --- comparing what was imported -----------------------------------------------------------------------------------------


def slowed(path, factor, k):
    whole = json.loads((FILES / "hyperfine.json").read_text())
    for i, r in enumerate(whole["results"]):
        r["times"] = [0.01 * factor * (1 + 0.001 * ((7 * t + 3 * k + i) % 5)) for t in range(10)]
    path.write_text(json.dumps(whole))
    return path


def test_a_gate_against_imported_runs(perfkit, tmp_path):
    """Five files of the base and as many slowed ones are red; the same speed is not."""
    base = [slowed(tmp_path / ("a%d.json" % k), 1, k) for k in range(5)]
    slow = [slowed(tmp_path / ("b%d.json" % k), 1.1, k) for k in range(5)]
    again = [slowed(tmp_path / ("c%d.json" % k), 1.0001, k) for k in range(5)]
    for label, files in (("main", base), ("slow", slow), ("again", again)):
        imported(perfkit, "--label", label, "--tag", "from=ci", *files)
    red = perfkit("gate", "--against", "main", "slow", "--metric", "wall_ns", "--format", "json")
    assert red.status == 3 and red.stdout.count('"slower"') >= 4, red
    assert perfkit("gate", "--against", "main", "again", "--metric", "wall_ns").status == 0
    assert perfkit("history", "hyperfine", "--metric", "wall_ns").status == 0
    assert perfkit("baseline", "save", "main", "@").status == 0
    tags = {r["tags"] for r in query(perfkit.db, "SELECT tags FROM v_run")}
    assert tags == {'{"from":"ci"}'}


@not_sanitized
def test_a_file_is_one_run(perfkit, tmp_path):
    path = FILES / "pytest-samples.json"
    first, second = imported(perfkit, path)[0], imported(perfkit, path, "--label", "again")[0]
    assert (second["run_id"], second["added"], second["known"]) == (first["run_id"], 0, 5)
    assert "is run %d already" % first["run_id"] in perfkit("import", path, "--label", "again").stderr
    other = perfkit("import", path, "--format", "json", db=tmp_path / "other.db")
    assert other.status == 0
    merged = perfkit("db", "merge", tmp_path / "other.db", "--format", "json")
    assert merged.rows("merge")[0]["runs_added"] == 0


# --- broken and hostile files --------------------------------------------------------------------------------------------


def test_nothing_of_a_broken_file_is_imported(perfkit, tmp_path):
    """Nor of the good ones beside it."""
    text = (FILES / "google-repetitions.json").read_text()
    for n in (len(text) - 4, len(text) * 2 // 3, len(text) // 2, 1200):
        (tmp_path / "cut.json").write_text(text[:n])
        done = perfkit("import", FILES / "hyperfine.json", tmp_path / "cut.json")
        done.refused(1, "cut.json", "line ")
        assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


def test_the_place_of_a_problem(perfkit, tmp_path):
    lines = (FILES / "google-repetitions.json").read_text().split("\n")
    at = [i for i, line in enumerate(lines) if '"real_time"' in line][3]
    lines[at] = '      "real_time": 1.0.0,'
    (tmp_path / "g.json").write_text("\n".join(lines))
    perfkit("import", tmp_path / "g.json").refused(1, "line %d, benchmarks[3]" % (at + 1))
    lines[at] = '      "real_time": "fast",'
    (tmp_path / "g.json").write_text("\n".join(lines))
    perfkit("import", tmp_path / "g.json").refused(1, "benchmarks[3]: 'real_time' is not a number")


HOSTILE = {
    "deep": ('{"results":[' + '{"command":' * 100000, "nested over 200 deep"),
    "deep-lists": ('{"x":' + "[" * 5000000, "none of these"),
    "digits": ('{"results":[{"command":"a","times":[1' + "0" * 500 + "]}]}", "398 digits"),
    "exponent": ('{"results":[{"command":"a","times":[1e999]}]}', "results[0]"),
    "large": ('{"results":[{"command":"a","times":[1e300]}]}', "too large"),
    "integer": ('{"results":[{"command":"a","times":[99999999999999999999999]}]}', "results[0]"),
    "negative": ('{"results":[{"command":"a","times":[-1]}]}', "below zero"),
    "nan": ('{"results":[{"command":"a","times":[NaN]}]}', "value 0 is not a number"),
    "infinity": ('{"results":[{"command":"a","times":[1, -Infinity]}]}', "value 1 is not a number"),
    "nul": ('{"results":[{"command":"a\\u0000b","times":[1]}]}', "results[0]"),
    "long-name": ('{"results":[{"command":"' + "a" * 5000 + '","times":[1]}]}', "4096 bytes"),
    "parameters": ('{"results":[{"command":"a","times":[1],"parameters":{' + ",".join('"p%d":"1"' % i for i in range(70)) + "}}]}", "64 parameters"),
    "twice": ('{"results":[{"command":"a","command":"b","times":[1]}]}', "results[0]"),
    "lists-twice": ('{"results":[],"results":[{"command":"a","times":[1]}]}', "given twice"),
    "no-list": ('{"results":7}', "no result"),
    "no-object": ('{"results":[7]}', "results[0]"),
    "empty": ('{"results":[]}', "no result"),
    "behind": ('{"results":[{"command":"a","times":[1]}]} x', "text after the end"),
    "bytes": ('{"results":[{"command":"\xff\xfe","times":[1]}]}', "results[0]"),
    "string": ('{"results":[{"command":"a', "the file ends in a string"),
    "comma": ('{"results":[{"command":"a","times":[1]},]}', "results[1]"),
    "processes": ('{"results":[{"command":"a","times":[' + "1," * 200000 + '1]}]}', "200000 values of processes"),
    "another": ('{"version":3,"things":[]}', "none of these"),
    "text": ("hello\n", "none of these"),
    "nothing": ("", "none of these"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(perfkit, tmp_path, name):
    text, words = HOSTILE[name]
    (tmp_path / "file").write_bytes(text.encode("latin-1"))
    perfkit("import", tmp_path / "file", timeout=20).refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


def test_names_with_escapes_are_text(perfkit, tmp_path):
    command = "\x1b[31mred \u202e ::error:: '; DROP TABLE run; --"
    (tmp_path / "f").write_text(json.dumps({"results": [{"command": command, "times": [1.0], "parameters": {"$.a\"b": "\x1b]0;x\x07"}}]}))
    row, = imported(perfkit, tmp_path / "f")
    assert list(summaries(perfkit, row["run_id"], "wall_ns"))[0][0] == command
    shown = perfkit("show", "@")
    assert shown.status == 0 and "\x1b" not in shown.stdout and "\u202e" not in shown.stdout


def large(path, n):
    """Many more values than memory for them as JSON: 16 bytes each in the file, 40 in a JSON library."""
    values = ",".join("%.10e" % (1e-6 + 1e-12 * i) for i in range(50000))
    with open(path, "w") as f:
        f.write('{"machine_info":{},"benchmarks":[')
        for b in range(n):
            f.write("%s{\"fullname\":\"b%d\",\"stats\":{\"rounds\":50000,\"iterations\":1,\"data\":[%s]}}" % ("," if b else "", b, values))
        f.write('],"version":"5.0.0"}')


@not_sanitized
def test_memory_is_bounded(perfkit, tmp_path):
    """A file of 32 MB is read in pieces."""
    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
    large(tmp_path / "f.json", 40)
    done = perfkit("import", tmp_path / "f.json", "--format", "json", preexec_fn=little_memory)
    assert done.status == 0 and done.rows("import")[0]["cases"] == 40, done


@not_sanitized
def test_a_signal_ends_it(perfkit, tmp_path):
    large(tmp_path / "f.json", 200)
    running = perfkit.start("import", tmp_path / "f.json")
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130 and not out, err
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")
