"""What one more case costs `perfkit compare`, in instructions and memory: 100,000 cases of 30 samples are to take less than 2 s and 330 MB.

test_compare_cost.py BENCH_COMPARE PERFKIT SANITIZE: compares two runs of N and of 3N cases and looks at the difference, which does not
depend on how busy the machine is; for memory N is larger, because an arena takes it a MiB at a time. Skipped without valgrind."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

CASES, CASES_OF_MEMORY, SKIP = 500, 5_000, 77
INSTRUCTIONS, BYTES = 112_000, 3_300  # per case; 110,680 were counted; by where blocks of memory come to lie, up to 1,200 more


def instructions(perfkit, db, folder):
    out = os.path.join(folder, "instructions")
    subprocess.run(["valgrind", "-q", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=" + out, perfkit, "compare", "1", "2", "--db", db],
                   check=True, timeout=200, stdout=subprocess.DEVNULL)
    with open(out) as f:
        return int(re.search(r"^summary: (\d+)", f.read(), re.M).group(1))


def peak_bytes(perfkit, db):
    child = subprocess.Popen([perfkit, "compare", "1", "2", "--db", db], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return 1024 * usage.ru_maxrss


def written(bench, folder, n):
    db = os.path.join(folder, "%d.db" % n)
    subprocess.run([bench, "write", db, str(n), "1", "30"], check=True, timeout=200)
    return db


def per_case(n, of):
    small = of(n)
    return (of(3 * n) - small) / (2 * n)


def main():
    bench, perfkit, sanitize = sys.argv[1:4]
    if not shutil.which("valgrind") or sanitize != "none":
        print("needs valgrind and a build without sanitizers")
        return SKIP
    os.environ.pop("MALLOC_PERTURB_", None)  # of meson test: every byte that is asked for would be written
    with tempfile.TemporaryDirectory() as folder:
        cost = per_case(CASES, lambda n: instructions(perfkit, written(bench, folder, n), folder))
        memory = per_case(CASES_OF_MEMORY, lambda n: peak_bytes(perfkit, written(bench, folder, n)))
    print("a case costs %.0f instructions and %.0f bytes; at most %d and %d are wanted" % (cost, memory, INSTRUCTIONS, BYTES))
    return cost > INSTRUCTIONS or memory > BYTES


sys.exit(main())
