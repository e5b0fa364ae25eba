"""Data out: the columns of export, one table of show in one CSV file, and the notebook of the documentation."""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import BINARY
from stored import Stored

ROOT = pathlib.Path(__file__).parents[2]
WRITER = os.environ["PK_STORE_WRITER"]
NOTEBOOK = ROOT / "docs" / "examples" / "samples.ipynb"


def rows(result):
    assert result.status == 0, result
    return list(csv.DictReader(io.StringIO(result.stdout)))


def header(result):
    assert result.status == 0, result
    return result.stdout.splitlines()[0].split(",")


def sampled(store, run, metric="forward_ns", n=3):
    """Every slice of the run gets n samples of the metric."""
    ids = store.db.execute("SELECT l.id FROM slice l JOIN run_case c ON c.id = l.case_id WHERE c.run_id = ?", [run]).fetchall()
    for slice_id, in ids:
        series = store.insert("series", slice_id=slice_id, metric_id=store.metric(metric), rank=0, instance=0, phase="steady", reps=1)
        for i in range(n):
            store.insert("sample", series_id=series, ordinal=i, value=100 + i)
    store.db.commit()


@pytest.fixture
def two(perfkit):
    """Two runs of experiments with different axes; one axis has the name of a column of a sample and of a summary."""
    store = Stored(perfkit.db)
    sampled(store, store.run([("flash", {"seq_len": 128, "causal": True, "dtype": "bf16"}, {"forward_ns": [1, 2, 3]}),
                              ("vanilla", {"seq_len": 256, "causal": False, "dtype": "=1+1"}, {"forward_ns": [4, 5, 6]})], experiment="attention"))
    sampled(store, store.run([("bucket", {"link_us": 2.5, "unit": "a,b", "seq_len": 64}, {"forward_ns": [7, 8, 9]})], experiment="reduce"))
    return perfkit


AXES = ["causal", "dtype", "seq_len"]


def test_samples_say_what_they_are_of(two):
    exported = rows(two("export", "csv", "1"))
    assert header(two("export", "csv", "1"))[-6:] == ["experiment", "variant", "device", *AXES]
    assert len(exported) == 2 * 3 * 3
    assert {(r["experiment"], r["variant"], r["device"], r["causal"], r["dtype"], r["seq_len"]) for r in exported} == {
        ("attention", "flash", "cpu", "true", "bf16", "128"), ("attention", "vanilla", "cpu", "false", "=1+1", "256")}
    first = two("export", "json", "1").rows("export_samples")[0]
    assert first["axes"] == {"seq_len": 128, "causal": True, "dtype": "bf16"} and first["experiment"] == "attention"
    assert all(json.loads(line)["variant"] for line in two("export", "jsonl", "1").stdout.splitlines())


def test_summaries_have_a_column_per_axis(two):
    exported = rows(two("export", "csv", "1", "--what", "summary"))
    assert header(two("export", "csv", "1", "--what", "summary"))[-3:] == AXES
    assert [(r["variant"], r["seq_len"], r["median"]) for r in exported] == [("flash", "128", "2.0"), ("vanilla", "256", "5.0")]
    assert json.loads(exported[0]["axes"])["seq_len"] == 128, "the column that it always had"


@pytest.mark.parametrize("what", ["samples", "summary", "cases"])
def test_runs_of_several_experiments(two, what):
    """A column for each axis of all of them, empty where it does not apply, in one order, whichever run comes first."""
    one, other = two("export", "csv", "1", "2", "--what", what), two("export", "csv", "2", "1", "--what", what)
    unit = "unit" if what == "cases" else "axes.unit"
    assert header(one) == header(other)
    assert header(one)[-5:] == ["causal", "dtype", "link_us", "seq_len", unit]
    assert sorted(one.stdout.splitlines()) == sorted(other.stdout.splitlines()) and one.stdout != other.stdout
    assert {(r["experiment"], r["causal"], r["link_us"], r[unit], r["seq_len"]) for r in rows(one)} == {
        ("attention", "true", "", "", "128"), ("attention", "false", "", "", "256"), ("reduce", "", "2.5", "a,b", "64")}
    assert two("export", "csv", "1", "1", "--what", what).stdout == two("export", "csv", "1", "--what", what).stdout


def test_an_experiment_beside_another_in_one_run(two):
    store = Stored.__new__(Stored)
    import sqlite3
    store.db = sqlite3.connect(two.db)
    store.db.execute("UPDATE run_case SET experiment = 'other', axes = '{\"size\":5}' WHERE run_id = 1 AND variant = 'flash'")
    store.db.commit()
    store.db.close()
    exported = rows(two("export", "csv", "1"))
    assert {(r["experiment"], r["size"], r["seq_len"]) for r in exported} == {("other", "5", ""), ("attention", "", "256")}


def test_formulas_in_axes(two, tmp_path):
    assert ",=1+1," in two("export", "csv", "1").stdout
    assert ",'=1+1," in two("export", "csv", "1", "--csv-safe").stdout
    assert two("export", "csv", "1", "-o", tmp_path / "o.csv").status == 0 and ",'=1+1," in (tmp_path / "o.csv").read_text()


def test_axes_that_are_no_object(two):
    """Of a stranger's store: they have no columns."""
    import sqlite3
    with sqlite3.connect(two.db) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("UPDATE run_case SET axes = '{\"a' WHERE variant = 'flash'")
    exported = rows(two("export", "csv", "1"))
    assert {(r["variant"], r["seq_len"]) for r in exported} == {("flash", ""), ("vanilla", "256")}


def test_too_many_axes(perfkit):
    store = Stored(perfkit.db)
    store.run([("v", {f"a{i}": i for i in range(1001)}, {"forward_ns": [1, 2, 3]})])
    perfkit("export", "csv", "--what", "cases").refused(2, "more than 1000 axes", "jsonl")
    assert perfkit("export", "json", "--what", "cases").status == 0


def test_runs_of_two_files(two, tmp_path):
    Stored(tmp_path / "b.db").run([("v", {"a": 1}, {"forward_ns": [1, 2, 3]})])
    two("export", "csv", "1", f"{tmp_path / 'b.db'}:@").refused(2, "another file", "db merge")
    assert two("export", "csv", f"{tmp_path / 'b.db'}:@", "--what", "cases").stdout.count("\n") == 2
    two("export", "csv", "1", "99").refused(2, "99")


# --- one table of show ---------------------------------------------------------------------------------------------


@pytest.fixture
def shown(perfkit):
    """A run with two tables, times and bytes."""
    Stored(perfkit.db).run([("v", {"n": 1}, {"forward_ns": [1, 2, 3], "peak_bytes": [7, 7, 7]})])
    return perfkit


TABLES = ["case_times", "case_memory"]


def test_several_tables_are_no_csv_file(shown):
    refused = shown("show", "--format", "csv").refused(2, "run 1 has 2 tables", *TABLES, "--tables case_times", "-o DIR/")
    assert refused.stdout == ""
    shown("show", "--format", "csv", "-o", "all.csv").refused(2, "-o DIR/")
    assert not (shown.cwd / "all.csv").exists()


def test_one_table(shown):
    for name in TABLES:
        table = rows(shown("show", "--format", "csv", "--table", name))
        assert len(table) == 1 and table[0]["variant"] == "v"
        assert list(shown("show", "--format", "json", "--table", name).json()["tables"]) == [name]
        assert {json.loads(line)["table"] for line in shown("show", "--format", "jsonl", "-t", name).stdout.splitlines()} == {name}
    memory = shown("show", "--table", "case_memory").stdout
    assert "Memory" in memory and "Times" not in memory
    assert "Times" not in shown("show", "--table", "case_memory", "--format", "markdown").stdout


def test_a_run_with_one_table_needs_no_name(perfkit):
    Stored(perfkit.db).run([("v", {"n": 1}, {"forward_ns": [1, 2, 3]})])
    assert len(rows(perfkit("show", "--format", "csv"))) == 1


@pytest.mark.parametrize("name", ["case_tims", "", "case_times_2", "Times"])
def test_an_unknown_table(shown, name):
    for format in ("csv", "json", "table"):
        shown("show", "--format", format, "--table", name).refused(2, f"no table '{name}'", *TABLES)
    assert "did you mean 'case_times'?" in shown("show", "--table", "case_tims").stderr


def test_a_file_of_each_table(shown):
    done = shown("show", "--format", "csv", "-o", "d/")
    assert (done.status, done.stdout) == (0, "") and "written to d/: case_times.csv, case_memory.csv" in done.stderr
    assert sorted(os.listdir(shown.cwd / "d")) == ["case_memory.csv", "case_times.csv"]
    for name in TABLES:
        assert (shown.cwd / "d" / f"{name}.csv").read_text() == shown("show", "--format", "csv", "--table", name).stdout
    assert shown("show", "--format", "csv", "-o", "d/").status == 0, "again, over the same files"
    assert shown("show", "--format", "csv", "-o", "d/", "-t", "case_times").status == 0
    assert shown("export", "csv", "--what", "cases", "-o", "e/").status == 0 and os.listdir(shown.cwd / "e") == ["export_cases.csv"]


def test_a_directory_that_cannot_be(shown):
    shown("show", "-o", "d/").refused(2, "--format csv")
    shown("show", "--format", "json", "-o", "d/").refused(2, "--format csv")
    shown("show", "--format", "csv", "-o", "no/such/").refused(1, "no/such/", "create its directory")
    (shown.cwd / "file").write_text("precious")
    shown("show", "--format", "csv", "-o", "file/").refused(1, "file/")
    shown("show", "nightly", "--format", "csv", "-o", "d/").refused(2, "nightly")
    assert os.listdir(shown.cwd) == ["file"] and (shown.cwd / "file").read_text() == "precious"
    (shown.cwd / "d").mkdir()
    (shown.cwd / "d" / "case_memory.csv").mkdir()
    done = shown("show", "--format", "csv", "-o", "d/")
    assert done.status == 1 and "case_memory.csv" in done.error()["what"] and "directory" in done.stderr
    assert not [f for f in os.listdir(shown.cwd / "d") if f.endswith(".tmp")]


def test_a_unit_is_no_path(perfkit):
    """A table of history has the unit of its metric in its name, and a store can have any."""
    store = Stored(perfkit.db)
    for _ in range(3):
        store.run([("v", {"n": 1}, {"peak_bytes": [1, 2, 3]})], label="x")
    store.db.execute("UPDATE metric SET unit = '../../../evil/' || unit")
    store.db.commit()
    done = perfkit("history", "demo", "--metric", "peak_bytes", "--format", "csv", "-o", "d/")
    assert done.status == 0, done
    assert all(f.endswith(".csv") and "/" not in f for f in os.listdir(perfkit.cwd / "d")) and not (perfkit.root / "evil").exists()


# --- the notebook --------------------------------------------------------------------------------------------------


def test_the_notebook_runs(two, tmp_path):
    """Its cells, one after the other in plain Python, over a store with runs; perfkit is on the PATH there."""
    pytest.importorskip("pandas", reason="the notebook needs pandas, which is not installed")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "perfkit").symlink_to(BINARY)
    (tmp_path / "cells.py").write_text("\n".join(cells))
    env = two.environment({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "MPLBACKEND": "agg"})
    done = subprocess.run([sys.executable, tmp_path / "cells.py"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    assert "bucket" in done.stdout and "link_us" in done.stdout and "forward_ns in ms" in done.stdout
