"""Each barrier of the kernels left out, one at a time: barriers.py LIB/OPS/CUDA KERNEL.cu=PROGRAM... (test-cudashim-threads-NAME).

A barrier that no program of a kernel file with it misses, by a data race, a hang or a wrong result, is not needed, or not tested:
the status is 1, and a line says where it is. The wait for the previous kernel is one of them: it is left out as if it came last."""
import os
import re
import subprocess
import sys

BARRIER = re.compile(r"__sync(?:threads|warp)\(|\bpk_wait_for_previous\(")
# Of several programs with a file, the one that misses most of its barriers.
FIRST = {"reduce.h": "norm_backward", "layers/embed.cu": "embed_backward"}
INCLUDE = re.compile(r'#include "ops/cuda/([\w/]+\.h)"')


def source_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def files_of(folder, name):
    """The kernel file and the headers of the folder that it includes, in turn."""
    found, left = [], [name]
    while left:
        at = left.pop()
        if at not in found:
            found.append(at)
            left += INCLUDE.findall(source_of(folder, at))
    return found


def missed(program, site):
    """How the program notices that the barrier is not there; None where it does not."""
    env = dict(os.environ, PK_SHIM_WITHOUT=site, TSAN_OPTIONS="halt_on_error=1:symbolize=0")
    done = subprocess.run([program], env=env, capture_output=True, text=True, errors="replace")
    if not done.returncode:
        return None
    said = done.stdout + done.stderr
    return "a data race" if "data race" in said else "no thread can go on" if "no thread" in said else "a wrong result"


def main(folder, programs):
    with_file = {}
    for kernel, program in (pair.split("=") for pair in programs):
        for name in files_of(folder, kernel):
            with_file.setdefault(name, []).append(program)
    unnoticed = 0
    for name, those in sorted(with_file.items()):
        those.sort(key=lambda p: not p.endswith("-" + FIRST.get(name, "")))
        for i, line in enumerate(source_of(folder, name).splitlines(), 1):
            if name == "launch.h" or not BARRIER.search(line):
                continue
            site = "%s:%d" % (os.path.basename(name), i)
            how = next(((h, p) for p in those for h in [missed(p, site)] if h), None)
            unnoticed += not how
            print("%s: %s" % (site, "%s, in %s" % (how[0], os.path.basename(how[1])) if how else "not noticed"), flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
