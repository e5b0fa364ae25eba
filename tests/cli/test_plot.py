"""--plot: charts drawn with characters below the tables, from the rows that the tables and the store have."""
import re
import shutil
import xml.etree.ElementTree

import pytest
from stored import Stored

AXES = {"batch": 1, "heads": 2, "dtype": "fp32", "causal": 0, "d_model": 64}


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


def attention(store, factor=1.0):
    return store.run([(v, {**AXES, "seq_len": n}, {"forward_ns": [factor * ns * n * (1 + 0.01 * i) for i in range(6)], "backward_ns": [2 * ns * n] * 6})
                      for v, ns in (("vanilla", 1e4), ("flash", 5e3)) for n in (128, 256, 512)], experiment="attention-scaling")


def below_the_tables(perfkit, *args):
    """What --plot adds to the output."""
    plain, drawn = perfkit(*args), perfkit(*args, "--plot")
    assert plain.status == drawn.status == 0, drawn
    lines, more = plain.stdout.splitlines(), drawn.stdout.splitlines()
    added = [line for line in more if line not in lines]
    assert max(map(len, added)) <= 100, added
    return added


def test_a_comparison_is_points_with_intervals(perfkit, store):
    attention(store)
    attention(store, 1.5)
    drawn = below_the_tables(perfkit, "compare", "1", "2", "--width", "100")
    assert any(line.split() == ["New", "/", "base"] for line in drawn), drawn
    rows = [row for row in perfkit("compare", "1", "2", "--format", "json").rows("compare_ns") if row["axes"]]
    assert len(rows) == 12
    for row in rows:
        line, = (line for line in drawn if line.startswith(f"{row['metric']} of {row['variant']} {row['case']} "))
        ratio, low, high = map(float, re.search(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)", line).groups())
        assert ratio == pytest.approx(row["ratio"], abs=5e-4) and low <= ratio <= high, (line, row)


def test_a_history_is_lines_over_runs(perfkit, store):
    for factor in [1] * 9 + [2] * 9:
        attention(store, factor)
    drawn = below_the_tables(perfkit, "history", "attention-scaling", "-m", "forward_ns", "--width", "100")
    text = "\n".join(drawn)
    assert "forward_ns (ms)" in text and "● " in text and "○ " in text and "run 10: +100" in text, text


HOSTILE = "a' `touch made` $(touch made) \\n{/Symbol b}\x1b[31m"


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="gnuplot is not installed here")
def test_gnuplot_draws_files_and_runs_nothing_of_the_store(perfkit, store, tmp_path):
    for factor in (1.0, 1.5):
        store.run([(HOSTILE, {"n": n}, {"forward_ns": [factor * 1e6 * (1 + 0.01 * i) for i in range(6)]}) for n in (1, 2)])
    for ending, start in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        file = tmp_path / f"chart.{ending}"
        r = perfkit("compare", "1", "2", "--plot", "-o", file, cwd=tmp_path)
        assert r.status == 0 and file.read_bytes().startswith(start) and not r.stdout, r
    texts = [t for t in xml.etree.ElementTree.parse(file).getroot().itertext() if t.strip()]
    assert any("`touch made` $(touch made) \\n{/Symbol b}" in t for t in texts) and any("New / base" in t for t in texts), texts
    drawn = perfkit("compare", "1", "2", "--plot", "gnuplot", "--width", "100", cwd=tmp_path)
    assert drawn.status == 0 and "New / base" in drawn.stdout and max(map(len, drawn.stdout.splitlines())) <= 100, drawn
    assert not (tmp_path / "made").exists() and "\x1b" not in drawn.stdout


def test_without_gnuplot_that_is_said_first(perfkit, tmp_path):
    r = perfkit("run", "selftest", "--plot", "gnuplot", env={"PATH": str(tmp_path)})
    r.refused(6, "gnuplot is not installed", "draw with characters: --plot")
    assert not perfkit.db.exists()


def test_a_file_without_a_chart_is_not_made(perfkit, store, tmp_path):
    store.run([("plain", {"n": 1}, {"peak_bytes": [1e6] * 6})])
    r = perfkit("show", "1", "--plot", "-o", tmp_path / "chart.svg", env={"PATH": stand_in(tmp_path)})
    r.refused(6, "there is no chart to draw", "perfkit report")
    assert not (tmp_path / "chart.svg").exists()


def stand_in(folder):
    """A folder with a program gnuplot that only starts."""
    program = folder / "gnuplot"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_without_charts_of_its_own_a_run_shows_its_times(perfkit, store):
    store.run([("plain", {"n": n}, {"forward_ns": [n * 1e6 * (1 + 0.01 * i) for i in range(6)]}) for n in (1, 2)])
    drawn = below_the_tables(perfkit, "show", "1", "--width", "100")
    assert [re.sub(r"[ ─●]+", " ", line) for line in drawn if "plain n=" in line] == \
        [f"plain n={n}, forward_ns {1.025 * n:.3f} ({n:.3f} to {1.05 * n:.3f})" for n in (1, 2)], drawn


def test_a_run_without_a_chart_says_so(perfkit, store):
    store.run([("plain", {"n": 1}, {"peak_bytes": [1e6] * 6})])
    assert below_the_tables(perfkit, "show", "1", "--width", "100") [-1:] == ["Nothing to draw: what was measured has no chart for a terminal."]


def test_what_cannot_be_drawn_is_refused(perfkit, store):
    attention(store)
    perfkit("show", "1", "--plot", "--format", "json").refused(2, "--plot: nothing can be drawn", "with --format table")
    perfkit("doctor", "--plot").refused(2, "this command has no chart")
