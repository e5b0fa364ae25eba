"""Working directories of other people: no program runs because a file in one of them says so."""
import json
import os
import shutil
import stat
import subprocess

import pytest
from stored import query

GIT = dict(os.environ, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_GLOBAL="/dev/null")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")


def git(folder, *args):
    subprocess.run(["git", "-C", str(folder), *args], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=GIT)


@pytest.fixture
def repository(perfkit, tmp_path):
    """A repository in the working directory, and a program that leaves a file when it is run."""
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(trap.stat().st_mode | stat.S_IXUSR)
    git(perfkit.cwd, "init", "-q", "-b", "main")
    (perfkit.cwd / "data").write_text("one\n")
    (perfkit.cwd / ".gitattributes").write_text("data filter=evil diff=evil\n")
    git(perfkit.cwd, "add", ".")
    git(perfkit.cwd, "commit", "-qm", "first")
    return perfkit.cwd, trap


def recorded(perfkit):
    done = perfkit("exec", "-r", "1", "--", "true")
    assert done.status == 0, done
    return query(perfkit, "SELECT git_commit, git_dirty, git_branch FROM v_run ORDER BY run_id DESC LIMIT 1")[0]


HOSTILE = {
    "clean filter": ("filter.evil.clean",),
    "filter process": ("filter.evil.process", "filter.evil.required"),
    "odd name of a filter": ("filter.a=b.clean",),
    "monitor": ("core.fsmonitor",),
    "pager": ("core.pager", "pager.status", "pager.rev-parse"),
    "diff": ("diff.external", "diff.evil.command", "diff.evil.textconv"),
    "commands": ("core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "core.askPass", "core.editor"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_repository_runs_nothing(perfkit, tmp_path, repository, name):
    folder, trap = repository
    if name == "odd name of a filter":
        (folder / ".gitattributes").write_text('data "filter=a=b c"\ndata filter=a=b\n')
    for key in HOSTILE[name]:
        git(folder, "config", key, "true" if key.endswith("required") else str(trap))
    os.utime(folder / "data", (1, 1))  # the index says that it may have changed, so git reads it
    assert len(recorded(perfkit)[0]) == 40
    perfkit("show", "commit:HEAD")
    perfkit("compare", "merge-base:main", "@")
    assert not (tmp_path / "ran").exists()


def test_filters_that_git_is_too_slow_to_name_are_not_run(perfkit, tmp_path, repository):
    """On a cold disk, the first reading of the configuration can exceed the time limit that the second one keeps."""
    folder, trap = repository
    git(folder, "config", "filter.evil.clean", str(trap))
    os.utime(folder / "data", (1, 1))
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "git"
    slow.write_text(f'#!/bin/sh\ncase " $* " in *" config "*) sleep 3 ;; esac\nexec {shutil.which("git")} "$@"\n')
    slow.chmod(0o755)
    done = perfkit("exec", "-r", "1", "--", "true", env={"PATH": f"{slow.parent}:{os.environ['PATH']}"})
    assert done.status == 0, done
    assert query(perfkit, "SELECT git_dirty FROM v_run") == [(None,)]
    assert not (tmp_path / "ran").exists()


def test_hooks_of_a_repository_are_not_run(perfkit, tmp_path, repository):
    folder, trap = repository
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        shutil.copy(trap, folder / ".git" / "hooks" / hook)
    git(folder, "config", "core.hooksPath", str(folder / ".git" / "hooks"))
    os.utime(folder / "data", (1, 1))
    recorded(perfkit)
    assert not (tmp_path / "ran").exists()


def test_a_log_in_the_git_directory_is_no_link(perfkit, tmp_path, repository):
    (tmp_path / "precious").write_text("data")
    (perfkit.cwd / ".git" / "perfkit-bisect").mkdir()
    (perfkit.cwd / ".git" / "perfkit-bisect" / "git.log").symlink_to(tmp_path / "precious")
    assert perfkit("bisect", "--reset").status == 0
    assert (tmp_path / "precious").read_text() == "data" and not (perfkit.cwd / ".git" / "perfkit-bisect").exists()


def test_missing_objects_are_not_fetched(perfkit, tmp_path, repository):
    """A partial clone asks its remote for what is missing, by a program that its configuration names."""
    folder, trap = repository
    for key, value in {"remote.origin.url": f"ext::{trap}", "remote.origin.promisor": "true", "remote.origin.partialclonefilter": "blob:none",
                       "extensions.partialClone": "origin", "protocol.ext.allow": "always", "core.repositoryformatversion": "1"}.items():
        git(folder, "config", key, value)
    for one in (folder / ".git" / "objects").glob("[0-9a-f][0-9a-f]/*"):
        one.unlink()
    perfkit("exec", "-r", "1", "--", "true")
    assert not (tmp_path / "ran").exists()


def test_what_a_repository_says_is_still_found(perfkit, repository):
    folder, _ = repository
    head = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert recorded(perfkit) == (head, 0, "main")
    os.utime(folder / "data", (1, 1))
    assert recorded(perfkit) == (head, 0, "main"), "only its time has changed"
    (folder / "data").write_text("two\n")
    assert recorded(perfkit) == (head, 1, "main")
    env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    assert perfkit("exec", "-r", "1", "--", "true", env=env).status == 0
    assert query(perfkit, "SELECT git_dirty FROM v_run ORDER BY run_id DESC LIMIT 1") == [(1,)]


def test_python_takes_no_module_from_the_working_directory(perfkit, tmp_path):
    for name in ("numpy", "site", "importlib", "json"):
        (perfkit.cwd / f"{name}.py").write_text(f"__version__ = '9.9'\nopen({str(tmp_path / 'ran')!r}, 'w').close()\n")
    for env in ({}, {"PYTHONPATH": str(perfkit.cwd)}):
        rows = json.loads(perfkit("doctor", "--format", "json", env=env | {"PERFKIT_MPI": "/nowhere"}).stdout)["tables"]["doctor"]["rows"]
        assert "9.9" not in next(row["found"] for row in rows if row["name"] == "numpy")
        assert not (tmp_path / "ran").exists()
