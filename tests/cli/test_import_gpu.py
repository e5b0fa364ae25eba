"""perfkit import of GPU tools, whose files are made by hand after the source of what prints them (tests/imports/README): nvbench, nccl-tests, SuperBench."""
import json
import pathlib
import shutil
import struct

import pytest

from test_import import FILES, imported, query, summaries

# --- nvbench -------------------------------------------------------------------------------------------------------------


def states():
    """Of the file: (variant, axes), values by tag."""
    for b in json.loads((FILES / "nvbench.json").read_text())["benchmarks"]:
        for s in b["states"]:
            axes = json.dumps({v["name"]: int(v["value"]) if v["type"] == "int64" else v["value"] for v in s["axis_values"]},
                              separators=(",", ":"), sort_keys=True)
            yield (b["name"], axes), {v["tag"]: v["data"][0]["value"] for v in s["summaries"] or []}


def as_nvbench_prints(ns):
    return "%.3f us" % (ns / 1e3)


def test_nvbench_with_samples(perfkit):
    row, = imported(perfkit, FILES / "nvbench.json")
    assert (row["source"], row["cases"], row["added"]) == ("nvbench", 4, 4)
    for metric, kind in (("gpu_ns", "cold/time/gpu"), ("cpu_only_ns", "cpu_only/time/cpu")):
        found = summaries(perfkit, row["run_id"], metric)
        for case, tags in states():
            if "nv/%s/mean" % kind not in tags:
                continue
            s = found.pop(case)
            for mine, theirs in (("median", "median"), ("mean", "mean"), ("min", "min"), ("max", "max"), ("sd", "stdev/absolute")):
                assert as_nvbench_prints(s[mine]) == as_nvbench_prints(float(tags["nv/%s/%s" % (kind, theirs)]) * 1e9), (case, mine)
            assert (s["n"], s["invocations"], s["direction"]) == (int(tags["nv/%s/sample_size" % kind.split("/")[0]]), 1, "lower")
        assert not found
    n, = query(perfkit.db, "SELECT count(*) AS n FROM v_sample")
    assert n["n"] == 12 + 11 + 10
    case = "copy", '{"Elements":1048576,"T":"F32"}'
    tags = dict(states())[case]
    cpu, batch, rate, share, sectors = (summaries(perfkit, row["run_id"], m)[case] for m in ("cpu_ns", "batch_gpu_ns", "bytes_per_s", "bandwidth_share",
                                                                                            "sectors"))
    assert cpu["median"] == pytest.approx(float(tags["nv/cold/time/cpu/median"]) * 1e9, rel=1e-12) and cpu["n"] == 12
    assert (batch["mean"], batch["sd"], batch["n"]) == (pytest.approx(float(tags["nv/batch/time/gpu/mean"]) * 1e9), None, 120)
    assert (rate["unit"], rate["direction"], rate["device"]) == ("bytes/s", "higher", "cuda:0") and 0 < share["mean"] < 1
    assert (sectors["mean"], sectors["direction"]) == (1048576, "none")
    skipped, = query(perfkit.db, "SELECT * FROM v_case WHERE status <> 'ok'")
    assert (skipped["status"], skipped["message"]) == ("skipped", "Not enough memory.")
    assert {c["device"] for c in query(perfkit.db, "SELECT device FROM v_case WHERE variant = 'host'")} == {"cpu"}
    settings = {s["key"]: s["value"] for s in query(perfkit.db, "SELECT key, value FROM v_setting")}
    assert (settings["gpu"], settings["nvbench"]) == ("NVIDIA H100 80GB HBM3", "0.2.0")


def nvbench(folder, change=lambda root: None, where="nvbench.json-bin", **sizes):
    root = json.loads((FILES / "nvbench.json").read_text())
    change(root)
    shutil.copytree(FILES / "nvbench.json-bin", folder / where)
    (folder / "nvbench.json").write_text(json.dumps(root, indent=2))
    return folder / "nvbench.json"


def summary(root, tag, state=0):
    return [s for s in root["benchmarks"][0]["states"][state]["summaries"] if s["tag"] == tag][0]


def test_nvbench_without_samples_stays_a_summary(perfkit, tmp_path):
    def plain(root):
        for b in root["benchmarks"]:
            for s in b["states"]:
                s["summaries"] = [v for v in s["summaries"] or [] if "/bin:" not in v["tag"]]
        first = root["benchmarks"][0]["states"][0]
        first["summaries"] = [v for v in first["summaries"] if "median" not in v["tag"] and "absolute" not in v["tag"]]  # before 0.2
        summary(root, "nv/cold/time/cpu/stdev/relative")["data"][0]["value"] = "inf"  # one that is not known
    row, = imported(perfkit, nvbench(tmp_path, plain))
    assert not query(perfkit.db, "SELECT * FROM v_sample")
    found = summaries(perfkit, row["run_id"], "gpu_ns")
    tags = dict(states())
    old, new = (found["copy", '{"Elements":%d,"T":"F32"}' % n] for n in (1 << 20, 1 << 22))
    assert old["combine"] == "mean" and new["combine"] == "median" and new["n"] == 11
    mean, share = (float(tags["copy", old["axes"]]["nv/cold/time/gpu/" + k]) for k in ("mean", "stdev/relative"))
    assert old["sd"] == pytest.approx(mean * share * 1e9) and old["mean"] == pytest.approx(mean * 1e9)
    assert new["median"] == pytest.approx(float(tags["copy", new["axes"]]["nv/cold/time/gpu/median"]) * 1e9)
    assert summaries(perfkit, row["run_id"], "cpu_ns")["copy", old["axes"]]["sd"] is None
    refused = perfkit("compare", row["run_id"], row["run_id"], "--metric", "gpu_ns:p90")
    assert refused.status in (2, 5), refused


def test_nvbench_samples_of_another_place(perfkit, tmp_path):
    """Older versions named the file from where the program was started; a file beside the JSON is meant."""
    def older(root):
        summary(root, "nv/json/bin:nv/cold/sample_times")["data"][0]["value"] = "out/of/build/nvbench.json-bin/0.bin"
    row, = imported(perfkit, nvbench(tmp_path, older))
    assert summaries(perfkit, row["run_id"], "gpu_ns")["copy", '{"Elements":1048576,"T":"F32"}']["n"] == 12


def of_samples(filename=None, size=None):
    def change(root):
        data = summary(root, "nv/json/bin:nv/cold/sample_times")["data"]
        data[0]["value"] = filename or data[0]["value"]
        data[1]["value"] = size or data[1]["value"]
    return change


@pytest.mark.parametrize("change, words", [
    (of_samples(size="13"), "it ends after 12 of 13 samples"),
    (of_samples(size="11"), "more than 11 samples"),
    (of_samples("nvbench.json-bin/9.bin"), "No such file"),
    (of_samples("nvbench.json-bin/../x"), "not a file of samples"),
    (of_samples("../../etc/passwd"), "/etc: No such file"),
    (of_samples("x/../0.bin"), "not a file of samples"),
    (of_samples("/0.bin"), "not a file of samples"),
    (of_samples("nvbench.json-bin/link"), "benchmarks[0]"),
    (of_samples("nvbench.json-bin/negative", "1"), "sample 0 is not a time"),
    (of_samples(size="-1"), "not a file of samples"),
    (lambda root: root["meta"]["version"]["json"].update(major=2, string="2.0.0"), "version 2.0.0 of nvbench's JSON"),
    (lambda root: summary(root, "nv/cold/sample_size")["data"][0].update(value="none"), "'none' is not a number"),
    (lambda root: summary(root, "nv/cold/time/cpu/mean")["data"][0].update(value="-1"), "nv/cold/time/cpu/mean is below zero"),
    (lambda root: root["benchmarks"][0]["states"][0].update(summaries=[]), "has no summary"),
])
def test_broken_nvbench(perfkit, tmp_path, change, words):
    path = nvbench(tmp_path, change)
    (tmp_path / "nvbench.json-bin" / "link").symlink_to("0.bin")
    (tmp_path / "nvbench.json-bin" / "negative").write_bytes(struct.pack("<f", -1))
    perfkit("import", FILES / "hyperfine.json", path).refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


# --- nccl-tests ----------------------------------------------------------------------------------------------------------

NCCL = (FILES / "nccl-tests.txt").read_text()


@pytest.mark.parametrize("name, variant, axes", [("nccl-tests.txt", "all_reduce_perf", {"ranks": 4, "redop": "sum"}),
                                                 ("nccl-tests-2.13.txt", "nccl-tests", {"ranks": 2})])
def test_nccl_tests_has_the_same_figures(perfkit, name, variant, axes):
    row, = imported(perfkit, FILES / name)
    assert (row["source"], row["added"]) == ("nccl-tests", row["cases"])
    found = {m: summaries(perfkit, row["run_id"], m) for m in ("time_ns", "algbw_bytes_per_s", "busbw_bytes_per_s")}
    for line in (FILES / name).read_text().splitlines():
        cells = line.split()
        if not cells or not cells[0].isdigit():
            continue
        for place, values in (("out-of-place", cells[-8:-4]), ("in-place", cells[-4:])):
            case = variant, json.dumps({"bytes": int(cells[0]), "place": place, **axes, "type": "float"}, separators=(",", ":"), sort_keys=True)
            time_, algbw, busbw = (found[m].pop(case) for m in found)
            assert "%.2f" % (time_["median"] / 1e3) == "%.2f" % float(values[0]), line
            assert ("%.2f" % (algbw["median"] / 1e9), "%.2f" % (busbw["median"] / 1e9)) == tuple(values[1:3])
            assert (time_["n"], time_["invocations"], time_["direction"], busbw["direction"]) == (1, 1, "lower", "higher")
    assert not any(found.values())
    settings = {s["key"]: s["value"] for s in query(perfkit.db, "SELECT key, value FROM v_setting")}
    assert settings["nccl_tests.iters"] == "20" and settings["nccl_tests.warmup iters"] in "15" and settings["nccl_tests.graph"] == "0"
    assert settings["gpu"].startswith("NVIDIA ")


def test_cycles_of_nccl_tests_are_samples(perfkit, tmp_path):
    """And wrong values leave no times."""
    rows = [line for line in NCCL.splitlines() if line.split()[0].isdigit()]
    wrong = rows[1].replace("       0", "      12", 1)
    (tmp_path / "n.txt").write_text(NCCL.replace(rows[-1], "\n".join([rows[-1], *(r.replace("14.27", "14.31") for r in rows[:1]), wrong])))
    row, = imported(perfkit, tmp_path / "n.txt")
    s = summaries(perfkit, row["run_id"], "time_ns")["all_reduce_perf", '{"bytes":8192,"place":"out-of-place","ranks":4,"redop":"sum","type":"float"}']
    assert (s["n"], s["median"], s["min"]) == (2, pytest.approx(14290), pytest.approx(14270))
    failed, = query(perfkit.db, "SELECT * FROM v_case WHERE status = 'failed'")
    assert failed["message"] == "12 wrong values" and '"place":"out-of-place"' in failed["axes"]
    assert not query(perfkit.db, "SELECT 1 FROM v_sample WHERE case_id = ?", failed["case_id"])


def test_nccl_tests_per_iteration_with_timestamps(perfkit, tmp_path):
    """-I 1 -T 1: four columns more of each place, and the time of the day."""
    def heading(*c):
        return "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %7s  %7s  %7s  %7s  %6s  %6s  %6s  %7s  %7s  %7s  %7s %19s" % c
    one = ("time", "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%")
    body = "  %7s  %6s  %6s  %6g" % ("14.27", "0.57", "0.86", 0) + "  %7s  %7s  %7s  %7s" % ("13.90", "21.00", "20.95", "7.13")
    row = "%12d  %12d  %8s  %6s  %6s" % (8192, 2048, "float", "sum", "    -1") + body + body + "%21s" % "2026-07-09 16:03:21"
    nothing = "%12d  %12d  %8s  %6s  %6s" % (4096, 1024, "float", "", "     0") + " " * 69 + body + "%21s" % "2026-07-09 16:03:22"
    lines = NCCL.splitlines()
    at = [i for i, line in enumerate(lines) if " algbw " in line][0]
    text = lines[:at] + [heading("size", "count", "type", "redop", "root", *one, *one, "timestamp")] + [row, nothing] + lines[-4:]
    (tmp_path / "n.txt").write_text("\n".join(["# Writing JSON output to n.json", *text]))
    done, = imported(perfkit, tmp_path / "n.txt")
    assert done["cases"] == 3
    for metric, value in (("time_ns", 14270), ("iteration_min_ns", 13900), ("iteration_max_ns", 21000), ("iteration_p99_ns", 20950)):
        found = summaries(perfkit, done["run_id"], metric)
        assert [s["median"] for s in found.values()] == [pytest.approx(value)] * 3, metric


@pytest.mark.parametrize("change, words", [
    (lambda t: t[:t.index("# Out of")], "the end is missing"),
    (lambda t: t[:t.index("   134217728") + 52] + "\n" + t[t.index("# Out of"):], "the row has no time"),
    (lambda t: t.replace("  13.98 ", "  fast  "), "line 15: 'fast' is not a number"),
    (lambda t: t.replace("  13.98 ", "  -1.00 "), "'-1.00' is not a number of at least zero"),
    (lambda t: t.replace("#wrong     time", " error     time"), "a table with 'error'"),
    (lambda t: t.replace("count", "elems", 1), "a table with 'elems' in column 2"),
    (lambda t: t.replace("       0\n", "       0  1 2\n", 1), "15 values below 13 headings"),
    (lambda t: t.replace(" 0.59 ", "      "), "nothing below 'algbw'"),
    (lambda t: t.replace(" 0.59 ", "0.59  ").replace("    float     sum", "    float        "), "is below no heading"),
    (lambda t: "\n".join(line for line in t.splitlines() if " algbw " not in line), "there was no heading"),
    (lambda t: t.replace("\n", " "), "the end is missing"),
])
def test_broken_nccl_tests(perfkit, tmp_path, change, words):
    (tmp_path / "n.txt").write_text(change(NCCL))
    perfkit("import", tmp_path / "n.txt").refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


def test_the_json_of_nccl_tests(perfkit):
    """The same cases as of its text, and the times of iterations as samples."""
    row, = imported(perfkit, FILES / "nccl-tests.json")
    assert (row["source"], row["cases"]) == ("nccl-tests", 4)
    whole = json.loads((FILES / "nccl-tests.json").read_text())
    for r in whole["results"]:
        for key, place in (("out_of_place", "out-of-place"), ("in_place", "in-place")):
            case = "all_reduce_perf", json.dumps({"bytes": r["size"], "place": place, "ranks": 4, "redop": "sum", "type": "float"}, separators=(",", ":"))
            of = {m: summaries(perfkit, row["run_id"], m)[case] for m in ("time_ns", "busbw_bytes_per_s", "iteration_ns")}
            assert of["time_ns"]["median"] == pytest.approx(r[key]["time"] * 1e3) and of["time_ns"]["n"] == 1
            assert of["busbw_bytes_per_s"]["median"] == pytest.approx(r[key]["bus_bw"] * 1e9)
            each, s = r[key + "_per_iter"], of["iteration_ns"]
            assert (s["n"], s["min"], s["max"]) == (5, pytest.approx(each["min_us"] * 1e3), pytest.approx(each["max_us"] * 1e3))  # one is skipped
            assert s["median"] == pytest.approx(each["p50_us"] * 1e3) and s["mean"] == pytest.approx(each["avg_us"] * 1e3, rel=1e-6)
    run, = query(perfkit.db, "SELECT * FROM v_run")
    assert run["started_at"] == "2026-07-09T16:03:21Z" and json.loads(run["machine"])["host"] == "node17"
    text, = imported(perfkit, FILES / "nccl-tests.txt")
    axes = [{c["axes"] for c in query(perfkit.db, "SELECT axes FROM v_case WHERE run_id = ?", r["run_id"])} for r in (row, text)]
    assert axes[0] <= axes[1]


@pytest.mark.parametrize("change, words", [
    (lambda root: root.update(version=9), "versions 1 to 3"),
    (lambda root: root.pop("end_time"), "no 'end_time'"),
    (lambda root: root["results"][1]["in_place"].update(time="nan"), "results[1]: 'time' is not a number"),
    (lambda root: root["results"][1]["in_place_per_iter"].update(times_us=[1, -1]), "results[1]: times_us[1] is not a time"),
    (lambda root: root["results"][0].pop("size"), "results[0]: there is no 'size'"),
    (lambda root: root["results"][0].update(in_place={}), "results[0]: there is no time in it"),
])
def test_broken_json_of_nccl_tests(perfkit, tmp_path, change, words):
    root = json.loads((FILES / "nccl-tests.json").read_text())
    change(root)
    (tmp_path / "n.json").write_text(json.dumps(root))
    perfkit("import", tmp_path / "n.json").refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")


def test_wrong_values_in_the_json_of_nccl_tests(perfkit, tmp_path):
    root = json.loads((FILES / "nccl-tests.json").read_text())
    root["results"][0]["in_place"]["nwrong"] = 12.0
    (tmp_path / "n.json").write_text(json.dumps(root))
    imported(perfkit, tmp_path / "n.json")
    failed, = query(perfkit.db, "SELECT * FROM v_case WHERE status = 'failed'")
    assert failed["message"] == "12 wrong values" and not query(perfkit.db, "SELECT 1 FROM v_sample WHERE case_id = ?", failed["case_id"])


# --- SuperBench ----------------------------------------------------------------------------------------------------------


def cases(perfkit, run):
    rows = query(perfkit.db, "SELECT * FROM v_summary WHERE run_id = ?", run)
    return {(r["variant"], *json.loads(r["axes"]).values()): r for r in rows}


def test_superbench_summary(perfkit):
    row, = imported(perfkit, FILES / "superbench-summary.jsonl")
    found = cases(perfkit, row["run_id"])
    for line in (FILES / "superbench-summary.jsonl").read_text().splitlines():
        node = json.loads(line)
        for key, unit, scale, direction in (
                ("model-benchmarks:gpt/pytorch-gpt2-large/fp16_train_step_time", "ns", 1e6, "lower"),
                ("model-benchmarks:gpt/pytorch-gpt2-large/fp16_train_throughput", "items/s", 1, "higher"),
                ("nccl-bw:nvlink/allreduce_8388608_busbw:0", "bytes/s", 1e9, "higher"),
                ("nccl-bw:nvlink/allreduce_8388608_time:0", "ns", 1e3, "lower"), ("mem-bw/h2d_bw:0", "bytes/s", 1e9, "higher"),
                ("gemm-flops/fp16_tc_flops:0", "FLOP/s", 1e9, "higher"),
                ("disk-benchmark/nvme0n1_rand_read_write_read_lat_ns_99.0", "ns", 1, "lower"), ("gpu-burn/gpu_0_pass", "", 1, "none"),
                ("monitor/gpu_temperature:0", "", 1, "none")):
            name, _, rank = key.partition(":0") if key.endswith(":0") else (key, "", None)
            s = found[(name, node["node"]) + ((0,) if rank is not None else ())]
            assert (s["unit"], s["direction"], s["n"]) == (unit, direction, 1), key
            assert s["mean"] == pytest.approx(node[key] * scale, rel=1e-12) and s["median"] == s["mean"] and s["sd"] is None
    launch = found["kernel-launch/event_time", "node-01", 0]
    assert (launch["n"], launch["median"]) == (3, pytest.approx(5940))  # a sample for each run
    assert found["kernel-launch/event_time", "node-01", 1]["n"] == 2
    failed, = query(perfkit.db, "SELECT * FROM v_case WHERE status <> 'ok'")
    assert (failed["variant"], failed["axes"], failed["message"]) == ("ib-traffic", '{"node":"node-02","rank":1}', "return code 32")
    assert "Summaries of the file, without samples" in perfkit("show", "@").stdout


def test_superbench_results_have_samples_of_models(perfkit):
    row, = imported(perfkit, FILES / "superbench-results.json")
    found = cases(perfkit, row["run_id"])
    step = found["model-benchmarks:gpt/pytorch-gpt2-large/fp16_train_step_time",]
    assert (step["n"], step["median"], step["unit"], step["invocations"]) == (8, pytest.approx(193.8e6), "ns", 1)
    assert (found["mem-bw/h2d_bw",]["mean"], found["mem-bw/h2d_bw",]["combine"]) == (pytest.approx(25.6e9), "mean")
    run, = query(perfkit.db, "SELECT * FROM v_run")
    assert run["started_at"] == "2026-04-23T20:53:53Z"
    failed, = query(perfkit.db, "SELECT * FROM v_case WHERE status <> 'ok'")
    assert (failed["variant"], failed["message"]) == ("cudnn-function", "return code 31")


@pytest.mark.parametrize("name, change, words", [
    ("superbench-summary.jsonl", lambda t: t.replace("193.71", '"fast"'), "line 1: 'model-benchmarks:gpt/pytorch-gpt2-large/fp16_train_step_time' is not a number"),
    ("superbench-summary.jsonl", lambda t: t.replace('"node-02"', '"node-02",,'), "line 2: not JSON"),
    ("superbench-summary.jsonl", lambda t: t.replace("mem-bw/h2d_bw:0", "bandwidth", 1), "'bandwidth' is not BENCHMARK/METRIC"),
    ("superbench-summary.jsonl", lambda t: t.replace('"node": "node-02"', '"host": "node-02"'), "line 2: there is no 'node'"),
    ("superbench-summary.jsonl", lambda t: t[:-60], "line "),
    ("superbench-summary.jsonl", lambda t: t.replace("275123.0", "1e300"), "too large"),
    ("superbench-results.json", lambda t: t.replace('"result"', '"results"'), "results[0]: there is no 'result'"),
    ("superbench-results.json", lambda t: t.replace('"return_code": 31', '"return_code": "bad"'), "results[2]: 'return_code' is not an integer"),
    ("superbench-results.json", lambda t: t[:-5], "results[2]"),
    ("superbench-results.json", lambda t: t + "x", "text after the end"),
])
def test_broken_superbench(perfkit, tmp_path, name, change, words):
    (tmp_path / name).write_text(change((FILES / name).read_text()))
    perfkit("import", FILES / "hyperfine.json", tmp_path / name).refused(1, words)
    assert not perfkit.db.exists() or not query(perfkit.db, "SELECT * FROM v_run")
