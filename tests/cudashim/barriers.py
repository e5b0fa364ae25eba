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
# A site where no barrier is, and a quick program: it misses nothing, in processes that inherit what an earlier one used.
NOWHERE, CONTROL = "nowhere_in_a_kernel.cu:0", "adamw"
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


def missed(program, sites):
    """{site: (how the program notices that the barrier is not there, None where it does not; the threads of the largest block without it)}.
    It starts once: ThreadSanitizer needs longer for that than most sites (cuda_shim.cpp, without_each)."""
    env = dict(os.environ, PK_SHIM_WITHOUT=" ".join(sites), TSAN_OPTIONS="halt_on_error=1:symbolize=0")
    done = subprocess.run([program], env=env, capture_output=True, text=True, errors="replace", check=True)
    parts = re.split(r"^without (\S+:\d+): (noticed|unnoticed)$", done.stderr, flags=re.MULTILINE)
    said_of = {site: (said, noticed) for said, site, noticed in zip(parts[::3], parts[1::3], parts[2::3])}
    found = {}
    for site in sites:
        said, noticed = said_of[site]
        threads = max(map(int, re.findall(r"without a barrier in a block of (\d+) threads", said)), default=0)
        how = "a data race" if "data race" in said else "no thread can go on" if "no thread" in said else "a wrong result"
        found[site] = how if noticed == "noticed" else None, threads
    return found


def sites_of(folder, name):
    lines = enumerate(source_of(folder, name).splitlines(), 1)
    return [] if name in WITHOUT else ["%s:%d" % (os.path.basename(name), i) for i, line in lines if BARRIER.search(line)]


def main(watched, folder, programs):
    with_file = {}
    for kernel, program in (pair.split("=") for pair in programs):
        for name in files_of(folder, kernel):
            with_file.setdefault(name, []).append(program)
    left = {}  # programs by site, until one of them misses it
    for name, those in sorted(with_file.items()):
        those.sort(key=lambda p: not p.endswith("-" + FIRST.get(name, "")))
        left.update((site, list(those)) for site in sites_of(folder, name))
    unnoticed = too_large = 0
    threads = dict.fromkeys(left, 0)
    while left:
        program = next(iter(left.values()))[0]
        for site, (how, most) in missed(program, [s for s, those in left.items() if those[0] == program]).items():
            threads[site] = max(threads[site], most)
            left[site].pop(0)
            result = "%s, in %s" % (how, os.path.basename(program)) if how else None
            if not how and left[site]:
                continue
            if not how and threads[site] > watched:
                too_large += 1
                result = "not noticed: blocks of %d threads, of which ThreadSanitizer knows %d at a time" % (threads[site], watched)
            unnoticed += not result
            print("%s: %s" % (site, result or "not noticed"), flush=True)
            del left[site]
    control = next(program for program in (pair.split("=")[1] for pair in programs) if program.endswith("-" + CONTROL))
    if missed(control, [NOWHERE, NOWHERE])[NOWHERE][0]:
        print("%s: noticed, in %s: what misses nothing fails, too" % (NOWHERE, os.path.basename(control)))
        return 1
    return 1 if unnoticed else 77 if too_large else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
