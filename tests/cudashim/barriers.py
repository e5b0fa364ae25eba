"""The programs of a kernel file under ThreadSanitizer, and each of its barriers left out, one at a time:
barriers.py WATCHED LIB/OPS/CUDA KERNEL.cu PROGRAM... (test-cudashim-threads-NAME).

A program that fails makes the status 1, and so does a barrier that none of them misses, by a data race, a hang or a wrong result: it is not
needed, or not tested; a line says where it is. The wait for the previous kernel is one of them: it is left out as if it came last. Barriers in
headers are those of one kernel file that includes them.

ThreadSanitizer since gcc 13 and clang 14 has 255 places for threads (kThreadSlotCount), and forgets what a thread did whose place another
takes. So a barrier of larger blocks may not be missed there. WATCHED is that number; where only such barriers are not noticed, the status is 77."""
import os
import re
import subprocess
import sys

BARRIER = re.compile(r"__sync(?:threads|warp)\(|\bpk_(?:wait_for_previous|bar_wait)\(")
WITHOUT = ("launch.h", "attention/wgmma.h")  # they define some
# Of several kernel files that include a header, the one whose programs miss its barriers; the first by name otherwise.
TESTED_BY = {"reduce.h": "layers/norm_backward.cu"}
# At no barrier, in a quick program: it misses nothing, in a process that inherits what came before.
NOWHERE, CONTROL = "nowhere_in_a_kernel.cu:0", "layers/adamw.cu"
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


def kernels_of(folder):
    return sorted(os.path.relpath(os.path.join(at, f), folder) for at, _, files in os.walk(folder) for f in files if f.endswith(".cu"))


def sites_of(folder, kernel):
    """FILE:LINE of each barrier that is this kernel's to test."""
    tested_by = dict(TESTED_BY)
    for k in kernels_of(folder):
        for name in files_of(folder, k):
            tested_by.setdefault(name, k)
    return ["%s:%d" % (os.path.basename(name), i) for name, of in sorted(tested_by.items()) if of == kernel and name not in WITHOUT
            for i, line in enumerate(source_of(folder, name).splitlines(), 1) if BARRIER.search(line)]


def run(program, sites):
    """{site: (how the program notices that the barrier is not there, None where it does not; the threads of the largest block without it)} of
    those that it comes to (cuda_shim.cpp, try_without); and whether it passes with all barriers."""
    env = dict(os.environ, PK_SHIM_WITHOUT=" ".join(sites), TSAN_OPTIONS="halt_on_error=1:symbolize=0")
    done = subprocess.run([program], env=env, capture_output=True, text=True, errors="replace", check=False)
    parts = re.split(r"^without (\S+:\d+): (noticed|unnoticed)$", done.stderr, flags=re.MULTILINE)
    found = {}
    for said, site, noticed in zip(parts[::3], parts[1::3], parts[2::3]):
        threads = max(map(int, re.findall(r"without a barrier in a block of (\d+) threads", said)), default=0)
        how = "a data race" if "data race" in said else "no thread can go on" if "no thread" in said else "a wrong result"
        found[site] = how if noticed == "noticed" else None, threads
    return found, done.returncode == 0


def main(watched, folder, kernel, programs):
    left = sites_of(folder, kernel)
    threads = dict.fromkeys(left, 0)
    wrong = 0
    for program in programs:
        name = os.path.basename(program)
        control = [NOWHERE] if kernel == CONTROL else []
        found, passed = run(program, left + control)
        if not passed:
            wrong += 1
            print("%s: failed" % name, flush=True)
            subprocess.run([program], check=False)  # says why
        if control and found.pop(NOWHERE, ("it was not tried", 0))[0]:
            wrong += 1
            print("%s: noticed, in %s: what misses nothing fails, too" % (NOWHERE, name))
        for site, (how, most) in found.items():
            threads[site] = max(threads[site], most)
            if how:
                left.remove(site)
                print("%s: %s, in %s" % (site, how, name))
    for site in left:
        large = threads[site] > watched
        wrong += not large
        why = ": blocks of %d threads, of which ThreadSanitizer knows %d at a time" % (threads[site], watched) if large else ""
        print("%s: not noticed%s" % (site, why))
    return 1 if wrong else 77 if left else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
