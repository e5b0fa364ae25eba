"""Every rule about the structure can fail, and an exception excuses exactly what it names."""
import pytest

import structure
from test_rules import SOUND, sources

TWO_USERS = {"lib/base/a.c": '/* A: a user. */\n#include "base/tiny.h"\n', "lib/store/b.c": '/* B: a user. */\n#include "base/tiny.h"\n'}


def calling(own, other):
    """A file that defines the function own and calls other in it."""
    return '/* A file with a function. */\nint pk_%s(struct x *a,\n      int n)\n{\n    return pk_%s(a, n);\n}\n' % (own, other)


# rule, exception that excuses it, file that the complaint names, files
BROKEN = [
    (structure.folder_size, "lib/base", "lib/base", {"lib/base/f%d.c" % i: "/* F: a file. */\n" for i in range(14)}),
    (structure.small_headers, "lib/base/tiny.h", "lib/base/tiny.h", {"lib/base/tiny.h": "/* Tiny: without a user. */\n"}),
    (structure.small_headers, "lib/base/tiny.h", "lib/base/tiny.h",
     {"lib/base/tiny.h": "/* Tiny: one user. */\n", "lib/base/tiny.c": '/* Tiny: its own. */\n#include "base/tiny.h"\n',
      "lib/store/b.c": TWO_USERS["lib/store/b.c"]}),
    (structure.private_headers, "lib/base/parts.h", "lib/base/parts.h",
     {"lib/base/parts.h": "/* Parts: private. */\n", "lib/store/b.c": '/* B: of another folder. */\n#include "base/parts.h"\n'}),
    (structure.private_headers, "lib/base/err_private.h", "lib/base/err_private.h",
     {"lib/base/err_private.h": "/* Parts: private. */\n", "lib/base/deep/b.c": '/* B: below. */\n#include "base/err_private.h"\n'}),
    (structure.private_headers, "lib/base/deep/a.h", "lib/base/deep/a.h",
     {"lib/base/deep/a.h": "/* A: said.\n *\n * Private to\n * lib/base/deep. */\n" + "int x;\n" * 24,
      "lib/base/b.c": '/* B: above. */\n#include "base/deep/a.h"\n'}),
    (structure.include_cycles, "lib/base/b.h lib/base/a.h", "lib/base/a.h",
     {"lib/base/a.h": '/* A: a header. */\n#include "b.h"\n', "lib/base/b.h": '/* B: a header. */\n#include "base/a.h"\n'}),
    (structure.include_cycles, "lib/base/b.c lib/base/a.c", "lib/base/a.c",
     {"lib/base/a.h": "/* A: a header. */\n", "lib/base/a.c": '/* A: code. */\n#include "base/a.h"\n#include "base/b.h"\n',
      "lib/base/b.h": "/* B: a header. */\n", "lib/base/b.c": '/* B: code. */\n#include "base/b.h"\n#include "base/a.h"\n'}),
    (structure.call_cycles, "lib/base/b.c lib/base/a.c", "lib/base/a.c",
     {"lib/base/a.c": calling("a", "b"), "lib/base/b.c": calling("b", "a")}),
    (structure.call_cycles, "cmd/c.c cmd/a.c", "cmd/a.c",
     {"cmd/a.c": calling("a", "b"), "cmd/b.c": calling("b", "c"), "cmd/c.c": calling("c", "a")}),
]
IDS = ["%s-%d" % (b[0].__name__, i) for i, b in enumerate(BROKEN)]


def complaints(root, rule, files, *exceptions):
    return list(rule(sources(root, {**SOUND, **files, structure.EXCEPTIONS: "# Known.\n" + "\n".join(exceptions)})))


@pytest.mark.parametrize("rule,exception,path,files", BROKEN, ids=IDS)
def test_a_broken_rule_is_noticed(tmp_path, rule, exception, path, files):
    found = complaints(tmp_path, rule, files)
    assert len(found) == 1 and found[0].startswith(path + ":"), found


@pytest.mark.parametrize("rule,exception,path,files", BROKEN, ids=IDS)
def test_an_exception_excuses_it(tmp_path, rule, exception, path, files):
    assert complaints(tmp_path, rule, files, "%s %s" % (rule.__name__, exception)) == []


@pytest.mark.parametrize("rule,exception,path,files", BROKEN, ids=IDS)
def test_an_exception_that_nothing_needs_is_refused(tmp_path, rule, exception, path, files):
    found = complaints(tmp_path, rule, {}, "%s %s" % (rule.__name__, exception))
    assert len(found) == 1 and found[0].startswith(structure.EXCEPTIONS + ":"), found


def test_an_edge_that_stands_in_no_cycle_needs_no_exception(tmp_path):
    files = {"lib/base/a.c": calling("a", "b"), "lib/base/b.c": calling("b", "f")}
    found = complaints(tmp_path, structure.call_cycles, files, "call_cycles lib/base/a.c lib/base/b.c")
    assert len(found) == 1 and found[0].startswith(structure.EXCEPTIONS + ":"), found


@pytest.mark.parametrize("rule,files", [
    (structure.folder_size, {"lib/base/f%d.c" % i: "/* F: a file. */\n" for i in range(13)}),
    (structure.folder_size, {"tests/unit/f%d.c" % i: "/* F: a file. */\n" for i in range(16)}),
    (structure.small_headers, {"lib/base/tiny.h": "/* Tiny: two users. */\n", **TWO_USERS}),
    (structure.small_headers, {"lib/base/tiny.h": "/* Tall: no user. */\n" + "int x;\n" * 24}),
    (structure.private_headers, {"lib/base/parts.h": "/* Parts: private. */\n",
                                 "lib/base/b.c": '/* B: of its folder. */\n#include "base/parts.h"\n',
                                 "tests/unit/b.c": '/* B: its test. */\n#include "base/parts.h"\n'}),
    (structure.private_headers, {"lib/base/a.h": "/* A: private. Private to lib/base. */\n", "lib/base/b.c": '/* B. */\n#include "base/a.h"\n',
                                 "lib/base/deep/b.c": '/* B: below. */\n#include "base/a.h"\n'}),
    (structure.private_headers, {"lib/base/a.h": "/* A: public. */\n/* f: Private to lib/base. */\n",
                                 "lib/store/b.c": '/* B: a user. */\n#include "base/a.h"\n'}),
    (structure.private_headers, {"lib/base/counterparts.h": "/* Counterparts: public. */\n",
                                 "lib/store/b.c": '/* B: a user. */\n#include "base/counterparts.h"\n'}),
    (structure.include_cycles, {"lib/base/a.c": '/* A: one way. */\n#include "base/err.h"\n#include "base/a_parts.h"\n',
                                "lib/base/a_parts.h": '/* A: no code of its own. */\n#include "base/a.h"\n', "lib/base/a.h": "/* A. */\n"}),
    (structure.call_cycles, {"lib/base/a.c": calling("a", "b"), "lib/base/b.c": calling("b", "a"), "lib/base/stub.c": calling("a", "a")}),
    (structure.call_cycles, {"lib/base/a.c": calling("a", "b"), "lib/base/b.c": calling("b", "f") + "/* pk_a() */ char *s = \"pk_a()\";\n"}),
])
def test_what_is_allowed(tmp_path, rule, files):
    assert complaints(tmp_path, rule, files) == []


def test_every_rule_is_broken_once():
    assert {b[0] for b in BROKEN} == set(structure.RULES)
