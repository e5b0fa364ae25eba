"""The attacks can fail: each is made on a perfkit that breaks one promise, and has to say so."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BINARY = os.environ.get("PERFKIT_BIN", str(HERE.parents[1] / "build" / "perfkit"))

# A shell script that is perfkit, but for what is put at its begin.
SCRIPT = """#!/bin/sh
%s
exec %s "$@"
"""

LOSES_SLICES = "import os, sqlite3; db = sqlite3.connect(os.environ['PERFKIT_DB']); db.execute('PRAGMA foreign_keys = ON'); db.execute('DELETE FROM slice'); db.commit()"


def attack(folder, broken, *options):
    """(exit status, output) of an attack on a perfkit with the lines `broken`."""
    (folder / "build").mkdir()
    program = folder / "build" / "perfkit"
    program.write_text(SCRIPT % (broken, BINARY))
    program.chmod(0o755)
    r = subprocess.run([sys.executable, HERE / "run", "--build", folder / "build", "--keep", folder, "--seed", "1", *options], capture_output=True, text=True,
                       timeout=300, check=False)
    return r.returncode, r.stdout + r.stderr


# What perfkit breaks in the trials of an attack, and what is said of it.
BROKEN = {
    "store: values": ('[ "$1" = show ] && kill -SEGV $$', "exit status -11"),
    "store: structure": ('[ "$1" = compare ] && echo x >> canaries/one', "another file was changed"),
    "hostile command": ('[ "$1" != db ] && setsid sleep 60 &', "live on"),
    "signal while printing": ('[ "$1" != run ] && { trap "" INT TERM HUP QUIT; sleep 60; }', "did not end within"),
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """All of them in one call, which makes the stores that attacks begin with only once."""
    broken = "\n".join('case "$ATTACK_MARK" in *-%s-[0-9]*) %s ;; esac' % (only.replace(" ", "-"), does) for only, (does, _) in BROKEN.items())
    return attack(tmp_path_factory.mktemp("attacked"), broken, *[word for only in BROKEN for word in ("--only", only)], "--trials", "1")


def fails(result, only, words):
    status, said = result
    assert status == 1 and re.search("FAILED %s, seed [12345].*%s" % (only, words), said), said


@pytest.mark.parametrize("only", BROKEN)
def test_a_broken_promise_is_a_failure(attacked, only):
    fails(attacked, only, BROKEN[only][1])


@pytest.mark.parametrize("trials, broken, words", [
    (3, '[ "$1" = db ] && touch "${PERFKIT_DB}-tmp"', "files left beside the store"),
    (4, '[ "$1 $2" = "db check" ] && python3 -I -S -c "%s"' % LOSES_SLICES, "slices are lost"),
])
def test_a_kill_that_leaves_something_is_a_failure(tmp_path, trials, broken, words):
    fails(attack(tmp_path, broken, "--only", "kill parent", "--trials", str(trials)), "kill parent", words)


def test_a_failed_trial_can_be_repeated(attacked):
    """What is printed is a command that fails with the same words; the folder is still there."""
    _, said = attacked
    again = re.search("FAILED store: values,.*\n +again: (.*)", said).group(1)
    r = subprocess.run(again, shell=True, capture_output=True, text=True, timeout=300, check=False)
    assert r.returncode == 1 and "exit status -11" in r.stdout, r
    kept = re.search("what they left: (.*)", said).group(1)
    assert any(path.name.startswith("store:-values") for path in pathlib.Path(kept).iterdir()), said
