"""What one more case costs `perfkit compare`, in instructions and memory: 100,000 cases of 30 samples are to take less than 2 s and 300 MB.

test_compare_cost.py BENCH_COMPARE PERFKIT SANITIZE: compares two runs of N and of 3N cases and looks at the difference, which does not
depend on how busy the machine is. Skipped without valgrind."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

CASES, SKIP = 1000, 77
INSTRUCTIONS, BYTES = 110_000, 2_900  # per case


def instructions(perfkit, db, folder):
    out = os.path.join(folder, "callgrind")
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out, perfkit, "compare", "1", "2", "--db", db],
                   check=True, timeout=200, stdout=subprocess.DEVNULL)
    with open(out) as f:
        return int(re.search(r"^(?:summary|totals): (\d+)", f.read(), re.M).group(1))


def peak_bytes(perfkit, db):
    """Of the largest child so far: ask for the small comparison first."""
    subprocess.run([perfkit, "compare", "1", "2", "--db", db], check=True, timeout=100, stdout=subprocess.DEVNULL)
    return 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def main():
    bench, perfkit, sanitize = sys.argv[1:4]
    if not shutil.which("valgrind") or sanitize != "none":
        print("needs valgrind and a build without sanitizers")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        files = {n: os.path.join(folder, "%d.db" % n) for n in (CASES, 3 * CASES)}
        for n, db in files.items():
            subprocess.run([bench, "write", db, str(n), "1", "30"], check=True, timeout=200)
        peaks = [peak_bytes(perfkit, db) for db in files.values()]
        counts = [instructions(perfkit, db, folder) for db in files.values()]
    cost, memory = ((big - small) / (2 * CASES) for small, big in (counts, peaks))
    print("a case costs %.0f instructions and %.0f bytes; at most %d and %d are wanted" % (cost, memory, INSTRUCTIONS, BYTES))
    return cost > INSTRUCTIONS or memory > BYTES


sys.exit(main())
