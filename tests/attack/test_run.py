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


def attack(tmp_path, broken, *options):
    """(exit status, output) of an attack on a perfkit with the lines `broken`."""
    (tmp_path / "build").mkdir()
    program = tmp_path / "build" / "perfkit"
    program.write_text(SCRIPT % (broken, BINARY))
    program.chmod(0o755)
    r = subprocess.run([sys.executable, HERE / "run", "--build", tmp_path / "build", "--keep", tmp_path, "--seed", "1", *options], capture_output=True, text=True,
                       timeout=300, check=False)
    return r.returncode, r.stdout + r.stderr


@pytest.mark.parametrize("only, trials, broken, words", [
    ("store: values", 2, '[ "$1" = show ] && kill -SEGV $$', "exit status -11"),
    ("store: structure", 2, '[ "$1" = compare ] && echo x >> canaries/one', "another file was changed"),
    ("store: bytes", 1, '[ "$1 $2" = "db merge" ] && sleep 60', "did not end within 10 s"),
    ("hostile command", 1, '[ "$1" != db ] && setsid sleep 60 &', "live on"),
    ("kill parent", 3, '[ "$1" = db ] && touch "${PERFKIT_DB}-tmp"', "files left beside the store"),
    ("kill parent", 4, '[ "$1 $2" = "db check" ] && python3 -c "%s"' % LOSES_SLICES, "slices are lost"),
    ("signal while printing", 2, '[ "$1" != run ] && { trap "" INT TERM HUP QUIT; sleep 60; }', "did not end within"),
])
def test_a_broken_promise_is_a_failure(tmp_path, only, trials, broken, words):
    status, said = attack(tmp_path, broken, "--only", only, "--trials", str(trials))
    assert status == 1 and re.search("FAILED %s, seed [12345].*%s" % (only, words), said), said


def test_a_failed_trial_can_be_repeated(tmp_path):
    """What is printed is a command that fails with the same words; the folder is still there."""
    status, said = attack(tmp_path, '[ "$1" = show ] && exit 42', "--only", "store: values", "--trials", "2")
    again = re.search("again: (.*)", said).group(1)
    r = subprocess.run(again, shell=True, capture_output=True, text=True, timeout=300, check=False)
    assert status == 1 and r.returncode == 1 and "exit status 42" in r.stdout, r
    kept = re.search("what they left: (.*)", said).group(1)
    assert any(path.name.startswith("store:-values") for path in pathlib.Path(kept).iterdir()), said
