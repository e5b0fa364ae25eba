"""Counts the results under a directory of logs: count.py DIR.

DIR/steps has lines "OK|FAIL|SKIP name"; DIR/*.json are testlogs of meson (one JSON object per test). A test whose output ends
with a summary of cmocka or pytest counts as many results as that says; a test that failed without saying so counts as one
failure. A skip is never a pass: skips are counted in a line of their own. The last line is "N passed, N failed"; the status is 0
when some passed and none failed."""
import collections
import glob
import json
import os
import re
import sys

CMOCKA = {"PASSED": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
PYTEST = {"passed": "passed", "failed": "failed", "error": "failed", "errors": "failed", "skipped": "skipped",
          "xfailed": "skipped", "xpassed": "failed"}
MESON = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}  # everything else failed


def inner_counts(output):
    """What the summaries of cmocka ("[  PASSED  ] 3 test(s).") and pytest ("== 3 passed, 1 skipped in 0.1s ==") say."""
    counts = collections.Counter()
    for word, n in re.findall(r"^\[ +(PASSED|FAILED|SKIPPED) +\] (\d+) test\(s\)", output, re.M):
        counts[CMOCKA[word]] += int(n)
    for line in re.findall(r"^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s", output, re.M):
        for n, word in re.findall(r"(\d+) ([a-z]+)", line):
            if word in PYTEST:
                counts[PYTEST[word]] += int(n)
    return counts


def count_test(test):
    """Counter of one record of a testlog."""
    outcome = MESON.get(test["result"], "failed")
    counts = inner_counts(test.get("stdout", "") + "\n" + test.get("stderr", ""))
    if not counts or outcome == "skipped":
        return collections.Counter({outcome: 1})
    if outcome == "failed" and not counts["failed"]:
        counts["failed"] = 1  # it crashed or timed out after its summary, or a sanitizer spoke
    return counts


def main(directory):
    total, complaints, explained = collections.Counter(), [], set()
    for path in sorted(glob.glob(os.path.join(directory, "*.json"))):
        build = os.path.basename(path)[:-len(".json")]
        with open(path, encoding="utf-8") as f:
            tests = [json.loads(line) for line in f if line.strip()]
        for test in tests:
            counts = count_test(test)
            total += counts
            if counts["failed"]:
                complaints.append("FAIL %s: %s (%s)\n%s" % (
                    build, test["name"], test["result"], (test.get("stdout", "") + test.get("stderr", ""))[-4000:]))
            elif counts["skipped"]:
                print("skipped in %s: %d of %s" % (build, counts["skipped"], test["name"]))
        if any(MESON.get(t["result"], "failed") == "failed" for t in tests):
            explained.add(build + ": exit status")  # of meson: the failed tests are counted already
    for line in open(os.path.join(directory, "steps"), encoding="utf-8"):
        word, name = line.rstrip("\n").split(" ", 1)
        if name.rsplit(" ", 1)[0] in explained:
            continue
        total[{"OK": "passed", "FAIL": "failed", "SKIP": "skipped"}[word]] += 1
        if word != "OK":
            complaints.append(line.rstrip("\n"))
    print("\n".join(complaints))
    if total["skipped"]:
        print("%d skipped" % total["skipped"])
    print("%d passed, %d failed" % (total["passed"], total["failed"]))
    return 0 if total["passed"] and not total["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
