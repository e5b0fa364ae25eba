"""bootstrap's CUDA Toolkit: looked for, and installed where there is a GPU and none; with stand-ins for NVIDIA's wheels."""
import os
import pathlib
import shutil
import subprocess
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NAMES = ("nvidia-cuda-nvcc 13.0.88", "nvidia-nvvm 13.0.88", "nvidia-cuda-crt 13.0.88", "nvidia-cuda-cccl 13.0.85", "nvidia-cuda-runtime 13.0.96",
         "nvidia-nvtx 13.0.85", "nvidia-cublas 13.1.0.3", "nvidia-cudnn-cu13 9.19.0.56")


def wheel(folder, name, version, files):
    """A package of data files, as pip installs them; those in bin can be executed."""
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as z:
        for path, text in files.items():
            info = zipfile.ZipInfo(path)
            info.external_attr = (0o100755 if "/bin/" in path else 0o100644) << 16
            z.writestr(info, text)
        z.writestr(f"{stem}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        z.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{stem}.dist-info/RECORD", "")


def copied(folder):
    """Calls a copy of it on a machine without a toolkit, whose only packages are those in `wheels`."""
    shutil.copy(ROOT / "bootstrap", folder)
    (folder / "wheels").mkdir()
    gpu = folder / "gpu"
    gpu.touch()

    def call(*args, **env):
        base = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PERFKIT_GPU_MARK": str(gpu), "PERFKIT_USUAL_TOOLKIT": str(folder / "none"),
                "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "wheels"), "LC_ALL": "C.UTF-8"}
        return subprocess.run([folder / "bootstrap", *args], env=base | env, capture_output=True, text=True, timeout=120, check=False)

    call.root = folder
    return call


@pytest.fixture
def bootstrap(tmp_path):
    return copied(tmp_path)


PATH_LINE = 'export PATH="/usr/bin:/bin:$PATH"'


def set_path(bootstrap, path):
    script = bootstrap.root / "bootstrap"
    text = script.read_text()
    assert PATH_LINE in text
    script.write_text(text.replace(PATH_LINE, f'export PATH="{path}"'))


@pytest.fixture(scope="module")
def charts(tmp_path_factory):
    """The chart bundle, fetched: a bootstrap, and what its call said. The package is a stand-in, its environment is Python's own."""
    bootstrap = copied(tmp_path_factory.mktemp("charts"))
    wheel(bootstrap.root / "wheels", "vl-convert-python", "1.9.5", {"vl_convert.py": "def javascript_bundle():\n    return 'window.vegaEmbed = 1;'\n"})
    return bootstrap, bootstrap("charts")


# Most of the time that an environment takes goes into its pip: this one has that of another environment.
VENV = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exec /usr/bin/python3 "$@"
/usr/bin/python3 -m venv --without-pip "$3" && printf '#!/bin/sh\\nexec "%s/bin/python" %s "$@"\\n' "$PWD/$3" {pip} >"$3/bin/pip" && chmod +x "$3/bin/pip"
"""


@pytest.fixture
def quick(bootstrap, charts):
    """A bootstrap whose environments take the pip of the one for charts."""
    pip, = (charts[0].root / "build" / "charts").glob("lib/python3*/site-packages/pip")
    stubs = bootstrap.root / "stubs"
    stubs.mkdir()
    (stubs / "python3").write_text(VENV.format(pip=pip))
    (stubs / "python3").chmod(0o755)
    set_path(bootstrap, f"{stubs}:/usr/bin:/bin")
    return bootstrap


def make_toolkit(root):
    nvcc = root / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\n")
    nvcc.chmod(0o755)
    return root


def test_a_toolkit_is_found(bootstrap):
    for variable, place in (("CUDA_HOME", "home"), ("PERFKIT_USUAL_TOOLKIT", "usual")):
        toolkit = make_toolkit(bootstrap.root / place)
        assert bootstrap("toolkit", **{variable: str(toolkit)}).stdout == f"{toolkit}\n"
    toolkit = make_toolkit(bootstrap.root / "path")
    assert bootstrap("toolkit", PATH=f"{toolkit}/bin:/usr/bin:/bin").stdout == f"{toolkit}\n"
    assert not (bootstrap.root / "build-cuda").exists()


def test_without_a_gpu_none_is_installed(bootstrap):
    p = bootstrap("toolkit", PERFKIT_GPU_MARK="/nowhere")
    assert p.returncode == 2 and "there is no CUDA Toolkit here" in p.stderr and "CUDA_HOME" in p.stderr
    assert not (bootstrap.root / "build-cuda").exists()


def test_with_a_gpu_it_is_installed_once(quick):
    for name, version in (n.split() for n in NAMES):
        files = {f"nvidia/cu13/include/{name}.h": ""}
        if name == "nvidia-cuda-nvcc":
            files["nvidia/cu13/bin/nvcc"] = "#!/bin/sh\n"
        if "cudnn" in name:
            files = {"nvidia/cudnn/include/cudnn_graph.h": "// cudnn"}
        wheel(quick.root / "wheels", name, version, files)
    p = quick("toolkit")
    assert p.returncode == 0 and "installing it from PyPI into build-cuda/" in p.stderr, p.stderr
    toolkit = pathlib.Path(p.stdout.strip())
    assert toolkit.is_relative_to(quick.root / "build-cuda") and os.access(toolkit / "bin" / "nvcc", os.X_OK)
    assert (toolkit / "include" / "cudnn_graph.h").read_text() == "// cudnn"
    again = quick("toolkit", PIP_FIND_LINKS="/nowhere")
    assert again.returncode == 0 and again.stdout == p.stdout and "installing" not in again.stderr
    (quick.root / "build-cuda" / ".complete").unlink()  # as a signal leaves it
    again = quick("toolkit")
    assert again.returncode == 0 and again.stdout == p.stdout and "installing" in again.stderr


def test_what_cannot_be_installed_is_said(quick):
    p = quick("toolkit")
    assert p.returncode == 1 and "could not be installed into build-cuda/" in p.stderr, p.stderr
    assert "CUDA_HOME" in p.stderr and "-Dcuda=disabled" in p.stderr


def test_somebody_else_s_build_is_left_alone(bootstrap):
    (bootstrap.root / "build").mkdir()
    (bootstrap.root / "build" / "build.ninja").touch()
    p = bootstrap("toolkit")
    assert p.returncode == 2 and "installing" not in p.stderr


@pytest.mark.parametrize("apt,status", [("exit 100", 1), (None, 2)])
def test_a_gpu_check_without_packages_names_the_bundle(bootstrap, apt, status):
    """A GPU machine may have no network, or no apt: what helps there is said, once."""
    stubs = bootstrap.root / "stubs"
    stubs.mkdir()
    for name in ("sh", "cat", "cut", "tr", "dirname", "id", "pkg-config", "python3", "grep", "sed", "sort", "head"):
        (stubs / name).symlink_to(shutil.which(name))
    if apt:
        (stubs / "apt-get").write_text("#!/bin/sh\n%s\n" % apt)
        (stubs / "apt-get").chmod(0o755)
        (stubs / "id").unlink()
        (stubs / "id").write_text("#!/bin/sh\necho 0\n")
        (stubs / "id").chmod(0o755)
    set_path(bootstrap, stubs)
    p = bootstrap("gpu-check")
    assert p.returncode == status and p.stderr.count("./bootstrap bundle") == 1 and "perfkit-bundle/gpu/check.py" in p.stderr, p.stderr
    assert "./bootstrap bundle" not in bootstrap("test").stderr


MACHINE = {
    "id": "echo ${OUR_ID:-1000}",
    "pkg-config": '[ "$2" != ompi-c ] || [ -e $HERE/mpi ]',
    "meson": """echo "meson $*" >>$HERE/calls; [ "$1" != --version ] || echo 1.0
[ "$*" != "setup build" ] || { mkdir build; echo tests/unit/ >build/build.ninja; touch build/build_config.h; }""",
    "ninja": """echo "ninja $*" >>$HERE/calls; printf '#!/bin/sh\necho tables; exit 3\n' >build/perfkit; chmod +x build/perfkit""",
    "apt-get": """echo "apt-get $*" >>$HERE/calls; case "$*" in *update*) ;; *openmpi*) echo cannot >&2; exit 100 ;; esac""",
}


@pytest.fixture
def machine(bootstrap):
    """A machine whose only missing package is libopenmpi-dev until the file `mpi` exists; its tools write down how they are called."""
    stubs = bootstrap.root / "stubs"
    stubs.mkdir()
    for name, text in MACHINE.items():
        (stubs / name).write_text("#!/bin/sh\n" + text + "\n")
        (stubs / name).chmod(0o755)
    set_path(bootstrap, f"{stubs}:/usr/bin:/bin")
    script = bootstrap.root / "bootstrap"
    # Whatever else this machine lacks is there.
    script.write_text(script.read_text().replace("case $1 in\n    cmd)", "case $1 in\n    lib | header | python | cmd) ;;\n    cmd)")
                      .replace("-s build/report.js", "-s /bin/sh"))

    def call(*args, **env):
        (bootstrap.root / "calls").write_text("")
        p = bootstrap(*args, PERFKIT_GPU_MARK="/nowhere", HERE=str(bootstrap.root), **env)
        p.calls = [c for c in (bootstrap.root / "calls").read_text().splitlines() if "--version" not in c]
        return p

    call.root = bootstrap.root
    return call


def left_out(machine):
    return (f"not built: ddp-bucket over MPI (libopenmpi-dev is missing): sudo apt-get install libopenmpi-dev && {machine.root}/bootstrap build")


def test_a_part_that_is_missing_is_named_at_the_end_and_found_when_it_is_there(machine):
    p = machine("build")
    assert p.returncode == 0 and p.stderr.splitlines()[-1] == left_out(machine), p.stderr
    assert p.calls == ["meson setup build", "ninja -C build product"]
    assert machine("build").calls == ["ninja -C build product"]
    (machine.root / "mpi").touch()
    p = machine("build")
    assert p.calls == ["meson configure build --clearcache", "meson setup --reconfigure build", "ninja -C build product"] and "not built" not in p.stderr
    assert machine("build").calls == ["ninja -C build product"]


def test_a_build_of_another_is_looked_at_again_when_something_was_missing(machine):
    build = machine.root / "build"
    build.mkdir()
    (build / "build.ninja").write_text("tests/unit/")
    (build / "build_config.h").write_text("")
    assert machine("build").calls == ["ninja -C build product"]
    (build / "build_config.h").write_text('#define PK_MPI_UNAVAILABLE "no MPI was found when perfkit was built"')
    assert "meson setup --reconfigure build" in machine("build").calls
    assert machine("build").calls == ["ninja -C build product"]


def test_what_was_left_out_is_said_behind_the_tables(machine):
    p = machine("run")
    assert p.returncode == 3 and p.stdout == "tables\n" and p.stderr.splitlines()[-1] == left_out(machine), p
    (machine.root / "mpi").touch()
    p = machine("run")
    assert p.returncode == 3 and p.stdout == "tables\n" and "not built" not in p.stderr, p


def test_root_installs_parts_and_goes_on_without_those_that_fail(machine):
    p = machine("build", OUR_ID="0")
    assert p.returncode == 0 and "going on without libopenmpi-dev" in p.stderr and p.stderr.splitlines()[-1] == left_out(machine), p.stderr
    assert [c.split()[-1] for c in p.calls if " install " in c] == ["libopenmpi-dev"] * 2 and sum("update" in c for c in p.calls) == 1, p.calls


def test_every_package_has_a_name_in_each_distribution():
    """One table: level, package of Debian and Ubuntu, of Fedora, how it is looked for."""
    table = (ROOT / "bootstrap").read_text().split("<<'END'\n")[2].split("\nEND")[0].splitlines()
    assert len(table) > 30
    for row in table:
        level, debian, fedora, kind, name, purpose = row.split(None, 5)
        assert kind in ("cmd", "header", "pc", "lib", "python", "rt") and purpose and debian and fedora and name, row


@pytest.mark.skipif(not os.access("/usr/local/cuda/bin/nvcc", os.X_OK), reason="there is no toolkit in the usual place")
def test_a_wrong_cuda_home_does_not_hide_the_usual_toolkit(tmp_path):
    source = pathlib.Path(__file__).parents[2]
    r = subprocess.run(["meson", "setup", tmp_path / "build", source, *(f"-D{part}=disabled" for part in ("tests", "mpi", "onednn"))], capture_output=True, text=True, timeout=300,
                       env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CUDA_HOME": "/nonexistent"})
    assert r.returncode == 0, r
    assert "WARNING: CUDA_HOME is /nonexistent" in r.stdout and "/usr/local/cuda/bin/nvcc is taken" in r.stdout, r.stdout
    config = next((tmp_path / "build").rglob("build_config.h")).read_text()
    assert "#define PK_HAVE_CUDA\n" in config, config


def test_the_chart_bundle_is_fetched_once(charts):
    """From the package's own call; a second call needs no package."""
    bootstrap, p = charts
    assert p.returncode == 0 and p.stdout == "build/report.js\n", p.stderr
    assert (bootstrap.root / "build" / "report.js").read_text() == "window.vegaEmbed = 1;"
    again = bootstrap("charts", PIP_FIND_LINKS="/nowhere")
    assert again.returncode == 0 and "fetching" not in again.stderr, again.stderr


def test_without_a_network_there_is_no_chart_bundle(quick):
    p = quick("charts")
    assert p.returncode == 1 and "the chart bundle could not be fetched" in p.stderr and "-Dreport_js=FILE" in p.stderr, p.stderr
    assert not (quick.root / "build" / "report.js").exists()
