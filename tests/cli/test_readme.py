"""The README's first session and the two that it leads to, as a shell gets them. Only the builds are made up: `./bootstrap build` of the clone links
the perfkit that is tested."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BINARY, PASSED_ON

SOURCES = pathlib.Path(__file__).parents[2]
README = (SOURCES / "README.md").read_text()


def lines_of(text, section):
    """What a section has a reader type."""
    return re.findall(r"^    (.+)$", text.split(f"\n## {section}\n")[1].split("\n## ")[0], re.M)


SESSION = lines_of(README, "A first session")
TWO_COMMITS = lines_of((SOURCES / "docs" / "gate.md").read_text(), "Two commits")
BASELINE = lines_of((SOURCES / "docs" / "comparing.md").read_text(), "A first baseline")
BOOTSTRAP = f'#!/bin/sh\n[ "$1" = build ] && mkdir -p build && ln -sf {BINARY} build/perfkit && echo "built $2"\n'


def git(folder, *args):
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True)


def clone(folder):
    folder.mkdir()
    git(folder, "init")
    for text in ("first", "second"):
        (folder / "bootstrap").write_text(BOOTSTRAP + f"# {text}\n")
        (folder / "bootstrap").chmod(0o755)
        git(folder, "add", ".")
        git(folder, "commit", "-m", text)
    return folder


def paste(lines, cwd, home):
    """What each line printed, and its exit status, all in one shell."""
    short = {"PERFKIT_MIN_TIME": "1ms", "PERFKIT_MAX_TIME": "5ms", "PERFKIT_MIN_SAMPLES": "3", "PERFKIT_THREADS": "1",
             "PERFKIT_BLAS": "own"}  # loading oneDNN is a quarter of what a short process takes
    env = {k: os.environ[k] for k in PASSED_ON if k in os.environ} | short
    text = "".join(f"{line}\nprintf '\\n== %d\\n' $?\n" for line in lines)
    out = subprocess.run(["bash", "--noprofile", "--norc"], input=text, cwd=cwd, env={**env, "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=True).stdout
    parts = re.split(r"^== (\d+)\n", out, flags=re.M)
    return list(zip(lines, parts[0::2], map(int, parts[1::2])))


def said(done, start):
    """What the one line that begins so printed."""
    (text,) = (text for line, text, _ in done if line.startswith(start))
    return text


@pytest.mark.timed  # naps of 10 and 100 ms beside other processes
def test_the_first_session_ends_in_a_verdict(tmp_path, ceilings):
    store = tmp_path / ".local" / "share" / "perfkit" / "perfkit.db"  # of a user who has asked doctor for the ceilings
    store.parent.mkdir(parents=True)
    shutil.copy(ceilings, store)
    assert len(SESSION) == 6 and all("#" in line for line in SESSION)
    folder = clone(tmp_path / "perfkit")
    done = paste(SESSION + TWO_COMMITS + BASELINE, folder, tmp_path)
    assert len(done) == len(SESSION) + 7
    assert [(line, status) for line, _, status in done if status] == [(SESSION[-1], 3)] and "exit status 3" in SESSION[-1], done
    assert "slower" in said(done, "perfkit gate --a 'sleep")
    run, show = (re.sub(r"perfkit: .*\n", "", said(done, f"perfkit {command} ")).strip() for command in ("run", "show"))
    assert run == show and "Variants against vanilla" in run
    assert "vanilla" in said(done, "perfkit compare --by variant") and (folder / "report.html").exists()
    assert (tmp_path / "perfkit-base" / "build" / "perfkit").exists()
    assert re.search(r"^nap .* slower", said(done, "perfkit compare main @"), re.M), done[-1]


def test_the_first_table_is_narrow():
    table = re.search(r"(?:^    .*\n)+", README, re.M).group().splitlines()
    rule = next(at for at, line in enumerate(table) if re.fullmatch(" +-+", line))
    columns = re.split(" {2,}", table[rule + 1].strip())
    assert 3 <= len(columns) <= 8 and max(map(len, table)) <= 100, table
    assert all(len(re.split(" {2,}", row.strip())) == len(columns) for row in table[rule + 1:]), table


def test_the_readme_fits_two_screens():
    lines = README.splitlines()
    assert len(lines) <= 104 and max(map(len, lines)) <= 110  # with room for a row
