"""bisect: the first slower commit of small repositories whose programs report made-up times."""
import os
import signal
import subprocess
import time

import pytest

SOLVE = """#!/bin/sh
# {name}
turn=0; [ ! -e turn ] || read turn < turn; turn=$((turn + 1)); echo $turn > turn
echo '{{"type":"metric","name":"x_ns","unit":"ns","direction":"lower"}}' >&$PERFKIT_WIRE_FD
echo '{{"type":"samples","metric":"x_ns","values":['$(({ns} + $turn * 7919 % 1000))']}}' >&$PERFKIT_WIRE_FD
"""
BUILD = """#!/bin/sh
echo built >> "$BUILDS"
[ ! -e "$BUILDS.hold" ] || sleep 60
grep -q broken solve.in && { echo no such header; exit 7; }
cp solve.in solve && chmod +x solve
"""
OPTIONS = ("--side", "./solve", "--gate", "--max-pairs 8")


def data(text):
    return f"data {len(text)}\n{text}\n"


class Repository:
    """Commits, oldest first, each of a time in ns or "broken", which does not build; their names are c1, c2 ..."""

    def __init__(self, perfkit, *commits, subjects={}, more={}):
        self.perfkit, self.folder = perfkit, perfkit.cwd
        self.builds = perfkit.root / "builds"
        self.git("init", "-q", "-b", "main", ".")
        stream = ""
        for i, ns in enumerate(commits):
            files = {"644 inline .gitignore": "solve\nturn\n", "755 inline build.sh": BUILD, "644 inline solve.in": SOLVE.format(name=f"{i} {ns}", ns=ns), **more}
            stream += f"commit refs/heads/main\ncommitter x <x@y> {10**9 + i} +0000\n" + data(subjects.get(i + 1, f"change {i + 1}")) + "".join(
                f"M {file}\n" + data(text) for file, text in files.items()) + f"reset refs/tags/c{i + 1}\nfrom refs/heads/main\n"
        self.git("fast-import", "--quiet", input=stream)
        self.git("reset", "-q", "--hard")

    def git(self, *args, **kw):
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *args], cwd=self.folder, check=True, capture_output=True, text=True, **kw,
                              env={"PATH": os.environ["PATH"], "HOME": str(self.perfkit.home), "GIT_CONFIG_NOSYSTEM": "1"}).stdout.strip()

    def bisect(self, *args, **kw):
        return self.perfkit("bisect", *args, env={"BUILDS": self.builds}, **kw)

    def search(self, search, *args):
        return self.bisect(search, *OPTIONS, *args, "--", "./build.sh")

    def is_clean(self):
        return not self.git("status", "--porcelain") and len(self.git("worktree", "list").splitlines()) == 1 and not (
            self.folder / ".git" / "perfkit-bisect").exists()


FAST, SLOW = 1_000_000, 1_200_000


SUBJECTS = {1: "change 1", 2: 'Revert "x is the first bad commit"', 3: "we had only 'skip'ped commits left to test", 4: "x is the first bad commit",
            5: "There are only 'skip'ped commits left to test", 6: "y is the first bad commit", 7: "change 7"}


def test_the_first_slower_commit_is_found(perfkit):
    """Its subjects are not taken for answers of git."""
    repository = Repository(perfkit, FAST, FAST + 1000, FAST, FAST, SLOW, SLOW, SLOW - 500, subjects=SUBJECTS)
    r = repository.search("c1..c7", "--format", "json")
    rows = r.rows("bisect")
    assert r.status == 0 and 2 <= len(rows) <= 3, r
    decisions = {n: x["decision"] for x in rows for n, subject in SUBJECTS.items() if subject == x["subject"]}
    assert all(decision == ("bad" if n >= 5 else "good") for n, decision in decisions.items()), r
    assert {4, 5} <= set(decisions)
    assert all(abs(x["ratio"] - (1.2 if x["decision"] == "bad" else 1)) < 0.01 for x in rows)
    note, = r.json()["tables"]["bisect"]["notes"]
    assert note == f"{repository.git('rev-parse', 'c5')} is the first slower commit: {SUBJECTS[5]}"
    assert repository.is_clean() and repository.git("log", "-1", "--format=%s") == "change 7"


def test_the_table_fits_80_columns(perfkit):
    repository = Repository(perfkit, FAST, FAST, SLOW)
    r = repository.search("c1..c3", "--width", "80")
    hashed = repository.git("rev-parse", "c2")
    assert r.status == 0 and max(map(len, r.stdout.splitlines())) <= 80, r
    assert f"1  {hashed[:12]}  change 2  good" in r.stdout and hashed not in r.stdout and "-0.0 %" not in r.stdout + r.stderr, r


def test_a_commit_that_does_not_build_is_skipped(perfkit):
    repository = Repository(perfkit, FAST, FAST, "broken", FAST, SLOW)
    r = repository.search("c1..c5")
    assert r.status == 0 and "is the first slower commit: change 5" in r.stdout and "change 3" in r.stdout, r
    assert "skip" in r.stdout and "the build ended with 7: no such header" in r.stdout, r


def test_commits_that_do_not_build_can_hide_it(perfkit):
    repository = Repository(perfkit, FAST, "broken", "broken", SLOW)
    r = repository.search("c1..c4")
    assert r.status == 4 and "among commits that could not be judged" in r.error()["what"] and r.stdout.count("skip") >= 2, r
    assert repository.is_clean()


def test_a_range_whose_end_is_not_slower(perfkit):
    repository = Repository(perfkit, SLOW, FAST, FAST)
    r = repository.search("c1..c3")
    assert r.status == 6 and "is not slower than" in r.error()["what"] and "new / base is 0.83" in r.error()["why"], r
    assert repository.is_clean()


def test_a_range_that_the_gate_cannot_judge(perfkit):
    repository = Repository(perfkit, -500, -500, -500)
    r = repository.search("c1..c3")
    assert r.status == 4 and "could not judge whether" in r.error()["what"] and "nan" not in r.error()["why"], r
    assert repository.is_clean()


def test_the_commit_is_named_beside_a_file(perfkit):
    repository = Repository(perfkit, FAST, SLOW)
    r = repository.search("c1..c2", "-o", perfkit.root / "steps.csv", "--format", "csv")
    assert r.status == 0 and f"{repository.git('rev-parse', 'c2')} is the first slower commit: change 2" in r.stderr, r


def test_a_search_killed_at_its_start_is_begun_again(perfkit):
    repository = Repository(perfkit, FAST, SLOW)
    (repository.folder / ".git" / "perfkit-bisect").mkdir()
    (repository.folder / ".git" / "perfkit-bisect" / "git.log").touch()
    r = repository.search("c1..c2")
    assert r.status == 0 and "first slower commit" in r.stdout and repository.is_clean(), r


@pytest.mark.parametrize("commits, log", [(("broken", SLOW), "no such header"), ((FAST, "broken"), "no such header")])
def test_ends_that_do_not_build(perfkit, commits, log):
    repository = Repository(perfkit, *commits)
    repository.search("c1..c2").refused(1, "the build ended with 7", log, "both ends of the range must build")
    assert repository.is_clean()


def test_an_interrupted_search_goes_on(perfkit):
    repository = Repository(perfkit, *([FAST] * 4 + [SLOW] * 5))
    p = perfkit.start("bisect", "c1..c9", *OPTIONS, "--", "./build.sh", env={"BUILDS": repository.builds})
    for line in p.stderr:
        if b": good" in line or b": bad" in line:
            break
        if b"is slower than" in line:
            first = True
    (repository.builds.parent / "builds.hold").touch()
    built = 3
    while len(repository.builds.read_text().split()) <= built:
        time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=60)
    assert first and p.returncode == 130 and b"perfkit bisect --resume" in err, err
    (repository.builds.parent / "builds.hold").unlink()
    repository.search("c1..c9").refused(2, "a search is under way", "--resume", "--reset")
    built = len(repository.builds.read_text().split())
    r = repository.bisect("--resume", "--format", "json")
    rows = r.rows("bisect")
    assert r.status == 0 and "change 5" in r.json()["tables"]["bisect"]["notes"][0], r
    assert len(repository.builds.read_text().split()) == built + len(rows) - 1  # what was decided is not measured again
    assert repository.is_clean()
    repository.bisect("--resume").refused(2, "there is no search to resume")


def test_a_search_is_given_up(perfkit):
    repository = Repository(perfkit, FAST, FAST, SLOW)
    (repository.builds.parent / "builds.hold").touch()
    p = perfkit.start("bisect", "c1..c3", *OPTIONS, "--", "./build.sh", env={"BUILDS": repository.builds})
    while not repository.builds.exists():
        time.sleep(0.02)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    assert p.returncode == 130 and not repository.is_clean()
    assert repository.bisect("--reset").status == 0 and repository.is_clean()


def test_uncommitted_changes_are_left_alone(perfkit):
    repository = Repository(perfkit, FAST, FAST, SLOW)
    changed = (repository.folder / "solve.in").read_text() + "# changed\n"
    (repository.folder / "solve.in").write_text(changed)
    r = repository.search("c1..c3")
    assert r.status == 0 and "is the first slower commit: change 3" in r.stdout and "uncommitted changes are not measured" in r.stderr, r
    assert (repository.folder / "solve.in").read_text() == changed


WRONG = [
    ((), ("no range is given",)),
    (("c1..c2", "--", "./build.sh"), ("--side is missing",)),
    (("c1..c2", "--side", "./solve"), ("no BUILD is given",)),
    (("c1", *OPTIONS, "--", "./build.sh"), ("'c1' is not a range",)),
    (("c1...c2", *OPTIONS, "--", "./build.sh"), ("'c1...c2' is not a range",)),
    (("c1..c9", *OPTIONS, "--", "./build.sh"), ("there is no commit 'c9'",)),
    (("..c2", *OPTIONS, "--", "./build.sh"), ("there is no commit ''",)),
    (("c2..c1", *OPTIONS, "--", "./build.sh"), ("c2 is not an ancestor of c1",)),
    (("c1..c1", *OPTIONS, "--", "./build.sh"), ("c1 is not an ancestor of c1",)),
    (("c1..c2", "--side", "./solve | cat", "--", "./build.sh"), ("--side",)),
    (("--resume", "c1..c2"), ("--resume and --reset take no other options or arguments",)),
    (("--resume", "--reset"), ("--resume and --reset take no other options or arguments",)),
    (("--resume",), ("there is no search to resume",)),
]


def test_bad_input(perfkit):
    repository = Repository(perfkit, FAST, SLOW)
    for args, words in WRONG:
        repository.bisect(*args).refused(2, *words)
    assert repository.is_clean()


def test_outside_a_repository(perfkit):
    perfkit("bisect", "a..b", *OPTIONS, "--", "true", env={"GIT_CEILING_DIRECTORIES": perfkit.root}).refused(2, "not in a git repository")


def test_options_that_a_gate_does_not_have(perfkit):
    repository = Repository(perfkit, FAST, SLOW)
    for options, why in ("--no-such", "there is no option --no-such"), ("--max-pairs few", "max-pairs"), ("--threshold x_ns", "METRIC=SIZE"):
        r = repository.bisect("c1..c2", "--side", "./solve", "--gate", options, "--", "./build.sh").refused(2, f"--gate {options}", why)
        assert repository.is_clean() and not repository.builds.exists(), r


def test_a_gate_that_fails_says_why(perfkit):
    repository = Repository(perfkit, FAST, FAST, SLOW)
    repository.bisect("c1..c3", "--side", "./nothing", "--", "./build.sh").refused(1, "it ended with 1", "./nothing")


def test_a_build_that_cannot_start_says_why(perfkit):
    repository = Repository(perfkit, FAST, FAST, SLOW)
    repository.bisect("c1..c3", *OPTIONS, "--", "./nothing").refused(1, "the build ended with 127", "cannot start ./nothing: No such file")
