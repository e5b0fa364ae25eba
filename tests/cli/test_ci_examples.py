"""docs/ci: what the examples for CI servers say is done, line by line, in a repository made for it."""
import os
import pathlib
import re
import subprocess

import junit
import pytest
from conftest import BINARY, PASSED_ON

CI = pathlib.Path(__file__).parents[2] / "docs" / "ci"
MAKEFILE = "solve: solve.sh\n\tcp solve.sh solve\n\tchmod +x solve\n"


def example(name):
    return pytest.importorskip("yaml").safe_load((CI / name).read_text())


def git(folder, *args):
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """A clone of a project on a branch that left main one commit ago; what it builds reports its own time."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init")

    def commit(folder, ns, message):
        metric = '{"type":"metric","name":"solve_ns","unit":"ns","direction":"lower","class":"time"}'
        samples = '{"type":"samples","metric":"solve_ns","phase":"steady","ordinal":0,"values":[%d]}' % ns
        (folder / "solve.sh").write_text(f"#!/bin/sh\necho '{metric}' >&$PERFKIT_WIRE_FD\necho '{samples}' >&$PERFKIT_WIRE_FD\n")
        (folder / "Makefile").write_text(MAKEFILE)
        (folder / "perf.ini").write_text((CI / "perf.ini").read_text())
        git(folder, "add", ".")
        git(folder, "commit", "-m", message)

    commit(origin, 1000000, "first")
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    git(clone, "checkout", "-q", "-b", "feature")
    commit(clone, 1060000, "slower")
    commit(origin, 900000, "main goes on")
    git(clone, "fetch", "-q")
    return clone


def environment(folder, **more):
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "perfkit"
    if not program.exists():
        program.symlink_to(BINARY)
    env = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
    return {**env, "HOME": str(folder), "PERFKIT_DB": str(folder / "perfkit.db"), "PATH": f"{folder / 'bin'}:{env['PATH']}", **more}


def shell(text, cwd, env):
    return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text], cwd=cwd, env=env, capture_output=True, text=True,
                          timeout=120)


def test_github(checkout, tmp_path):
    workflow = example("github.yml")
    steps = workflow["jobs"]["gate"]["steps"]
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    env = environment(tmp_path, GITHUB_ACTIONS="true", GITHUB_BASE_REF="main", **{k: str(v) for k, v in files.items()})
    outputs, status, said = {}, 0, ""
    for step in steps:
        if "run" not in step or (status and step.get("if") != "always()"):
            continue
        line = re.sub(r"\$\{\{ steps\.gate\.outputs\.(\w+) \}\}", lambda m: outputs[m[1]], step["run"])
        done = shell(line, checkout, env)
        said = done.stdout
        if step.get("id") == "gate":
            status = done.returncode
            assert status == 3, done  # 6 % slower than where it left main, which has since become faster
            outputs = dict(o.split("=") for o in files["GITHUB_OUTPUT"].read_text().splitlines())
            assert re.search(r"^::error title=perfkit gate perf%3A slower::\[solve\] solve_ns of solve .*: slower, \+6.0 %25", done.stderr, re.M)
        else:
            assert done.returncode == 0, done
    assert said == "verdict: slower, 2 of 2 rows are slower\n"
    assert "| Verdict |" in files["GITHUB_STEP_SUMMARY"].read_text() and "slower" in files["GITHUB_STEP_SUMMARY"].read_text()
    uploaded = steps[-1]["with"]["path"].split()
    assert uploaded == ["gate.xml", "gate.md"] and all((checkout / path).exists() for path in uploaded)
    assert workflow[True] == "pull_request"  # YAML 1.1 reads `on` as true


def test_gitlab(checkout, tmp_path):
    job = example("gitlab.yml")["perf"]
    env = environment(tmp_path, CI_MERGE_REQUEST_DIFF_BASE_SHA=git(checkout, "merge-base", "HEAD", "origin/main"))
    *before, gate = [shell(line, checkout, env) for line in job["script"]]
    assert all(step.returncode == 0 for step in before), before
    assert gate.returncode == 3 and "suite perf is slower" in gate.stderr, gate
    assert not any((tmp_path / name).exists() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"))
    report = junit.read(checkout / job["artifacts"]["reports"]["junit"])
    assert [t.get("classname") for t in report.iter("testcase")] == [f"perfkit.{entry}.solve_ns" for entry in ("solve", "solve large")] and report.find(".//failure") is not None
    assert all((checkout / path).exists() for path in job["artifacts"]["paths"]) and job["artifacts"]["when"] == "always"
