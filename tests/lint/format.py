"""Every C file is as .clang-format says: format.py ROOT. 77 (skipped) without the version of clang-format that is used here."""
import re
import shutil
import subprocess
import sys

import rules

VERSION = 14  # Debian 12's; others format some lines differently


def main(root):
    tool = shutil.which("clang-format-%d" % VERSION) or shutil.which("clang-format")
    said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout if tool else "none"
    found = re.search(r"version (\d+)", said)
    if not found or int(found.group(1)) != VERSION:
        print("skipped: clang-format %d is needed, here is: %s" % (VERSION, said.strip()))
        return 77
    paths = [path for path, _ in rules.Sources(root).c_files("lib", "cmd", "probes", "tests")]
    return subprocess.run([tool, "--dry-run", "-Werror", "--ferror-limit=1"] + paths, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
