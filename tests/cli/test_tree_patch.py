"""`run tree-patch` through the front door: exact counts, every way right, users' own trees and plans, what is refused."""
import json
import math
import sqlite3

import pytest

FEW = ("--min-samples", "2", "--min-time", "1ms", "--max-time", "5ms", "--invocations", "1")
WAYS = ["naive", "naive-1pass", "batched", "path-copy", "grouped", "cached", "in-place", "built-in"]


pytestmark = pytest.mark.usefixtures("measured")


def run(perfkit, *args, **kw):
    return perfkit("run", "tree-patch", *FEW, *args, **kw)


def query(perfkit, sql):
    with sqlite3.connect(perfkit.db) as db:
        return db.execute(sql).fetchall()


def metric(perfkit, name):
    """(variant, figure) of the cases that patch all modules."""
    return dict(query(perfkit, "SELECT variant, median FROM v_summary WHERE axes ->> 'op' = 'patch' AND axes ->> 'patches' = 0 "
                               f"AND metric = '{name}'"))


def write(perfkit, name, text):
    path = perfkit.cwd / name
    path.write_text(text)
    return path


LINEAR = "{0}.weight ({1}, {2})\n{0}.bias ({1},)\n"


def own_tree(perfkit, layers=3):
    return write(perfkit, "tree.txt", "emb.weight torch.Size([50, 8])\n# a comment\n\n" + "".join(
        LINEAR.format(f"blocks.{i}.up", 16, 8) + LINEAR.format(f"blocks.{i}.down", 8, 16) for i in range(layers)))


def test_the_reports_models_to_the_unit(perfkit):
    r = run(perfkit, "-a", "model=2L-256H,4L-512H,4L-768H,8L-768H,12L-768H,100L-5120H", "--variant", "grouped", "--format", "json")
    assert r.status == 0, r
    models = {m["config"]: (m["leaves"], m["parameters"], m["targets"], m["nodes"]) for m in r.rows("models")}
    assert models == {
        "2L-256H": (42, 9622074, 12, 42 + 90), "4L-512H": (74, 28795194, 24, 74 + 156), "4L-768H": (74, 52811322, 24, 74 + 156),
        "8L-768H": (138, 81162810, 48, 138 + 288), "12L-768H": (202, 109514298, 72, 202 + 420),
        "100L-5120H": (1610, 31649110842, 600, 4934)}
    assert r.rows("models")[0]["parameters"] == 9622074, "smallest first"


def test_the_sixth_pattern_is_warned_about(perfkit):
    r = run(perfkit, "-a", "model=2L-256H", "--variant", "batched")
    assert r.status == 0 and r.stderr.count("*.attention.output.dense") == 1, r
    assert "never fires" in r.stderr and "*.output.dense" in r.stderr


def test_every_way_is_checked_and_counted(perfkit):
    r = run(perfkit, "-a", "model=4L-768H", "-a", "matcher=fnmatch,compiled")
    assert r.status == 0, r
    assert query(perfkit, "SELECT status, count(*) FROM v_case WHERE axes ->> 'op' = 'patch' GROUP BY 1") == [("ok", 4 * 8)]
    assert {n for n, in query(perfkit, "SELECT notes ->> 'check' FROM v_slice WHERE status = 'ok'")} == {"passed"}
    objects, written = metric(perfkit, "objects"), metric(perfkit, "allocated_bytes")
    assert set(objects) == set(WAYS)
    assert objects["grouped"] == objects["cached"] == 4 * 6 + 4, "the nodes above 24 targets"
    assert objects["in-place"] == objects["built-in"] == 0
    assert objects["path-copy"] > objects["grouped"] and objects["naive"] > 4 * objects["naive-1pass"]
    assert written["naive"] > written["naive-1pass"] > written["batched"] > written["grouped"]
    times = metric(perfkit, "tree_op_ns")
    assert "built-in" not in times and times["naive"] > times["grouped"]


def test_the_tables(perfkit):
    r = run(perfkit, "-a", "model=2L-256H,4L-768H,8L-768H", "-a", "patches=0,1", "-a", "matcher=fnmatch,compiled")
    assert r.status == 0, r
    for title in ("Models", "Cost of one patch", "Initialisation without and with patching", "One patch in trees of growing size, naive",
                  "Small against large", "Speed-up against naive", "Projections from one patch", "What the tree operation allocates",
                  "Finding the modules"):
        assert title in r.stdout, title
    assert "time = " in r.stdout and "R² = " in r.stdout and "A speed-up does not carry over" in r.stdout
    assert "Extrapolated" in r.stdout
    again = perfkit("show")
    assert again.stdout == r.stdout


def slope_of(points):
    """Least squares of log y on log x."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mx, my = (sum(v) / len(logs) for v in zip(*logs))
    return sum((x - mx) * (y - my) for x, y in logs) / sum((x - mx) ** 2 for x, _ in logs)


def test_fits_over_leaves_and_patches(perfkit):
    """The fits are those of the medians that stand in the store, whatever the machine's noise; bench-tree asks for 1.0."""
    r = perfkit("run", "tree-patch", "--preset", "growth", "--variant", "naive-1pass", "-a", "layers=20,40,80", "-a", "patches=10,30,90",
                "--min-samples", "3", "--min-time", "5ms", "--max-time", "50ms", "--invocations", "1")
    assert r.status == 0, r
    medians = query(perfkit, "SELECT c.axes ->> 'layers', c.axes ->> 'patches', s.median FROM v_summary s JOIN v_case c USING (case_id) "
                             "WHERE s.metric = 'tree_op_ns'")
    fits = query(perfkit, "SELECT name, fixed, slope FROM v_fit WHERE name LIKE '%exponent'")
    assert len(fits) == 6
    for name, fixed, slope in fits:
        fixed = json.loads(fixed)
        if name == "tree_op_leaves_exponent":
            points = [(16 * layers + 10, ns) for layers, patches, ns in medians if patches == fixed["patches"]]
        else:
            points = [(patches, ns) for layers, patches, ns in medians if layers == fixed["layers"]]
        assert len(points) == 3 and slope == pytest.approx(slope_of(points), rel=1e-6)


@pytest.mark.parametrize("op,ways", [("combine", ["naive", "batched", "cached"]), ("flatten", ["naive"])])
def test_what_is_paid_at_every_step(perfkit, op, ways):
    r = run(perfkit, "-a", "model=4L-768H", "-a", f"op={op}", "--format", "json")
    assert r.status == 0, r
    assert [s["variant"] for s in r.rows("per_step")] == ways
    assert all(s["step_ns"] > 0 for s in r.rows("per_step"))


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_real_weights_are_sliced(perfkit, tp):
    h, i, layers = 64, 128, 2
    r = run(perfkit, "--layers", layers, "--hidden", h, "--intermediate", i, "--vocab", 40, "--weights", "real", "--tp", tp,
            "--slicing", "per-leaf,batched", "--format", "json")
    assert r.status == 0, r
    pieces = layers * 4 * (3 * (h * h + h) // tp + (h * i + i) // tp + (i * h + h * h) // tp)
    for row in r.rows("slicing"):
        assert row["moved_bytes"] == pytest.approx(2 * pieces, rel=0.1)
    assert {row["slicing"] for row in r.rows("slicing")} == {"per-leaf", "batched"}
    assert query(perfkit, "SELECT count(*) FROM v_summary s JOIN v_case c USING (case_id) "
                          "WHERE s.metric = 'peak_bytes' AND s.median <> c.predicted_bytes") == [(0,)]


def test_too_large_for_memory_is_a_refusal_with_bytes(perfkit):
    r = run(perfkit, "--model", "100L-5120H", "--weights", "real", "--memory-limit", "8GB", "--variant", "grouped", "--patches", 0)
    assert r.status == 6, r
    assert "176.5 GiB" in r.error()["why"] and "7.5 GiB" in r.error()["why"], r
    assert "--memory-limit" in r.error()["try"]


def test_what_cannot_fit_is_refused_before_anything_is_timed(perfkit):
    perfkit.db.unlink()
    r = run(perfkit, "--model", "100L-5120H", "--weights", "real", "--memory-limit", "8GB", "--variant", "grouped")
    assert r.status == 6 and "ceilings" not in r.stderr and "no case can be measured" in r.stderr, r


def test_each_way_needs_its_own_memory_only(perfkit):
    """Path-copy keeps 600 paths of some 100 pointers, grouped each node above a target once, in-place none."""
    r = run(perfkit, "--layers", 100, "--hidden", 64, "--intermediate", 256, "-a", "op=patch", "--patches", 0, "-a", "matcher=compiled",
            "--variant", "path-copy,grouped,in-place", "--memory-limit", "300KiB")
    assert r.status == 0, r
    rows = dict(query(perfkit, "SELECT variant, status || ': ' || coalesce(message, '') FROM v_case"))
    assert rows["grouped"] == rows["in-place"] == "ok: "
    assert rows["path-copy"] == "oom: patching takes 589.8 KiB for nodes: 600 modules match, and the limit is 300.0 KiB"


def test_a_large_tree_is_planned_at_once(perfkit):
    """Five thousand layers, 80,010 leaves: what matches is found without asking every rule for every path, many times over."""
    r = run(perfkit, "--layers", 5000, "-a", "op=patch", "--patches", 0, "-a", "matcher=compiled", "--variant", "grouped,naive",
            "--timeout", "1m", "--dry-run", "--format", "json", timeout=60)
    assert r.status == 0, r
    rows = {x["variant"]: x for x in r.rows("plan")}
    assert rows["grouped"]["status"] == "measured"
    assert rows["naive"]["status"].startswith("would take at least "), "30,000 patches of five passes over 80,010 leaves"
    assert rows["naive"]["floor_ns"] == rows["grouped"]["floor_ns"], "a floor knows no variant"


def test_a_byte_order_mark_is_no_name(perfkit):
    tree, plan = own_tree(perfkit), write(perfkit, "my.plan", "blocks.0.up = column\n")
    for path in (tree, plan):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    r = run(perfkit, "--tree", tree, "--plan", plan, "--variant", "grouped", "--format", "json")
    assert r.status == 0 and r.rows("models")[0]["targets"] == 1, r
    assert query(perfkit, "SELECT count(*) FROM v_case WHERE status = 'ok'")[0][0] > 0


def test_a_comma_in_a_path_is_explained(perfkit):
    assert "commas divide values" in run(perfkit, "--tree", "my,tree.txt").refused(2, "my").error()["try"]


def test_a_user_s_own_tree_and_plan(perfkit):
    tree, plan = own_tree(perfkit), write(perfkit, "my.plan", "# mine\n*.up = column\n*.down = row\n")
    r = run(perfkit, "--tree", tree, "--plan", plan, "--format", "json")
    assert r.status == 0, r
    [model] = r.rows("models")
    assert (model["leaves"], model["parameters"], model["targets"]) == (13, 50 * 8 + 3 * (16 * 8 + 16 + 8 * 16 + 8), 6)
    assert model["config"] == str(tree)
    assert set(metric(perfkit, "create_ns")) == set(WAYS)


def test_a_changed_file_is_another_case(perfkit):
    tree, plan = own_tree(perfkit), write(perfkit, "my.plan", "*.up = column\n")
    assert run(perfkit, "--tree", tree, "--plan", plan, "--variant", "grouped").status == 0
    own_tree(perfkit, layers=4)
    assert run(perfkit, "--tree", tree, "--plan", plan, "--variant", "grouped").status == 0
    assert len({i for i, in query(perfkit, "SELECT identity ->> 'tree' FROM v_case")}) == 2


PLANS = [
    ("*.nothing = column\n", "matches no module"),
    ("*.up.weight = column\n", "parameter"),
    ("blocks.* = column\n", "blocks.0"),
    ("*.up = sideways\n", "sideways"),
    ("*.up = colum\n", "did you mean 'column'?"),
    ("*.[up = column\n", "my.plan:1"),
    ("*.up = column\n*.up = row\n", "my.plan:2"),
    ("\n# nothing\n", "no rule"),
    ("emb = column\n*.up\n", "my.plan:2"),
]


@pytest.mark.parametrize("text,word", PLANS)
def test_plans_that_are_refused(perfkit, text, word):
    tree, plan = own_tree(perfkit), write(perfkit, "my.plan", text)
    r = run(perfkit, "--tree", tree, "--plan", plan)
    r.refused(2, word)
    assert query(perfkit, "SELECT count(*) FROM v_run WHERE experiment = 'tree-patch'") == [(0,)], "nothing was measured"


def test_overlapping_targets_are_refused(perfkit):
    plan = write(perfkit, "my.plan", "*.attention.self.query = column\n*.attention = column\n")
    run(perfkit, "--plan", plan).refused(2, "attention.self.query", "inside")


TREES = [
    ("a.weight (2, 3)\na.weight (2, 3)\n", "tree.txt:2"),
    ("a.weight (2, x)\n", "tree.txt:1"),
    ("a (2,)\na.weight (2,)\n", "tree.txt:2"),
    ("l.0.w (2,)\nl.2.w (2,)\n", "hole"),
    ("a..w (2,)\n", "tree.txt:1"),
    ("# nothing\n", "no leaf"),
    ("a.w (0, 2)\n", "tree.txt:1"),
]


@pytest.mark.parametrize("text,word", TREES)
def test_trees_that_are_refused(perfkit, text, word):
    run(perfkit, "--tree", write(perfkit, "tree.txt", text)).refused(2, word)


def test_tp_that_does_not_divide(perfkit):
    run(perfkit, "--layers", 1, "--hidden", 30, "--intermediate", 120, "--vocab", 9, "--weights", "real", "--tp", 4).refused(
        2, "30", "tp can be 2, 3, 5, 6, 10, 15, 30: ")


def test_no_tp_divides(perfkit):
    run(perfkit, "--layers", 1, "--hidden", 7, "--intermediate", 11, "--vocab", 9, "--weights", "real", "--tp", 7).refused(
        2, "no tp divides every dimension")


@pytest.mark.parametrize("path,word", [("missing.txt", "missing.txt"), (".", "directory")])
def test_files_that_are_none(perfkit, path, word):
    run(perfkit, "--tree", path).refused(2, word)


def test_dry_run_has_counts_and_memory(perfkit):
    r = perfkit("run", "tree-patch", "--model", "100L-5120H", "--weights", "real", "--variant", "grouped", "--dry-run", "--format", "json")
    assert r.status == 0, r
    assert "189" in json.dumps(r.json()) or "189" in r.stdout


def test_once(perfkit):
    assert perfkit("run", "tree-patch", "--model", "2L-256H", "--variant", "naive", "--once").status == 0


def test_the_null_device(perfkit):
    r = run(perfkit, "--device", "null", "-a", "model=4L-768H", "--format", "json")
    assert r.status == 0, r
    grouped = [row for row in r.rows("allocation") if row["variant"] == "grouped"]
    assert grouped[0]["tree_op_ns"] == pytest.approx(grouped[0]["floor_bytes"] / 1024, rel=1e-3), "the null device's rate"
