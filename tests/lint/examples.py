"""The C examples of docs/ compile without a warning: examples.py ROOT BUILD_ROOT COMPILER..."""
import glob
import os
import re
import subprocess
import sys


def main(root, build, compiler):
    """Checks every ```c block that is a whole file (it begins with a comment that names it)."""
    checked = failed = 0
    for path in sorted(glob.glob(os.path.join(root, "docs", "*.md"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for block in re.findall(r"^```c\n(/\* .*?)^```", text, re.M | re.S):
            flags = ["-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
                     "-Wno-missing-field-initializers", "-I" + os.path.join(root, "lib"), "-I" + build]
            done = subprocess.run(compiler + flags + ["-fsyntax-only", "-xc", "-"], input=block, text=True, check=False)
            checked += 1
            if done.returncode:
                failed += 1
                print("%s: an example does not compile" % path)
    print("%d examples, %d failed" % (checked, failed))
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
