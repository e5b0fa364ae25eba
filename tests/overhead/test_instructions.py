"""Counts instructions per sample in the harness and fails when there are more than recorded.

test_instructions.py PROGRAM COMPILER OPTIMIZATION SANITIZE: runs PROGRAM under callgrind for N and 2N samples, counting in
pk_sample_take and below; the difference is exact. instructions.txt has one recorded number per compiler and shape; without
one, or without valgrind, the test is skipped and says what it counted. After a change that is meant to cost more, put the
new number there and say why in the commit."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SAMPLES, GROWTH, SKIP = 2000, 1.02, 77


def count(program, samples, regions):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "out")
        subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out,
                        "--toggle-collect=pk_sample_take", program, "samples", str(samples), str(regions)],
                       check=True, timeout=100, capture_output=True)
        return int(re.search(r"^(?:summary|totals): (\d+)", open(out).read(), re.M).group(1))


def main():
    program, compiler, optimization, sanitize = sys.argv[1:5]
    if not shutil.which("valgrind") or sanitize != "none":
        print("needs valgrind and a build without sanitizers")
        return SKIP
    with open(os.path.join(os.path.dirname(__file__), "instructions.txt")) as f:
        rows = [line.split() for line in f if line.strip() and line[0] != "#"]
    recorded = {tuple(r[:3]): float(r[3]) for r in rows}
    status = SKIP
    for regions in (1, 4):
        per_sample = (count(program, 2 * SAMPLES, regions) - count(program, SAMPLES, regions)) / SAMPLES
        limit = recorded.get((compiler, optimization, str(regions)))
        print("%s -O%s, %d regions: %.2f instructions per sample, recorded %s"
              % (compiler, optimization, regions, per_sample, limit))
        if limit is None:
            continue
        if per_sample > limit * GROWTH:
            return 1
        status = 0
    return status


sys.exit(main())
