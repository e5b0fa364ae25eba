#!/usr/bin/env python3
"""perfkit as one folder that runs elsewhere: bundle.py BUILD OUT. Program, libraries except libc's and OpenBLAS, peers, GPU tests, Open MPI.

    OUT/perfkit  perfkit-mpi.so  lib/  peers/  mpi/  gpu/check.py  gpu/test-gpu-*      and OUT.tar.gz beside it

The programs look for libraries in lib/ beside them first (their run path); a newer libc than this machine's is fine, an older is not.
mpi/bin/mpiexec starts ranks on that machine: Open MPI with its components, but those of fabrics."""
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

BYTES_MOST = 64 << 20
PACKED_MOST = 40 << 20
NOT_OURS = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[-\w]*)\.so\.\d+$")  # the other machine's own
FABRICS = re.compile(r"lib(uc[mpst]|mca_common_(ucx|ofi|verbs)|fabric|psm|infinipath|ibverbs|rdmacm|efa|nl-|oshmem)")  # needless on one machine
MPIEXEC = """#!/bin/sh
# Starts ranks with the Open MPI beside it, wherever this folder is, without an installation or settings in /etc.
OPAL_PREFIX=$(cd "$(dirname "$0")/.." && pwd)
PMIX_PREFIX=$OPAL_PREFIX/%s
LD_LIBRARY_PATH=$OPAL_PREFIX/../lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
OMPI_MCA_mca_base_param_files=$OPAL_PREFIX/none OMPI_MCA_orte_default_hostfile=none
OMPI_MCA_plm=isolated # ranks of this machine alone: no ssh is looked for
export OPAL_PREFIX PMIX_PREFIX LD_LIBRARY_PATH OMPI_MCA_mca_base_param_files OMPI_MCA_orte_default_hostfile OMPI_MCA_plm
exec "$OPAL_PREFIX/bin/orterun" "$@"
"""


def fail(what, why, fix):
    sys.exit("bundle: %s\n  why: %s\n  try: %s" % (what, why, fix))


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def libraries_of_each(programs):
    """{program: {soname: path}}: every library that the loader would take for it."""
    found, program = {p: {} for p in programs}, None
    for line in output("ldd", *programs).splitlines():
        m = re.match(r"\s+(\S+) => (\S*)", line)
        if not line.startswith("\t"):
            program = pathlib.Path(line.rstrip(":"))
        elif m and not m.group(2).startswith("/"):
            fail("%s needs %s" % (program.name, m.group(1)), "the loader does not find it here", "install it, or build perfkit anew")
        elif m and not NOT_OURS.match(m.group(1)):
            found[program][m.group(1)] = m.group(2)
    return found


def libraries(programs):
    """{soname: path} of them all."""
    return {name: path for needs in libraries_of_each(programs).values() for name, path in needs.items()}


def open_mpi():
    """{file: where it goes} of the Open MPI here, and where its PMIx is below the prefix. Empty, with a reason, where it is another MPI."""
    program = shutil.which("mpiexec")
    if not program or not shutil.which("ompi_info") or pathlib.Path(program).resolve().name != "orterun":
        return {}, "", "mpiexec is not that of Open MPI 4"
    paths = dict(re.findall(r"^\s*(\w+): (\S+)", output("ompi_info", "--path", "all"), re.M))
    prefix = pathlib.Path(paths["Prefix"])
    pmix = next(iter(sorted(prefix.glob("lib/*/pmix*/lib/pmix"))), None)
    files = {pathlib.Path(paths["Bindir"]) / name: pathlib.Path("bin") / name for name in ("orterun", "orted")}
    components = [f for folder in [pathlib.Path(paths["Pkglibdir"]), *([pmix] if pmix else [])] for f in sorted(folder.glob("mca_*.so"))]
    files.update({f: f.relative_to(prefix) for f, needs in libraries_of_each(components).items() if not any(map(FABRICS.match, needs))})
    files.update({f: f.relative_to(prefix) for f in sorted(pathlib.Path(paths["Pkgdatadir"]).glob("help-*.txt"))})
    return files, pmix.parents[1].relative_to(prefix) if pmix else "", None


def fill_mpi(out, build):
    """Returns what needs libraries of it, and why there is none."""
    module = build / "perfkit-mpi.so"
    if not module.exists():
        return [], "perfkit was built without MPI"
    files, pmix, why = open_mpi()
    if why:
        return [], why
    for source, target in {module: "../perfkit-mpi.so", **files}.items():
        (out / "mpi" / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, out / "mpi" / target)
    (out / "mpi" / "bin" / "mpiexec").write_text(MPIEXEC % pmix)
    (out / "mpi" / "bin" / "mpiexec").chmod(0o755)
    return [module, *(f for f in files if f.suffix != ".txt")], None


def fill(out, root, build):
    """Returns what the bundle has not."""
    programs = {build / "perfkit": out / "perfkit"}
    for program in sorted((build / "tests" / "gpu").glob("test-gpu-*")):
        if program.is_file():
            programs[program] = out / "gpu" / program.name
    for folder in ("lib", "gpu/gpucheck", "peers/shared", "client"):
        (out / folder).mkdir(parents=True)
    for source, target in programs.items():
        shutil.copy(source, target)
        subprocess.run(["strip", "--strip-debug", target], check=True)
    of_mpi, without_mpi = fill_mpi(out, build)
    for name, path in libraries([*programs, *of_mpi]).items():
        shutil.copy(path, out / "lib" / name)
    for source, folder in (("probes/peers/*.py", "peers"), ("probes/peers/shared/*.py", "peers/shared"), ("tests/gpu/gpucheck/*.py", "gpu/gpucheck"), ("tests/gpu/check.py", "gpu"),
                           ("docs/gpu-status.md", "gpu"), ("lib/client/perfkit.py", "client"), ("LICENSE", ".")):
        for f in sorted(root.glob(source)):
            shutil.copy(f, out / folder)
    return ["ranks over MPI: %s" % without_mpi] if without_mpi else []


def main(build, out):
    root = pathlib.Path(__file__).resolve().parents[2]
    build, out = pathlib.Path(build).resolve(), pathlib.Path(out).resolve()
    if out.exists():
        if not (out / "gpu" / "check.py").exists():
            fail("%s is there already" % out, "it is not an earlier bundle, so it is not replaced", "give another folder")
        shutil.rmtree(out)
    left_out = fill(out, root, build)
    with tarfile.open("%s.tar.gz" % out, "w:gz", compresslevel=6) as tar:
        tar.add(out, arcname=out.name)
    size, packed = sum(f.stat().st_size for f in out.rglob("*") if f.is_file()), pathlib.Path("%s.tar.gz" % out).stat().st_size
    for what, n, most in ((out, size, BYTES_MOST), ("%s.tar.gz" % out, packed, PACKED_MOST)):
        if n > most:
            fail("%s has %d bytes" % (what, n), "a bundle may have %d" % most, "meson configure build -Dgpu_arch=90a")
    print("bundle: %s, %.1f MiB, and %s.tar.gz, %.1f MiB" % (out, size / (1 << 20), out, packed / (1 << 20)))
    for text in left_out:
        print("bundle: without %s" % text)
    print("  there: %s/gpu/check.py" % out.name)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: bundle.py BUILD OUT")
    main(*sys.argv[1:])
