"""The experiment of docs/adding-an-experiment.md, built from the code of the page: it is as short as the page says, and works."""
import pathlib
import sqlite3

from page_code import code

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "adding-an-experiment.md"


def test_it_is_short(perfkit):
    lines = {language: code(PAGE, language).count("\n") for language in ("c", "sql")}
    assert lines["c"] <= 80 and lines["sql"] <= 30
    assert "%d lines of C and\n%d of SQL" % (lines["c"], lines["sql"]) in PAGE.read_text(encoding="utf-8")


def test_it_is_listed(perfkit):
    about = perfkit("list", "experiments", "softmax-rows", "--format", "json").json()["tables"]
    assert [row["name"] for row in about["metrics"]["rows"]] == ["forward_ns", "forward_host_ns", "peak_bytes"]
    assert [row["name"] for row in about["presets"]["rows"]] == ["default"]


def test_a_dry_run_knows_no_memory(perfkit):
    plan = perfkit("run", "softmax-rows", "-n", "--format", "json").rows("plan")
    assert [row["axes"]["cols"] for row in plan] == [256, 1024]
    assert all(row["predicted_bytes"] is None and row["status"] for row in plan)


def test_it_runs(perfkit, measured):
    got = perfkit("run", "softmax-rows", "--rows", "64", "--cols", "16,64", "--invocations", "1", "--max-time", "50ms", "--format", "json")
    assert got.status == 0, got
    rows = got.rows("softmax")
    assert [(row["rows"], row["cols"], row["variant"], row["status"]) for row in rows] == [
        (64, 16, "out-of-place", "ok"), (64, 64, "out-of-place", "ok")]
    for row in rows:
        assert row["peak_bytes"] == 2 * 4 * row["rows"] * row["cols"]
        assert row["forward_ns"] > 0 and row["bytes_per_s"] > 0
    checked = sqlite3.connect(perfkit.db).execute("SELECT DISTINCT notes ->> 'check' FROM slice").fetchall()
    assert checked == [("passed",)]
