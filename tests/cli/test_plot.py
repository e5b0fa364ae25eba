"""--plot: charts drawn with characters below the tables, from the rows that the tables and the store have."""
import re

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


def test_what_cannot_be_drawn_is_refused(perfkit, store):
    attention(store)
    perfkit("show", "1", "--plot", "--format", "json").refused(2, "--plot: nothing can be drawn", "with --format table")
    perfkit("doctor", "--plot").refused(2, "this command has no chart")
