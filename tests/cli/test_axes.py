"""Axes as options of `run`: the same as -a, by their names."""
import re
import sqlite3

import pytest


def plan(perfkit, *args, **kw):
    """(the set of axes of the planned cases, as sorted texts)"""
    r = perfkit("run", "attention-scaling", "-d", "null", "-v", "flash", "--dry-run", "--format", "json", *args, **kw)
    assert r.status == 0, r
    return [(x["axes"]["seq_len"], x["axes"]["d_model"], x["axes"]["causal"]) for x in r.rows("plan")]


def test_an_axis_is_an_option(perfkit):
    expected = [(256, 16, False), (512, 16, False)]
    for args in (["--seq-len", "256,512", "--d-model", "16"], ["--seq_len=256:512:*2", "--d_model=16"],
                 ["-a", "seq_len=256,512", "--d-model=16"]):
        assert plan(perfkit, *args) == expected
    assert plan(perfkit, "--causal", "on", "--seq-len", "256", "--d-model", "16") == [(256, 16, True)]


def test_before_the_experiment(perfkit):
    r = perfkit("run", "--label", "selftest", "--seq-len", "256", "-dnull", "--dry-run", "-v", "flash", "--bind", "none",
                "attention-scaling", "--d-model", "16", "--format", "json")
    assert [x["axes"]["seq_len"] for x in r.rows("plan")] == [256], r


def test_it_is_measured_and_recorded_as_typed(perfkit):
    r = perfkit("run", "attention-scaling", "-d", "null", "-v", "flash", "--seq-len", "256", "--d-model", "16")
    assert r.status == 0, r
    with sqlite3.connect(perfkit.db) as db:
        (line, axes, settings), = db.execute("SELECT command_line, axes ->> 'seq_len', settings ->> 'axes' FROM v_run JOIN v_case USING (run_id)")
    assert line.endswith("--seq-len 256 --d-model 16") and axes == 256 and settings == '["seq_len=256","d_model=16"]'


def test_it_replaces_what_the_environment_says(perfkit):
    env = {"PERFKIT_AXIS": "seq_len=1024"}
    assert plan(perfkit, "--d-model", "16", "--seq-len", "256", env=env) == [(256, 16, False)]


@pytest.mark.parametrize("args, words", [
    (["--seqlen", "256"], ["there is no option --seqlen", "did you mean --seq-len?"]),
    (["--preste", "quick"], ["there is no option --preste", "did you mean --preset?"]),
    (["--busy-ns", "5"], ["there is no option --busy-ns"]),
    (["--seq-len"], ["--seq-len: its value is missing"]),
    (["--seq-len", "0"], ["axis seq_len: '0' is out of range"]),
    (["--seq-len", "1", "-a", "seq_len=2"], ["seq_len is given twice"]),
    (["--seq-len", "1", "--seq-len", "2"], ["seq_len is given twice"]),
])
def test_bad_input(perfkit, args, words):
    perfkit("run", "attention-scaling", "-d", "null", *args).refused(2, *words)


def test_an_unknown_experiment_comes_first(perfkit):
    perfkit("run", "atention-scaling", "--seq-len", "1").refused(2, "there is no experiment", "did you mean 'attention-scaling'?")


def test_help_shows_them(perfkit):
    text = perfkit("run", "attention-scaling", "--help").stdout
    assert "Axes of attention-scaling" in text and "--seq-len VALUES" in text and "--no-save" in text
    assert "--seq-len VALUES" in perfkit("run", "attention-scaling", "-h").stdout
    assert "--seq-len" not in perfkit("run", "--help").stdout.split("What to measure")[1]


def test_no_axis_has_the_name_of_an_option(perfkit):
    """An axis that has could be set with -a alone."""
    options = set(re.findall(r"--(?:\[no-\])?([a-z-]+)", perfkit("run", "--help").stdout.split("What to measure")[1]))
    options |= {o[3:] for o in options if o.startswith("no-")} | {"help"}
    for experiment in perfkit("list", "experiments", "--all", "--format", "json").rows("experiments"):
        for axis in experiment["axes"]:
            assert axis["name"].replace("_", "-") not in options, (experiment["name"], axis["name"])
