"""Generated input for everything that is parsed: what is right means what a model of it in Python says, and no text at all is answered by
more than a refusal in three parts."""
import json

import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st
from stored import query

# Calls of a program take as long as the machine pleases; what is found is found again in every run.
generated = settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
few = settings(generated, max_examples=5)

TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=40)
NEARLY = st.text(st.sampled_from("0123456789.,:*+-=<>!|%[]()KMGTiBnsum eE_\"'\n\t;#ävariant"), max_size=24)
ANY = TEXT | NEARLY


def plan(perfkit, *args):
    """The cases of a dry run of selftest on the null device, as (variant, axes)."""
    r = perfkit("run", "selftest", "--device", "null", *args, "--dry-run", "--format", "json")
    assert r.status == 0, r
    return [(row["variant"], row["axes"]) for row in r.rows("plan")]


def answered(r):
    """Done, or refused as every wrong input is."""
    assert r.status in (0, 2), r
    if r.status == 2:
        r.refused(2)


# ---- sweeps ----

RANGES = st.tuples(st.integers(1, 1000), st.integers(0, 3000), st.sampled_from("*+"), st.integers(2, 50)).filter(
    lambda t: t[2] == "*" or t[1] // t[3] < 60)


def values_of(first, more, step, by):
    last, values = first + more, [first]
    while (following := values[-1] * by if step == "*" else values[-1] + by) <= last:
        values.append(following)
    return values


@generated
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=5, unique=True), RANGES)
def test_a_sweep_is_its_values(perfkit, some, range_):
    first, more, step, by = range_
    for text, values in ((",".join(map(str, some)), some), (f"{first}:{first + more}:{step}{by}", values_of(*range_))):
        assert [axes["busy_ns"] for _, axes in plan(perfkit, "--variant", "ok", "-a", f"busy_ns={text}")] == values


@generated
@given(ANY)
def test_any_text_is_a_sweep_or_refused(perfkit, text):
    answered(perfkit("run", "selftest", "--device", "null", "--dry-run", "-a", "busy_ns=" + text))


# ---- sizes ----

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@generated
@given(st.integers(4, 999999), st.integers(0, 99), st.sampled_from(sorted(UNITS)))
def test_a_size_is_its_bytes(perfkit, whole, hundredths, unit):
    number = f"{whole}.{hundredths:02}" if hundredths and unit not in ("", "B") else str(whole)
    bytes_ = round(float(number) * UNITS[unit])
    assume(4 <= bytes_ <= 1 << 50)
    ((_, axes),) = plan(perfkit, "--variant", "ok", "--memory-limit", "2000TB", "-a", f"memory={number}{unit}")
    assert abs(axes["memory"] - bytes_) <= 1, (number, unit)


@generated
@given(ANY)
@example("\n")
def test_any_text_is_a_size_or_refused(perfkit, text):
    answered(perfkit("run", "selftest", "--device", "null", "--dry-run", "--variant", "ok", "--memory-limit", text))


# ---- filters ----

BUSY = [1000, 2000, 4000]
VARIANTS = ["ok", "drift", "noisy"]
COMPARE = {"=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
           ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}
PARTS = st.lists(st.tuples(st.just("busy_ns"), st.sampled_from(sorted(COMPARE)), st.sampled_from([999, *BUSY, 5000]).map(lambda n: [n]))
                 | st.tuples(st.sampled_from(["busy_ns"]), st.just("="), st.lists(st.sampled_from(BUSY), min_size=1, max_size=2, unique=True))
                 | st.tuples(st.just("variant"), st.just("="), st.lists(st.sampled_from(VARIANTS), min_size=1, max_size=2, unique=True)),
                 min_size=1, max_size=3)


@generated
@given(PARTS)
def test_a_filter_keeps_what_all_its_parts_hold_of(perfkit, parts):
    wanted = [(v, b) for b in BUSY for v in VARIANTS
              if all(any(COMPARE[op](v if name == "variant" else b, value) for value in values) for name, op, values in parts)]
    text = ",".join(name + op + "|".join(map(str, values)) for name, op, values in parts)
    args = ("--variant", ",".join(VARIANTS), "-a", "busy_ns=" + ",".join(map(str, BUSY)), "--filter", text)
    if wanted:
        assert sorted((v, axes["busy_ns"]) for v, axes in plan(perfkit, *args)) == sorted(wanted)
    else:
        perfkit("run", "selftest", "--device", "null", *args, "--dry-run").refused(6, "matches no case")


@generated
@given(ANY)
@example("\n")
def test_any_text_is_a_filter_or_refused(perfkit, text):
    r = perfkit("run", "selftest", "--device", "null", "--dry-run", "--filter", text)
    answered(r) if r.status != 6 else r.refused(6, "matches no case")


# ---- suite files ----

NAMES = st.text(st.sampled_from("abcdefghij-"), min_size=1, max_size=8).filter(lambda n: n.strip("-") == n)
ENTRIES = st.dictionaries(NAMES.filter(lambda n: n != "suite"), st.lists(st.integers(0, 10**6), min_size=1, max_size=3, unique=True),
                          min_size=1, max_size=4)


def suite(perfkit, text):
    (perfkit.cwd / "perf.ini").write_text(text, encoding="utf-8", newline="")
    return perfkit("run", "--suite", "perf.ini", "--device", "null", "--dry-run", "--format", "json")


@generated
@given(ENTRIES)
def test_a_suite_is_its_entries_in_order(perfkit, entries):
    r = suite(perfkit, "".join("[%s]\nexperiment = selftest\nvariant = ok\nbusy_ns = %s\n" % (name, ",".join(map(str, busy)))
                               for name, busy in entries.items()))
    assert r.status == 0, r
    assert [(row["entry"], row["axes"]["busy_ns"]) for row in r.rows("suite_plan")] == [(n, b) for n, busy in entries.items() for b in busy]


@generated
@given(st.lists(ANY | st.sampled_from(["[a]", "[suite]", "experiment = selftest", "variant = ok", "busy_ns = 1000", "threshold = x", "a ="]),
                max_size=8).map("\n".join))
def test_any_text_is_a_suite_or_refused(perfkit, text):
    answered(suite(perfkit, text))


# ---- the wire ----

def says(perfkit, data):
    """A program under exec that says these bytes, once."""
    (perfkit.cwd / "said").write_bytes(data)
    return perfkit("exec", "--runs", "1", "--", "sh", "-c", "cat said >&$PERFKIT_WIRE_FD")


@few
@given(st.lists(st.integers(-2**62, 2**62) | st.floats(-1e300, 1e300), min_size=1, max_size=6), st.integers(1, 2**31))
def test_samples_on_the_wire_are_the_samples_in_the_store(perfkit, values, reps):
    lines = [{"type": "metric", "name": "x", "unit": "1"}, {"type": "samples", "metric": "x", "reps": reps, "values": values}]
    r = says(perfkit, "".join(json.dumps(line) + "\n" for line in lines).encode())
    assert r.status == 0, r
    rows = query(perfkit, "SELECT value FROM v_sample WHERE metric = 'x' AND run_id = (SELECT max(run_id) FROM v_run) ORDER BY ordinal")
    assert [v for v, in rows] == [pytest.approx(v / reps, rel=1e-12) for v in values]  # of one of the repetitions


MESSAGES = st.fixed_dictionaries({"type": st.sampled_from(["hello", "setting", "case", "metric", "samples", "note", "fit", "mark", "status", "bye", "x"])}, optional={
    "metric": ANY | st.integers(), "name": ANY, "unit": ANY, "values": st.lists(st.none() | st.integers() | st.floats() | ANY, max_size=4),
    "key": ANY, "value": ANY | st.integers(), "status": ANY | st.sampled_from(["ok", "failed", "oom"]), "reps": st.integers(), "ordinal": st.integers(),
    "phase": ANY | st.sampled_from(["steady", "warmup"]), "axes": st.dictionaries(ANY, ANY | st.integers(), max_size=2), "message": ANY})


@few
@given(st.lists(MESSAGES.map(lambda m: json.dumps(m).encode()) | st.binary(max_size=60), max_size=6).map(b"\n".join))
def test_any_bytes_on_the_wire_are_heard_or_refused(perfkit, data):
    """What a command says cannot be more than wrong: the run is stored, and the store is sound."""
    r = says(perfkit, data)
    assert r.status in (0, 1, 4, 5), r
    if r.status:
        r.error()
    assert query(perfkit, "PRAGMA integrity_check") == [("ok",)]
