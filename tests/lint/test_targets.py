"""Which files the tests of some suites need."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / ".ci"))
import targets  # noqa: E402

TESTS = [("arena", ["x:unit"], ["a@exe"]), ("shim", ["x:unit", "x:cudashim"], ["b@exe", "c@cus"]), ("rules", ["x:lint"], [])]


@pytest.mark.parametrize("options,files", [
    ([], ["a", "b", "lib/c.c"]),
    (["--suite", "unit"], ["a", "b", "lib/c.c"]),
    (["--suite", "unit", "--no-suite", "cudashim"], ["a"]),
    (["--no-suite", "unit"], []),
    (["--suite", "cudashim", "--suite", "lint"], ["b", "lib/c.c"]),
    (["--suite=unit", "--num-processes", "3", "--list", "-v", "--no-suite=cudashim"], ["a"]),
])
def test_what_the_chosen_tests_need(tmp_path, capsys, options, files):
    info = tmp_path / "meson-info"
    info.mkdir()
    (info / "intro-tests.json").write_text(json.dumps([{"name": n, "suite": s, "depends": d} for n, s, d in TESTS]))
    built = {"a@exe": "a", "b@exe": "b", "c@cus": "lib/c.c", "not tested@exe": "d"}
    (info / "intro-targets.json").write_text(json.dumps([{"id": i, "filename": [str(tmp_path / f)]} for i, f in built.items()]))
    targets.main([str(tmp_path), *options])
    assert capsys.readouterr().out.split() == files
