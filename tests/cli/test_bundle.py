"""The bundle: built from this build, run from another folder with nothing but its own libraries and libc's."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

from conftest import BINARY, make_other_libraries

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(BINARY).parent
pytestmark = pytest.mark.skipif("PERFKIT_SANITIZED" in os.environ, reason="a sanitizer's libraries are no part of a bundle")


MPI = (BUILD / "perfkit-mpi.so").exists()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """Unpacked somewhere else, the folder it was made in gone."""
    made = tmp_path_factory.mktemp("made") / "bundle"
    p = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / "bundle.py", BUILD, made], capture_output=True, text=True, check=False)
    assert p.returncode == 0, p.stderr
    assert (made / "perfkit-mpi.so").exists() or "without ranks over MPI: " in p.stdout
    assert pathlib.Path("%s.tar.gz" % made).stat().st_size < 40 << 20
    there = tmp_path_factory.mktemp("the re")
    with tarfile.open("%s.tar.gz" % made) as tar:
        tar.extractall(there)
    shutil.rmtree(made)
    return there / "bundle"


def run(path, *args, cwd):
    env = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LC_ALL": "C.UTF-8", "PERFKIT_DB": str(cwd / "perfkit.db")}
    return subprocess.run([path, *args], env=env, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_its_size_and_its_libraries(bundle):
    assert sum(f.stat().st_size for f in bundle.rglob("*") if f.is_file()) < 64 << 20
    names = {f.name for f in (bundle / "lib").iterdir()}
    assert {"libsqlite3.so.0", "libjansson.so.4", "libcmocka.so.0"} <= names
    assert not [n for n in names if re.match(r"lib(c|m|pthread|dl|openblas)\b|ld-linux", n)]
    assert not list((bundle / "lib").glob("*.py")) and (bundle / "peers" / "torch_eager.py").exists() and (bundle / "client" / "perfkit.py").exists()


def test_nothing_else_is_loaded(bundle, tmp_path):
    """The loader's own list: the bundle's folder and libc's parts, not Debian's copies."""
    for program in [bundle / "perfkit", *(bundle / "gpu").glob("test-gpu-*")]:
        for name, path in re.findall(r"^\s*(\S+) => (.+?)(?: \(|$)", run("/usr/bin/ldd", program, cwd=tmp_path).stdout, re.M):
            inside = pathlib.Path(path).resolve().is_relative_to(bundle)
            assert inside or re.match(r"lib(c|m|dl|rt|pthread)\.so", name), (program, name, path)


@pytest.mark.skipif(not MPI, reason="perfkit was built without MPI")
def test_ranks_start_where_there_is_no_mpi_and_no_ssh(bundle, tmp_path):
    """PATH has a shell and no more; what is loaded is the bundle's."""
    if not (bundle / "perfkit-mpi.so").exists():
        pytest.skip("the bundle has no MPI: it has that of Open MPI 4 only, and says so")
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    env = {"PATH": "%s:%s" % (bundle / "mpi" / "bin", tmp_path / "bin"), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8",
           "PERFKIT_CUDA_LIBS": str(make_other_libraries(tmp_path / "libraries"))}
    p = subprocess.run([bundle / "perfkit", "doctor", "--format", "json"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    mpi, = (r for table in json.loads(p.stdout)["tables"].values() for r in table["rows"] if r["name"] == "mpi")
    assert mpi["state"] == "ok", mpi
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    mpiexec = [bundle / "mpi" / "bin" / "mpiexec", "-n", "2"]
    p = subprocess.run([*mpiexec, "sh", "-c", "echo $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE by $OPAL_PREFIX"], env=env, cwd=tmp_path,
                       capture_output=True, text=True, timeout=60, check=False)
    assert sorted(p.stdout.splitlines()) == ["%d of 2 by %s/mpi" % (i, bundle) for i in (0, 1)], p.stdout + p.stderr
    parts = [bundle / "perfkit-mpi.so", bundle / "mpi" / "bin" / "orterun", *bundle.glob("mpi/lib/**/mca_*.so")]
    said = subprocess.run(["ldd", *parts], env={"LD_LIBRARY_PATH": str(bundle / "lib")}, capture_output=True, text=True, check=True).stdout
    assert len(parts) > 20 and all(f"{part}:\n" in said for part in parts)
    for name, path in set(re.findall(r"^\s*(\S+) => (.+?)(?: \(|$)", said, re.M)):
        assert pathlib.Path(path).is_relative_to(bundle) or re.match(r"lib(c|m|dl|rt|pthread)\.so", name), (name, path, said)


def test_it_runs_from_another_folder(bundle, tmp_path):
    assert run(bundle / "perfkit", "--version", cwd=tmp_path).stdout.startswith("perfkit ")
    listed = json.loads(run(bundle / "perfkit", "list", "experiments", "--format", "json", cwd=tmp_path).stdout)
    assert "attention-scaling" in json.dumps(listed)
    p = run(bundle / "perfkit", "run", "selftest", "--device", "null", "--variant", "ok", "--format", "json", cwd=tmp_path)
    assert p.returncode == 0, p.stderr


def test_the_check_runs_from_it(bundle, tmp_path):
    p = run(sys.executable, bundle / "gpu" / "check.py", "--device", "cpu", "--quick", "products", cwd=tmp_path)
    assert p.returncode == 0 and "products passed" in p.stdout, p.stdout + p.stderr
    said = (tmp_path / "gpu-check" / "log.txt").read_text()
    assert str(bundle / "gpu" / "test-gpu-products") in said


def test_a_folder_that_is_no_bundle_is_kept(tmp_path):
    (tmp_path / "mine").write_text("kept")
    p = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / "bundle.py", BUILD, tmp_path], capture_output=True, text=True, check=False)
    assert p.returncode == 1 and "is there already" in p.stderr and (tmp_path / "mine").read_text() == "kept"
