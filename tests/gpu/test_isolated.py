"""A GPU test that breaks its device, its process or its time limit costs that test alone."""
import os
import re
import subprocess

SELFTEST = os.environ["PK_ISOLATED_SELFTEST"]


def run(*words, **env):
    return subprocess.run([SELFTEST, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
                          env={**os.environ, "PK_TEST_SECONDS": "1", **env})


def states(text):
    """As tests/gpu/check.py reads them."""
    found = {}
    for mark, name in re.findall(r"^\[ *(OK|SKIPPED|FAILED) *\] (\w+)$", text, re.M):
        found.setdefault(name, set()).add(mark)
    return found


def test_each_failure_costs_one_test():
    p = run()
    assert p.returncode == 1
    assert states(p.stdout) == {
        "passes": {"OK"}, "passes_too": {"OK"}, "breaks_it_on_purpose": {"OK"}, "works_again": {"OK"}, "breaks_the_device": {"FAILED"}, "aborts": {"FAILED"}, "hangs": {"FAILED"},
        "skips": {"SKIPPED"}, "leaves": {"FAILED"}, "passes_at_the_end": {"OK"}}, p.stdout
    for reason in ("an illegal address", "ended by signal 6", "not over after 1 s", "the process ended with status 0"):
        assert reason in p.stdout, p.stdout
    assert "[  FAILED  ] 4 test(s), listed below:" in p.stdout


def test_a_new_process_only_after_a_failure():
    first, second, last = re.findall(r"^process (\d+)$", run().stdout, re.M)
    assert first == second != last


def test_nothing_fails():
    p = run("good")
    assert p.returncode == 0 and "FAILED" not in p.stdout and len(states(p.stdout)) == 2, p.stdout


def test_without_a_child_for_a_debugger():
    p = run("good", PK_TEST_SECONDS="0")
    assert p.returncode == 0 and "Running 2 test(s)" in p.stdout and len(states(p.stdout)) == 2, p.stdout


def test_what_cannot_run_is_skipped():
    p = run("none")
    assert (p.returncode, p.stdout) == (77, "skipped: no device\n")


def test_what_goes_wrong_after_the_tests_is_seen():
    p = run("leaks")
    assert p.returncode == 23 and len(states(p.stdout)) == 2, p.stdout
