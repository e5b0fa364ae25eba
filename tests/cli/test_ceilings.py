"""Ceilings with a store of made-up repeats: the highest counts, a lone one is told, an old one is measured again."""
import time

import pytest

from stored import query

FEW = ("run", "attention-scaling", "--device", "null", "--variant", "flash", "--invocations", "1", "-a", "d_model=16", "-a", "seq_len=64")
RATES = ("fp32_flops_per_s", "memory_bytes_per_s")
BUSY = "measured on a busy host"


@pytest.fixture
def one(perfkit):
    """Runs one case on the null device, whose work takes exactly its floor."""
    return lambda *args: perfkit(*FEW, "--format", "json", *args)


def repeats(perfkit):
    return query(perfkit, "SELECT count(*) FROM ceiling WHERE key = 'fp32_flops_per_s'")[0][0]


def add(perfkit, factor, keys=("fp32_flops_per_s",), times=1):
    """Repeats that reached factor x the lowest, measured now."""
    for key in keys * times:
        query(perfkit, f"""INSERT INTO ceiling(machine_id, device, key, value, measured_ns)
                            SELECT machine_id, device, key, {factor} * min(value), {time.time_ns()} FROM ceiling WHERE key = '{key}'""")


def of_floor(result):
    assert result.status == 0, result
    (row,) = result.rows("scaling")
    return row["forward_of_floor"]


def test_measured_once_when_repeats_agree(perfkit, one):
    assert of_floor(one()) == pytest.approx(1)
    assert repeats(perfkit) == 3
    r = one()
    assert of_floor(r) == pytest.approx(1) and repeats(perfkit) == 3 and BUSY not in r.stderr


def test_the_highest_counts_and_a_saved_run_keeps_its_own(perfkit, one):
    one()
    add(perfkit, 2, RATES, times=2)
    add(perfkit, 0.5, RATES)
    assert of_floor(one()) == pytest.approx(0.5)
    assert of_floor(perfkit("show", "@~1", "--format", "json")) == pytest.approx(1)
    assert repeats(perfkit) == 6, "none of them asked for another"


def test_a_lone_highest_is_told_and_measured_again(perfkit, one):
    one()
    add(perfkit, 1.06)
    r = one()
    assert repeats(perfkit) == 5, "one more"
    assert BUSY in r.stderr and "fp32_flops_per_s" in r.stderr
    assert "Measured on a busy host: fp32_flops_per_s" in perfkit("show", "@").stdout
    assert "Measured on a busy host" in perfkit("doctor", "--ceilings", "--device", "null").stdout
    add(perfkit, 1.05)
    before = repeats(perfkit)
    r = one()
    assert BUSY not in r.stderr and repeats(perfkit) == before, "confirmed"
    assert "busy host" not in perfkit("show", "@").stdout
    assert "busy host" in perfkit("show", "@~1").stdout, "a saved run says what was true of it"


def test_a_day_later_one_repeat_is_added(perfkit, one):
    one()
    query(perfkit, "UPDATE ceiling SET measured_ns = measured_ns - 86300 * 1000000000")
    one()
    assert repeats(perfkit) == 3
    query(perfkit, "UPDATE ceiling SET measured_ns = measured_ns - 200 * 1000000000")
    one()
    assert repeats(perfkit) == 4


def test_a_lone_copy_rate_is_told_under_slicing(perfkit):
    tree = ("run", "tree-patch", "--device", "null", "--layers", "1", "--hidden", "8", "--intermediate", "8", "--vocab", "9", "--weights", "real",
            "--tp", "2", "--variant", "grouped", "--patches", "0", "--invocations", "1")
    said = "Measured on a busy host: the highest copy ceiling"
    r = perfkit(*tree)
    assert r.status == 0 and "% of copy ceiling" in r.stdout and said not in r.stdout, r
    add(perfkit, 2, ("copy_bytes_per_s",))
    assert said in perfkit(*tree).stdout
