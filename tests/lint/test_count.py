""".ci/count.py: nothing that failed or was skipped is counted as passed."""
import importlib.util
import json
import pathlib

import pytest

SPEC = importlib.util.spec_from_file_location("count", pathlib.Path(__file__).parents[2] / ".ci" / "count.py")
count = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(count)

CMOCKA = "[==========] 3 test(s) run.\n[  PASSED  ] 2 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] name\n"


@pytest.mark.parametrize("result,stdout,stderr,passed,failed,skipped", [
    ("OK", "", "", 1, 0, 0),
    ("FAIL", "", "", 0, 1, 0),
    ("TIMEOUT", "", "", 0, 1, 0),
    ("ERROR", "", "", 0, 1, 0),
    ("UNEXPECTEDPASS", "", "", 0, 1, 0),
    ("SKIP", "", "", 0, 0, 1),
    ("OK", "[==========] 3 test(s) run.\n", "[  PASSED  ] 3 test(s).\n", 3, 0, 0),
    ("OK", "[  PASSED  ] 3 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n", "", 3, 0, 1),
    ("FAIL", CMOCKA, "", 2, 1, 0),
    ("FAIL", "[  PASSED  ] 3 test(s).\n", "LeakSanitizer: ...", 3, 1, 0),
    ("TIMEOUT", "[  PASSED  ] 3 test(s).\n", "", 3, 1, 0),
    ("OK", "....\n27 passed, 2 skipped in 44.03s\n", "", 27, 0, 2),
    ("OK", "3 passed, 1 xfailed, 4 warnings in 0.10s\n", "", 3, 0, 1),
    ("FAIL", "== 1 failed, 2 passed, 1 error in 1.00s ==\n", "", 2, 2, 0),
    ("SKIP", "[  PASSED  ] 3 test(s).\n", "", 0, 0, 1),
])
def test_one_test(result, stdout, stderr, passed, failed, skipped):
    got = count.count_test({"result": result, "stdout": stdout, "stderr": stderr})
    assert (got["passed"], got["failed"], got["skipped"]) == (passed, failed, skipped)


def run(tmp_path, capsys, steps, **logs):
    (tmp_path / "steps").write_text("".join(s + "\n" for s in steps))
    for name, tests in logs.items():
        (tmp_path / (name + ".json")).write_text("".join(json.dumps({"name": "t", "result": r}) + "\n" for r in tests))
    status = count.main(str(tmp_path))
    *before, last = capsys.readouterr().out.splitlines()
    return status, last, before[-1]


def test_all_good(tmp_path, capsys):
    assert run(tmp_path, capsys, ["OK asan: build"], plain=["OK", "OK"]) == (0, "3 passed, 0 failed", "")


def test_a_failed_test_is_counted_once(tmp_path, capsys):
    assert run(tmp_path, capsys, ["FAIL plain: exit status 1"], plain=["OK", "FAIL"])[:2] == (1, "1 passed, 1 failed")


def test_an_exit_status_that_no_test_explains_is_a_failure(tmp_path, capsys):
    assert run(tmp_path, capsys, ["FAIL plain: exit status 1"], plain=["OK"])[:2] == (1, "1 passed, 1 failed")


def test_skips_are_apart(tmp_path, capsys):
    assert run(tmp_path, capsys, ["SKIP clang: not installed"], plain=["OK", "SKIP"]) == (0, "1 passed, 0 failed", "2 skipped")


def test_nothing_is_no_success(tmp_path, capsys):
    assert run(tmp_path, capsys, [])[:2] == (1, "0 passed, 0 failed")
