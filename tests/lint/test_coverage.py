""".ci/coverage.py: what was not run is counted, and too little is a failure."""
import importlib.util
import pathlib

import pytest

SPEC = importlib.util.spec_from_file_location("coverage_of_lib", pathlib.Path(__file__).parents[2] / ".ci" / "coverage.py")
coverage = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(coverage)


def record(path, *counts):
    return {"files": [{"file": path, "lines": [{"line_number": i + 1, "count": n} for i, n in enumerate(counts)]}]}


def test_lines_are_of_lib_alone_and_run_where_any_object_ran_them():
    found = [record("../lib/json/json.c", 1, 0), record("../lib/json/json.h", 0, 0), record("../lib/json/json.h", 3, 0),
             record("../probes/selftest.c", 1), record("/usr/include/x.h", 1)]
    assert coverage.lines_of(found, "/root/build", "/root/lib") == {
        ("json/json.c", 1): True, ("json/json.c", 2): False, ("json/json.h", 1): True, ("json/json.h", 2): False}


@pytest.mark.parametrize("ran, status, says", [(9, 0, "ran 9 of 10 lines of lib, 90.0 %"), (8, 1, "less than the 85 % that are asked for")])
def test_too_little_is_a_failure(ran, status, says):
    text, got = coverage.report({("json/json.c", i): i < ran for i in range(10)}, 85)
    assert got == status and says in text.splitlines()[-1] and text.splitlines()[0].startswith("json ")


def test_nothing_is_a_failure():
    assert coverage.report({}, 85)[1] == 1
