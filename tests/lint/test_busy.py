"""A test of times that fails beside other work is repeated, then skipped; on an idle machine it fails. The machine is made up."""
import os
import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
import busy  # noqa: E402

# A machine whose other processes take `others` of a CPU and whose host takes `stolen`, on a clock of its own.
MACHINE = """
import busy
busy.clock = 0.0
def processors():
    busy.clock += 1.0
    return {others} * busy.clock, {stolen} * busy.clock
busy.processors, busy.own = processors, lambda: 0.0
class time:
    monotonic = staticmethod(lambda: busy.clock + 1.0)
busy.time = time
"""
BUSY = [(1.2, 0, "other processes took 1.2 CPUs"), (0, 0.3, "other guests of the host took 0.30 CPUs")]


def machine(others, stolen):
    return MACHINE.format(others=others, stolen=stolen)


def call(folder, others, stolen, *argv):
    text = machine(others, stolen) + f"import sys; sys.exit(busy.command({list(map(str, argv))!r}))"
    return subprocess.run([sys.executable, "-c", text], cwd=folder, env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True,
                          timeout=60, check=False)


def failing(folder, times):
    """A command that fails so many times."""
    return "sh", "-c", f"echo x >>{folder}/calls; [ $(wc -l <{folder}/calls) -gt {times} ]"


def calls(folder):
    return (folder / "calls").read_text().count("x")


@pytest.mark.parametrize("others, stolen, reason", BUSY)
def test_a_command_is_repeated_beside_others(tmp_path, others, stolen, reason):
    p = call(tmp_path, others, stolen, *failing(tmp_path, 2))
    assert p.returncode == 0 and calls(tmp_path) == 3 and p.stdout.count(f"busy: {reason}") == 2, p
    p = call(tmp_path, others, stolen, "false")
    assert p.returncode == busy.SKIPPED and f"skipped: busy: {reason}" in p.stdout, p


def test_a_command_fails_at_once_on_an_idle_machine(tmp_path):
    p = call(tmp_path, 0.05, 0, *failing(tmp_path, 1))
    assert p.returncode == 1 and calls(tmp_path) == 1 and "busy" not in p.stdout, p


def test_a_status_is_passed_on(tmp_path):
    for status in (0, 77):
        assert call(tmp_path, 2, 0, "sh", "-c", f"exit {status}").returncode == status


LATE = """
from busy import in_time
def test_late():
    with open("calls", "a") as f:
        f.write("x")
    in_time({seconds}, 2)
def test_wrong():
    assert False
"""


@pytest.mark.parametrize("others, seconds, expected, n, late", [
    (1.2, "3", "1 failed, 1 skipped", 3, 3), (0, "3", "2 failed", 1, 0), (1.2, "1", "1 failed, 1 passed", 1, 0),
    (1.2, "3 if open('calls').read() == 'x' else 1", "1 failed, 1 passed", 2, 1)])
def test_a_late_test_is_repeated_beside_others(tmp_path, others, seconds, expected, n, late):
    """Another failure is one at once."""
    (tmp_path / "conftest.py").write_text(machine(others, 0))
    (tmp_path / "test_it.py").write_text(LATE.format(seconds=seconds))
    p = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "busy", "-p", "no:cacheprovider", "test_it.py"], cwd=tmp_path, capture_output=True, text=True,
                       env={k: v for k, v in os.environ.items() if k != "PERFKIT_SANITIZED"} | {"PYTHONPATH": str(TESTS)}, timeout=60, check=False)
    assert expected in p.stdout and calls(tmp_path) == n, p.stdout
    assert p.stdout.count("busy: other processes took 1.2 CPUs during") == late, p.stdout
    assert ("SKIPPED [1] test_it.py:2: busy: other processes took 1.2 CPUs" in p.stdout) == ("skipped" in expected), p.stdout


TIMED = """
import pytest
@pytest.mark.timed
def test_timed():
    with open("calls", "a") as f:
        f.write("x")
    assert False
"""


@pytest.mark.parametrize("others, expected, n", [(1.2, "1 skipped", 3), (0, "1 failed", 1)])
def test_any_failure_of_a_timed_test_may_be_due_to_others(tmp_path, others, expected, n):
    (tmp_path / "conftest.py").write_text(machine(others, 0))
    (tmp_path / "test_it.py").write_text(TIMED)
    p = subprocess.run([sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "busy", "-p", "no:cacheprovider", "test_it.py"], cwd=tmp_path, capture_output=True, text=True,
                       env={k: v for k, v in os.environ.items() if k != "PERFKIT_SANITIZED"} | {"PYTHONPATH": str(TESTS)}, timeout=60, check=False)
    assert expected in p.stdout and calls(tmp_path) == n, p.stdout
