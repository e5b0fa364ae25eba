"""The README's first session, as a shell gets it. Only the builds are made up: `./bootstrap build` of the clone links the perfkit that is tested."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BINARY, PASSED_ON

README = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
SESSION = re.findall(r"^    (.+)$", README.split("## A first session")[1].split("\n## ")[0], re.M)
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
    env = {k: os.environ[k] for k in PASSED_ON if k in os.environ} | {"PERFKIT_MIN_TIME": "1ms", "PERFKIT_MAX_TIME": "5ms", "PERFKIT_THREADS": "1"}
    text = "".join(f"{line}\nprintf '\\n== %d\\n' $?\n" for line in lines)
    out = subprocess.run(["bash", "--noprofile", "--norc"], input=text, cwd=cwd, env={**env, "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=True).stdout
    parts = re.split(r"^== (\d+)\n", out, flags=re.M)
    return list(zip(lines, parts[0::2], map(int, parts[1::2])))


@pytest.mark.timed  # naps of 10 and 100 ms beside other processes
def test_the_first_session_ends_in_a_verdict(tmp_path, ceilings):
    store = tmp_path / ".local" / "share" / "perfkit" / "perfkit.db"  # of a user who has asked doctor for the ceilings
    store.parent.mkdir(parents=True)
    shutil.copy(ceilings, store)
    done = paste(SESSION, clone(tmp_path / "perfkit"), tmp_path)
    assert len(done) == len(SESSION) >= 11
    said = {line.split("#")[0].split("  ")[0].strip(): (text, status) for line, text, status in done}
    red = [line for line, text, status in done if status]
    assert red == [line for line in SESSION if "exit status 3" in line] and len(red) == 1, done
    assert said[red[0].split("#")[0].strip()][1] == 3 and "slower" in said[red[0].split("#")[0].strip()][0]
    tables = [re.sub(r"perfkit: .*\n", "", said[line][0]).strip() for line in said if re.match("perfkit (run|show) ", line)]
    assert tables[0] == tables[1] and "Variants against vanilla" in tables[0]
    built = [text for line, text, _ in done if "perfkit-base && ./bootstrap" in line]
    assert built and (tmp_path / "perfkit-base" / "build" / "perfkit").exists()
    last, text, status = done[-1]
    assert last.startswith("perfkit compare main @") and status == 0 and re.search(r"^nap .* slower", text, re.M), text


def test_the_first_table_is_narrow():
    table = re.search(r"(?:^    .*\n)+", README, re.M).group().splitlines()
    rule = next(at for at, line in enumerate(table) if re.fullmatch(" +-+", line))
    columns = re.split(" {2,}", table[rule + 1].strip())
    assert 3 <= len(columns) <= 8 and max(map(len, table)) <= 100, table
    assert all(len(re.split(" {2,}", row.strip())) == len(columns) for row in table[rule + 1:]), table


def test_the_readme_fits_two_screens():
    lines = README.splitlines()
    assert len(lines) <= 104 and max(map(len, lines)) <= 110  # with room for a row
