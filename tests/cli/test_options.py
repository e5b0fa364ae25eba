"""Options from every place they may stand in, their order, and what is refused there."""
import os
import signal
import subprocess

import pytest
from stored import query


def formats(perfkit, *args, **kw):
    """Which format `list devices` came in."""
    r = perfkit("list", "devices", *args, **kw)
    assert r.status == 0, r
    return "json" if r.stdout.startswith("{\"schema\"") else "jsonl" if r.stdout.startswith("{") else \
        "markdown" if r.stdout.startswith(("|", "#")) else "csv" if "," in r.stdout.splitlines()[0] else "table"


def test_precedence(perfkit):
    assert formats(perfkit) == "table"
    perfkit.user_config("[perfkit]\nformat = csv\n")
    assert formats(perfkit) == "csv"
    perfkit.user_config("[list]\nformat = jsonl\n[perfkit]\nformat = csv\n")
    assert formats(perfkit) == "jsonl"
    perfkit.config("[perfkit]\nformat = markdown\n")
    assert formats(perfkit) == "markdown"
    assert formats(perfkit, env={"PERFKIT_FORMAT": "json"}) == "json"
    assert formats(perfkit, "--format=table", env={"PERFKIT_FORMAT": "json"}) == "table"


def test_user_config_without_xdg(perfkit):
    path = perfkit.home / ".config" / "perfkit"
    path.mkdir(parents=True)
    (path / "config.ini").write_text("[list]\nformat=csv\n")
    assert formats(perfkit, env={"XDG_CONFIG_HOME": None}) == "csv"


@pytest.mark.parametrize("text, words", [
    ("[list]\nfromat = csv\n", ("./.perfkit.ini:2", "'fromat'", "did you mean 'format'?")),
    ("[lits]\nformat = csv\n", ("./.perfkit.ini:2", "[lits]", "did you mean 'list'?")),
    ("[list]\n\nformat = cvs\n", ("./.perfkit.ini:3: format", "did you mean 'csv'?")),
    ("format = csv\n", ("before the first section",)),
    ("[list]\ngarbage\n", ("./.perfkit.ini:2", "not understood")),
    ("[list]\noutput = x\n", ("--output",)),
    ("[list]\nformat = " + "x" * 300 + "\n", ("too long",)),
    ("[list", ("./.perfkit.ini:1",)),
])
def test_bad_config(perfkit, text, words):
    perfkit.config(text)
    perfkit("list", "devices").refused(2, *words)


def test_config_that_is_a_directory(perfkit):
    (perfkit.cwd / ".perfkit.ini").mkdir()
    perfkit("list", "devices").refused(1, "./.perfkit.ini", "Is a directory")


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/urandom", "lines"])
def test_a_config_without_an_end(perfkit, target):
    """In a stranger's directory it may be a link to a device: reading ends at the first line that is too long, or after 10,000."""
    (perfkit.cwd / "lines").write_text("[perfkit]\n" * 20000)
    (perfkit.cwd / ".perfkit.ini").symlink_to(target)
    perfkit("list", "devices", timeout=10).refused(2, "too long")


def test_a_config_that_nobody_writes(perfkit):
    os.mkfifo(perfkit.cwd / ".perfkit.ini")
    assert perfkit("list", "devices", timeout=10).status == 0


@pytest.mark.parametrize("args", [("plan", "bucket", "--tensors", "pipe"), ("list", "devices", "-o", "pipe"), ("run", "--suite", "pipe")])
def test_a_signal_ends_the_wait_for_the_other_end_of_a_pipe(perfkit, args):
    os.mkfifo(perfkit.cwd / "pipe")
    p = perfkit.start(*args)
    with pytest.raises(subprocess.TimeoutExpired):
        p.communicate(timeout=1)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=10)
    assert p.returncode == 130 and b"Interrupted system call" in err, (p.returncode, err)


def test_help_works_with_a_bad_config(perfkit):
    perfkit.config("nonsense\n")
    assert perfkit("list", "--help").status == 0


@pytest.mark.parametrize("name, value, words", [
    ("PERFKIT_FROMAT", "csv", ("PERFKIT_FROMAT", "did you mean PERFKIT_FORMAT?")),
    ("PERFKIT_FORMAT", "cvs", ("PERFKIT_FORMAT: 'cvs'", "did you mean 'csv'?")),
    ("PERFKIT_WIDTH", "many", ("PERFKIT_WIDTH: 'many' is not an integer",)),
    ("PERFKIT_QUIET", "maybe", ("PERFKIT_QUIET", "true or false")),
    ("PERFKIT_OUTPUT", "x", ("PERFKIT_OUTPUT",)),
    ("PERFKIT_BF16", "amx", ("PERFKIT_BF16: 'amx'", "onednn, widened", "unset PERFKIT_BF16")),
    ("PERFKIT_BF16", "one-dnn", ("PERFKIT_BF16: 'one-dnn'", "did you mean PERFKIT_BF16=onednn?")),
    ("PERFKIT_BLAS", "mkl", ("PERFKIT_BLAS: 'mkl'", "openblas, onednn, own")),
])
def test_bad_environment(perfkit, name, value, words):
    perfkit("list", "devices", env={name: value}).refused(2, *words)


def test_variables_that_are_no_options(perfkit):
    assert perfkit("list", "devices", env={"PERFKIT_PYTHON": "python3", "PERFKIT_FORMAT": ""}).status == 0


@pytest.mark.parametrize("args, words", [
    (("--width=-2",), ("--width: -2 is out of range", "from -1 to 10000")),
    (("--width=1e3",), ("not an integer",)),
    (("--width",), ("its value is missing",)),
    (("--color=sometimes",), ("auto, always, never",)),
    (("--quiet=yes",), ("--quiet",)),
    (("--format=xml",), ("table, markdown, csv, json, jsonl",)),
])
def test_bad_values(perfkit, args, words):
    perfkit("list", "devices", *args).refused(2, *words)


def test_switches_can_be_negated(perfkit):
    assert perfkit("list", "devices", "--quiet", "--no-quiet").status == 0


def test_a_file_in_the_working_directory_names_no_code(perfkit):
    perfkit.config("[exec]\nprepare = touch owned\n")
    perfkit("exec", "--no-save", "--runs=1", "--", "true").refused(2, "./.perfkit.ini:2", "prepare", "may belong to anyone")
    assert not (perfkit.cwd / "owned").exists()
    perfkit.config("[perfkit]\npeer = ./evil.py\n")
    perfkit("list", "devices").refused(2, "./.perfkit.ini:2", "peer")


@pytest.mark.parametrize("env, folder", [({"XDG_CONFIG_HOME": "."}, "."), ({"XDG_CONFIG_HOME": None, "HOME": "."}, ".config")])
def test_a_users_file_is_not_in_the_working_directory(perfkit, env, folder):
    """A relative path would make a stranger's file the user's own, which may name code."""
    (perfkit.cwd / folder / "perfkit").mkdir(parents=True)
    (perfkit.cwd / folder / "perfkit" / "config.ini").write_text("[exec]\nprepare = touch owned\n")
    assert perfkit("exec", "--no-save", "--runs=1", "--", "true", env=env).status == 0
    assert not (perfkit.cwd / "owned").exists()
    perfkit("list", "runs", env={"PERFKIT_DB": None, "XDG_DATA_HOME": None, "HOME": "."}).refused(2, "HOME is an absolute path")


def test_a_file_in_the_working_directory_removes_no_runs(perfkit):
    assert perfkit("exec", "-r", "1", "--no-counters", "--", "true").status == 0
    perfkit.config("[db]\nkeep = 0\n")
    perfkit("db", "prune").refused(2, "./.perfkit.ini:2", "'keep'", "may belong to anyone")
    assert query(perfkit, "SELECT count(*) FROM run") == [(1,)]
