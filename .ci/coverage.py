"""Prints how many of the library's lines the tests of a build ran: coverage.py BUILD LEAST (a build with -Dcoverage=true).

A line counts when gcc made code of it; kernels that are compiled once per instruction set are not counted (meson.build). The table
has a row per folder of lib, the last line the whole. The status is 1 when less than LEAST percent were run, or nothing was counted."""
import collections
import glob
import json
import os
import subprocess
import sys

BATCH = 64


def records(build, notes):
    """What gcov says of each object file, as dicts. A file without counts was never run."""
    for i in range(0, len(notes), BATCH):
        done = subprocess.run(["gcov", "--json-format", "--stdout", *notes[i:i + BATCH]], cwd=build, capture_output=True, text=True, check=True)
        yield from map(json.loads, filter(None, done.stdout.splitlines()))


def lines_of(found, build, lib):
    """{(file below lib, line): whether it was run}; a header's line is run when it is in any file that includes it."""
    lines = collections.defaultdict(bool)
    for record in found:
        for f in record["files"]:
            path = os.path.relpath(os.path.join(build, f["file"]), lib)
            if not path.startswith(".."):
                for line in f["lines"]:
                    lines[path, line["line_number"]] |= line["count"] > 0
    return lines


def report(lines, least):
    """The text and the status."""
    total, run = collections.Counter(), collections.Counter()
    for (path, _), was_run in lines.items():
        for name in (os.path.dirname(path), "all"):
            total[name] += 1
            run[name] += was_run
    out = ["%-28s %6d lines %6.1f %%" % (name, total[name], 100 * run[name] / total[name]) for name in sorted(total) if name != "all"]
    percent = 100 * run["all"] / total["all"] if total else 0.0
    short = percent < least
    out.append("coverage: tests ran %d of %d lines of lib, %.1f %%%s" % (
        run["all"], total["all"], percent, ", which is less than the %g %% that are asked for" % least if short else ""))
    return "\n".join(out), int(short)


def main(build, least):
    build = os.path.abspath(build)
    lib = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
    notes = sorted(glob.glob(os.path.join(build, "libperfkit*.a.p", "**", "*.gcno"), recursive=True))
    text, status = report(lines_of(records(build, notes), build, lib), least)
    print(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
