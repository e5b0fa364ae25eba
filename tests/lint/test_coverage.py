""".ci/coverage.py: what was not run is counted, and too little is a failure."""
import importlib.util
import pathlib

import pytest

SPEC = importlib.util.spec_from_file_location("coverage_of_lib", pathlib.Path(__file__).parents[2] / ".ci" / "coverage.py")
coverage = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(coverage)


def summary(path, count, covered):
    return {"filename": path, "summary": {"lines": {"count": count, "covered": covered}}}


def test_lines_are_of_lib_alone():
    found = [summary("/root/build/../lib/json/json.c", 10, 9), summary("/root/lib/json/json.h", 2, 0), summary("/root/lib/out/out.c", 5, 5),
             summary("/root/probes/selftest.c", 3, 3), summary("/usr/include/x.h", 1, 1)]
    assert coverage.lines_of(found, "/root/lib") == {"json": (12, 9), "out": (5, 5), "all": (17, 14)}


@pytest.mark.parametrize("run, status, says", [(9, 0, "ran 9 of 10 lines of lib, 90.0 %"), (8, 1, "less than the 85 % that are asked for")])
def test_too_little_is_a_failure(run, status, says):
    text, got = coverage.report({"json": (10, run), "all": (10, run)}, 85)
    assert got == status and says in text.splitlines()[-1] and text.splitlines()[0].startswith("json ")


def test_nothing_is_a_failure():
    assert coverage.report({}, 85)[1] == 1
