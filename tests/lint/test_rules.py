"""Every rule can fail: each gets a small tree that breaks it, and must complain about that file and no other."""
import os

import pytest

import rules

SOUND = {
    "lib/meson.build": "# In dependency order\nsubdir('base')\nsubdir('store')\nsubdir('bench')\n",
    "lib/bench/meson.build": "pk_sources += files(\n  'measure/stop.c',\n  'record/record.c',\n)\n",
    "lib/base/err.h": "/* Err: a type for errors, nothing else. */\n",
    "lib/base/err.c": '/* Err: its only function. */\n#include "base/err.h"\n\n#include <stdio.h>\n\nint f(void)\n{\n    return 0;\n}\n',
    "lib/store/store.c": '/* Store: the user of SQLite. */\n#include "base/err.h"\n#include <sqlite3.h>\nchar *q = "newest_run";\n',
    "lib/store/store.sql": "-- Statements of the store.\n-- statement: newest_run\nSELECT max(id) FROM run;\n",
    "cmd/list.c": '/* List: a command. */\n#include "base/err.h"\n#include "store/store.h"\n',
    "probes/meson.build": "# The registry.\nprobe_names = [\n  'tree_patch',\n]\n",
    "probes/tree_patch.c": '/* Tree-patch: an experiment. */\n#include "bench/probe.h"\n'
                           'const struct pk_probe pk_probe_tree_patch = {\n    .name = "tree-patch",\n};\n',
}


def long_function(lines):
    return "/* Long: a function. */\nint f(void)\n{\n" + "    f();\n" * (lines - 2) + "}\n"


BROKEN = [
    (rules.folder_order, "lib/base/up.c", '/* Up: looks up. */\n#include "store/store.h"\n'),
    (rules.folder_order, "lib/bench/side.c", '/* Side: looks at a command. */\n#include "cmd/cmd.h"\n'),
    (rules.inner_order, "lib/bench/measure/stop.c", '/* Stop: records. */\n#include "bench/record/record.h"\n'),
    (rules.vendor_headers, "lib/bench/sneaky.c", "/* Sneaky: goes past the store. */\n#include <sqlite3.h>\n"),
    (rules.vendor_headers, "lib/base/json.c", "/* Json: goes past json.h. */\n#include <jansson.h>\n"),
    (rules.vendor_headers, "lib/store/threads.c", "/* Threads: of another runtime. */\n# include <omp.h>\n"),
    (rules.commands_and_probes, "cmd/run.c", '/* Run: knows an experiment. */\n#include "probes/tree_patch.h"\n'),
    (rules.commands_and_probes, "probes/tree_patch.c", '/* T: records by itself. */\n#include "store/store.h"\n'),
    (rules.own_header_first, "lib/base/err.c", '/* Err: late. */\n#include <stdio.h>\n#include "base/err.h"\n'),
    (rules.probe_names, "probes/tree_patch.c", "/* T: another name. */\nconst struct pk_probe pk_probe_tree = {\n"
                                               '    .name = "tree-patch",\n};\n'),
    (rules.probe_names, "probes/tree_patch.c", "/* T: an underscore. */\nconst struct pk_probe pk_probe_tree_patch = {\n"
                                               '    .name = "tree_patch",\n};\n'),
    (rules.probe_names, "probes/extra.c", '/* Extra: not listed. */\nconst struct pk_probe pk_probe_extra = {\n'
                                          '    .name = "extra",\n};\n'),
    (rules.function_length, "lib/base/long.c", long_function(61)),
    (rules.calls, "lib/base/heap.c", "/* Heap: its own. */\nvoid *p = malloc(3);\n"),
    (rules.calls, "cmd/list.c", '/* List: prints. */\nint x = printf("%d", 1);\n'),
    (rules.names, "lib/counter/perf/reader.c", "/* Reader: resets. */\nint x = ioctl(fd, PERF_EVENT_IOC_RESET, 0);\n"),
    (rules.names, "lib/counter/cuda/gpu_trace.c", "/* Trace: by a clock that steps. */\nint x = clock_gettime(CLOCK_REALTIME, &t);\n"),
    (rules.calls, "lib/base/copy.c", "/* Copy: without a bound. */\nchar *p = strcpy(a, b);\n"),
    (rules.calls, "lib/bench/end.c", "/* End: ends the process. */\nvoid f(void) { exit(1); }\n"),
    (rules.streams, "lib/bench/say.c", '/* Say: on stderr. */\nint x = fputs("x", stderr);\n'),
    (rules.sql, "cmd/show.c", '/* Show: asks by itself. */\nchar *q = "SELECT 1";\n'),
    (rules.sql, "lib/bench/q.c", '/* Q: a statement that is no .sql file. */\nchar *q = "SELECT 1";\n'),
    (rules.sql, "lib/base/q.c", '/* Q: asks by itself. */\nchar *q = "  PRAGMA user_version";\n'),
    (rules.sql, "lib/store/q.c", '/* Q: the store itself. */\nchar *q = "COMMIT";\n'),
    (rules.calls, "lib/store/read/q.c", '/* Q: runs what it read. */\nint f(void) { return pk_db_script(s, row); }\n'),
    (rules.composed_sql, "lib/store/c.sql", "-- C: what a file says.\n-- query: newest_run\nSELECT 'DROP VIEW ' || name FROM sqlite_schema;\n"),
    (rules.named_sql, "lib/bench/q.sql", "-- Q: what nobody runs.\n-- query: oldest_run\nSELECT 1;\n"),
    (rules.named_sql, "lib/store/z.sql", "-- Z: a name twice.\n-- query: newest_run\nSELECT 1;\n"),
    (rules.first_line, "lib/base/mute.c", "#include <stdio.h>\n"),
    (rules.first_line, "schema/0001-x.sql", "CREATE TABLE x(y);\n"),
    (rules.advice, "cmd/list.c", '/* List: advises. */\nint x = pk_fix(err, "try list");\n'),
    (rules.named_fields, "cmd/list.c", '/* List: a row. */\nconst struct pk_opt rows[] = {{"all", 0, PK_OPT_FLAG, 8, .help = "all"}, {0}};\n'),
    (rules.named_fields, "probes/tree_patch.c", '/* T: an axis. */\nconst struct pk_axis x = {"n",\n    PK_AXIS_INT, .min = 1};\n'),
    (rules.struct_names, "cmd/list.c", "/* List: two of one name. */\nstruct row {\n    int a;\n};\nstruct row {\n    int b;\n};\n"),
    (rules.unfinished, "lib/base/later.c", "/* Later: work. */\n/* TO" "DO: do it */\n"),
    (rules.page_width, "docs/wide.md", "# Wide\n\n" + "word " * 21 + "\n"),
    (rules.page_width, "README.md", "# Wide\n\n    " + "word " * 21 + "\n"),
]

HARMLESS = [
    (rules.advice, '/* X: words. */\nchar *s = "trying", *t = "or try it", *u = "  try: %s";\n'),
    (rules.calls, '/* X: words. */\n/* malloc(3) is banned */\nchar *s = "printf(1)"; // exit(1)\nint x = pk_printf(1) + a.free(2);\n'),
    (rules.streams, '/* X: words. */\n/* stderr */\nchar *s = "stdout";\n'),
    (rules.function_length, long_function(60)),
    (rules.sql, '/* X: words. */\nchar *s = "SELECTED words WITH care";\n/* "SELECT 1" is not a literal here: */\n'
     .replace('"SELECT 1"', "SELECT 1")),
]


def sources(root, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(root / path), exist_ok=True)
        (root / path).write_text(text)
    return rules.Sources(str(root))


def test_a_sound_tree_has_no_complaints(tmp_path):
    assert [c for rule in rules.RULES for c in rule(sources(tmp_path, SOUND))] == []


@pytest.mark.parametrize("rule,path,text", BROKEN, ids=["%s-%d" % (b[0].__name__, i) for i, b in enumerate(BROKEN)])
def test_a_broken_rule_is_noticed(tmp_path, rule, path, text):
    complaints = list(rule(sources(tmp_path, {**SOUND, path: text})))
    assert complaints and all(c.startswith(path + ":") for c in complaints), complaints


@pytest.mark.parametrize("rule,text", HARMLESS)
def test_words_in_comments_and_strings_are_no_code(tmp_path, rule, text):
    assert list(rule(sources(tmp_path, {**SOUND, "lib/base/words.c": text}))) == []


@pytest.mark.parametrize("other,complaint", [
    ("enum pk_x { ONE };\n", True),
    ("struct pk_x;\nenum y { ONE };\nstruct pk_x f(struct pk_x x);\n", False),
])
def test_types_of_one_name_in_two_files(tmp_path, other, complaint):
    files = {"lib/base/a.h": "/* A: two types. */\nstruct pk_x {\n    int x;\n};\nstruct y {\n};\n", "lib/store/b.c": "/* B: its user. */\n" + other}
    found = list(rules.struct_names(sources(tmp_path, {**SOUND, **files})))
    assert [c.split(":")[0] for c in found] == (["lib/store/b.c"] if complaint else []), found


def test_every_rule_is_broken_once():
    assert {b[0] for b in BROKEN} == set(rules.RULES) - set(rules.structure.RULES)


def test_the_program_fails_with_a_complaint(tmp_path, capsys):
    sources(tmp_path, {**SOUND, "lib/base/mute.c": "#include <stdio.h>\n"})
    assert rules.main(str(tmp_path)) == 1
    assert "lib/base/mute.c:1" in capsys.readouterr().out


def test_an_empty_tree_is_no_success(tmp_path):
    with pytest.raises(KeyError):
        rules.main(str(tmp_path))


def test_tables_code_and_long_words_may_be_wide(tmp_path):
    wide = "word " * 21
    text = f"# Wide\n\n| {wide} |\n\n    {wide}\n\n```\n{wide}\n```\n\n- {'word' * 26}\n"
    assert list(rules.page_width(sources(tmp_path, {**SOUND, "docs/wide.md": text.replace("- word", "word")}))) == []
