"""The rules of the house (CONTRIBUTING.md) that a program can check, over the sources below one directory.

A rule is a function that takes Sources and yields "path:line: what is wrong". rules.py ROOT prints every complaint and
fails when there is one. test_rules.py shows each rule a small tree that breaks it."""
import glob
import os
import re
import sys

import structure

# Vendor headers and where each may be included: a file, or a folder ending in '/'.
VENDOR_HOMES = {
    r"sqlite3\.h": ["lib/store/"],
    r"hwloc.*\.h": ["lib/machine/"],
    r"perfmon/.*": ["lib/counter/perf/pfm.c"],
    r"linux/perf_event\.h": ["lib/counter/"],
    r"cupti.*\.h": ["lib/counter/cuda/"],
    r"nvml\.h": [],  # declared by hand: lib/counter/cuda/nvml/nvml.h
    r"cuda(_runtime|_runtime_api|_profiler_api|_occupancy)?\.h": ["lib/device/cuda/", "lib/ops/cuda/", "lib/client/perfkit_cuda.h"],
    r"(cublasLt|cublas_v2|cudnn.*)\.h": ["lib/ops/cuda/"],
    r"(nccl|mpi)\.h": ["lib/comm/"],
    r"nvtx3/.*": ["lib/device/mark.c"],
    r"jansson\.h": ["lib/json/json.h"],
    r"(popt|ini)\.h": ["lib/opt/"],
    r"(zlib|lz4|zstd|isa-l/.*)\.h": ["lib/shard/codec.c"],
    r"xxhash\.h": ["lib/shard/chunk.c"],
    r"(omp|cblas|dnnl.*)\.h": [],  # opened at run time; no second OpenMP runtime
}

# Functions and where each may be called.
CALL_HOMES = {
    r"malloc|calloc|realloc|strdup|strndup|aligned_alloc|posix_memalign": ["lib/base/arena.c"],
    r"free": ["lib/base/arena.c", "lib/opt/command_line.c", "lib/opt/words.c", "lib/counter/cuda/overhead.c"],  # what popt and CUPTI hand out
    r"printf|puts|putchar|vprintf|perror": [],  # a command prints rows, a note or a warning
    r"exit": [],
    # only an assertion and memory refused end the process; a child between fork and exec has no other way
    r"abort": ["lib/base/err.c", "lib/base/arena.c"],
    r"_exit": ["cmd/frame/main.c", "lib/base/program/program.c", "lib/bench/command/spawner.c", "probes/selftest.c"],
    r"strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|rand|system|popen|tmpnam|mktemp|alloca": [],
    r"time|gettimeofday": [],  # base/clock.h
    # a text of SQL that is no section of a .sql file; nothing that is read from a store becomes part of one
    r"pk_db_script|sqlite3_exec": ["lib/store/db.c", "lib/store/db.h", "lib/store/schema.c"],
}

# Names and where each may stand.
NAME_HOMES = {
    r"CLOCK_REALTIME": ["lib/base/clock.h"],  # NTP steps it: durations are of the monotonic clock, GPU traces too
    r"PERF_EVENT_IOC_RESET": [],  # what threads that ended had counted survives it: counts are differences
}

STREAM_HOMES = ["cmd/", "lib/base/err.c", "lib/client/"]  # who may name stdout and stderr
CLIENT = "lib/client/"  # code of other programs, which has nothing but libc: no rule about calls is for it
SQL_HOMES = ["lib/store/schema.c"]  # makes views of views; all other SQL is in .sql files: store/table/table.h
PROBE_FOLDERS = ["base", "ops", "comm", "model", "shard", "extraction", "device"]
PROBE_HEADERS = ["bench/probe.h", "bench/repeat.h", "bench/transport.h"]
LONGEST_FUNCTION = {"lib": 60, "cmd": 60, "probes": 60, "tests": 100}  # lines, by top folder
C_LIKE = (".c", ".h", ".cu", ".cpp")
PAGE_WIDTH = 100


def at_home(path, homes):
    """True when path is one of homes or below one that ends a folder or a prefix."""
    return any(path == h or (not h.endswith((".c", ".h")) and path.startswith(h)) for h in homes)


def without_comments(text):
    """C text with comments and the insides of strings blanked, lines kept."""
    def blank(m):
        s = m.group(0)
        return s if s[0] == "#" else re.sub(r"[^\n]", " ", s) if s.startswith("/") else '"' + " " * (len(s) - 2) + '"'
    pattern = r'#\s*include[^\n]*|/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, blank, text, flags=re.S)


class Sources:
    """The files below lib, cmd, probes, schema and tests, and the pages (README and the like, docs), by path."""

    def __init__(self, root):
        self.root = root
        self.files = {}
        self.all_files = []  # also those that no rule reads
        for top in ("lib", "cmd", "probes", "schema", "tests"):
            for folder, _, names in os.walk(os.path.join(root, top)):
                for name in names:
                    full = os.path.join(folder, name)
                    if not folder.endswith("__pycache__"):
                        self.all_files.append(os.path.relpath(full, root))
                    if name.endswith(C_LIKE + (".py", ".sql", ".build")):
                        with open(full, encoding="utf-8") as f:
                            self.files[os.path.relpath(full, root)] = f.read()
        self.pages = {}
        for full in glob.glob(os.path.join(root, "*.md")) + glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True):
            with open(full, encoding="utf-8") as f:
                self.pages[os.path.relpath(full, root)] = f.read()
        self.exceptions = ""
        if os.path.exists(os.path.join(root, structure.EXCEPTIONS)):
            with open(os.path.join(root, structure.EXCEPTIONS), encoding="utf-8") as f:
                self.exceptions = f.read()

    def code(self, path):
        """The text of a C file without its comments and the insides of its strings."""
        return without_comments(self.files[path])

    def c_files(self, *tops):
        """(path, text) of the C, CUDA and C++ files below the given top folders."""
        for path in sorted(self.files):
            if path.endswith(C_LIKE) and path.split("/")[0] in tops:
                yield path, self.files[path]

    def includes(self, *tops):
        """(path, line, header, quoted) of every include below the given top folders."""
        for path, text in self.c_files(*tops):
            for m in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)', text, re.M):
                yield path, line_of(text, m.start()), m.group(2), m.group(1) == '"'


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def folder_order(src):
    """A folder of lib includes itself and folders above it in lib/meson.build, nothing of cmd or probes."""
    order = re.findall(r"^subdir\('(\w+)'\)", src.files["lib/meson.build"], re.M)
    for path, line, header, quoted in src.includes("lib"):
        here, there = path.split("/")[1], header.split("/")[0]
        if quoted and there in ("cmd", "probes"):
            yield "%s:%d: lib includes %s" % (path, line, header)
        elif quoted and there in order and (here not in order or order.index(there) > order.index(here)):
            yield "%s:%d: lib/%s may not include %s: it is below in lib/meson.build" % (path, line, here, header)


def inner_order(src):
    """A folder in a folder of lib includes none that comes after it in that folder's meson.build."""
    for path, line, header, quoted in src.includes("lib"):
        here, there = path.split("/")[1:], header.split("/")
        if not quoted or len(here) != 3 or len(there) != 3 or here[0] != there[0]:
            continue
        build = src.files.get("lib/%s/meson.build" % here[0], "")
        at = {folder: re.search("'%s['/]|$" % folder, build).start() for folder in (here[1], there[1])}
        if len(build) > at[there[1]] > at[here[1]]:
            yield "%s:%d: %s may not include %s: it comes after in lib/%s/meson.build" % (path, line, here[1], header, here[0])


def vendor_headers(src):
    """Each vendor header has exactly one home."""
    for path, line, header, _ in src.includes("lib", "cmd", "probes"):
        for pattern, homes in VENDOR_HOMES.items():
            if re.fullmatch(pattern, header) and not at_home(path, homes):
                yield "%s:%d: %s belongs to %s" % (path, line, header, ", ".join(homes) or "nobody")


def commands_and_probes(src):
    """cmd knows no probe; a probe knows PROBE_HEADERS, ops, comm, model and device."""
    for path, line, header, quoted in src.includes("cmd", "probes"):
        if path.startswith("cmd/") and "probes/" in header:
            yield "%s:%d: a command includes %s" % (path, line, header)
        if path.startswith("probes/") and quoted and header not in PROBE_HEADERS \
                and header.split("/")[0] not in PROBE_FOLDERS:
            yield "%s:%d: a probe includes %s" % (path, line, header)


def own_header_first(src):
    """X.c that has an X.h includes it first, so that the header is known to stand alone."""
    for path, text in src.c_files("lib", "cmd", "probes"):
        header = path[:-2] + ".h"
        if not path.endswith(".c") or header not in src.files:
            continue
        first = re.search(r'^#include [<"]([^>"]+)', text, re.M)
        if first and not header.endswith("/" + first.group(1)) and header != first.group(1):
            yield "%s:%d: its own header is not included first" % (path, line_of(text, first.start()))


def probe_names(src):
    """probes/NAME.c exports pk_probe_NAME, calls it NAME with dashes, and is in the build list."""
    built = set(re.findall(r"^\s+'(\w+)',$", src.files.get("probes/meson.build", ""), re.M))
    for path, text in src.c_files("probes"):
        name = os.path.basename(path)[:-2]
        exported = re.findall(r"^const struct pk_probe (\w+)", text, re.M)
        if exported != ["pk_probe_" + name]:
            yield "%s:1: exports %s, not pk_probe_%s alone" % (path, exported or "no descriptor", name)
        if not re.search(r'\.name = "%s"' % name.replace("_", "-"), text):
            yield '%s:1: its descriptor is not called "%s"' % (path, name.replace("_", "-"))
        if name not in built:
            yield "%s:1: is not in the list of probes/meson.build" % path


def function_length(src):
    """No function has more lines than LONGEST_FUNCTION has for its folder."""
    for path, text in src.c_files(*LONGEST_FUNCTION):
        start, before = None, ""
        for n, line in enumerate(text.split("\n"), 1):
            if line == "{" and before != "namespace":
                start = n
            elif line == "}" and start:
                if n - start + 1 > LONGEST_FUNCTION[path.split("/")[0]]:
                    yield "%s:%d: a function of %d lines" % (path, start, n - start + 1)
                start = None
            before = line


def calls(src):
    """Functions that have one home, or none."""
    for path, text in src.c_files("lib", "cmd", "probes"):
        code = without_comments(text)
        for names, homes in CALL_HOMES.items():
            if at_home(path, homes + [CLIENT]):
                continue
            for m in re.finditer(r"(?<![\w.>])(%s)\s*\(" % names, code):
                yield "%s:%d: %s() is not called here" % (path, line_of(code, m.start()), m.group(1))


def names(src):
    """Constants that have one home, or none."""
    for path, text in src.c_files("lib", "cmd", "probes"):
        code = without_comments(text)
        for name, homes in NAME_HOMES.items():
            if not at_home(path, homes):
                for m in re.finditer(r"\b%s\b" % name, code):
                    yield "%s:%d: %s has no place here" % (path, line_of(code, m.start()), name)


def streams(src):
    """The library does not print: it never names stdout or stderr."""
    for path, text in src.c_files("lib", "probes"):
        code = without_comments(text)
        for m in re.finditer(r"\b(stdout|stderr|STDOUT_FILENO|STDERR_FILENO)\b", code):
            if not at_home(path, STREAM_HOMES):
                yield "%s:%d: the library names %s" % (path, line_of(code, m.start()), m.group(1))


def sql(src):
    """SQL is in .sql files: C runs it by the name of its section."""
    for path, text in src.c_files("lib", "cmd"):
        for m in re.finditer(r'"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|ATTACH|DETACH|WITH|BEGIN|COMMIT|ROLLBACK|VACUUM|DROP)[\s"]', text):
            if not at_home(path, SQL_HOMES):
                yield "%s:%d: SQL (%s)" % (path, line_of(text, m.start()), m.group(1))


def composed_sql(src):
    """SQL makes no SQL: a statement that is composed from what a query reads does what the author of a file wants."""
    for path in sorted(p for p in src.files if p.split("/")[0] in ("lib", "schema", "probes") and p.endswith(".sql")):
        for m in re.finditer(r"'(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|PRAGMA|ATTACH|DETACH|VACUUM)\b[^']*'\s*\|\|", src.files[path]):
            yield "%s:%d: a statement in a text (%s)" % (path, line_of(src.files[path], m.start()), m.group(1))


def named_sql(src):
    """Every query and statement of a .sql file of lib is named in C, and none has the name of another."""
    named = set(re.findall(r'"(\w+)"', "\n".join(text for _, text in src.c_files("lib", "cmd"))))
    homes = {}
    for path in sorted(p for p in src.files if p.startswith("lib/") and p.endswith(".sql")):
        for m in re.finditer(r"^-- (?:query|statement): (\w+)$", src.files[path], re.M):
            where = "%s:%d" % (path, line_of(src.files[path], m.start()))
            if m.group(1) in homes:
                yield "%s: %s is in %s, too" % (where, m.group(1), homes[m.group(1)])
            elif m.group(1) not in named:
                yield "%s: nothing runs %s" % (where, m.group(1))
            homes[m.group(1)] = where


def first_line(src):
    """Every file says in its first line what it is."""
    starts = dict.fromkeys(C_LIKE, "/* ") | {".py": '"""', ".sql": "-- ", ".build": ("# ", "project(")}
    for path, text in sorted(src.files.items()):
        first = text.split("\n")[0]
        if path.startswith("tests/store/"):
            continue  # databases of past versions, as SQLite dumps them
        if text.startswith(("pk_sources += files(", "subdir(")) or (path.endswith(".build") and text.count("\n") < 4):
            continue  # a list of files
        start = starts[os.path.splitext(path)[1]]
        if first.startswith("#!"):
            first = text.split("\n")[1]
        if not first.startswith(start) or len(first) < 10:
            yield "%s:1: does not begin with a line that says what it is" % path


def unfinished(src):
    """Nothing is left for later."""
    for path, text in sorted(src.files.items()):
        for m in re.finditer(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", text):
            yield "%s:%d: %s" % (path, line_of(text, m.start()), m.group(1))


def advice(src):
    """What to try is printed after "try: ", and does not say it again."""
    for path, text in src.c_files("lib", "cmd", "probes"):
        for m in re.finditer(r'"[Tt]ry[ :]', text):
            yield "%s:%d: advice begins with the word that is put before it" % (path, line_of(text, m.start()))


def named_fields(src):
    """A row of options or axes begins with its name; every other field is designated (.type = PK_OPT_TEXT)."""
    for path, text in src.c_files("lib", "cmd", "probes"):
        for m in re.finditer(r'\{\s*"[^"]+",(?!\s*\.)[^{}"]*\bPK_(?:OPT|AXIS)_(?!\w*\()', text):
            yield "%s:%d: a field of a row without its name" % (path, line_of(text, m.start()))


def struct_names(src):
    """A struct has a name that no other has, in whatever files they are, and so has what begins with pk_, a union or an enum: all but types
    in a class of C++, which templates name."""
    seen = {}
    for path, text in src.c_files("lib", "cmd", "probes"):
        indent = "[ ]*" if path.endswith(".c") else ""
        for m in re.finditer(r"^%s(?:static |typedef )?(?:const )?(?:struct|(?:union|enum)(?= pk_)) (\w+) \{" % indent, text, re.M):
            if m.group(1) in seen:
                yield "%s:%d: there is a type %s in %s" % (path, line_of(text, m.start()), m.group(1), seen[m.group(1)])
            seen[m.group(1)] = path


def page_width(src):
    """A line of a page has at most 100 columns: all but tables, blocks of code (in the README those too) and lines of one word."""
    for path, text in sorted(src.pages.items()):
        fenced = False
        for number, line in enumerate(text.split("\n"), 1):
            fenced ^= line.lstrip().startswith("```")
            code = fenced or line.startswith("    ")
            if len(line) > PAGE_WIDTH and not line.lstrip().startswith("|") and len(line.split()) > 1 and (not code or path == "README.md"):
                yield "%s:%d: %d columns" % (path, number, len(line))


RULES = [folder_order, inner_order, vendor_headers, commands_and_probes, own_header_first, probe_names, function_length, calls, names,
         streams, sql, composed_sql, named_sql, first_line, unfinished, advice, named_fields, struct_names, page_width] + structure.RULES


def main(root):
    src = Sources(root)
    complaints = [(rule, text) for rule in RULES for text in rule(src)]
    for rule, text in complaints:
        print("%s\n    %s" % (text, rule.__doc__))
    print("%d files, %d rules, %d complaints" % (len(src.files), len(RULES), len(complaints)))
    return 1 if complaints or not src.files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
