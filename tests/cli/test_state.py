"""State of the machine beside what is measured: rows of v_state, reasons to doubt under the tables."""
import json
import pathlib
import re
import sys

import pytest
from stored import Stored, query


@pytest.fixture
def run(perfkit):
    """Three cases in two processes each, without notes."""
    s = Stored(perfkit.db)
    s.run([("plain", {"n": n, "k": 1}, {"busy_ns": [100.0, 101.0]}) for n in (1, 2, 3)])
    return s


def note(stored, case, invocation, notes):
    stored.db.execute("UPDATE slice SET notes = ? WHERE case_id = ? AND invocation = ?", [json.dumps(notes), case, invocation])
    stored.db.commit()


def notes_of(perfkit):
    r = perfkit("show", "--format", "json")
    assert r.status == 0, r
    return [n for t in r.json()["tables"].values() for n in t.get("notes", []) if re.match(r"\d+ of \d+ cases? \(", n)]


def test_quiet_runs_say_nothing(perfkit, run):
    note(run, 1, 1, {"state": {"load": [0.1, 0.2]}, "class": "flat", "disturbed": 0})
    assert notes_of(perfkit) == []


def test_doubts_name_their_cases(perfkit, run):
    note(run, 1, 1, {"doubts": ["stolen"]})
    note(run, 3, 1, {"doubts": ["stolen", "throttled"]})
    note(run, 3, 2, {"doubts": ["stolen"]})
    assert notes_of(perfkit) == [
        "2 of 3 cases (3 of 6 slices) were measured while the hypervisor took more than 1 % of the CPU time: plain n=1; plain n=3.",
        "1 of 3 cases (1 of 6 slices) was measured while the processor throttled itself (temperature or power): plain n=3."]


def test_what_samples_show_is_said_in_the_same_way(perfkit, run):
    note(run, 1, 1, {"disturbed": 3, "class": "slowdown"})
    note(run, 2, 1, {"disturbed": 0, "disturbed_kept": True, "class": "no-steady"})
    first, second, third = notes_of(perfkit)
    assert "2 of 3 cases (2 of 6 slices) had samples during which the hypervisor ran another guest: plain n=1; plain n=2." in first
    assert "1 of 3 cases (1 of 6 slices) reached no steady state: plain n=2." in second
    assert "1 of 3 cases (1 of 6 slices) became slower while" in third


def test_one_is_no_plural(perfkit):
    s = Stored(perfkit.db)
    s.run([("plain", {"n": 1}, {"busy_ns": [100.0]})])
    note(s, 1, 1, {"doubts": ["quota"]})
    assert notes_of(perfkit) == ["1 of 1 case (1 of 1 slice) was stopped by the CPU quota of their control group: plain."]


def test_many_cases_are_counted(perfkit):
    s = Stored(perfkit.db)
    s.run([("plain", {"n": n}, {"busy_ns": [100.0]}) for n in range(5)])
    for case in range(1, 6):
        note(s, case, 1, {"doubts": ["quota"]})
    (only,) = notes_of(perfkit)
    assert only.endswith(": plain n=0; plain n=1; plain n=2; and 2 more.")


def test_sources_of_their_own(perfkit, run):
    """What a GPU's or a peer's reader says under its name is there without a change of the schema."""
    note(run, 1, 1, {"state:gpu": {"sm_clock_hz": [1.9e9, 1.2e9]}, "doubts:gpu": ["the GPU slowed down"]})
    assert query(perfkit.db, "SELECT source, name, before, after FROM v_state") == [("gpu", "sm_clock_hz", 1.9e9, 1.2e9)]
    assert notes_of(perfkit) == ["1 of 3 cases (1 of 6 slices) the GPU slowed down: plain n=1."]


GPU = {"sm_clock_hz": [1.9e9, 1.2e9], "power_w": [600, 700], "temperature_c": [60, 80], "held_back": ["", "power"], "other_processes": [0, 1]}


def two_states(perfkit, stored):
    """A second run; its one slice that says anything took 1 ns."""
    new = stored.run([("plain", {"n": n, "k": 1}, {"busy_ns": [100.0, 101.0]}) for n in (1, 2, 3)], label="new")
    note(stored, 1, 1, {"state": {"load": [0.5, 1.5], "governor": ["powersave", "powersave"]}, "doubts": ["stolen"]})
    note(stored, 4, 1, {"state": {"load": [1, 2], "frequency_hz": [3e9, 2e9], "steal_ns": [10, 10.25], "quota_stops": [7, 9],
                                  "governor": ["powersave", "performance"], "noise_lost": [0, 0.5], "thermal_stops": [3, 3]},
                        "state:gpu": GPU, "doubts": ["throttled"], "doubts:gpu": ["were hot"]})
    note(stored, 5, 1, {"state": {"load": [4, 4]}, "doubts": ["throttled"]})
    return new


def test_the_state_is_shown(perfkit, run):
    two_states(perfkit, run)
    (row,) = perfkit("show", "new", "--format", "json").rows("states")
    expected = {"slices": 2, "load": 2.75, "load_most": 4, "frequency_hz": 2.5e9, "frequency_least_hz": 2e9, "steal_share": 0.125,
                "quota_stops": 2, "thermal_stops": 0, "noise_lost": 0.25, "governor": "powersave → performance", "turbo": None,
                "gpu_clock_hz": 1.55e9, "gpu_clock_least_hz": 1.2e9, "gpu_power_w": 650, "gpu_temperature_c": 80,
                "gpu_other_processes": 1, "doubts": "2 throttled, 1 were hot"}
    assert {k: row[k] for k in expected} == expected
    people = perfkit("show", "new", "--tables", "all").stdout
    assert "Clock (GHz)" in people and "Turbo" not in people and "Thermal stops" not in people  # nothing to be said of those
    for nothing in ({}, {"doubts": ["stolen"]}, {"state": {"load": [0, 0]}}):
        run.db.execute("UPDATE slice SET notes = ?", [json.dumps(nothing)])
        run.db.commit()
        r = perfkit("show", "new", "--tables", "all")
        assert r.status == 0 and "State of the machine" not in r.stdout, r


def test_compare_shows_both_states(perfkit, run):
    two_states(perfkit, run)
    r = perfkit("compare", "1", "new", "--format", "json")
    rows = {row["side"]: row for row in r.rows("states")}
    assert (rows["base"]["run_id"], rows["base"]["governor"], rows["base"]["load"], rows["base"]["doubts"]) == (1, "powersave", 1, "1 stolen")
    assert (rows["new"]["run_id"], rows["new"]["load"], rows["new"]["doubts"]) == (2, 2.75, "2 throttled, 1 were hot")
    (row,) = perfkit("compare", "--by", "n", "new", "--format", "json").rows("states")
    assert (row["side"], row["run_id"], row["load_most"]) == ("both", 2, 4)
    run.run([("plain", {"n": 1, "k": 1}, {"busy_ns": [100.0]})], label="quiet")
    assert [row["run_id"] for row in perfkit("compare", "new", "quiet", "--format", "json").rows("states")] == [2]


def test_of_a_long_run_the_first_cases_count(perfkit):
    s = Stored(perfkit.db)
    s.run([("plain", {"n": n}, {"busy_ns": [1.0]}) for n in range(301)])
    note(s, 300, 1, {"state": {"load": [1, 1]}})
    note(s, 301, 1, {"state": {"load": [9, 9]}})
    table = perfkit("show", "--format", "json").json()["tables"]["states"]
    assert table["rows"][0]["load_most"] == 1 and table["notes"] == ["Computed from the first 300 cases of a run."]


def test_states_doubts_and_topology_are_exported(perfkit, run):
    note(run, 1, 1, {"state": {"load": [0.5, 1.5], "governor": ["powersave", "performance"]}, "doubts": ["stolen"]})
    run.insert("topology", machine_id=1, xml="<topology/>")
    run.db.commit()
    done = perfkit("export", "csv", "--what", "states")
    assert done.stdout.splitlines() == ["run_id,case_id,invocation,pass,source,name,before,after,slice_id",
                                        "1,1,1,timing,machine,governor,powersave,performance,1",
                                        "1,1,1,timing,machine,load,0.5,1.5,1"], done
    (doubt,) = perfkit("export", "json", "--what", "doubts").rows("export_doubts")
    assert (doubt["case_id"], doubt["doubt"]) == (1, "stolen") and "hypervisor" in doubt["meaning"]
    (topology,) = perfkit("export", "json", "--what", "topology").rows("export_topology")
    assert topology == {"run_id": 1, "machine_id": 1, "xml": "<topology/>"}


def test_notes_of_another_shape_are_no_state(perfkit, run):
    note(run, 1, 1, {"state": "fine", "state:x": {"load": 3}, "doubts": "stolen", "doubts:x": [7]})
    assert query(perfkit.db, "SELECT * FROM v_state") == [] and notes_of(perfkit) == []


@pytest.mark.usefixtures("measured")
def test_a_run_records_the_state_around_each_slice(perfkit):
    r = perfkit("run", "selftest", "--device", "cpu", "--variant", "ok", "--invocations", "2", "--min-time", "10ms",
                "--max-time", "20ms")
    assert r.status == 0, r
    rows = query(perfkit.db, "SELECT invocation, name, before, after FROM v_state WHERE source = 'machine' AND pass = 'timing'")
    for invocation in (1, 2):
        state = {name: (before, after) for i, name, before, after in rows if i == invocation}
        assert all(0 <= share <= 1 for share in state["noise_lost"])
        assert all(worst >= 0 for worst in state["noise_worst_ns"])
        assert state["load"][0] >= 0
        for total in ("steal_ns", "pressure_cpu_ns", "quota_stops", "thermal_stops"):
            if total in state:
                assert state[total][1] >= state[total][0]
    metrics = {m for view in ("v_sample", "v_summary") for (m,) in query(perfkit.db, f"SELECT DISTINCT metric FROM {view}")}
    assert metrics and not metrics & {name for _, name, _, _ in rows}, "state is no measurement"
    assert not query(perfkit.db, "SELECT * FROM v_setting WHERE key LIKE '%noise%' OR key LIKE '%state%'"), "compare would tell"


def test_a_null_device_has_no_surroundings(perfkit):
    assert perfkit("run", "selftest", "--device", "null", "--variant", "ok").status == 0
    assert query(perfkit.db, "SELECT * FROM v_state") == []


def test_a_topology_once_per_machine(perfkit, tmp_path):
    for _ in range(2):
        assert perfkit("run", "selftest", "--device", "null", "--variant", "ok").status == 0
    ((xml,),) = query(perfkit.db, "SELECT xml FROM v_topology JOIN v_run USING (machine_id) GROUP BY machine_id")
    assert xml.startswith("<?xml") and "<topology" in xml and "PCIDev" not in xml
    other = tmp_path / "other.db"
    Stored(other).run([("plain", {}, {"busy_ns": [1.0]})])
    assert perfkit("db", "merge", perfkit.db, "--db", other).status == 0
    assert query(other, "SELECT xml FROM v_topology") == [(xml,)]


def test_a_peer_has_the_surroundings_of_our_own_cases(perfkit, measured):
    bad = pathlib.Path(__file__).parent / "bad_worker.py"
    r = perfkit("run", "selftest", "--device", "cpu", "--variant", "ok", "--invocations", "1", "--min-time", "0s", "--max-time", "10ms",
                "--peer", str(bad), "--python", sys.executable, env={"BAD_WORKER": "choosing"})
    assert r.status == 0, r
    names = {}
    for variant, name in query(perfkit.db, "SELECT c.variant, s.name FROM v_state s JOIN v_case c ON c.case_id = s.case_id"):
        names.setdefault(variant, set()).add(name)
    assert len(names) == 2 and names["ok"] == next(v for k, v in names.items() if k != "ok")
    assert {"steal_ns", "noise_lost", "noise_worst_ns"} <= names["ok"]
