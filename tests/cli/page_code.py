"""The code of a page as files: page_code.py PAGE LANGUAGE OUT. All blocks of that language, one after the other."""
import re
import sys


def code(page, language):
    with open(page, encoding="utf-8") as f:
        return "".join(re.findall(r"^```%s\n(.*?)^```$" % language, f.read(), re.M | re.S))


if __name__ == "__main__":
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write(code(sys.argv[1], sys.argv[2]))
