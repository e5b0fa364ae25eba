"""Prints how many of the library's lines the tests of a build ran: coverage.py BUILD LEAST (a build with -Dcoverage=true).

A line counts when it is of a function; kernels that are compiled once per instruction set are not counted (meson.build). The table has a row
per folder of lib, the last line the whole. The status is 1 when less than LEAST percent were run, or nothing was counted."""
import collections
import glob
import json
import os
import subprocess
import sys


def summaries(build):
    """What llvm-cov says of each source file, as dicts. A file without counts was never run."""
    counts = os.path.join(build, "coverage", "all.profdata")
    subprocess.run(["llvm-profdata", "merge", "--sparse", "-o", counts, *glob.glob(os.path.join(build, "coverage", "*.profraw"))], check=True)
    objects = sorted(glob.glob(os.path.join(build, "libperfkit*.a.p", "*.o")))
    done = subprocess.run(["llvm-cov", "export", "--summary-only", "--instr-profile", counts, *(word for o in objects for word in ("--object", o))],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["data"][0]["files"]


def lines_of(found, lib):
    """{folder below lib: (its lines, those that were run)}; "all" has the sums."""
    lines, run = collections.Counter(), collections.Counter()
    for f in found:
        path = os.path.relpath(os.path.normpath(f["filename"]), lib)
        if not path.startswith(".."):
            for name in (os.path.dirname(path), "all"):
                lines[name] += f["summary"]["lines"]["count"]
                run[name] += f["summary"]["lines"]["covered"]
    return {name: (lines[name], run[name]) for name in lines}


def report(lines, least):
    """The text and the status."""
    out = ["%-28s %6d lines %6.1f %%" % (name, total, 100 * run / total) for name, (total, run) in sorted(lines.items()) if name != "all"]
    total, run = lines.get("all", (0, 0))
    percent = 100 * run / total if total else 0.0
    short = percent < least
    out.append("coverage: tests ran %d of %d lines of lib, %.1f %%%s" % (
        run, total, percent, ", which is less than the %g %% that are asked for" % least if short else ""))
    return "\n".join(out), int(short)


def main(build, least):
    build = os.path.abspath(build)
    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
    text, status = report(lines_of(summaries(build), lib), least)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
