"""doctor: a screen of rows, --require as an exit status. What --ceilings measures is in test_ceilings."""
import os
import pathlib
import re
import resource
import shutil
import subprocess

import pytest
from conftest import BINARY, NO_CHILDREN, OWN_LIBRARIES, Perfkit, not_sanitized

ROWS = {"cpu", "virtualisation", "governor", "turbo", "smt", "thp", "cgroup", "steal", "pressure", "noise", "ram", "blas", "clock",
        "store", "numpy", "cuda", "cublaslt", "cudnn", "nccl", "cupti", "nvml", "mpi", "onednn"}
OF_THE_MOMENT = ("noise", "pressure", "steal", "cpu-events")  # the next call may find something else: a guest's counters stand still at times


def found(r):
    return {row["name"]: row for row in r.rows("doctor")}


@pytest.fixture(scope="module")
def looking(tmp_path_factory):
    """A home, and what one call found there, for tests that only read it: it takes a second or two."""
    one = Perfkit(tmp_path_factory.mktemp("looked"))
    return one, one("doctor", "--format", "json", env=OWN_LIBRARIES)


@pytest.fixture(scope="module")
def looked(looking):
    return looking[1]


@pytest.fixture(scope="module")
def lacking(tmp_path_factory):
    """A home, and what one call found that has no Python, no oneDNN and a library of another version, and requires what is not there."""
    one = Perfkit(tmp_path_factory.mktemp("lacking"))
    (one.root / "libraries" / "libcublasLt.so.7").touch()
    return one, one("doctor", "--format", "json", "--require", "numpy", "--require", "cpu", "--require", "cuda", "--db", "p.db",
                    env=NO_CHILDREN | {"PERFKIT_BLAS": "openblas"})


def test_every_row_has_a_state_and_says_what_it_found(looked):
    assert looked.status == 0 and looked.stderr == ""
    rows = found(looked)
    assert set(rows) == ROWS
    assert all(row["state"] in ("ok", "warn", "no") and row["found"] for row in rows.values())
    assert rows["cpu"]["state"] == "ok" and rows["ram"]["state"] == "ok"


def test_what_makes_timings_spread(looked):
    """Advice is for what was found to disturb; settings that merely are some way get none."""
    rows = found(looked)
    assert "% of 50 ms lost to interruptions, longest gap" in rows["noise"]["found"]
    for name in ("noise", "pressure", "cgroup", "steal", "governor"):
        assert (rows[name]["state"] == "warn") == (rows[name]["advice"] is not None), rows[name]
    for name in ("turbo", "smt", "thp"):
        assert rows[name]["state"] == "ok" and rows[name]["advice"] is None and rows[name]["found"]


@not_sanitized
def test_required_and_there_and_a_small_stack_is_enough(perfkit):
    r = perfkit("doctor", "--require", "cpu", "--require", "ram", "--require", "fake", env=NO_CHILDREN,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10)))
    assert r.status == 0, r


def test_every_source_is_tried(looked):
    rows = {row["name"]: row for row in looked.rows("sources")}
    assert {"memory", "rusage", "sw-events", "cpu-events", "energy", "uncore"} <= set(rows) and "fake" not in rows
    assert all(row["state"] in ("ok", "degraded", "unavailable") and row["found"] for row in rows.values())
    faults = int(re.fullmatch(r"100 touched pages gave (\d+) page faults", rows["rusage"]["found"])[1])
    assert 100 <= faults < (200 if "PERFKIT_SANITIZED" in os.environ else 110)  # a sanitizer touches pages of its own


def test_a_source_can_be_required(perfkit):
    r = perfkit("doctor", "--require", "cpu-events", "--format", "json", env=NO_CHILDREN)
    row = {row["name"]: row for row in r.rows("sources")}["cpu-events"]  # another call may count something else
    if row["state"] == "ok":
        assert r.status == 0
    else:
        assert r.status == 6 and "--require cpu-events" in r.error()["what"]
        assert r.error()["why"] == row["found"]
    perfkit("doctor", "--require", "cpu-event").refused(2, "did you mean 'cpu-events'?")


FAKE = """struct version { int major, minor, patch; };
const struct version *dnnl_version(void) { static const struct version v = {%s}; return &v; }
int dnnl_sgemm(void) { return 0; }
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler")
def test_onednn_is_found_by_a_longer_name(perfkit, tmp_path):
    """Debian 13 has libdnnl.so.3.6 and no libdnnl.so.3; the newest is taken."""
    for name, version in (("libdnnl.so.3.6", "3, 6, 2"), ("libdnnl.so.3.10", "3, 10, 1"), ("libdnnl.so.2.7", "2, 7, 0")):
        (tmp_path / "fake.c").write_text(FAKE % version)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / name, tmp_path / "fake.c"], check=True, timeout=60)
    row = found(perfkit("doctor", "--format", "json", env=NO_CHILDREN | {"LD_LIBRARY_PATH": tmp_path}))["onednn"]
    assert row["state"] == "ok" and row["found"] == "onednn 3.10.1" or "built" in row["found"] or "switched off" in row["found"], row


def test_onednn_is_looked_for(looked, lacking):
    """The build may know of it and the machine not have it: the row says what runs."""
    rows = found(looked)
    row, blas = rows["onednn"], rows["blas"]["found"]
    assert (row["state"] == "ok") == ("oneDNN was not found" not in blas and bool(re.match(r"onednn \d+\.\d+", row["found"]))), (row, blas)
    if row["state"] == "no":
        assert row["advice"] == "sudo apt-get install libdnnl-dev" or "built" in row["found"] or "disabled" in row["found"], row
    one = found(lacking[1])["onednn"]
    assert one["state"] == "no" and ("PERFKIT_BLAS" in one["found"] or row["state"] == "no")


def test_it_is_one_screen(lacking):
    """Of 120 columns and 50 lines; of 80 columns unless a path is too long: words are never broken."""
    perfkit, r = lacking
    tables = r.json()["tables"]
    rows = tables["doctor"]["rows"] + tables["sources"]["rows"]
    words = [w for row in rows for text in (row["found"], row["advice"]) for w in (text or "").split()]
    narrow, wide = [perfkit("doctor", "--db", "p.db", "--width", width, env=NO_CHILDREN | {"PERFKIT_BLAS": "openblas"}).stdout.splitlines() for width in ("80", "120")]
    assert max(map(len, narrow)) <= 80 or max(map(len, words)) > 30
    of_the_moment = sum(row["name"] in OF_THE_MOMENT and row["state"] != "ok" for row in rows)
    assert len(wide) <= 50 + 2 * of_the_moment and max(map(len, wide)) <= 120, "\n".join(wide)
    said = " ".join(" ".join(wide).split())
    for row in rows:
        assert re.search(rf"(^|[ ,]){row['name']}([ ,.]|$)", said), row["name"]
        assert not row["advice"] or f"→ {row['advice']}" in said or row["name"] in OF_THE_MOMENT, row
    first = {}
    for row in rows:  # programs get every row, people a note of those that say the same
        other = first.setdefault((row["found"], row["advice"]), row["name"])
        assert other == row["name"] or row["state"] == "ok" or re.search(rf"As {other}: [^.]*\b{row['name']}\b", said), row
    assert not any("notes" in table for table in tables.values())


def test_a_virtual_machine_reports_caches_of_its_host(looked):
    rows = found(looked)
    assert ("as the hypervisor reports" in rows["cpu"]["found"]) == (rows["virtualisation"]["found"] not in ("none", "unknown"))


def test_peak_memory_is_tried(looked):
    row = {row["name"]: row for row in looked.rows("sources")}["memory"]
    if row["state"] == "ok":
        assert re.search(r"32 MiB touched raised the peak by 3[0-4]\.\d MiB", row["found"]), row


def test_looking_creates_no_store(looking):
    perfkit, r = looking
    rows = found(r)
    assert str(perfkit.db) in rows["store"]["found"]
    assert rows["store"]["state"] == "ok" and list(perfkit.db.parent.glob(".perfkit*")) == [] and not perfkit.db.exists()


@pytest.mark.parametrize("path, why", [("text", "not a SQLite database"), ("/proc/x.db", "check what is in /proc" if os.geteuid() == 0 else "is read-only for this user")])
def test_a_store_that_cannot_be_opened(perfkit, path, why):
    """What recording would meet, before anything is measured."""
    (perfkit.cwd / "text").write_text("no database")
    doctor = perfkit("doctor", "--format", "json", "--require", "store", db=path, env=NO_CHILDREN)
    assert doctor.status == 6 and "--require store: it is not ok" in doctor.stderr and why in doctor.stderr
    assert found(doctor)["store"]["state"] == "no"
    perfkit("exec", "--runs", "1", "--", "true", db=path).refused(1, why)
    assert (perfkit.cwd / "text").read_text() == "no database"


def test_what_is_not_built_is_said(looked):
    rows = found(looked)
    assert rows["cuda"]["state"] == "no"
    if rows["cuda"]["found"].startswith("switched off"):
        for name in ("cuda", "cudnn", "nvml"):
            assert f"-Dcuda=auto && ninja -C {pathlib.Path(BINARY).parent} product" in rows[name]["advice"]
        sources = {row["name"]: row for row in looked.rows("sources")}
        assert sources["gpu-state"]["found"] == rows["cuda"]["found"] and sources["gpu-trace"]["advice"] == rows["cuda"]["advice"]


def test_one_reason_for_the_absent_gpu(perfkit, looked):
    reason = found(looked)["cuda"]["found"]
    devices = {row["name"]: row for row in perfkit("list", "devices", "--format", "json").rows("devices")}
    assert devices["cuda"]["reason"] == reason
    perfkit("run", "selftest", "--device", "cuda").refused(6, reason)


def test_one_advice_for_the_absent_driver(looked):
    """Where the GPU's part is built and no driver is installed."""
    rows = found(looked)
    if rows["nvml"]["state"] == "no" and "was not found in" in rows["nvml"]["found"]:
        assert "install the NVIDIA driver" in rows["nvml"]["advice"] and "install the NVIDIA driver" in rows["cuda"]["advice"]


def test_a_folder_of_libraries_is_an_option_of_the_environment(lacking):
    row = found(lacking[1])["cublaslt"]
    assert row["state"] == "no"
    assert "libcublasLt.so.7 is another major version" in row["found"] or "nvcc was not found" in row["found"] \
        or "switched off" in row["found"]


def test_everything_required_and_missing_is_named(lacking):
    r = lacking[1]
    rows, error = found(r), r.error()
    assert r.status == 6 and error["what"] == "--require numpy, cuda: they are not ok on this machine"
    assert error["why"] == f"numpy: {rows['numpy']['found']}; cuda: {rows['cuda']['found']}"
    assert error["try"].startswith("numpy: " + rows["numpy"]["advice"])


def test_json_is_a_format(perfkit):
    perfkit("doctor", "--json").refused(2, "--json")


def test_names_are_of_one_row(looked):
    tables = looked.json()["tables"]
    names = [row["name"] for t in tables.values() for row in t["rows"]]
    assert len(names) == len(set(names))


def test_options_of_ceilings_without_them(perfkit):
    for option in (("--bind", "0"), ("--threads", "1"), ("--device", "cpu"), ("--memory-limit", "1MiB")):
        perfkit("doctor", *option).refused(2, option[0] + " would change nothing", "--ceilings")


def test_required_and_unknown(perfkit):
    perfkit("doctor", "--require", "cudda").refused(2, "--require cudda", "did you mean 'cuda'?")


def test_a_python_without_numpy(lacking):
    rows = found(lacking[1])
    assert rows["numpy"]["state"] == "no" and "/bin/false" in rows["numpy"]["found"]
