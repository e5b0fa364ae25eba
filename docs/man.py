"""Makes the man pages from what perfkit's help prints: man.py PERFKIT FOLDER NAME... writes NAME.1; perfkit-run is `perfkit help run`."""
import os
import re
import subprocess
import sys


def roff(text):
    """Text that troff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def verbatim(lines):
    return [".nf", *map(roff, lines), ".fi"]


def options(lines):
    """A heading is a subsection, an option a paragraph with a tag; what is indented further belongs to the option above."""
    out = []
    for line in lines:
        option = re.match(r" {2,6}(-.*?)(?: {2,}(.*))?$", line)
        if option:
            out += [".TP", ".B " + roff(option[1])] + ([roff(option[2])] if option[2] else [])
        elif line and not line.startswith(" "):
            out.append(".SS " + roff(line.rstrip(":")))
        elif line:
            out.append(roff(line.strip()))
    return out


def page(name, text):
    title, _, summary = text.split("\n", 1)[0].partition(" - ")
    usage = re.search(r"^usage: (.*)$", text, re.M)[1]
    body = text[text.index("usage: "):].split("\n")[2:]
    out = [f'.TH "{name.upper()}" 1 "" "perfkit"', ".nh", ".SH NAME", f"{roff(name)} \\- {roff(summary)}", ".SH SYNOPSIS", *verbatim([usage])]
    if name == title:  # the program itself
        return out + [".SH COMMANDS", *verbatim(body)]
    if body and body[0] == "examples:":
        end = body.index("")
        out += [".SH EXAMPLES", *verbatim(line[2:] for line in body[1:end])]
        body = body[end + 1:]
    return out + [".SH OPTIONS", *options(body)]


def main(perfkit, folder, *names):
    for name in names:
        _, _, command = name.partition("-")
        text = subprocess.run([perfkit, "help", *([command] if command else [])], env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=True,
                              capture_output=True, text=True).stdout
        others = ", ".join(f".BR {roff(n)} (1)" for n in names if n != name).replace(", ", ",\n")
        with open(os.path.join(folder, name + ".1"), "w", encoding="utf-8") as f:
            f.write("\n".join([*page(name, text), ".SH SEE ALSO", others]) + "\n")


main(*sys.argv[1:])
