"""Prints what the tests of a build need, for ninja: targets.py BUILD [--suite NAME|--no-suite NAME]..., as for meson test, whose other options
choose no test: they are accepted and change nothing. Nor do names of tests: then the files are more than are needed."""
import argparse
import json
import os
import sys


def chosen(test, options):
    suites = {name.split(":")[-1] for name in test["suite"]}
    return not suites & set(options.no_suite) and (not options.suite or bool(suites & set(options.suite)))


def main(arguments):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("build")
    for option in ("--suite", "--no-suite"):
        parser.add_argument(option, action="append", default=[])
    options, _ = parser.parse_known_args(arguments)
    info = {}
    for what in ("tests", "targets"):
        with open(os.path.join(options.build, "meson-info", "intro-%s.json" % what), encoding="utf-8") as f:
            info[what] = json.load(f)
    needed = {target for test in info["tests"] if chosen(test, options) for target in test["depends"]}
    print("\n".join(sorted(os.path.relpath(f, options.build) for t in info["targets"] if t["id"] in needed for f in t["filename"])))


if __name__ == "__main__":
    main(sys.argv[1:])
