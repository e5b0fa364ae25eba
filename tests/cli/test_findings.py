"""The output of a run: findings that their intervals allow, the headline table, doubts, the list of other tables; and --tables, which prints those."""
import re

import pytest
from conftest import not_sanitized
from stored import Stored, query

EXPERIMENTS = ("attention-scaling", "batch-scaling", "ddp-bucket", "extraction", "mixed-precision", "tree-patch")
SHORT = ("--min-time", "0", "--max-time", "1ms", "--min-samples", "2", "--max-samples", "2", "--warmup", "0", "--no-check")
POINT = {"batch": 1, "heads": 2, "dtype": "fp32", "causal": 0, "d_model": 64}
TIMES = {"vanilla": 4e6, "flash": 2e6, "fused": 4.4e6}


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


def attention(store, seq_lens=(128, 256), variants=("vanilla", "flash"), spread=0.01, processes=6):
    """A run of attention-scaling with known times, which grow with the square of seq_len."""
    def figures(ns):
        return [ns * (1 + spread * i / processes) for i in range(processes)]
    return store.run([(v, {**POINT, "seq_len": n}, {"forward_ns": figures(TIMES[v] * (n / 128) ** 2), "backward_ns": figures(2 * TIMES[v] * (n / 128) ** 2),
                                                    "peak_bytes": [1e6 if v == "vanilla" else 4e5] * processes}) for n in seq_lens for v in variants],
                     experiment="attention-scaling")


def sentences(perfkit, kind):
    return [row["sentence"] for row in perfkit("show", "@", "--format", "json").rows("findings") if row["finding"] == kind]


@not_sanitized
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_quick_run_fits_60_lines(perfkit, experiment):
    processes = ["--invocations", "1"] if experiment == "tree-patch" else []  # its trees are real on every device
    done = perfkit("run", experiment, "--preset", "quick", "--device", "null", "--quiet", "--width", "100", *SHORT, *processes)
    assert done.status == 0, done
    shown = perfkit("show", "@", "--width", "100").stdout
    assert shown == done.stdout
    lines = shown.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 100, shown
    tables = perfkit("show", "@", "--format", "json").json()["tables"]
    assert lines[0].startswith("Run 1") and lines[2].split() == ["#", "Finding"] and 1 <= len(tables["findings"]["rows"])
    at = next(n for n, line in enumerate(lines) if line.startswith("Further tables")) + 2
    listed = {line.split()[0] for line in lines[at:] if line and not line.startswith((" ", "To see", "All columns"))}
    assert len(set(tables) - listed) == 2 and "findings" not in listed and listed < set(tables), (listed, list(tables))
    assert "--tables NAME,... or --tables all" in " ".join(lines[-3:]), lines
    # on a busy machine: every case is disturbed and uncertain, so sentences are longer and doubts stand below
    query(perfkit, "UPDATE summary SET ci_low = median * 0.4, ci_high = median * 3.5 WHERE metric_id IN (SELECT id FROM metric WHERE unit = 'ns')")
    query(perfkit, "UPDATE slice SET notes = json_set(coalesce(notes, '{}'), '$.doubts', json_array('governor'))")
    shown = perfkit("show", "@", "--width", "100").stdout
    assert "disturbed; do not quote these" in shown and "Uncertain: " in shown, shown
    assert len(shown.splitlines()) <= 60, shown


def test_a_sentence_says_what_its_interval_allows(perfkit, store):
    attention(store)
    said, = sentences(perfkit, "speedup")
    assert said == "flash is 2.00 x (1.98 to 2.02) faster than vanilla at d_model 64, seq_len 256, with 60 % less memory."
    query(perfkit, "UPDATE summary SET ci_low = median * 0.6, ci_high = median * 1.6")
    said, = sentences(perfkit, "speedup")
    assert said.startswith("flash is not told apart from vanilla: 2.00 x (0.75 to 5.33) at "), said
    query(perfkit, "UPDATE summary SET ci_low = NULL, ci_high = NULL")
    said, = sentences(perfkit, "speedup")
    assert said.startswith("flash is not told apart from vanilla: 2.00 x (no interval) at "), said


def test_what_is_slower_is_said_to_be(perfkit, store):
    attention(store, variants=("vanilla", "flash", "fused"))
    flash, fused = sentences(perfkit, "speedup")
    assert flash.startswith("flash is 2.00 x ") and fused.startswith("fused is 1.10 x (1.09 to 1.11) slower than vanilla "), fused


@not_sanitized
def test_findings_are_a_table_of_every_format(perfkit, store):
    attention(store)
    told = perfkit("show", "1", "--format", "json").json()["tables"]
    assert list(told)[0] == "findings" and [r["place"] for r in told["findings"]["rows"]] == list(range(1, len(told["findings"]["rows"]) + 1))
    sentence = told["findings"]["rows"][0]["sentence"]
    for args in (("--format", "markdown"), ("--format", "jsonl"), ("--format", "csv", "--tables", "findings"), ()):
        assert sentence in perfkit("show", "1", *args).stdout.replace("\\", ""), args


def test_the_headline_has_40_rows_and_counts_the_others(perfkit, store):
    attention(store, seq_lens=[128 + n for n in range(30)])
    lines = perfkit("show", "1").stdout.splitlines()
    assert sum(line.startswith("     64 ") for line in lines) == 40
    assert any(line.startswith("20 rows more: perfkit show 1") and line.endswith("--tables variants") for line in lines), lines
    assert sum(line.startswith("     64 ") for line in perfkit("show", "1", "--tables", "variants").stdout.splitlines()) == 60


@not_sanitized
def test_tables_prints_those_that_are_named(perfkit, store):
    attention(store)
    two = perfkit("show", "1", "--tables", "counts,configuration").stdout
    assert "Configuration" in two and "In how many rows" in two and "Attention scaling" not in two and "Finding" not in two
    every = perfkit("show", "1", "--tables", "all").stdout
    assert all(title in every for title in ("Finding", "Configuration", "Attention scaling, flash", "Variants against vanilla")) and "Further tables" not in every
    assert perfkit("show", "1", "--table", "counts").stdout == perfkit("show", "1", "-t", "counts").stdout
    perfkit("show", "1", "--tables", "counts,count").refused(2, "no table 'count'", "did you mean 'counts'?")
    perfkit("show", "1", "--tables", "counts,scaling", "--format", "csv").refused(2, "a CSV file is one table")


def test_a_run_refuses_an_unknown_table_before_it_measures(perfkit):
    perfkit("run", "attention-scaling", "--tables", "scalin").refused(2, "no table is called 'scalin'", "did you mean 'scaling'?")
    assert not perfkit.db.exists()


def test_doubts_are_a_line_and_a_table(perfkit, store):
    run = attention(store)
    store.noted(run, {"doubts": ["stolen", "crowded"]}, invocations=1)
    lines = perfkit("show", "1").stdout.splitlines()
    noisy = [line for line in lines if "cases disturbed" in line]
    assert len(noisy) == 1 and noisy[0].startswith("noisy: 4 of 4 cases disturbed; do not quote these; why: perfkit show 1"), lines
    assert not any("hypervisor" in line for line in lines)
    rows = perfkit("show", "1", "--format", "json").rows("doubts")
    assert [(r["doubt"], r["slices"], r["of_slices"]) for r in rows] == [("crowded", 1, 6), ("stolen", 1, 6)] * 4
    assert "hypervisor" in perfkit("show", "1", "--tables", "doubts").stdout


def test_what_was_not_measured_is_one_line(perfkit, store):
    store.run([("vanilla", {**POINT, "seq_len": n}, {"forward_ns": [1e6] * 6, "backward_ns": [1e6] * 6} if n < 256 else "oom") for n in (64, 128, 256, 512)],
              experiment="attention-scaling")
    assert "\nNot measured: 2 of 4 cases: oom\n" in perfkit("show", "1").stdout


def test_a_note_is_said_once_per_screen(perfkit, store):
    attention(store, processes=3)
    note = "is approximate with fewer than six processes"
    assert perfkit("show", "1", "--tables", "all").stdout.count(note) == 1
    assert perfkit("show", "1", "--format", "json").stdout.count(note) == 2


@not_sanitized
def test_what_was_asked_for_follows_the_headline(perfkit):
    r = perfkit("run", "attention-scaling", "-d", "null", "-v", "flash", "-a", "d_model=16", "-a", "seq_len=64", "--quiet", "--breakdown", "--allocations", *SHORT)
    assert r.status == 0, r
    at = [r.stdout.index(title) for title in ("Where the time went", "Where the memory went", "Further tables")]
    assert at == sorted(at) and "\nbreakdown " not in r.stdout[at[2]:] and "\nmemory_peaks " not in r.stdout[at[2]:], r.stdout
    assert perfkit("show").stdout == r.stdout


def test_of_what_was_asked_for_the_rest_is_counted(perfkit):
    r = perfkit("run", "attention-scaling", "-d", "null", "-v", "flash", "-a", "d_model=16", "-a", "seq_len=64:960:+64", "--quiet", "--breakdown", "--allocations", *SHORT)
    assert r.status == 0 and re.search(r"\n[0-9]+ rows more: perfkit show 1 .*--tables breakdown", r.stdout), r
    table = r.stdout.split("Where the time went")[1].split("\nOne typical iteration")[0]
    assert len(re.findall("(?m)^flash ", table)) == 40 and "memory_peaks" in r.stdout, r
