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


@pytest.fixture
def bootstrap(tmp_path):
    """Calls a copy of it on a machine without a toolkit, whose only packages are those in `wheels`."""
    shutil.copy(ROOT / "bootstrap", tmp_path)
    (tmp_path / "wheels").mkdir()
    gpu = tmp_path / "gpu"
    gpu.touch()

    def call(*args, **env):
        base = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PERFKIT_GPU_MARK": str(gpu), "PERFKIT_USUAL_TOOLKIT": str(tmp_path / "none"),
                "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels"), "LC_ALL": "C.UTF-8"}
        return subprocess.run([tmp_path / "bootstrap", *args], env=base | env, capture_output=True, text=True, timeout=120, check=False)

    call.root = tmp_path
    return call


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


def test_with_a_gpu_it_is_installed_once(bootstrap):
    for name, version in (n.split() for n in NAMES):
        files = {f"nvidia/cu13/include/{name}.h": ""}
        if name == "nvidia-cuda-nvcc":
            files["nvidia/cu13/bin/nvcc"] = "#!/bin/sh\n"
        if "cudnn" in name:
            files = {"nvidia/cudnn/include/cudnn_graph.h": "// cudnn"}
        wheel(bootstrap.root / "wheels", name, version, files)
    p = bootstrap("toolkit")
    assert p.returncode == 0 and "installing it from PyPI into build-cuda/" in p.stderr, p.stderr
    toolkit = pathlib.Path(p.stdout.strip())
    assert toolkit.is_relative_to(bootstrap.root / "build-cuda") and os.access(toolkit / "bin" / "nvcc", os.X_OK)
    assert (toolkit / "include" / "cudnn_graph.h").read_text() == "// cudnn"
    again = bootstrap("toolkit", PIP_FIND_LINKS="/nowhere")
    assert again.returncode == 0 and again.stdout == p.stdout and "installing" not in again.stderr
    (bootstrap.root / "build-cuda" / ".complete").unlink()  # as a signal leaves it
    again = bootstrap("toolkit")
    assert again.returncode == 0 and again.stdout == p.stdout and "installing" in again.stderr


def test_what_cannot_be_installed_is_said(bootstrap):
    p = bootstrap("toolkit")
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
    for name in ("sh", "cat", "cut", "tr", "dirname", "id", "pkg-config", "python3", "grep"):
        (stubs / name).symlink_to(shutil.which(name))
    if apt:
        (stubs / "apt-get").write_text("#!/bin/sh\n%s\n" % apt)
        (stubs / "apt-get").chmod(0o755)
        (stubs / "id").unlink()
        (stubs / "id").write_text("#!/bin/sh\necho 0\n")
        (stubs / "id").chmod(0o755)
    script = bootstrap.root / "bootstrap"
    text = script.read_text()
    assert 'export PATH="/usr/bin:/bin:$PATH"' in text
    script.write_text(text.replace('export PATH="/usr/bin:/bin:$PATH"', 'export PATH="%s"' % stubs))
    p = bootstrap("gpu-check")
    assert p.returncode == status and p.stderr.count("./bootstrap bundle") == 1 and "perfkit-bundle/gpu/check.py" in p.stderr, p.stderr
    assert "./bootstrap bundle" not in bootstrap("test").stderr


@pytest.mark.skipif(not os.access("/usr/local/cuda/bin/nvcc", os.X_OK), reason="there is no toolkit in the usual place")
def test_a_wrong_cuda_home_does_not_hide_the_usual_toolkit(tmp_path):
    source = pathlib.Path(__file__).parents[2]
    r = subprocess.run(["meson", "setup", tmp_path / "build", source], capture_output=True, text=True, timeout=300,
                       env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CUDA_HOME": "/nonexistent"})
    assert r.returncode == 0, r
    assert "WARNING: CUDA_HOME is /nonexistent" in r.stdout and "/usr/local/cuda/bin/nvcc is taken" in r.stdout, r.stdout
    config = next((tmp_path / "build").rglob("build_config.h")).read_text()
    assert "#define PK_HAVE_CUDA\n" in config, config
