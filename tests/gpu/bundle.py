#!/usr/bin/env python3
"""perfkit as one folder that runs elsewhere: bundle.py BUILD OUT. Program, libraries but for libc's and OpenBLAS, peers, GPU tests.

    OUT/perfkit  lib/  peers/  gpu/check.py  gpu/test-gpu-*      and OUT.tar.gz beside it

The programs look for libraries in lib/ beside them first (their run path); a newer libc than this machine's is fine, an older is not."""
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

BYTES_MOST = 64 << 20
NOT_OURS = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[-\w]*)\.so\.\d+$")  # the other machine's own


def fail(what, why, fix):
    sys.exit("bundle: %s\n  why: %s\n  try: %s" % (what, why, fix))


def libraries(programs):
    """Every library that the loader would take for these programs, by its soname."""
    found = {}
    for program in programs:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for name, path in re.findall(r"^\s*(\S+) => (\S*)", said, re.M):
            if not path.startswith("/"):
                fail("%s needs %s" % (program.name, name), "the loader does not find it here", "install it, or build perfkit anew")
            if not NOT_OURS.match(name):
                found[name] = path
    return found


def fill(out, root, build):
    programs = {build / "perfkit": out / "perfkit"}
    for program in sorted((build / "tests" / "gpu").glob("test-gpu-*")):
        if program.is_file():
            programs[program] = out / "gpu" / program.name
    for folder in ("lib", "gpu", "peers"):
        (out / folder).mkdir(parents=True)
    for source, target in programs.items():
        shutil.copy(source, target)
        subprocess.run(["strip", "--strip-debug", target], check=True)
    for name, path in libraries(programs).items():
        shutil.copy(path, out / "lib" / name)
    for peer in sorted((root / "probes" / "peers").glob("*.py")):
        shutil.copy(peer, out / "peers")
    shutil.copy(root / "tests" / "gpu" / "check.py", out / "gpu")
    shutil.copy(root / "LICENSE", out)


def main(build, out):
    root = pathlib.Path(__file__).resolve().parents[2]
    build, out = pathlib.Path(build).resolve(), pathlib.Path(out).resolve()
    if out.exists():
        if not (out / "gpu" / "check.py").exists():
            fail("%s is there already" % out, "it is not an earlier bundle, so it is not replaced", "give another folder")
        shutil.rmtree(out)
    fill(out, root, build)
    size = sum(f.stat().st_size for f in out.rglob("*") if f.is_file())
    if size > BYTES_MOST:
        fail("%s has %d bytes" % (out, size), "a bundle may have %d" % BYTES_MOST, "meson configure build -Dgpu_arch=90a")
    with tarfile.open("%s.tar.gz" % out, "w:gz") as tar:
        tar.add(out, arcname=out.name)
    print("bundle: %s, %.1f MiB, and %s.tar.gz\n  there: %s/gpu/check.py" % (out, size / (1 << 20), out, out.name))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: bundle.py BUILD OUT")
    main(*sys.argv[1:])
