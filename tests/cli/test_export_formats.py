"""perfkit export openmetrics, bmf, gab and gab-bigger: medians for other services."""
import json
import pathlib
import re
import sqlite3

import pytest

FILES = pathlib.Path(__file__).parents[1] / "imports"
SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)')


@pytest.fixture
def recorded(perfkit):
    """Runs 1 (processes, with intervals) and 2 (one process, rates)."""
    assert perfkit("import", FILES / "hyperfine.json", FILES / "google-repetitions.json").status == 0
    return perfkit


def medians(perfkit, run):
    with sqlite3.connect(perfkit.db) as c:
        c.row_factory = sqlite3.Row
        return c.execute("SELECT * FROM v_summary WHERE run_id = ?", (run,)).fetchall()


def openmetrics(text):
    """Its samples by family, after the rules of OpenMetrics 1.0: what describes a family comes first and once, families are not
    interleaved, the unit ends the name, and the text ends with # EOF."""
    assert text.endswith("# EOF\n") and "\r" not in text
    families, current, described = {}, None, None
    for line in text.splitlines()[:-1]:
        if line.startswith("# "):
            kind, name, rest = line[2:].split(" ", 2)
            if name != current:
                assert name not in families and re.fullmatch("[a-z][a-zA-Z0-9_]*", name), line
                current, families[name], described = name, [], []
            described.append(kind)
            assert not families[name] and described == ["TYPE", "UNIT", "HELP"][:len(described)] or described == ["TYPE", "HELP"], line
            assert kind != "TYPE" or rest == "gauge"
            assert kind != "UNIT" or name.endswith("_" + rest)
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert name == current
            found = {k: re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], v)
                     for k, v in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)}
            families[name].append((found, float(value)))
    return families


def test_openmetrics(recorded):
    done = recorded("export", "openmetrics", "1", "2")
    assert done.status == 0, done
    families = openmetrics(done.stdout)
    assert {"perfkit_wall_seconds", "perfkit_real_seconds", "perfkit_bytes_per_s", "perfkit_elements"} <= set(families)
    values = {(f, s["run"], s["variant"], s["axes"], s["figure"]): v for f, samples in families.items() for s, v in samples}
    checked = 0
    for run in (1, 2):
        for r in medians(recorded, run):
            axes = " ".join("%s=%s" % kv for kv in json.loads(r["axes"]).items())
            seconds = r["unit"] == "ns"
            name = "perfkit_" + (r["metric"][:-3] + "_seconds" if seconds else r["metric"])
            for figure in ("median", "ci_low", "ci_high"):
                got = values.pop((name, str(run), r["variant"], axes, figure), None)
                want = r[figure]
                assert (got is None) == (want is None), (name, figure)
                checked += want is not None
                assert want is None or abs(got - want * (1e-9 if seconds else 1)) <= 1e-15 * abs(got)
    assert not values and checked > 30


def test_names_that_need_escapes(perfkit, tmp_path):
    command = 'a "b" \\n \x1b[1m ##[error] \n::error::'
    (tmp_path / "h.json").write_text(json.dumps({"results": [{"command": command, "times": [1.0] * 6}]}))
    assert perfkit("import", tmp_path / "h.json").status == 0
    for name in ("openmetrics", "bmf", "gab"):
        text = perfkit("export", name).stdout
        assert "\x1b" not in text and "##[" not in text and "\n::" not in text
    (labels, value), = [s for s in openmetrics(perfkit("export", "openmetrics").stdout)["perfkit_wall_seconds"] if s[0]["figure"] == "median"]
    assert labels["variant"].startswith('a "b" \\n ') and value == 1


def test_bmf(recorded):
    all_ = json.loads(recorded("export", "bmf", "1").stdout)
    wall = {r["variant"] + " " + r["axes"]: r for r in medians(recorded, 1) if r["metric"] == "wall_ns"}
    assert len(all_) == 4
    for name, measures in all_.items():
        assert set(measures) == {"wall-ns", "user-ns", "system-ns"} and name.startswith("hyperfine ")
        m, (variant, n) = measures["wall-ns"], re.fullmatch(r"hyperfine (.*) n=(\d+)", name).groups()
        r = wall['%s {"n":"%s"}' % (variant, n)]
        assert (m["value"], m["lower_value"], m["upper_value"]) == (r["median"], r["ci_low"], r["ci_high"])
        assert set(measures["user-ns"]) == {"value"}  # a summary has no interval


def test_github_action_benchmark(recorded):
    smaller = json.loads(recorded("export", "gab", "2").stdout)
    bigger = json.loads(recorded("export", "gab-bigger", "2").stdout)
    rows = medians(recorded, 2)
    assert len(smaller) == sum(r["direction"] == "lower" for r in rows) and len(bigger) == sum(r["direction"] == "higher" for r in rows)
    assert {e["unit"] for e in smaller} == {"ns"} and {e["unit"] for e in bigger} == {"bytes/s", "items/s"}
    first = [e for e in smaller if e["name"] == "google-benchmark BM_sort arg0=64: real_ns"][0]
    assert first["value"] == [r for r in rows if r["metric"] == "real_ns" and r["axes"] == '{"arg0":64}'][0]["median"]
    assert "1 process, 5 samples" in first["extra"] and "range" not in first
    with_interval = json.loads(recorded("export", "gab", "1").stdout)
    assert any(e.get("range", "").startswith("± ") for e in with_interval)


def test_what_is_refused(recorded):
    recorded("export", "xxx", "1").refused(2, "formats are table, ", "one of: table, markdown, csv, json, jsonl, trace, openmetrics, bmf, gab")
    recorded("export", "gab-bigger", "1").refused(6, "nothing to write")
    recorded("export", "bmf", "1", "--what", "cases").refused(2, "has no --what")
    recorded("export", "openmetrics", "1", "--phases").refused(2, "has no --phases")
    (recorded.cwd / "again.json").write_text((FILES / "hyperfine.json").read_text() + "\n")
    assert recorded("import", "again.json").status == 0
    recorded("export", "bmf", "1", "3").refused(2, "has two values", "one run into each file")
    assert recorded("export", "openmetrics", "1", "3").status == 0  # which names the run of each value
    formats = recorded("export", "nonsense").error()["why"]
    assert formats.endswith("trace, openmetrics, bmf, gab, gab-bigger")
