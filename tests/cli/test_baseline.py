"""baseline: names for runs, pinned and moving; where they stand; merge-base through git; what is refused."""
import json
import subprocess

import pytest

from stored import Stored

CASE = [("vanilla", {"n": 1}, {"forward_ns": [1.0e6, 1.02e6, 0.98e6]})]
SLOW = [("vanilla", {"n": 1}, {"forward_ns": [2.0e6, 2.02e6, 1.98e6]})]


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


def record(store, cases=CASE, tags=None, commit=None, dirty=0, status="complete", branch=None, **more):
    run = store.run(cases, **more)
    store.db.execute("UPDATE run SET tags = ?, git_commit = ?, git_dirty = ?, git_branch = ?, status = ? WHERE id = ?",
                     [json.dumps(tags or {}), commit, dirty, branch, status, run])
    store.db.commit()
    return run


def runs_of(perfkit, name):
    return [r["run_id"] for r in perfkit("baseline", "show", name, "--format", "json").rows("baseline_runs")]


def base_runs(perfkit, base, new="@", command="compare"):
    row = perfkit(command, base, new, "--format", "json").rows("compare_ns")[0]
    return row["base_invocations"], row["verdict"]


# --- pinned ---


def test_pinned_runs_stand_for_the_name(perfkit, store):
    for i in range(6):
        record(store, label="x" if i < 5 else None)
    record(store, SLOW)
    r = perfkit("baseline", "save", "main", "1,2", "3", "4", "5", "--reason", "the release", "--format", "json")
    row, = r.rows("baseline")
    assert r.status == 0 and (row["name"], row["experiment"], row["kind"], row["runs"], row["newest_run"]) == ("main", "demo", "pinned", 5, 5)
    change, = r.rows("baseline_changes")
    assert (change["action"], change["meaning"], change["reason"]) == ("saved", "runs 1, 2, 3, 4, 5", "the release")
    assert change["who"] and change["changed_at"].endswith("Z")
    assert base_runs(perfkit, "main") == (5, "slower")
    assert perfkit("gate", "--against", "main").status == 3
    assert perfkit("gate", "--against", "main", "6").status == 0
    assert perfkit("show", "main").status == 0 and perfkit("export", "csv", "main").status == 0
    assert base_runs(perfkit, f"{perfkit.db}:main") == (5, "slower"), "also in a file that is a stranger's"


def test_a_baseline_comes_before_a_label(perfkit, store):
    record(store, label="main")
    record(store, SLOW)
    perfkit("baseline", "save", "main", "2")
    row = perfkit("compare", "main", "1", "--format", "json").rows("compare_ns")[0]
    assert row["base_ns"] == 2.0e6
    perfkit("baseline", "rm", "main")
    row = perfkit("compare", "main", "2", "--format", "json").rows("compare_ns")[0]
    assert row["base_ns"] == 1.0e6


def test_few_runs_are_said_to_be_unreplicated(perfkit, store):
    record(store)
    r = perfkit("baseline", "save", "lonely")
    assert r.status == 0 and "1 run:" in r.stdout and "unreplicated" in r.stdout
    assert "unreplicated" in perfkit("baseline", "list").stdout
    record(store, SLOW)
    assert base_runs(perfkit, "lonely") == (3, "unreplicated")


def test_accept_adds_a_run_or_pins_anew(perfkit, store):
    for _ in range(4):
        record(store)
    perfkit("baseline", "save", "main", "1,2")
    r = perfkit("baseline", "accept", "main", "3", "--reason", "a new compiler", "--format", "json")
    assert r.status == 0 and runs_of(perfkit, "main") == [3, 2, 1]
    assert [(c["action"], c["reason"]) for c in r.rows("baseline_changes")] == [("saved", None), ("accepted", "a new compiler")]
    r = perfkit("baseline", "accept", "main", "4", "--only", "--reason", "slower by design", "--format", "json")
    assert r.status == 0 and runs_of(perfkit, "main") == [4]
    assert r.rows("baseline_changes")[-1]["action"] == "pinned"
    perfkit("baseline", "accept", "main", "4", "--reason", "again").refused(2, "has these runs already", "--only")


def test_accepting_what_has_no_case_in_common_is_said(perfkit, store):
    record(store)
    record(store, cases=[("another", *CASE[0][1:])])
    record(store)
    perfkit("baseline", "save", "main", "1")
    r = perfkit("baseline", "accept", "main", "2", "--reason", "why not")
    assert r.status == 0 and "main and run 2 have no case in common: variant: " in r.stderr, r
    assert runs_of(perfkit, "main") == [2, 1]
    for run, only in (("3", ()), ("2", ("--only",))):
        r = perfkit("baseline", "accept", "main", run, "--reason", "like it", *only)
        assert r.status == 0 and r.stderr == "", r


def test_removing_the_name_removes_no_run(perfkit, store):
    record(store)
    perfkit("baseline", "save", "main")
    assert perfkit("baseline", "rm", "main").status == 0
    assert perfkit("baseline", "list", "--format", "json").rows("baselines") == []
    assert len(perfkit("list", "runs", "--format", "json").rows("runs")) == 1
    assert perfkit("db", "check").status == 0


def test_pruning_leaves_the_runs_of_pinned_baselines(perfkit, store):
    for _ in range(6):
        record(store, label="nightly")
    perfkit("baseline", "save", "pinned", "1,2")
    perfkit("baseline", "save", "moving", "--label", "nightly")
    assert perfkit("db", "prune", "--keep", "1").status == 0
    assert [r["run_id"] for r in perfkit("list", "runs", "--format", "json").rows("runs")] == [6, 2, 1]
    assert runs_of(perfkit, "moving") == [6, 2, 1] and runs_of(perfkit, "pinned") == [2, 1]


@pytest.mark.parametrize("format", ["table", "markdown", "csv", "json", "jsonl"])
def test_tables_in_every_format(perfkit, store, format):
    record(store)
    perfkit("baseline", "save", "main", "--reason", "because")
    for action in (["list"], ["show", "main"]):
        r = perfkit("baseline", *action, "--format", format)
        assert r.status == 0 and "main" in r.stdout and "pinned" in r.stdout and "because" in r.stdout


def test_merging_brings_baselines(perfkit, store, tmp_path):
    other = Stored(tmp_path / "other.db")
    for _ in range(2):
        other.db.execute("UPDATE run SET uuid = 'other-' || id")
        other.run(CASE)
    other.db.execute("UPDATE run SET uuid = 'other-' || id")
    other.db.commit()
    record(store)
    perfkit("baseline", "save", "main", "2", "--reason", "there", db=other.path)
    perfkit("baseline", "save", "both", "1", db=other.path)
    perfkit("baseline", "save", "both", "1")
    for _ in range(2):
        assert perfkit("db", "merge", other.path).status == 0
        assert runs_of(perfkit, "main") == [3] and runs_of(perfkit, "both") == [1]
    assert perfkit("baseline", "show", "main", "--format", "json").rows("baseline_changes")[0]["reason"] == "there"


# --- moving ---


def test_moving_ones_follow_a_label_or_a_tag(perfkit, store):
    for _ in range(4):
        record(store, label="nightly", tags={"branch": "main"})
    record(store, label="nightly", experiment="other")
    record(store, label="nightly", tags={"branch": "topic"}, status="failed")
    record(store, label="nightly", tags={"branch": "topic"})
    assert perfkit("baseline", "save", "by-label", "--label", "nightly", "--newest", "3").status == 0
    assert perfkit("baseline", "save", "by-tag", "--tag", "branch=main").status == 0
    assert runs_of(perfkit, "by-label") == [7, 4, 3] and runs_of(perfkit, "by-tag") == [4, 3, 2, 1]
    new = record(store, label="nightly", tags={"branch": "main"})
    assert runs_of(perfkit, "by-label") == [new, 7, 4] and runs_of(perfkit, "by-tag") == [new, 4, 3, 2, 1]
    rows = perfkit("baseline", "list", "--format", "json").rows("baselines")
    assert [(r["name"], r["kind"], r["follows"], r["pattern"], r["newest"]) for r in rows] == \
        [("by-label", "moving", "label", "nightly", 3), ("by-tag", "moving", "tag", "branch=main", 10)]
    perfkit("baseline", "accept", "by-tag", "7", "--reason", "x").refused(2, "not pinned", "--only")
    assert perfkit("baseline", "accept", "by-tag", "7", "--only", "--reason", "x").status == 0
    assert runs_of(perfkit, "by-tag") == [7]


def test_a_branch_is_followed_through_real_runs(perfkit):
    null = ("run", "selftest", "-v", "ok", "--device", "null", "--max-samples", "5", "--min-time", "0", "-i", "2")
    git(perfkit, "init", "-q", "-b", "main")
    (perfkit.cwd / "f").write_text("1")
    git(perfkit, "add", "f")
    git(perfkit, "commit", "-q", "-m", "a")
    for _ in range(5):
        assert perfkit(*null).status == 0
    assert perfkit("baseline", "save", "main", "--branch", "main", "--reason", "what was accepted").status == 0
    (perfkit.cwd / "f").write_text("2")
    assert perfkit(*null).status == 0  # 6: has uncommitted changes
    git(perfkit, "checkout", "-q", "-b", "topic")
    git(perfkit, "commit", "-q", "-a", "-m", "b")
    assert perfkit(*null).status == 0  # 7: of another branch
    assert runs_of(perfkit, "main") == [5, 4, 3, 2, 1]
    assert perfkit("gate", "--against", "main").status == 0
    row, = perfkit("list", "baselines", "--format", "json").rows("baselines")
    assert (row["kind"], row["follows"], row["pattern"]) == ("moving", "branch", "main")
    git(perfkit, "checkout", "-q", "--detach")
    perfkit(*null, env={"GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "main"})  # 8
    assert runs_of(perfkit, "main") == [8, 5, 4, 3, 2, 1]


def test_a_moving_one_may_be_left_with_nothing(perfkit, store):
    run = record(store, label="nightly")
    perfkit("baseline", "save", "main", "--label", "nightly")
    record(store)
    store.db.execute("UPDATE run SET label = NULL WHERE id = ?", [run])
    store.db.commit()
    perfkit("compare", "main", "@").refused(6, "'main' has no run now")
    perfkit("gate", "--against", "main").refused(5, "'main' has no run now")


# --- merge-base ---


def git(perfkit, *args):
    who = ["-c", "user.email=a@b", "-c", "user.name=a", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *args], cwd=perfkit.cwd, env=perfkit.environment(), check=True, capture_output=True,
                          text=True).stdout.strip()


@pytest.fixture
def branched(perfkit):
    """HEAD is topic, one commit after it left main, which has gone on; the commit they share."""
    git(perfkit, "init", "-q")
    git(perfkit, "commit", "-q", "--allow-empty", "-m", "a")
    shared = git(perfkit, "rev-parse", "HEAD")
    git(perfkit, "checkout", "-q", "-b", "topic")
    git(perfkit, "commit", "-q", "--allow-empty", "-m", "b")
    git(perfkit, "checkout", "-q", "main")
    git(perfkit, "commit", "-q", "--allow-empty", "-m", "c")
    git(perfkit, "checkout", "-q", "topic")
    return shared


def test_merge_base_means_the_runs_of_that_commit(perfkit, store, branched):
    for _ in range(5):
        record(store, commit=branched)
    record(store, commit=branched, dirty=1)
    record(store, SLOW, commit=git(perfkit, "rev-parse", "HEAD"))
    assert base_runs(perfkit, "merge-base:main") == (5, "slower")
    assert perfkit("gate", "--against", "merge-base:main").status == 3
    assert base_runs(perfkit, f"commit:{branched[:9]}") == (5, "slower")
    assert perfkit("baseline", "save", "start", "merge-base:main").status == 0
    assert runs_of(perfkit, "start") == [5, 4, 3, 2, 1]


def test_without_a_run_of_the_commit(perfkit, store, branched):
    record(store, commit=branched, dirty=1)
    for command in (["compare", "merge-base:main", "@"], ["gate", "--against", "merge-base:main"]):
        perfkit(*command).refused(5, f"no run of commit:{branched}", "git worktree add", "gate")


def test_merge_bases_that_git_does_not_know(perfkit, store):
    record(store)
    perfkit("compare", "merge-base:main", "@").refused(5, "merge-base:main", "not in a git repository")
    for command, name in ((["compare"], ""), (["gate", "--against"], "gate --against: ")):
        r = perfkit(*command, "merge-base:", "@")
        assert r.error()["what"] == name + "merge-base: is not followed by a branch" and "merge-base:origin/main" in r.error()["try"], r
    git(perfkit, "init", "-q")
    git(perfkit, "commit", "-q", "--allow-empty", "-m", "a")
    for branch in ("nowhere", "--all"):
        perfkit("compare", f"merge-base:{branch}", "@").refused(2, f"git knows no branch '{branch}'", "git fetch")
    r = perfkit("gate", "--against", "merge-base:nowhere")
    assert r.status == 5 and r.error()["what"] == "gate --against: merge-base:nowhere: git knows no branch 'nowhere'", r
    git(perfkit, "checkout", "-q", "--orphan", "apart")
    git(perfkit, "commit", "-q", "--allow-empty", "-m", "b")
    perfkit("compare", "merge-base:main", "@").refused(5, "no commit in common", "--unshallow")


def test_a_branch_without_a_baseline_means_its_merge_base(perfkit, store, branched):
    for _ in range(5):
        record(store, commit=branched)
    record(store, SLOW, commit=git(perfkit, "rev-parse", "HEAD"))
    assert base_runs(perfkit, "main") == (5, "slower")
    r = perfkit("gate", "--against", "main")
    assert r.status == 3 and f"the base is the runs of commit {branched[:12]}" in r.stdout, r
    perfkit("compare", "mian", "@").refused(2, "run 'mian' is not in")
    perfkit("compare", "@", "main").refused(2, "run 'main' is not in")  # the judged side is named exactly
    record(store, label="main")
    record(store)
    assert base_runs(perfkit, "main")[0] == 3, "a label comes first"


def test_a_commit_by_its_name_in_git(perfkit, store, branched):
    git(perfkit, "tag", "v1", branched)
    for _ in range(5):
        record(store, commit=branched)
    record(store, SLOW)
    assert base_runs(perfkit, "commit:v1") == (5, "slower")
    assert perfkit("baseline", "save", "v1", "commit:v1", "--reason", "released").status == 0
    assert runs_of(perfkit, "v1") == [5, 4, 3, 2, 1]
    perfkit("compare", "commit:v2", "@").refused(5, "no run of commit:v2 is stored")


def test_sides_of_gates_are_no_runs_of_their_commit(perfkit, store, branched):
    record(store, commit=branched)
    record(store, SLOW, commit=branched, settings={"gate": {"side": "base"}})
    assert base_runs(perfkit, "merge-base:main")[0] == 3
    assert perfkit("baseline", "save", "x", "merge-base:main").status == 0 and runs_of(perfkit, "x") == [1]


# --- refused ---


@pytest.mark.parametrize("name", ["", "12", "-3", "@", "a@b", "merge-base:x", "a,b"])
def test_names_that_mean_something_else(perfkit, store, name):
    record(store)
    perfkit("baseline", "save", "--", name, "1").refused(2, "cannot be the name of a baseline")


def test_what_is_refused(perfkit, store):
    record(store)
    record(store, experiment="other")
    record(store, status="running")
    store.db.execute("UPDATE run SET ended_ns = NULL, host = 'elsewhere' WHERE id = 3")
    store.db.commit()
    for args, words in (
            (["save", "x", "77"], ["run '77' is not in"]),
            (["save", "x", "1", "2"], ["run 2 is of another experiment: other", "here demo"]),
            (["save", "x", "3"], ["still being measured"]),
            (["save", "x", "1", "--label", "a"], ["not both"]),
            (["save", "x", "--label", "a", "--tag", "b=c"], ["--label and --tag cannot be combined"]),
            (["save", "x", "--tag", "b=c", "--branch", "a"], ["--tag and --branch cannot be combined"]),
            (["save", "x", "--branch", "nobody"], ["no complete run has the branch 'nobody'", "without uncommitted changes, on nobody"]),
            (["save", "x", "--label", "nobody"], ["no complete run has the label 'nobody'"]),
            (["save", "x", "--tag", "nobody"], ["is not KEY=VALUE"]),
            (["save", "x", "--newest", "0"], ["newest"]),
            (["save"], ["too few"]), (["list", "x"], ["too many"]), (["accept", "main", "--reason", "x"], ["too few"]),
            (["list", "--force"], ["has no --force"]), (["sav", "x"], ["did you mean 'save'"])):
        perfkit("baseline", *args).refused(2, *words)
    assert perfkit("baseline", "list", "--format", "json").rows("baselines") == []


def test_what_is_refused_of_one_that_exists(perfkit, store):
    record(store)
    record(store, experiment="other")
    perfkit("baseline", "save", "main", "1")
    for args, words in (
            (["save", "main", "1"], ["the baseline 'main' already exists", "accept", "--force"]),
            (["accept", "main", "1"], ["needs a reason"]), (["accept", "main", "1", "--reason", " "], ["needs a reason"]),
            (["accept", "main", "2", "--reason", "x"], ["of another experiment"]),
            (["accept", "mian", "1", "--reason", "x"], ["no baseline 'mian'", "did you mean 'main'"]),
            (["show", "mian"], ["did you mean 'main'"]), (["rm", "mian"], ["did you mean 'main'"])):
        assert "warning" not in perfkit("baseline", *args).refused(2, *words).stderr
    assert perfkit("baseline", "save", "main", "2", "--force").status == 0
    row, = perfkit("baseline", "list", "--format", "json").rows("baselines")
    assert (row["experiment"], row["newest_run"]) == ("other", 2)
    perfkit("compare", "mian", "@").refused(2, "did you mean the baseline 'main'")
