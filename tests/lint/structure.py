"""Rules about the structure of lib, cmd and probes: how many files a folder has, which headers are too small to stand alone, which are
private, and which files depend on each other in a cycle.

exceptions.txt lists what broke a rule when the rule was made: a line is the rule's name and what it excepts. The list may only shrink:
an exception that is no longer needed is a complaint as well."""
import collections
import os
import re

MOST_FILES = 15
LEAST_HEADER_LINES = 25
TOPS = ("lib", "cmd", "probes")
EXCEPTIONS = "tests/lint/exceptions.txt"
PRIVATE_HEADER = re.compile(r"(?:.*_)?(?:parts|private)\.h")
PRIVATE_TO = re.compile(r"\bPrivate to (\w+(?:/\w+)+)")  # in the first comment of a header
C_CODE = (".c", ".cu", ".cpp")
DEFINITION = re.compile(r'^(?!static\b)[A-Za-z][^;{}()=]*?\b(pk_\w+)\([^;{}]*\)\s*\n\{', re.M)


def included_files(src):
    """By path: the files of the tree that it includes."""
    found = collections.defaultdict(set)
    for path, _, header, quoted in src.includes(*TOPS):
        for candidate in ("lib/" + header, header, os.path.join(os.path.dirname(path), header)):
            if quoted and candidate in src.files:
                found[path].add(candidate)
                break
    return found


def stem(path):
    """What a .c file and the header of its name have in common."""
    return os.path.splitext(path)[0]


def exceptions(src, rule):
    """What the list excepts from a rule."""
    return [line.split(None, 1)[1] for line in src.exceptions.split("\n") if line.startswith(rule + " ")]


def unneeded(rule, subject):
    return "%s:1: no longer needed, remove the line: %s %s" % (EXCEPTIONS, rule, subject)


def without_exceptions(src, rule, broken):
    """The complaints, by subject, that are no exceptions, and the exceptions that are not needed."""
    known = exceptions(src, rule)
    yield from (broken[subject] for subject in sorted(broken) if subject not in known)
    yield from (unneeded(rule, subject) for subject in known if subject not in broken)


def folder_size(src):
    """A folder of lib, cmd and probes has at most MOST_FILES files."""
    count = collections.Counter(os.path.dirname(path) for path in src.all_files if path.split("/")[0] in TOPS)
    broken = {f: "%s:1: a folder of %d files, at most %d" % (f, n, MOST_FILES) for f, n in count.items() if n > MOST_FILES}
    yield from without_exceptions(src, "folder_size", broken)


def small_headers(src):
    """A header under LEAST_HEADER_LINES lines has at least two users (its own .c file is none); else it is folded into another."""
    users = collections.Counter(header for path, headers in included_files(src).items() for header in headers
                                if stem(path) != stem(header))
    broken = {}
    for path, text in src.c_files(*TOPS):
        lines = text.count("\n")
        if path.endswith(".h") and lines < LEAST_HEADER_LINES and users[path] < 2:
            broken[path] = "%s:1: a header of %d lines, users: %d" % (path, lines, users[path])
    yield from without_exceptions(src, "small_headers", broken)


def may_include(src, path, header):
    """Whether the header's name, and the folder that its first comment says it is private to, allow that the file includes it."""
    if PRIVATE_HEADER.fullmatch(os.path.basename(header)) and os.path.dirname(path) != os.path.dirname(header):
        return False
    comment = re.sub(r"\n \* ?", " ", src.files[header].split("*/", 1)[0])
    return all(path.startswith(folder + "/") for folder in PRIVATE_TO.findall(comment))


def private_headers(src):
    """A header called parts.h, private.h, *_parts.h or *_private.h is included in its own folder only; one whose first comment says
    "Private to FOLDER" in that folder and below."""
    users = collections.defaultdict(list)
    for path, headers in sorted(included_files(src).items()):
        for header in headers:
            if not may_include(src, path, header):
                users[header].append(path)
    broken = {h: "%s:1: a private header included by %s" % (h, ", ".join(paths)) for h, paths in users.items()}
    yield from without_exceptions(src, "private_headers", broken)


def shortest_path(graph, start, end):
    """The nodes from start to end (start again for a cycle), or none."""
    before, queue = {}, collections.deque([start])
    while queue:
        node = queue.popleft()
        for follower in sorted(graph.get(node, ())):
            if follower not in before:
                before[follower] = node
                queue.append(follower)
        if end in before:
            path = [end, before[end]]
            while path[-1] != start:
                path.append(before[path[-1]])
            return path[::-1]
    return []


def cycles(src, rule, graph):
    """Cycles of the graph {path: paths}. An exception "A B" removes the edge from A to B."""
    known = [tuple(subject.split()) for subject in exceptions(src, rule)]
    left = {node: {f for f in followers if (node, f) not in known} for node, followers in graph.items()}
    for a, b in known:
        if b not in graph.get(a, ()) or not shortest_path(left, b, a):
            yield unneeded(rule, "%s %s" % (a, b))
    seen = set()
    for node in sorted(left):
        cycle = [] if node in seen else shortest_path(left, node, node)
        seen.update(cycle)
        if cycle:
            yield "%s:1: a cycle: %s" % (node, " -> ".join(cycle))


def include_cycles(src):
    """Files do not include each other in a cycle; a header stands for the .c file of its name, too."""
    code = {stem(path): path for path, _ in src.c_files(*TOPS) if path.endswith(C_CODE)}
    graph = collections.defaultdict(set)
    for path, included in included_files(src).items():
        for header in included:
            if path.endswith(".h"):
                graph[path].add(header)
            if stem(path) in code and stem(header) in code and stem(path) != stem(header):
                graph[code[stem(path)]].add(code[stem(header)])
    yield from cycles(src, "include_cycles", graph)


def call_cycles(src):
    """Files do not call each other's functions in a cycle. A function that two files define (one is a stub) is not followed."""
    code = {path: src.code(path) for path, _ in src.c_files(*TOPS) if path.endswith(C_CODE)}
    homes = collections.defaultdict(set)
    for path, text in code.items():
        for name in DEFINITION.findall(text):
            homes[name].add(path)
    graph = {}
    for path, text in code.items():
        called = set(re.findall(r"\bpk_\w+(?=\s*\()", text))
        graph[path] = {home for name in called if len(homes[name]) == 1 for home in homes[name] if home != path}
    yield from cycles(src, "call_cycles", graph)


RULES = [folder_size, small_headers, private_headers, include_cycles, call_cycles]
