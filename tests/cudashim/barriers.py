"""Each barrier of the kernels left out, one at a time: barriers.py WATCHED LIB/OPS/CUDA KERNEL.cu=PROGRAM... (test-cudashim-threads-NAME).

A barrier that no program of a kernel file with it misses, by a data race, a hang or a wrong result, is not needed, or not tested:
the status is 1, and a line says where it is. The wait for the previous kernel is one of them: it is left out as if it came last.

ThreadSanitizer since gcc 13 and clang 14 has 255 places for threads (kThreadSlotCount), and forgets what a thread did whose place another
takes. So a barrier of larger blocks may not be missed there. WATCHED is that number; where only such barriers are not noticed, the status is 77."""
import os
import re
import subprocess
import sys

BARRIER = re.compile(r"__sync(?:threads|warp)\(|\bpk_(?:wait_for_previous|bar_wait)\(")
WITHOUT = ("launch.h", "attention/wgmma.h")  # they define some
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
    """How the program notices that the barrier is not there, None where it does not; and the threads of the largest block without it."""
    env = dict(os.environ, PK_SHIM_WITHOUT=site, TSAN_OPTIONS="halt_on_error=1:symbolize=0")
    done = subprocess.run([program], env=env, capture_output=True, text=True, errors="replace")
    said = done.stdout + done.stderr
    threads = max(map(int, re.findall(r"without a barrier in a block of (\d+) threads", said)), default=0)
    if not done.returncode:
        return None, threads
    return "a data race" if "data race" in said else "no thread can go on" if "no thread" in said else "a wrong result", threads


def main(watched, folder, programs):
    with_file = {}
    for kernel, program in (pair.split("=") for pair in programs):
        for name in files_of(folder, kernel):
            with_file.setdefault(name, []).append(program)
    unnoticed = too_large = 0
    for name, those in sorted(with_file.items()):
        those.sort(key=lambda p: not p.endswith("-" + FIRST.get(name, "")))
        for i, line in enumerate(source_of(folder, name).splitlines(), 1):
            if name in WITHOUT or not BARRIER.search(line):
                continue
            site, threads, result = "%s:%d" % (os.path.basename(name), i), 0, None
            for program in those:
                how, most = missed(program, site)
                threads = max(threads, most)
                if how:
                    result = "%s, in %s" % (how, os.path.basename(program))
                    break
            if not result and threads > watched:
                too_large += 1
                result = "not noticed: blocks of %d threads, of which ThreadSanitizer knows %d at a time" % (threads, watched)
            unnoticed += not result
            print("%s: %s" % (site, result or "not noticed"), flush=True)
    return 1 if unnoticed else 77 if too_large else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
