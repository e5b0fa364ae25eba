"""`run tree-patch` through the front door: exact counts, every way right, users' own trees and plans, what is refused."""
import json
import math
import os
import re
import shutil
import sqlite3
import statistics

import pytest
from conftest import Perfkit, not_sanitized
from stored import Stored, query
from scipy.special import stdtrit

FEW = ("--min-samples", "2", "--max-samples", "2", "--warmup", "0", "--min-time", "1ms", "--max-time", "1ms", "--invocations", "1")
WAYS = ["naive", "naive-1pass", "batched", "path-copy", "grouped", "cached", "in-place", "built-in"]


pytestmark = pytest.mark.usefixtures("measured")


def run(perfkit, *args, device="null", **kw):
    """On the null device, where every figure is known, unless another is named."""
    return perfkit("run", "tree-patch", *FEW, "--tables", "all", *args, env={"PERFKIT_DEVICE": device}, **kw)


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


def test_models_have_their_sizes(perfkit):
    """The report's columns; Params × is relative to its small model (599, not 287), or to the smallest that was run."""
    r = run(perfkit, "-a", "model=2L-256H,4L-768H,100L-5120H", "--variant", "grouped", "--format", "json")
    rows = {m["config"]: m for m in r.rows("models")}
    large = rows["100L-5120H"]
    same(large, layers=100, hidden=5120, intermediate=20480, heads=40, parameters_ratio=31649110842 / 52811322, weights_bytes=4 * 31649110842,
         narrow_bytes=2 * 31649110842)
    assert round(large["parameters_ratio"]) == 599 and rows["4L-768H"]["parameters_ratio"] == 1 and rows["2L-256H"]["heads"] == 4
    assert "Params ×: relative to 4L-768H." in r.json()["tables"]["models"]["notes"]
    (sizes,) = {row["parameters_ratio"] for row in r.rows("sizes")}
    assert sizes == pytest.approx(31649110842 / 9622074)
    r = run(perfkit, "--layers", "2,4", "--hidden", 64, "--intermediate", 100, "--vocab", 9, "-a", "op=patch", "--variant", "grouped", "--format", "json")
    first, second = r.rows("models")
    assert first["parameters_ratio"] == 1 and second["parameters_ratio"] > 1.3 and first["heads"] is None
    assert "Heads" not in " ".join(r.json()["tables"]["models"]["notes"])


CARD = 80_000_000_000


def large_in(perfkit, *args):
    """The 31.6 billion parameters on the null device with the memory of one card."""
    return run(perfkit, "--model", "100L-5120H", "--weights", "real", "--patches", 0, "-a", "op=patch", "-a", "matcher=compiled", "--variant", "grouped",
               "--memory-limit", f"{CARD}B", *args, "--format", "json")


def test_the_large_model_fits_a_card_in_bf16(perfkit):
    """The tree alone in 63.3 GB; with its slices for two devices only where whole weights are made layer by layer."""
    layer, rest = 2 * (12 * 5120**2 + 7 * 5120), 2 * 31_649_110_842 - 100 * 2 * (12 * 5120**2 + 7 * 5120)
    for tp in (2, 8):
        r = large_in(perfkit, "--dtype", "bf16", "--staging", "layer", "--tp", tp)
        assert r.status == 0, r
        (case,) = query(perfkit, "SELECT predicted_bytes, median FROM v_case JOIN v_summary USING (case_id) WHERE metric = 'peak_bytes' ORDER BY case_id DESC LIMIT 1")
        assert case[0] == case[1] == pytest.approx(rest + 100 * layer / tp + layer, rel=1e-6) and case[1] < CARD / 2
        (row,) = r.rows("slicing")
        assert row["moved_bytes"] == 2 * 100 * layer / tp
        (times,) = query(perfkit, "SELECT max(median) FILTER (WHERE metric = 'create_ns'), max(median) FILTER (WHERE metric = 'transform_ns') FROM v_summary "
                                  "WHERE case_id = (SELECT max(case_id) FROM v_case)")
        assert times == pytest.approx((2 * 31_649_110_842 / 1024, row["moved_bytes"] / 1024), abs=101), "1024 bytes a ns, to a rounding a layer"
    assert large_in(perfkit, "--dtype", "bf16", "--staging", "model", "--tp", 8).status == 0, "63.3 GB and an eighth"
    r = large_in(perfkit, "--dtype", "bf16", "--staging", "model", "--tp", 2)
    assert r.status == 6 and "88.3 GiB" in r.error()["why"], r
    r = large_in(perfkit, "--dtype", "fp32", "--staging", "layer", "--tp", 2, "--dry-run")
    (plan,) = r.rows("plan")
    assert plan["status"] == "measured" and plan["predicted_bytes"] == pytest.approx(2 * (rest + 51 * layer), rel=1e-6), "65.7 GB in fp32"


def test_the_host_has_no_weights(perfkit):
    """Every process of the run stays below the bytes of one layer, 629 MB."""
    p = perfkit.start("run", "tree-patch", *FEW, "--model", "100L-5120H", "--weights", "real", "--dtype", "bf16", "--staging", "layer", "-a", "op=patch",
                      "--patches", 0, "-a", "matcher=compiled", "--variant", "grouped", "--device", "null", "--memory-limit", "80GB")
    out, err = p.stdout.read(), p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, err
    assert usage.ru_maxrss * 1024 < 2 * (12 * 5120**2 + 7 * 5120), out


@pytest.mark.parametrize("staging, dtype", [("layer", "fp32"), ("layer", "bf16"), ("model", "bf16")])
def test_every_way_with_weights_is_checked(perfkit, staging, dtype):
    r = run(perfkit, "--layers", 2, "--hidden", 64, "--intermediate", 128, "--vocab", 40, "--weights", "real", "--tp", 4, "--staging", staging, "--dtype",
            dtype, "-a", "op=patch", "-a", "matcher=compiled", "--patches", 0, "--slicing", "per-leaf,batched", device="cpu")
    assert r.status == 0, r
    status = dict(query(perfkit, "SELECT variant, group_concat(DISTINCT status) FROM v_case GROUP BY 1"))
    assert status == {way: "ok" for way in WAYS} | ({} if staging == "layer" else {"resident": "ok"})
    assert {n for n, in query(perfkit, "SELECT notes ->> 'check' FROM v_slice WHERE status = 'ok'")} == {"passed"}
    if staging == "layer":
        r = run(perfkit, "--layers", 2, "--weights", "real", "--staging", "layer", "-a", "op=patch", "--variant", "resident")
        assert r.status == 6 and r.error()["why"] == "resident has a table of whole weights: -a staging=model", r


def test_weights_of_old_runs_are_the_same_cases(perfkit):
    """dtype and staging were born fp32 and model: nothing of them in what identifies a case."""
    small = ("--layers", 1, "--hidden", 64, "--intermediate", 128, "--vocab", 40, "--weights", "real", "-a", "op=patch", "-a",
             "matcher=compiled", "--patches", 0, "--variant", "grouped")
    assert run(perfkit, *small).status == 0
    assert all("dtype" not in i and "staging" not in i for i, in query(perfkit, "SELECT identity FROM v_case"))
    assert run(perfkit, *small, "--dtype", "bf16", "--staging", "layer").status == 0
    assert len({i for i, in query(perfkit, "SELECT identity FROM v_case")}) == 2


AXES = {"tree": "bert", "layers": 100, "hidden": 5120, "intermediate": 20480, "vocab": 30522, "op": "patch", "plan": "reports", "patches": 0, "matcher": "compiled",
        "weights": "none"}


def patched(variant, tree_op, match=1e6, transform=1e6, peer=False, spread=0.001):
    """A case of six processes; of a peer nobody counted objects."""
    def times(ns):
        return [ns * (1 + spread * i) for i in range(-3, 3)]
    counts = {"leaves": [1610] * 6, "targets": [600] * 6, "parameters": [31649110842] * 6, **({} if peer else {"objects": [600] * 6})}
    return variant, AXES, {"tree_op_ns": times(tree_op), "match_ns": times(match), "transform_ns": times(transform), "create_ns": times(1e9), **counts}


PEERS = (patched("equinox-tree-at", 57.0e9, 80e6, 222e6, True), patched("equinox-batched", 112.2e6, 80e6, 222e6, True), patched("optree-batched", 9e6, peer=True))


def test_a_peer_is_compared_with_its_own_loop(perfkit):
    """The report's question: Equinox's loop against Equinox batched. A peer without its loop has none to be compared with."""
    perfkit.db.unlink()
    store = Stored(perfkit.db)
    store.run([patched("naive", 152e6), patched("batched", 2e5), patched("grouped", 1e5), *PEERS], experiment="tree-patch")
    shown = perfkit("show", "@", "--format", "json")
    rows = {(row["program"], row["variant"]): row for row in shown.rows("programs")}
    assert list(rows) == [("equinox", "equinox-batched"), ("perfkit", "batched")]
    equinox = rows["equinox", "equinox-batched"]
    assert equinox["loop"] == "equinox-tree-at" and equinox["verdict"] == "faster"
    assert equinox["tree_op_speedup"] == pytest.approx(57.0e9 / 112.2e6, rel=1e-3) and round(equinox["tree_op_speedup"]) == 508
    assert equinox["patch_speedup"] == pytest.approx((57.0e9 + 302e6) / (112.2e6 + 302e6), rel=1e-3)
    for column in ("tree_op_speedup", "patch_speedup"):
        assert equinox[column + "_low"] < equinox[column] < equinox[column + "_high"]
    assert rows["perfkit", "batched"]["tree_op_speedup"] == pytest.approx(152e6 / 2e5, rel=1e-3)
    assert {row["variant"] for row in shown.rows("speedups")} >= {"equinox-batched", "optree-batched"}, "against perfkit's naive, as before"
    store.run([patched("naive", 152e6), patched("batched", 2e5)], experiment="tree-patch")
    assert "programs" not in perfkit("show", "@", "--format", "json").json()["tables"], "one program"


def test_what_is_recommended(perfkit):
    """The simplest that is not told apart from the fastest; nothing where the intervals do not allow it."""
    perfkit.db.unlink()
    store = Stored(perfkit.db)

    def recommended(*cases):
        store.run(list(cases), experiment="tree-patch")
        return {row["program"]: row for row in perfkit("show", "@", "--format", "json").rows("recommendation")}

    naive, other = patched("naive", 152e6), (patched("in-place", 1e3), patched("cached", 2e3), patched("built-in", 1))
    row = recommended(naive, patched("batched", 9e6), patched("grouped", 1e5), *other, *PEERS)
    assert row[None]["variant"] == "grouped" and row[None]["reason"] == "fastest"
    assert row[None]["saved_ns"] == pytest.approx(152e6 - 1e5, rel=1e-3) and row[None]["patch_speedup_low"] > 1
    assert row["equinox"]["variant"] == "equinox-batched" and row["equinox"]["reason"] == "faster than equinox-tree-at" and "optree" not in row
    row = recommended(naive, patched("batched", 2e5), patched("grouped", 199e3))[None]
    assert (row["variant"], row["reason"]) == ("batched", "simpler than grouped, not told apart")
    row = recommended(patched("naive", 1e6, spread=0.3), patched("batched", 9e5, spread=0.3))[None]
    assert row["variant"] is None and row["saved_ns"] is None and row["reason"] == "none: nothing is told apart from naive"
    query(perfkit, "UPDATE summary SET ci_low = NULL, ci_high = NULL")
    (row,) = perfkit("show", "@", "--format", "json").rows("recommendation")
    assert row["variant"] is None and row["reason"] == "none: no interval (--invocations 3)"


def test_a_pattern_that_is_never_used_is_warned_about_in_a_plan_of_ones_own(perfkit):
    plan = perfkit.cwd / "mine.plan"
    plan.write_text("*.output.dense = row\n*.attention.output.dense = row\n")
    r = run(perfkit, "-a", "model=2L-256H", "-a", f"plan={plan}", "--variant", "batched")
    assert r.status == 0 and r.stderr.count("*.attention.output.dense") == 1 and "is never used" in r.stderr, r
    r = run(perfkit, "-a", "model=2L-256H", "-a", "patches=0,1", "-a", "matcher=compiled", "--variant", "batched")
    assert r.status == 0 and "is never used" not in r.stderr, r
    assert len(perfkit("show", "--format", "json").rows("scaling")) == 1


def test_every_way_is_checked_and_counted(perfkit):
    r = run(perfkit, "-a", "model=4L-768H", "-a", "matcher=fnmatch,compiled", device="cpu")
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
    r = run(perfkit, "-a", "model=2L-256H,4L-768H,8L-768H", "-a", "patches=0,1", "-a", "matcher=fnmatch,compiled", "--variant", "naive,batched,grouped,built-in")
    assert r.status == 0, r
    for title in ("Models", "Cost of one patch", "Initialisation without and with patching", "One patch in trees of growing size, naive",
                  "Small and large model", "Speed-up against naive", "Projections from one patch", "Allocations of the tree operation",
                  "Finding the modules"):
        assert title in r.stdout, title
    assert "time = " in r.stdout and "R² = " in r.stdout and "A speed-up cannot be transferred" in r.stdout
    assert "Extrapolated" in r.stdout
    again = perfkit("show", "--tables", "all")
    assert again.stdout == r.stdout


def test_fits_over_leaves_and_patches(perfkit):
    """The fits are those of the medians that stand in the store, whatever the machine's noise; bench-tree asks for 1.0."""
    r = perfkit("run", "tree-patch", "--preset", "growth", "--variant", "naive-1pass", "-a", "layers=20,40,80", "-a", "patches=10,30,90",
                *FEW)
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
        assert len(points) == 3 and slope == pytest.approx(power(points)["exponent"], rel=1e-6)


@pytest.mark.parametrize("op,ways", [("combine", ["naive", "batched", "cached"]), ("flatten", ["naive"])])
def test_what_is_paid_at_every_step(perfkit, op, ways):
    r = run(perfkit, "-a", "model=4L-768H", "-a", f"op={op}", "--format", "json")
    assert r.status == 0, r
    assert [s["variant"] for s in r.rows("per_step")] == ways
    assert all(s["step_ns"] > 0 for s in r.rows("per_step"))


@pytest.mark.parametrize("device, tp", [("cpu", 2), ("null", 8)])
def test_real_weights_are_sliced(perfkit, device, tp):
    h, i, layers = 64, 128, 2
    r = run(perfkit, "--layers", layers, "--hidden", h, "--intermediate", i, "--vocab", 40, "--weights", "real", "--tp", tp, "-a", "op=patch",
            "-a", "matcher=compiled", "--slicing", "per-leaf,batched", "--format", "json", device=device)
    assert r.status == 0, r
    pieces = layers * 4 * (3 * (h * h + h) // tp + (h * i + i) // tp + (i * h + h * h) // tp)
    for row in r.rows("slicing"):
        assert row["moved_bytes"] == pytest.approx(2 * pieces, rel=0.1)
    assert {row["slicing"] for row in r.rows("slicing")} == {"per-leaf", "batched"}
    # a case that patches one module moves less: it is not taken, also where it has the median time
    of = "UPDATE summary SET median = %s WHERE metric_id = (SELECT id FROM metric WHERE name = 'transform_ns') AND case_id IN (%s)"
    query(perfkit, of % ("2e9", "SELECT id FROM run_case WHERE axes ->> 'patches' = 1"))
    query(perfkit, of % ("iif(case_id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY axes ->> 'slicing' ORDER BY id) AS i FROM run_case "
                         "WHERE axes ->> 'patches' = 0 AND axes ->> 'op' = 'patch') WHERE i % 2), 1e9, 3e9)",
                         "SELECT id FROM run_case WHERE axes ->> 'patches' = 0"))
    for row in perfkit("show", "--format", "json").rows("slicing"):
        assert row["moved_bytes"] == pytest.approx(2 * pieces, rel=0.1)
    assert query(perfkit, "SELECT count(*) FROM v_summary s JOIN v_case c USING (case_id) "
                          "WHERE s.metric = 'peak_bytes' AND s.median <> c.predicted_bytes") == [(0,)]


def test_too_large_for_memory_is_a_refusal_with_bytes(perfkit):
    r = run(perfkit, "--model", "100L-5120H", "--weights", "real", "--memory-limit", "8GB", "--variant", "grouped", "--patches", 0)
    assert r.status == 6, r
    assert "176.5 GiB" in r.error()["why"] and "7.5 GiB" in r.error()["why"], r
    assert "--memory-limit" in r.error()["try"]


def test_cases_too_large_among_others_are_said_in_a_line(perfkit):
    sizes = ("--weights", "none,real", "--memory-limit", "50MB", "--patches", 0, "-a", "op=patch", "-a", "matcher=compiled", "--tp", 2)
    r = run(perfkit, "--model", "4L-768H,12L-768H", *sizes, "--variant", "grouped,in-place")
    lines = [x for x in r.stderr.splitlines() if "not enough memory" in x]
    assert r.status == 0 and len(lines) == 1 and "8 cases" in r.stderr, r
    for word in ("4 of 8 cases", " MiB to ", "the limit is 47.7 MiB", "-a", "--memory-limit", "--dry-run"):
        assert word in lines[0], r
    r = run(perfkit, "--model", "2L-256H", *sizes, "--variant", "grouped")
    assert r.status == 0 and "not enough memory" not in r.stderr, r


def test_why_every_case_was_skipped(perfkit):
    r = run(perfkit, "--slicing", "graph", "--weights", "real", "--op", "patch", "--model", "2L-256H", "-d", "cpu")
    assert r.status == 6 and r.error()["why"] == "capturing operations in a graph needs a GPU", r
    assert "--device" in r.error()["try"] and "smaller" not in r.stderr, r
    r = run(perfkit, "--slicing", "graph", "--weights", "real", "--op", "flatten,patch", "--tp", "2,4", "--model", "2L-256H", "-d", "cpu",
            "--variant", "grouped")
    assert r.status == 6 and r.error()["why"].startswith("6 of them: capturing operations in a graph") and "7 skipped" in r.stderr, r


def test_what_cannot_fit_is_refused_before_anything_is_timed(perfkit):
    perfkit.db.unlink()
    r = run(perfkit, "--model", "100L-5120H", "--weights", "real", "--memory-limit", "8GB", "--variant", "grouped")
    assert r.status == 6 and "ceilings" not in r.stderr and "no case can be measured" in r.stderr, r


def test_each_way_needs_its_own_memory_only(perfkit):
    """Path-copy keeps 600 paths of some 100 pointers, grouped each node above a target once, in-place none."""
    r = run(perfkit, "--layers", 100, "--hidden", 64, "--intermediate", 256, "-a", "op=patch", "--patches", 0, "-a", "matcher=compiled",
            "--variant", "path-copy,grouped,in-place", "--memory-limit", "300KiB", device="cpu")
    assert r.status == 0, r
    rows = dict(query(perfkit, "SELECT variant, status || ': ' || coalesce(message, '') FROM v_case"))
    assert rows["grouped"] == rows["in-place"] == "ok: "
    assert rows["path-copy"] == "oom: patching takes 589.8 KiB for nodes: 600 modules match, and the limit is 300.0 KiB"


@not_sanitized
def test_a_large_tree_is_planned_at_once(perfkit):
    """Five thousand layers, 80,010 leaves: what matches is found without asking every rule for every path, many times over."""
    r = run(perfkit, "--layers", 5000, "--hidden", 256, "--intermediate", 1024, "-a", "op=patch", "--patches", 0, "-a", "matcher=compiled",
            "--variant", "grouped,naive", "--timeout", "3s", "--dry-run", "--format", "json", device="cpu", timeout=60)
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
    assert "commas separate values" in run(perfkit, "--tree", "my,tree.txt").refused(2, "my").error()["try"]


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
    ("l.0.w (2,)\nl.2.w (2,)\n", "is missing"),
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
    case = r.rows("plan")[0]
    assert (case["leaves"], case["parameters"]) == (1610, 31_649_110_842) and case["predicted_bytes"] > 4 * case["parameters"]


def test_once(perfkit):
    assert perfkit("run", "tree-patch", "--model", "2L-256H", "--variant", "naive", "--once").status == 0


def test_the_null_device(perfkit):
    r = run(perfkit, "--device", "null", "-a", "model=4L-768H", "--format", "json")
    assert r.status == 0, r
    grouped = [row for row in r.rows("allocation") if row["variant"] == "grouped"]
    assert grouped[0]["tree_op_ns"] == pytest.approx(grouped[0]["floor_bytes"] / 1024, rel=1e-3), "the null device's rate"


# ---- numbers of the tables, from the views alone ----------------------------------------------------------

class Figures:
    """What v_summary, v_work, v_ceiling and v_fit say of a run's cases, by (variant, axes)."""

    def __init__(self, perfkit):
        self.perfkit, self.medians = perfkit, {}
        for variant, axes, metric, median in query(perfkit, "SELECT variant, axes, metric, median FROM v_summary"):
            self.medians.setdefault((variant, axes), {})[metric] = median
        self.floor = {(v, a): b for v, a, b in query(
            perfkit, "SELECT c.variant, c.axes, w.bytes FROM v_work w JOIN v_case c USING (case_id) WHERE w.metric = 'tree_op_ns'")}
        self.levels = dict(query(perfkit, "SELECT level, bytes_per_s FROM v_level"))
        self.fits = query(perfkit, "SELECT name, variant, fixed, n, slope, slope_high, intercept, intercept_high FROM v_fit")

    def of(self, variant, **axes):
        """The figures of the one case with these axes."""
        found = [(v, a) for v, a in self.medians if v == variant and axes.items() <= json.loads(a).items()]
        assert len(found) == 1, (variant, axes, found)
        return self.medians[found[0]] | {"floor": self.floor.get(found[0])}

    def model(self, config, **more):
        layers, hidden = re.fullmatch(r"(\d+)L-(\d+)H", config).groups()
        return {"layers": int(layers), "hidden": int(hidden), "op": "patch"} | more


MODELS = ["2L-256H", "4L-768H", "8L-768H", "12L-768H"]


@pytest.fixture(scope="module")
def told(tmp_path_factory, ceilings):
    """The tables of a run as JSON, and the figures that they are of."""
    one = Perfkit(tmp_path_factory.mktemp("told"))
    shutil.copy(ceilings, one.db)
    r = one("run", "tree-patch", "-a", "model=" + ",".join(MODELS), "-a", "patches=0,1,4", "-a", "op=patch", "-a", "matcher=fnmatch,compiled",
            "--variant", "naive,naive-1pass,batched,grouped,built-in", "--no-check", *FEW, "--format", "json")
    assert r.status == 0, r
    return r, Figures(one)


def same(row, **expected):
    for key, value in expected.items():
        assert row[key] == pytest.approx(value, rel=1e-9), (key, row)


def patch_ns(f):
    return f["match_ns"] + f["transform_ns"] + f.get("tree_op_ns", 0)


def test_numbers_per_patch(told):
    r, figures = told
    rows = r.rows("transformations")
    assert len(rows) == 4 * 2 * 4, "built-in patches nothing"
    for row in rows:
        f = figures.of(row["variant"], **figures.model(row["config"], patches=0, matcher=row["matcher"]))
        n = f["targets"]
        same(row, targets=n, transform_per_patch_ns=f["transform_ns"] / n, match_per_patch_ns=f["match_ns"] / n,
             tree_op_per_patch_ns=f["tree_op_ns"] / n, patch_per_patch_ns=patch_ns(f) / n, patch_ns=patch_ns(f),
             tree_op_share=f["tree_op_ns"] / patch_ns(f))


def test_numbers_of_initialisation(told):
    r, figures = told
    rows = r.rows("initialisation")
    assert len(rows) == 4 * 2 * 5
    for row in rows:
        case = figures.model(row["config"], patches=0, matcher=row["matcher"])
        f, naive = figures.of(row["variant"], **case), figures.of("naive", **case)
        if row["variant"] == "built-in":
            saved = patch_ns(naive) + naive["create_ns"] - f["create_ns"]
            same(row, patch_ns=0, total_ns=f["create_ns"], overhead=f["create_ns"] / naive["create_ns"] - 1, saved_ns=saved,
                 saved_100_ns=100 * saved)
            continue
        same(row, create_ns=f["create_ns"], patch_ns=patch_ns(f), total_ns=f["create_ns"] + patch_ns(f), overhead=patch_ns(f) / f["create_ns"])
        if row["variant"] == "naive":
            assert row["saved_ns"] is None
        else:
            same(row, saved_ns=patch_ns(naive) - patch_ns(f), saved_100_ns=100 * (patch_ns(naive) - patch_ns(f)))


def test_nothing_is_saved_against_what_was_not_measured(perfkit):
    """As after an interruption: naive has its case and no figures."""
    assert run(perfkit, "--model", "2L-256H", "--patches", 0, "-v", "naive,grouped,built-in", "-a", "op=patch", "-a", "matcher=compiled").status == 0
    with sqlite3.connect(perfkit.db) as db:
        db.execute("DELETE FROM summary WHERE case_id IN (SELECT id FROM run_case WHERE variant = 'naive')")
    rows = {x["variant"]: x for x in perfkit("show", "--format", "json").rows("initialisation")}
    assert set(rows) == {"grouped", "built-in"}
    assert all(x["saved_ns"] is None and x["saved_100_ns"] is None for x in rows.values()), rows
    assert rows["grouped"]["overhead"] > 0 and rows["built-in"]["overhead"] is None


def test_numbers_of_sizes_and_speedups(told):
    r, figures = told
    for row in r.rows("sizes"):
        assert (row["small"], row["large"]) == ("2L-256H", "12L-768H")
        small, large = (figures.of(row["variant"], **figures.model(m, patches=0, matcher=row["matcher"])) for m in (row["small"], row["large"]))
        same(row, leaves_ratio=202 / 42, targets_ratio=6, small_ns=small["tree_op_ns"], large_ns=large["tree_op_ns"],
             time_ratio=large["tree_op_ns"] / small["tree_op_ns"], small_per_patch_ns=small["tree_op_ns"] / 12,
             large_per_patch_ns=large["tree_op_ns"] / 72)
    rows = r.rows("speedups")
    assert len(rows) == 4 * 2 * 3 and len(r.rows("sizes")) == 2 * 4
    for row in rows:
        case = figures.model(row["config"], patches=0, matcher=row["matcher"])
        f, naive = figures.of(row["variant"], **case), figures.of("naive", **case)
        same(row, tree_op_ns=f["tree_op_ns"], tree_op_speedup=naive["tree_op_ns"] / f["tree_op_ns"], patch_ns=patch_ns(f),
             patch_speedup=patch_ns(naive) / patch_ns(f))


def test_numbers_of_scaling_and_growth(told):
    r, figures = told
    scaling, growth = r.rows("scaling"), r.rows("growth")
    assert len(scaling) == 4 * 2 * 4 and len(growth) == 3 * 4 * 2 * 4
    for row in scaling:
        f = figures.of(row["variant"], **figures.model(row["config"], patches=1, matcher=row["matcher"]))
        same(row, leaves=f["leaves"], tree_op_ns=f["tree_op_ns"], per_leaf_ns=f["tree_op_ns"] / f["leaves"])
    for row in growth:
        patches = row["targets"] if row["targets"] in (1, 4) else 0
        f = figures.of(row["variant"], **figures.model(row["config"], patches=patches, matcher=row["matcher"]))
        same(row, targets=f["targets"], tree_op_ns=f["tree_op_ns"], per_patch_ns=f["tree_op_ns"] / f["targets"],
             over_leaves_ns=f["tree_op_ns"] / f["targets"] / f["leaves"])


def test_numbers_of_steps(perfkit):
    r = run(perfkit, "--model", "4L-768H", "-a", "op=combine,flatten", "--format", "json")
    figures = Figures(perfkit)
    rows = r.rows("per_step")
    assert len(rows) == 3 + 1
    for row in rows:
        f = figures.of(row["variant"], **figures.model("4L-768H", op=row["op"]))
        step = f["tree_op_ns"] + f.get("partition_ns", 0) + f.get("unflatten_ns", 0)
        same(row, tree_op_ns=f["tree_op_ns"], step_ns=step, thousand_ns=1000 * step)


def power(points):
    """Exponent, its 95 % interval and R² by least squares on logs."""
    x, y = ([math.log(v) for v in values] for values in zip(*points))
    slope, r2, freedom = statistics.linear_regression(x, y).slope, statistics.correlation(x, y) ** 2, len(x) - 2
    half = stdtrit(freedom, 0.975) * abs(slope) * math.sqrt((1 / r2 - 1) / freedom)
    return {"exponent": slope, "exponent_low": slope - half, "exponent_high": slope + half, "r2": r2, "n": len(x)}


def test_numbers_of_exponents(told):
    r, figures = told
    rows = r.rows("exponents")
    assert len([row for row in rows if row["over"] == "leaves"]) == 2 * 2 * 4 and len(rows) == 2 * 2 * 4 + 4 * 2 * 4
    for row in rows:
        at, matcher = row["at"].split(", ")
        if row["over"] == "leaves":
            patches = int(at.split()[0])
            cases = [figures.of(row["variant"], **figures.model(m, patches=patches, matcher=matcher)) for m in MODELS]
            points = [(c["leaves"], c["tree_op_ns"]) for c in cases]
        else:
            cases = [figures.of(row["variant"], **figures.model(at, patches=n, matcher=matcher)) for n in (0, 1, 4)]
            points = [(c["targets"], c["tree_op_ns"]) for c in cases]
        for key, value in power(points).items():
            assert row[key] == pytest.approx(value, rel=1e-5, abs=1e-6), (key, row)


@not_sanitized
def test_every_table_fits(perfkit, told):
    rest = run(perfkit, "--model", "2L-256H", "-a", "weights=real", "-a", "op=patch,flatten", "-a", "patches=0", "-a", "matcher=compiled", "--tp", "2")
    assert rest.status == 0, rest
    for width in (80, 100):
        shown = "".join(one("show", "--tables", "all", "--width", width).stdout for one in (told[1].perfkit, perfkit))
        titles = ["Models", "Cost of one patch", "Initialisation", "One patch in trees", "Time by number", "Small and large model", "Speed-up against",
                  "How the time", "Projections", "Allocations of the tree", "Finding the modules", "Slicing real weights", "Cost per step"]
        assert [t for t in titles if t not in shown] == []
        assert [line for line in shown.splitlines() if len(line) > width] == []


def test_numbers_of_projections(told):
    """The prediction interval of a least squares line, from the points themselves."""
    r, figures = told
    rows = r.rows("projection")
    assert len(rows) == 2 * 2 * 3
    for row in rows:
        variant, matcher = row["series"].split(", ")
        cases = [figures.of(variant, **figures.model(m, patches=1, matcher=matcher)) for m in MODELS]
        x, y = [c["leaves"] for c in cases], [c["tree_op_ns"] for c in cases]
        n, at, line = len(x), row["leaves"], statistics.linear_regression(x, y)
        mean, sxx = sum(x) / n, sum((v - sum(x) / n) ** 2 for v in x)
        scatter = math.sqrt(sum((b - line.slope * a - line.intercept) ** 2 for a, b in zip(x, y)) / (n - 2))
        half = row["patches"] * stdtrit(n - 2, 0.975) * scatter * math.sqrt(1 + 1 / n + (at - mean) ** 2 / sxx)
        value = row["patches"] * (line.slope * at + line.intercept)
        if value <= 0:
            assert row["projected_ns"] is row["projected_low_ns"] is row["projected_high_ns"] is None
            continue
        assert row["projected_ns"] == pytest.approx(value, rel=1e-6)
        assert row["projected_high_ns"] == pytest.approx(value + half, rel=1e-5)
        assert row["projected_low_ns"] == pytest.approx(max(0, value - half), rel=1e-4, abs=1e-3 * value)
        if row["what"] == "12L":
            measured = figures.of(variant, **figures.model("12L-768H", patches=0, matcher=matcher))["tree_op_ns"]
            same(row, measured_ns=measured, ratio=measured / row["projected_ns"])
        else:
            assert row["measured_ns"] is None


def test_numbers_of_allocation_and_matching(told):
    r, figures = told
    rows = r.rows("allocation")
    assert len(rows) == 4 * 4
    for row in rows:
        f = figures.of(row["variant"], **figures.model(row["config"], patches=0, matcher="compiled"))
        same(row, targets=f["targets"], objects=f["objects"], allocated_bytes=f["allocated_bytes"], tree_op_ns=f["tree_op_ns"],
             floor_bytes=f["floor"], over_floor=f["tree_op_ns"] / (f["floor"] / figures.levels[row["floor_in"]] * 1e9))
    ways = ["naive", "naive-1pass", "batched", "grouped", "built-in"]
    for row in r.rows("matching"):
        fnmatch, compiled = (sorted(f["match_ns"] for f in (figures.of(w, **figures.model(row["config"], patches=0, matcher=m)) for w in ways)
                                    if "match_ns" in f) for m in ("fnmatch", "compiled"))
        middle = (len(fnmatch) - 1) // 2
        same(row, fnmatch_ns=fnmatch[middle], compiled_ns=compiled[middle], speedup=fnmatch[middle] / compiled[middle])


def test_numbers_of_slicing(perfkit):
    r = run(perfkit, "--layers", 2, "--hidden", 64, "--intermediate", 128, "--vocab", 40, "--weights", "real", "--tp", "2,4", "--slicing",
            "per-leaf,batched", "--patches", 0, "-a", "op=patch", "-a", "matcher=compiled", "--variant", "naive,batched,grouped", "--format", "json")
    assert r.status == 0, r
    rates = dict(query(perfkit, "SELECT level, copy_bytes_per_s FROM v_level"))
    for row in r.rows("slicing"):
        times = query(perfkit, "SELECT median FROM v_summary WHERE metric = 'transform_ns' AND axes ->> 'tp' = "
                               f"{row['tp']} AND axes ->> 'slicing' = '{row['slicing']}' ORDER BY median")
        assert len(times) == 3
        same(row, transform_ns=times[1][0], rate_bytes_per_s=row["moved_bytes"] * 1e9 / times[1][0],
             of_ceiling=row["moved_bytes"] * 1e9 / times[1][0] / rates[row["lives_in"]])
        assert row["above_ceiling"] is (row["of_ceiling"] > 1)


def test_patches_of_any_number_are_printed(perfkit):
    r = run(perfkit, "--model", "4L-768H", "--patches", 8, "-a", "op=patch", "-a", "matcher=compiled", "--variant", "naive,grouped")
    assert r.status == 0 and "Time by number of patches" in r.stdout, r
    assert re.search(r"4L-768H +74 +8 +naive", r.stdout), r.stdout


def test_a_file_s_name_is_whole(perfkit):
    tree = write(perfkit, "my#tree.txt", "up.weight (16, 8)\n")
    r = run(perfkit, "--tree", tree, "--plan", write(perfkit, "p", "up = column\n"), "--variant", "grouped", "--format", "json")
    assert r.rows("models")[0]["config"] == str(tree)


def test_of_equally_many_leaves_the_smaller_model_is_small(perfkit):
    r = run(perfkit, "-a", "model=4L-768H,4L-512H,8L-768H", "--patches", 0, "-a", "op=patch", "-a", "matcher=compiled", "--variant", "naive",
            "--format", "json")
    assert [row["small"] for row in r.rows("sizes")] == ["4L-512H"]
