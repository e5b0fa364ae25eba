"""Own experiments: programs that describe themselves, run, shown, compared and gated like built-in ones. The program is own_experiment.py."""
import json
import os
import pathlib
import shutil
import sqlite3
import time

import pytest
from conftest import not_sanitized
from stored import query

pytestmark = pytest.mark.usefixtures("measured")

HERE = pathlib.Path(__file__).parent
OWN = HERE / "own_experiment.py"
ONCE = ("--invocations", "1", "-q")


def described(**members):
    """The environment in which the program describes something else."""
    return {"OWN_EXPERIMENT": json.dumps(members)}


def lines(result):
    return [row for row in result.stdout.splitlines() if not row.startswith(("Run ", "noisy"))]


@not_sanitized
def test_a_run_is_printed_again_without_its_program(perfkit):
    program = shutil.copy(OWN, perfkit.cwd / "bench.py")
    r = perfkit("run", "./bench.py", "-i", "3", "-q", "--format", "json")
    assert r.status == 0, r
    rows = r.rows("results")
    assert [(row["variant"], row["n"], row["status"]) for row in rows] == [
        (v, n, "ok") for n in (100, 200, 400) for v in ("loop", "tree")]
    tree = rows[5]
    assert tree["sum_ns"] == 200004 and tree["additions"] == 399 and 1.99 < tree["speedup_low"] <= tree["speedup"] < 2.01
    assert tree["rate_flops_per_s"] == pytest.approx(399e9 / 200004) and 0 < tree["of_floor"] < 1
    assert tree["sum_ns_ci_low"] < 200004 < tree["sum_ns_ci_high"]
    assert r.rows("findings")[0]["sentence"] == "tree is 2.00 x (2.00 to 2.00) faster than loop (n 400)."
    os.remove(program)
    again = perfkit("show", "--format", "json")
    assert again.json()["tables"] == r.json()["tables"]
    screen = perfkit("show", "--plot")
    assert "sum over n" in screen.stdout and "x loop" in screen.stdout and "sum (us)" in screen.stdout, screen
    page = perfkit("report", "-o", "page.html")
    assert page.status == 0 and "sum over n" in (perfkit.cwd / "page.html").read_text(), page


def test_it_is_listed_explained_and_planned(perfkit):
    shown = perfkit("list", "experiments", OWN, "--format", "json")
    assert [x["name"] for x in shown.rows("axes")] == ["n", "dtype"]
    assert perfkit("help", OWN, "--format", "json").json() == shown.json()
    assert "--n VALUES" in perfkit("run", OWN, "--help").stdout
    plan = perfkit("run", OWN, "-n", "-a", "n=7,100", "--memory-limit", "1KiB", "-v", "loop", "--format", "json").rows("plan")
    assert [(row["axes"]["n"], row["predicted_bytes"], row["status"]) for row in plan] == [
        (7, None, "7 is left out"), (100, 400, "measured")]
    too_large = perfkit("run", OWN, "-n", "-a", "n=1000", "--memory-limit", "1KiB", "--format", "json").rows("plan")
    assert too_large[0]["status"].startswith("out of memory"), too_large
    assert not perfkit.db.exists() or query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


def test_cases_that_fail_or_do_not_fit_are_rows(perfkit):
    r = perfkit("run", OWN, "-a", "n=7,13,100,2000000", "-v", "loop", *ONCE, "--format", "json")
    assert r.status == 1 and "13 numbers do not add up" in r.stderr, r
    assert [(row["n"], row["status"], row["message"]) for row in r.rows("results")] == [
        (7, "skipped", "7 is left out"), (13, "failed", "13 numbers do not add up"), (100, "ok", None),
        (2000000, "oom", "2000000 numbers do not fit")]


@not_sanitized
def test_variants_are_compared_with_the_yardstick(measured, perfkit):
    """Not with the first; a run without it is compared with the first it has."""
    run = ("run", OWN, "-a", "n=100", "-q", "--invocations", "3")
    variants = [{"name": name} for name in ("loop", "tree", "other")]
    assert perfkit(*run, env=described(yardstick="tree", variants=variants)).status == 0
    for more, base, others in (((), "tree", {"loop", "other"}), (("-v", "loop,other"), "loop", {"other"})):
        if more:
            assert perfkit(*run, *more, env=described(yardstick="tree", variants=variants)).status == 0
        r = perfkit("compare", "--by", "variant", "@", "--format", "json")
        assert {row["variant"] for row in r.rows("compare_ns") if row["row"] == "case"} == others, r
        assert f"Each variant against {base}" in perfkit("compare", "--by", "variant", "@").stdout


@not_sanitized
def test_a_slower_copy_makes_a_gate_red(perfkit):
    slow = perfkit.cwd / "slow.py"
    slow.write_text(OWN.read_text().replace('"OWN_TICK_NS", 1000', '"OWN_TICK_NS", 1200'))
    r = perfkit("gate", OWN, "--a", OWN, "--b", slow, "-a", "n=100", "--max-pairs", "8", "--format", "json")
    assert r.status == 3, r
    assert [(row["variant"], row["verdict"]) for row in r.rows("compare_ns")[:2]] == [("loop", "slower"), ("tree", "slower")]
    compared = perfkit("compare", "@~1", "@", "--format", "json")
    assert {row["verdict"] for row in compared.rows("compare_ns")[:2]} == {"slower"}, compared
    slow.write_text(OWN.read_text().replace('"own-sum"', '"another-sum"'))
    perfkit("gate", OWN, "--a", OWN, "--b", slow).refused(5, "describes another-sum", "one experiment")


@not_sanitized
def test_a_gate_pairs_programs_of_which_one_has_more(perfkit):
    """A new axis before the others, and a new choice before the others: cases of both sides are still the same."""
    more = perfkit.cwd / "more.py"
    more.write_text(OWN.read_text().replace('"axes": [', '"axes": [{"name": "order", "type": "choice", "choices": ["up", "down"], "default": ["down", "up"], "born": "up"},')
                    .replace('["fp32", "bf16"]', '["fp16", "fp32", "bf16"]').replace('"OWN_TICK_NS", 1000', '"OWN_TICK_NS", 1200'))
    r = perfkit("gate", OWN, "--a", OWN, "--b", more, "-a", "n=100,200", "-v", "loop", "--max-pairs", "8", "--format", "json")
    assert r.status == 3, r
    assert sorted((row["axes"]["n"], row["verdict"]) for row in r.rows("compare_ns")[:2]) == [(100, "slower"), (200, "slower")]
    named = perfkit("gate", more, "--a", OWN, "--b", more, "-v", "loop", "-n", "--format", "json")
    assert [row["axes"] for row in named.rows("gate_plan")] == [{"order": "up", "n": n, "dtype": "fp32"} for n in (100, 200, 400)], named
    perfkit("gate", more, "--a", OWN, "--b", more, "-a", "order=down").refused(2, "--a ", "there is no axis 'order'")
    perfkit("gate", more, "--a", more, "--b", OWN).refused(5, "axis order", "does not have it")


def test_what_a_case_is_does_not_change_unseen(perfkit):
    assert perfkit("run", OWN, "-a", "n=100", *ONCE).status == 0
    axes = [{"name": "n", "type": "int", "unit": "numbers", "default": [200, 100]}, {"name": "dtype", "type": "choice", "choices": ["fp32"]}]
    more = axes + [{"name": "order", "type": "choice", "choices": ["up", "down"]}]
    assert perfkit("run", OWN, "-a", "n=100", *ONCE, env=described(axes=more)).status == 0
    assert query(perfkit, "SELECT DISTINCT identity FROM v_case") == [("{}",)]
    for members, words in [
            (dict(axes=[dict(axes[0], unit="bits"), axes[1]]), ("axis n changed", "int in numbers", "int in bits")),
            (dict(axes=[dict(axes[0], type="float", max=1e9), axes[1]]), ("axis n changed", "float")),
            (dict(axes=axes, metrics=[{"name": "sum_ns"}, {"name": "additions", "unit": "flops", "class": "exact"}]),
             ("metric additions changed", "in 1", "in flops"))]:
        perfkit("run", OWN, *ONCE, env=described(**members)).refused(5, "revision", *words)
        assert perfkit("run", OWN, "--dry-run", env=described(revision=2, **members)).status == 0
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(2,)]
    assert "To decide: perfkit gate ./PROGRAM --a OLD/PROGRAM --b ./PROGRAM" in perfkit("compare", "1", "2").stdout
    added, removed = perfkit("compare", "1", "2", "--exit-code"), perfkit("compare", "2", "1", "--exit-code")
    assert added.status == 4 and "removed" not in added.stdout, added
    assert removed.status == 5 and "axis order: removed" in removed.stderr and "No row is judged" in removed.stdout, removed


AXIS = {"name": "n", "type": "int", "default": 1}


REFUSED = [
    (dict(name="attention-scaling"), ("name of something that perfkit has",)),
    (dict(variants=[{"name": "a,b"}]), ("variants[0]",)),
    (dict(axes=[dict(AXIS, name="x%d" % i) for i in range(30)]), ("axes", "30 entries are more than 24")),
    (dict(axes=[dict(AXIS, name="x%d" % i, default=list(range(64))) for i in range(3)], presets=[]), ("the sweeps span more than 65536 points",)),
    (dict(axes=[dict(AXIS, name="x%d" % i, default=list(range(64))) for i in range(2)],
          variants=[{"name": "v%d" % i} for i in range(64)], yardstick="v0", presets=[]), ("4096 points with 64 variants",)),
    (dict(axes=[AXIS, AXIS]), ("axis n", "twice")),
    (dict(axes=[dict(AXIS, default=list(range(1, 100)))]), ("axis n", "99 default values")),
    (dict(metrics=[{"name": "sum_ns", "unit": "s", "class": "time"}]), ("metrics[0]", "a time is in ns")),
    (dict(presets=[{"name": "p", "blocks": ["m=1"]}]), ("presets[0]", "m")),
    (dict(presets=[{"name": "p", "settings": ["python=/bin/sh"]}]), ("presets[0]", "setting")),
    (dict(sql="-- table: ../../t\nSELECT 1;"), ("section 1 of sql", "a name is not")),
    (dict(sql="SELECT 1;\n-- column: a\n"), ("sql: tables: line 2 is misplaced",)),
    (dict(sql="-- statement: t\nSELECT 1;"), ("the SQL is refused",)),
    (dict(sql="SELECT 1;"), ("sql", "no section")),
    (dict(axes=[dict(AXIS, name="time_ns")], metrics=[], presets=[], sql=None), ("axis time_ns", "the metric")),
    (dict(sql="-- table: t\n-- column: a | A | furlongs\nSELECT 1 AS a;"), ("table t", "furlongs")),
    (dict(sql="-- finding: t\nSELECT 1 AS a;"), ("finding t", "sentence")),
    (dict(name="hyperfine"), ("cannot be named hyperfine", "perfkit import", "my-hyperfine")),
]
REFUSED_ALIKE = [  # by the same lines of the library
    (dict(name="\x1b[31mred"), ("name is not",)),
    (dict(summary="\x1b]0;title\x07"), ("control characters",)),
    (dict(variants=[]), ("variants", "there is none")),
    (dict(axes=[dict(AXIS, name="n\"; DROP TABLE run; --")]), ("axes[0]",)),
    (dict(axes=[dict(AXIS, default="1:1000000")]), ("axis n",)),
    (dict(yardstick="nobody"), ("yardstick",)),
    (dict(devices=["null"]), ("devices",)),
    (dict(sql="-- table: t\nDELETE FROM run;"), ("table t", "nothing else")),
    (dict(sql="-- table: t\nSELECT * FROM run;"), ("table t", "nothing else")),
    (dict(sql="-- table: t\nATTACH '/tmp/x' AS x;"), ("table t", "nothing else")),
    (dict(sql="-- table: t\nSELECT 1; DROP TABLE run;"), ("table t", "one statement, not more: DROP TABLE run")),
    (dict(sql="-- view: v_case\nSELECT 1 AS run_id;"), ("view v_case", "cannot be called")),
    (dict(sql="-- view: sample\nSELECT 1 AS run_id;"), ("view sample", "has a table or a view")),
    (dict(sql="-- view: x\nSELECT * FROM sample;\n-- table: t\nSELECT * FROM x;"), ("view x", "nothing else")),
    (dict(axes=[dict(AXIS, name="device")]), ("axis device", "the name is reserved (docs/protocol.md)")),
    (dict(axes=[dict(AXIS, default=10**30)]), ("the number 1%s is out of range" % ("0" * 30),)),
]


@pytest.mark.parametrize("members, words", [*REFUSED, *(pytest.param(*row, marks=not_sanitized) for row in REFUSED_ALIKE)])
def test_a_hostile_description_is_refused(perfkit, members, words):
    began = time.monotonic()
    perfkit("run", OWN, env=described(**members)).refused(2, *words)
    assert time.monotonic() - began < 5
    assert not perfkit.db.exists() or query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


def test_endless_work_is_refused(perfkit):
    endless = perfkit.cwd / "endless.py"
    endless.write_text(OWN.read_text().replace("flops=n - 1", "flops=-n"))
    perfkit("run", endless, "-n").refused(2, 'cannot plan loop {"dtype":"fp32","n":100}', "negative or endless")
    assert not perfkit.db.exists() or query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


HELLO = "import os, sys\nos.write(3, b'{\"type\":\"hello\",\"version\":1,\"describes\":true}\\n')\ninput()\n"


@pytest.mark.parametrize("code, words", [
    (HELLO + "os.write(3, b'{\"type\":\"experiment\",\"name\":\"x\",\"axes\":[' + b'{},' * 1000000 + b'{}]}\\n')\ninput()",
     ("violated the protocol", "262144 lists and objects")),
    (HELLO + "os.write(3, b'{\"type\":\"experiment\",\"name\":\"' + b'x' * 2000000 + b'\"}\\n')\n"
     "os.write(3, b'{\"type\":\"status\",\"id\":1,\"status\":\"ok\"}\\n')\ninput()", ("more than 1 MiB",)),
    (HELLO + "os.write(3, b'{\"type\":\"status\",\"id\":1,\"status\":\"failed\",\"message\":\"no licence\"}\\n')\ninput()", ("no licence",)),
    (HELLO + "os.write(3, b'{\"type\":\"status\",\"id\":1,\"status\":\"ok\"}\\n')\ninput()", ("no message `experiment`",)),
    ("print('hello')", ("describes no experiment", "before its hello", "exit status 0", "end it with perfkit.main()")),
    (HELLO.replace("input()\n", "") + "raise SystemExit(3)", ("before its reply to `describe`", "exit status 3", "shows what such a program answers")),
    ("import os\nos.write(3, b'{\"type\":\"hello\",\"version\":1}\\n')\ninput()", ("describes\": true",)),
    ("import os\nos.write(3, b'{\"type\":\"hello\",\"version\":2,\"describes\":true}\\n')\ninput()", ("another version",)),
    ("import os\nwhile True: os.write(3, b'x' * 65536)", ("violated the protocol",)),
    ("import os\nos.write(3, b'{\"type\":\"hello\",\"version\":1,\"describes\":true}\\n')\n"
     "while True: os.write(3, b'{\"type\":\"setting\",\"key\":\"k\",\"value\":1}\\n')", ("violated the protocol", "no end")),
])
def test_a_program_that_says_something_else_is_refused(perfkit, code, words):
    (perfkit.cwd / "other.py").write_text(code)
    began = time.monotonic()
    perfkit("run", "./other.py").refused(2, *words)
    assert time.monotonic() - began < 5


@not_sanitized
def test_a_program_that_waits_is_refused(perfkit):
    (perfkit.cwd / "silent.py").write_text("input()")
    began = time.monotonic()
    perfkit("run", "silent.py").refused(2, "no hello came within 5 s")
    assert time.monotonic() - began < 8


def test_an_entry_of_a_suite(perfkit):
    (perfkit.cwd / "perf.ini").write_text(f"[sums]\nexperiment = {OWN}\naxis = n=100\n[again]\nexperiment = {OWN}\nvariant = tree\n")
    r = perfkit("run", "--suite", "perf.ini", "--dry-run", "--format", "json")
    assert r.status == 0, r
    assert [(row["entry"], row["experiment"], row["variant"]) for row in r.rows("suite_plan")] == [
        ("sums", "own-sum", "loop"), ("sums", "own-sum", "tree")] + 3 * [("again", "own-sum", "tree")]
    (perfkit.cwd / "perf.ini").write_text("[sums]\nexperiment = ./nowhere\n")
    perfkit("run", "--suite", "perf.ini").refused(2, "perf.ini:1: [sums]", "cannot be executed")


def test_what_is_no_program(perfkit):
    os.chmod(shutil.copy(OWN, perfkit.cwd / "bench"), 0o755)
    perfkit("run", "bench").refused(2, "there is no experiment 'bench'", "./bench")
    perfkit("run", "./nowhere").refused(2, "'./nowhere' cannot be executed", "No such file")
    perfkit("run", "nowhere.py").refused(2, "'nowhere.py' cannot be read")
    os.chmod(perfkit.cwd / "bench", 0o644)
    perfkit("run", "bench").refused(2, "there is no experiment 'bench'", "./bench")
    perfkit("run", "./bench").refused(2, "'./bench' cannot be executed", "chmod +x")


def test_its_charts_name_what_they_show(perfkit):
    axes = [dict(AXIS, default=[100, 200]), {"name": "k", "type": "choice", "choices": ["(a)", "[b]"], "default": ["(a)", "[b]"]}]
    drawn = perfkit("run", OWN, *ONCE, "-v", "loop", "--plot", env=described(axes=axes, presets=[]))
    assert drawn.status == 0 and "k (a), sum (us)" in drawn.stdout and "k [b], sum (us)" in drawn.stdout, drawn
    bars = perfkit("run", OWN, *ONCE, "-a", "n=100", "-a", "k=(a)", "--plot", env=described(axes=axes, presets=[])).stdout
    assert bars.count("loop  \u2588") == 1 and "loop  loop" not in bars, bars


@not_sanitized
def test_its_own_sql_is_printed_under_limits(perfkit):
    sql = ("-- finding: count\nSELECT printf('there are %s', plural(count(*), 'case')) AS sentence FROM v_case WHERE run_id = :run;\n"
           "-- view: own_sums\nSELECT c.run_id, c.ordinal, c.variant, s.median AS sum_ns FROM v_case c JOIN v_summary s ON s.case_id = c.case_id"
           " AND s.metric = 'sum_ns';\n"
           "-- table: sums\n-- column: sum_ns | Sum (us) | us | 1\nSELECT variant, sum_ns FROM own_sums WHERE run_id = :run ORDER BY ordinal;\n")
    r = perfkit("run", OWN, "-a", "n=100", *ONCE, "--format", "json", env=described(sql=sql))
    assert r.status == 0, r
    assert r.rows("sums") == [{"variant": "loop", "sum_ns": 100003.0}, {"variant": "tree", "sum_ns": 50003.0}]
    assert r.rows("findings")[0]["sentence"] == "there are 2 cases"
    assert perfkit("show", "--format", "json").json()["tables"] == r.json()["tables"]


def test_what_is_for_perfkits_own_processes(perfkit):
    perfkit("run", OWN, "--once").refused(2, "--once", "a process of its own")
    perfkit("run", OWN, "--profile", "3").refused(2, "--profile", "a process of its own")
    perfkit("run", OWN, "--cold").refused(2, "--cold")
    r = perfkit("run", OWN, "-a", "n=100", "-v", "loop", *ONCE, "--breakdown", "--tables", "results,findings")
    assert r.status == 0 and "own-sum is not traced: it is measured by its program" in r.stderr and "x loop" not in r.stdout, r
    perfkit("run", OWN, "--tables", "resluts").refused(2, "resluts", "results")


BEGIN, END = {"state": "begin"}, {"state": "end", "reps": 2}


def counted(perfkit, *messages, variants="loop"):
    return perfkit("run", OWN, "-a", "n=100", "-v", variants, *ONCE, "--counters", "sw,fake", env={"OWN_COUNT": json.dumps({"pages": 300, "messages": messages})})


@pytest.mark.usefixtures("counts")
def test_its_samples_are_counted_from_outside(perfkit):
    """Between begin and end, and nothing else: pages are touched after each of both."""
    r = counted(perfkit, *[BEGIN, END] * 3, variants="loop,tree")
    assert r.status == 0 and "warning: fake is not counted" in r.stderr and "warning: not counted" not in r.stderr, r
    rows = query(perfkit, "SELECT variant, region, value, quality FROM v_counter WHERE name = 'page_faults' ORDER BY variant")
    assert [row[:2] + row[3:] for row in rows] == [("loop", "iteration", "exact"), ("tree", "iteration", "exact")]
    assert all(150 <= row[2] < 160 for row in rows), rows
    assert query(perfkit, "SELECT count(*) FROM v_sample WHERE metric = 'iteration.page_faults'") == [(6,)]
    assert "page_faults" in perfkit("show", "--tables", "all").stdout


@not_sanitized
@pytest.mark.usefixtures("counts")
@pytest.mark.parametrize("messages, why", [
    ([], "does not say when a sample begins and ends"), ([BEGIN, BEGIN], "it began to count twice"), ([END], "it ended counting before it began"),
    ([BEGIN, {"state": "end"}], '"reps"'), ([BEGIN, END, BEGIN, {"state": "end", "reps": 3}], '"reps"'), ([BEGIN, {"state": "end", "reps": 1 << 62}], "from 1 to 2^40"),
    ([{"state": "pause"}], "neither begin nor end"),
    ([BEGIN], "does not say when a sample begins and ends")])
def test_what_it_says_of_samples_is_not_believed(perfkit, messages, why):
    """Times stay as they were measured."""
    r = counted(perfkit, *messages)
    assert r.status == 0 and "warning: not counted: " in r.stderr and why in r.stderr, r
    assert perfkit("show", "--tables", "all").stdout.count(why) == 1
    assert query(perfkit, "SELECT count(*) FROM v_counter WHERE name = 'page_faults' AND value IS NOT NULL") == [(0,)]
    assert query(perfkit, "SELECT count(*) FROM v_summary WHERE metric = 'sum_ns'") == [(1,)]


@not_sanitized
def test_what_init_writes_runs(perfkit):
    """perfkit.py is found without an installation."""
    assert perfkit("init", "python", "joined").status == 0
    r = perfkit("run", "./joined.py", "-a", "words=100", *ONCE, "--max-time", "5ms", "--min-time", "1ms", "--format", "json")
    assert r.status == 0, r
    assert [(row["variant"], row["status"]) for row in r.rows("results")] == [("plus", "ok"), ("join", "ok")]
    assert r.rows("results")[0]["rate_bytes_per_s"] > 0


@pytest.mark.parametrize("sql, why", [
    ("SELECT zeroblob(2000000000) AS x;", "too big"),
    pytest.param("SELECT abs(-9223372036854775808) AS x;", "integer overflow", marks=not_sanitized),
    pytest.param("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;", "more than 64 MB", marks=not_sanitized),
    ("-- column: x | X | | hide\nWITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT printf('%.*c', 1000000, 'x') AS x FROM n;", "more than 64 MB")])
def test_sql_that_fails_is_named(perfkit, sql, why):
    """What was measured is kept."""
    r = perfkit("run", OWN, "-a", "n=100", *ONCE, "-o", "/dev/null", env=described(sql="-- table: endless\n" + sql))
    assert r.status == 1 and r.error()["what"] == "table endless: the SQL of the experiment's program failed" and why in r.error()["why"], r
    assert query(perfkit, "SELECT count(*) FROM v_case WHERE status = 'ok'") == [(2,)]


@not_sanitized
def test_a_description_in_a_strangers_store(perfkit):
    """It is read with the same care: SQL that does more than to read ends the printing, names that are none are not used."""
    assert perfkit("run", OWN, "-a", "n=100", *ONCE).status == 0
    (text, cases), = query(perfkit, "SELECT s.value, (SELECT count(*) FROM v_case) FROM v_setting s WHERE s.key = 'descriptor'")
    for members, status, words in [
            (dict(sql="-- table: t\nDELETE FROM run;"), 1, "malicious"), (dict(sql="-- table: t\nSELECT * FROM run;"), 1, "malicious"),
            (dict(name="\x1b[31mred"), 0, "case_times"), (dict(variants=[{"name": "'; DROP TABLE run; --"}]), 0, "case_times")]:
        with sqlite3.connect(perfkit.db) as db:
            db.execute("UPDATE setting SET value = ? WHERE key = 'descriptor'", (json.dumps({**json.loads(text), **members}),))
        shown = perfkit("show", f"{perfkit.db}:@", "--format", "json")
        assert shown.status == status and words in shown.stdout + shown.stderr and "\x1b" not in shown.stdout + shown.stderr, shown
        assert query(perfkit, "SELECT count(*) FROM v_case") == [(cases,)]


def test_the_program_of_the_page_runs(perfkit):
    page = (HERE.parents[1] / "docs" / "own-experiments.md").read_text()
    (perfkit.cwd / "lists.py").write_text(page.split("```python\n")[1].split("```")[0])
    r = perfkit("run", "lists.py", "-a", "n=1000", *ONCE, "--format", "json")
    assert r.status == 0, r
    assert [(row["variant"], row["n"], row["status"]) for row in r.rows("results")] == [("sum", 1000, "ok"), ("copy", 1000, "ok")]
