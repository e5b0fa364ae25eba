"""Makes the man pages by scdoc: man.py SCDOC PERFKIT DOCS FOLDER NAME... writes FOLDER/NAME.

perfkit.1 and perfkit-COMMAND.1 are of what perfkit's help prints, which is made from the option rows; perfkit-TOPIC.7 is of DOCS/TOPIC.md."""
import json
import os
import re
import subprocess
import sys

MARK = "\0"  # around what is already scdoc's


class Pages:
    """What perfkit says of itself."""

    def __init__(self, perfkit, docs):
        self.perfkit, self.docs = perfkit, docs
        self.program = self.help()
        self.commands = dict(re.findall(r"^  ([a-z-]+) +(.*)$", self.program, re.M))
        topics = json.loads(self.help("topics", "--format", "json"))["tables"]["topics"]["rows"]
        self.topics = {row["topic"]: row["about"] for row in topics}
        self.texts = {}
        for topic in self.topics:
            with open(os.path.join(docs, topic + ".md"), encoding="utf-8") as f:
                self.texts[topic] = f.read()

    def help(self, *args):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        return subprocess.run([self.perfkit, "help", *args], env=environment, check=True, capture_output=True, text=True).stdout


def plain(text):
    """Text that scdoc prints as it is."""
    return re.sub(r"([\\*_])", r"\\\1", text)


def paragraph(text):
    """One line, whose first character begins nothing: a list, a heading, a table, a comment; a point, which troff takes for a request when it is
    escaped, has a character without width before it."""
    return "\\" + text if text[:1] in tuple("#|[];:-`") else "\u200b" + text if text.startswith(".") else text


def bold(text):
    return f"*{plain(text)}*" if text else ""


def literal(lines):
    return ["```", *(line.replace("\\", "\\\\") for line in lines), "```", ""]


def term(name, text):
    """A name and, below it and indented, what it is."""
    return [paragraph(name), *(["\t" + paragraph(text)] if text else []), ""]


def link(pages, text, target):
    """A page of the documentation is a man page; what is elsewhere keeps its address."""
    topic = re.fullmatch(r"(?:docs/)?([a-z-]+)\.md(?:#.*)?", target)
    if topic and topic[1] in pages.topics:
        return f"{text} ({bold('perfkit-' + topic[1])}(7))"
    return text if target.startswith("#") else f"{text} ({plain(target)})"


def inline(pages, text):
    """Markdown within a line: code, bold, links."""
    done = []

    def keep(scd):
        done.append(scd)
        return f"{MARK}{len(done) - 1}{MARK}"

    text = re.sub(r"<a id=[^>]*></a>", "", text)
    text = re.sub(r"`([^`]+)`", lambda m: keep(bold(m[1])), text.replace("\\|", "|"))
    text = re.sub(r"\*\*([^*]+)\*\*", lambda m: keep(bold(m[1]) if MARK not in m[1] else m[1]), text)
    text = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?!\w)", lambda m: keep(f"*{plain(m[1])}*"), text)
    text = re.sub(r"!?\[([^\]]*)\]\(([^)\s]+)\)", lambda m: keep(link(pages, plain(m[1]), m[2])), text)
    text = plain(text)
    while MARK in text:
        text = re.sub(f"{MARK}(\\d+){MARK}", lambda m: done[int(m[1])], text)
    return text


def table(pages, lines):
    """A row is its first cell, and below it the others with their headings: tables of a page are wider than a terminal."""
    rows = [[inline(pages, cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines]
    heading, out = rows[0], []
    for row in rows[2:]:
        rest = [f"{h}: {cell}" if h and len(row) > 2 else cell for h, cell in zip(heading[1:], row[1:]) if cell]
        out += term(row[0] or "-", "; ".join(rest))
    return out


def markdown(pages, text):
    """A page without its title, as scdoc."""
    out, lines = [], text.split("\n")
    at = 0

    def block(is_part):
        nonlocal at
        begin = at
        while at < len(lines) and is_part(lines[at]):
            at += 1
        return lines[begin:at]

    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            at += 1
            out += literal(block(lambda s: not s.startswith("```")))
            at += 1
        elif line.startswith("    "):
            code = block(lambda s: s.startswith("    ") or not s.strip())
            out += literal("\n".join(s[4:] for s in code).rstrip().split("\n"))
        elif line.startswith("#"):
            depth, title = re.match(r"(#+) *(.*)", line).groups()
            out += ["#" * max(1, min(2, len(depth) - 1)) + " " + re.sub(r"[`*]|\]\([^)]*\)|\[", "", title), ""]  # scdoc prints it as it is
            at += 1
        elif line.startswith("|"):
            out += table(pages, block(lambda s: s.startswith("|")))
        elif re.match(r"(- |\d+\. )", line):
            at += 1
            more = block(lambda s: s.startswith("  ") and s.strip())
            item = " ".join([re.sub(r"^(- |\d+\. )", "", line), *(s.strip() for s in more)])
            out.append((". " if line[0].isdigit() else "- ") + inline(pages, item))
            if at < len(lines) and not re.match(r"(- |\d+\. )", lines[at]):
                out.append("")
        elif line.strip():
            part = block(lambda s: s.strip() and not re.match(r"(- |\d+\. |#|\||```)", s))
            out += [paragraph(inline(pages, " ".join(part))), ""]
        else:
            at += 1
    return out


def options(lines):
    """A heading is a section, an option a term; what is indented further belongs to the option above."""
    found, out = [], []
    for line in lines:
        option = re.match(r" {2,6}(-.*?)(?: {2,}(.*))?$", line)
        if option:
            found.append([option[1], option[2] or ""])
        elif line.startswith(" ") and found:
            found[-1][1] += " " + line.strip()
        elif line.strip():
            out += [part for name, text in found for part in term(bold(name), plain(text.strip()))]
            out += ["## " + line.rstrip(":"), ""]
            found = []
    return out + [part for name, text in found for part in term(bold(name), plain(text.strip()))]


def section(page, title):
    """The lines of a section of a page."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]


def see_also(pages, names):
    return ["# SEE ALSO", "", ", ".join(f"{bold(name)}({number})" for name, number in names), ""]


def program_page(pages):
    out = ["# SYNOPSIS", "", f"{bold('perfkit')} COMMAND [options]", "", "# COMMANDS", ""]
    for command, about in pages.commands.items():
        out += term(f"{bold('perfkit-' + command)}(1)", plain(about))
    out += ["# DOCUMENTATION", ""]
    for topic, about in pages.topics.items():
        out += term(f"{bold('perfkit-' + topic)}(7)", plain(about))
    return [*out, "# EXIT STATUS", "", *markdown(pages, section(pages.texts["command-line"], "Exit status"))]


def command_page(pages, command):
    text = pages.help(command)
    _, usage, *rest = text.split("\n\n", 2)
    rest = "\n".join(rest).split("\n")
    out = ["# SYNOPSIS", "", paragraph(plain(" ".join(usage.split())[len("usage: "):])), ""]
    if rest[0] == "examples:":
        end = rest.index("") if "" in rest else len(rest)
        out += ["# EXAMPLES", "", *literal(line[2:] for line in rest[1:end])]
        rest = rest[end:]
    about = [t for t, page in pages.texts.items() if t == command or len(re.findall(rf"perfkit {command}\b", page)) > 2]
    return [*out, "# OPTIONS", "", *options(rest), "# EXIT STATUS", "", f"See {bold('perfkit')}(1).", "",
            *see_also(pages, [("perfkit", 1), *((f"perfkit-{t}", 7) for t in about)])]


def topic_page(pages, topic):
    title, _, body = pages.texts[topic].partition("\n")
    return ["# DESCRIPTION", "", bold(title.lstrip("# ")), "", *markdown(pages, body),
            *see_also(pages, [("perfkit", 1), *((f"perfkit-{t}", 7) for t in pages.topics if t != topic)])]


def write_page(scdoc, pages, folder, name):
    stem, _, number = name.rpartition(".")
    subject = stem.partition("-")[2]
    about = pages.topics[subject] if number == "7" else pages.help(subject).partition("\n")[0].partition(" - ")[2] if subject else \
        "measure deep-learning code, compare, gate"
    body = topic_page(pages, subject) if number == "7" else command_page(pages, subject) if subject else program_page(pages)
    text = "\n".join([f'{stem}({number}) "perfkit" "perfkit"', "", "# NAME", "", f"{stem} - {plain(about)}", "", *body])
    made = subprocess.run([scdoc], input=text, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{name}: {made.stderr}")
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        # man's own macros switch hyphenation on, and options would be broken
        f.write(re.sub(r"^(\.TH .*)$", r"\1\n.nh\n.ad l", made.stdout, count=1, flags=re.M))


def main(scdoc, perfkit, docs, folder, *names):
    pages = Pages(perfkit, docs)
    for name in names:
        write_page(scdoc, pages, folder, name)


main(*sys.argv[1:])
