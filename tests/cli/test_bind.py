"""--bind: where threads and commands run, what is recorded of it, and what is refused before anything is measured."""
import os

import pytest
from conftest import not_sanitized, on_one_cpu
from stored import query

RUN = ("run", "selftest", "--device", "cpu", "--variant", "ok", "--invocations", "1", "--min-time", "5ms", "--max-time", "10ms")
MINE = sorted(os.sched_getaffinity(0))


def bindings(perfkit):
    return query(perfkit.db, "SELECT settings ->> 'bind', value FROM v_run JOIN v_setting USING (run_id) WHERE key = 'binding' ORDER BY run_id")


@pytest.mark.parametrize("words, parts", [
    (("--bind", "cors"), ("--bind cors", "socket:N", "0-3,8")),
    (("--bind", ""), ("--bind", "no CPUs are named")),
    (("--bind", "socket:77"), ("--bind socket:77", "no such socket")),
    (("--bind", "numa:77"), ("--bind numa:77", "no such NUMA node")),
    (("--bind", "8191"), ("CPU 8191 cannot be used", "affinity allows")),
    (("--bind", f"{MINE[0]},{MINE[0]}"), ("is given twice",)),
    (("--bind", str(MINE[0]), "--threads", "2"), ("--threads 2", "--bind names 1", "--threads 1 or fewer")),
])
def test_refused(perfkit, words, parts):
    perfkit(*RUN, *words).refused(2, *parts)
    perfkit("doctor", "--ceilings", *words).refused(2, *parts)
    if "--threads" not in words:
        perfkit("exec", *words, "--", "true").refused(2, *parts)
    assert not perfkit.db.exists() or query(perfkit.db, "SELECT * FROM v_run") == []


def test_another_s_cpu(perfkit):
    if len(MINE) < 2:
        pytest.skip("one CPU")
    perfkit(*RUN, "--bind", str(MINE[-1]), preexec_fn=on_one_cpu).refused(2, f"CPU {MINE[-1]} cannot be used", f"allows {MINE[0]} for")


@not_sanitized
@pytest.mark.usefixtures("measured")
def test_none_and_cores_are_recorded_as_ever(perfkit):
    assert perfkit(*RUN, "--bind", "none").status == 0
    assert perfkit(*RUN).status == 0
    first, second = bindings(perfkit)
    assert first == (0, "off") and second[0] == 1 and second[1].startswith("cpus ")
    assert "setting bind none → cores" in perfkit("compare", "@~1", "@").stdout


@pytest.mark.usefixtures("measured")
def test_a_list(perfkit):
    """A part of the machine has ceilings of its own: a run measures them, here of the null device, or takes those that are there."""
    cpu = MINE[-1]
    query(perfkit.db, "INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence)"
                      f" SELECT machine_id, 'cpu on CPUs {cpu}', key, value, measured_ns, evidence FROM ceiling WHERE device = 'cpu'")
    r = perfkit(*RUN, "--bind", str(cpu))
    assert r.status == 0 and "ceilings of" not in r.stderr, r
    assert bindings(perfkit) == [(str(cpu), f"cpus {cpu}")]
    r = perfkit("run", "selftest", "--device", "null", *RUN[4:], "--bind", str(cpu))
    assert r.status == 0 and f"ceilings of null on CPUs {cpu}" in r.stderr, r
    assert query(perfkit.db, "SELECT DISTINCT device FROM v_ceiling WHERE device LIKE 'null%' ORDER BY 1") == [("null",), (f"null on CPUs {cpu}",)]


def test_a_command(perfkit):
    cpu = MINE[-1]
    r = perfkit("exec", "--bind", str(cpu), "--runs", "2", "--no-counters", "--", "sh", "-c", f"test $(taskset -pc $$ | sed 's/.*: //') = {cpu}")
    assert r.status == 0, r
    assert query(perfkit.db, "SELECT settings ->> 'bind' FROM v_run") == [(str(cpu),)]
    assert query(perfkit.db, "SELECT count(DISTINCT invocation) FROM v_state WHERE name = 'load'") == [(2,)]
