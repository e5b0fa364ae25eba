/* Suite: reading the file, and its keys into options. */
#include "opt/suite.h"

#include "base/suggest.h"
#include "opt/source.h"

#include <ini.h>
#include <string.h>

#define COMMON "suite" /* the section of what all have in common */

/* --- the file ------------------------------------------------------------------------------------------------------ */

struct reading {
    struct pk_suite *suite;
    struct pk_arena *arena;
    const char *rest, *end;
    int line, bad_line; /* bad_line: too long for inih, or no text; 0 = none */
    struct pk_suite_section *section;
    bool failed;
    struct pk_err *err;
};

static enum pk_code at_line(struct reading *r, int line, const char *what)
{
    r->failed = true;
    return pk_fail(r->err, PK_E_USAGE, "%s:%d: %s", r->suite->path, line, what);
}

static struct pk_suite_section *section_named(struct pk_suite *s, const char *name)
{
    if (strcmp(name, COMMON) == 0)
        return &s->common;
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0)
            return &s->v[i];
    return NULL;
}

/* Sections are seen here, because inih tells of keys alone and cuts long names. */
static void begin_section(struct reading *r, const char *line)
{
    struct pk_suite *s = r->suite;
    const char *name = pk_strndup(r->arena, line + 1, strcspn(line + 1, "]\n"));
    struct pk_suite_section *had = section_named(s, name);
    if (had && had->line) {
        at_line(r, r->line, pk_printf(r->arena, "there is a second section [%.100s]", name));
        pk_why(r->err, "the first is in line %d", had->line);
        pk_fix(r->err, "give each entry a name of its own; `experiment = ...` says what it measures");
        return;
    }
    if (!*name) {
        at_line(r, r->line, "this section has no name");
        pk_why(r->err, "its name tells an entry from the others");
        pk_fix(r->err, "write a word between the brackets, [flash]");
        return;
    }
    if (!had) {
        s->v = pk_grow(r->arena, s->v, sizeof *s->v, s->n, &s->cap);
        had = &s->v[s->n++];
        *had = (struct pk_suite_section){0};
    }
    had->name = name;
    had->line = r->line;
    r->section = had;
}

/* A line for inih, without its indentation, which inih would take for the continuation of the value above. */
static char *read_line(char *s, int room, void *user)
{
    struct reading *r = user;
    if (r->rest == r->end || r->failed)
        return NULL;
    const char *newline = memchr(r->rest, '\n', (size_t)(r->end - r->rest));
    size_t n = (size_t)((newline ? newline + 1 : r->end) - r->rest);
    const char *line = pk_strndup(r->arena, r->rest, n);
    r->line++;
    r->rest += n;
    if (!r->bad_line && (strlen(line) < n || n > (size_t)room - 1))
        r->bad_line = r->line;
    line += strspn(line, " \t");
    if (*line == '[' && strchr(line, ']'))
        begin_section(r, line);
    n = strlen(line) < (size_t)room ? strlen(line) : (size_t)room - 1;
    memcpy(s, line, n);
    s[n] = 0;
    return s;
}

static int on_key(void *user, const char *ignored, const char *key, const char *value)
{
    struct reading *r = user;
    struct pk_suite_section *s = r->section;
    if (r->failed)
        return 0;
    if (!s) {
        at_line(r, r->line, "this key stands before any section");
        pk_why(r->err, "each section is an entry, and [" COMMON "] has what all have in common");
        pk_fix(r->err, "put a line [" COMMON "] above it");
        return 0;
    }
    s->keys = pk_grow(r->arena, s->keys, sizeof *s->keys, s->n, &s->cap);
    s->keys[s->n++] = (struct pk_suite_key){pk_strdup(r->arena, key), pk_strdup(r->arena, value), r->line};
    return 1;
}

static enum pk_code refuse_line(struct reading *r, int line)
{
    if (line == r->bad_line) {
        at_line(r, line, "the line is too long, or no text");
        pk_why(r->err, "lines of this file have at most 198 bytes, and no NUL");
        return pk_fix(r->err, "shorten it: a command can be a script, a list stand on several lines");
    }
    at_line(r, line, "this line is not understood");
    pk_why(r->err, "a line is [section], key = value, or a comment that begins with # or ;");
    return pk_fix(r->err, "correct the line");
}

enum pk_code pk_suite_parse(const char *path, const char *text, size_t bytes, struct pk_arena *a,
                            struct pk_suite *out, struct pk_err *err)
{
    *out = (struct pk_suite){.path = path, .common = {.name = COMMON}};
    struct reading r = {.suite = out, .arena = a, .rest = text, .end = text + bytes, .err = err};
    int bad = ini_parse_stream(read_line, &r, on_key, &r);
    if (r.failed)
        return err->code;
    if (r.bad_line && (bad <= 0 || r.bad_line <= bad))
        bad = r.bad_line;
    if (bad > 0)
        return refuse_line(&r, bad);
    if (out->n)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s has no entry", path);
    pk_why(err, "each section but [" COMMON "] is one, and there is none");
    return pk_fix(err, "add one: a line [attention-scaling], with what it measures below");
}

/* --- its keys ------------------------------------------------------------------------------------------------------- */

const char *pk_suite_value(const struct pk_suite_section *s, const char *key)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->keys[i].name, key) == 0)
            return s->keys[i].value;
    return NULL;
}

/* A key and where it is to go. */
struct placing {
    const struct pk_suite *suite;
    const struct pk_suite_section *section;
    const struct pk_suite_key *key;
    struct pk_opt_table *tables;
    size_t n_tables;
    struct pk_arena *arena;
};

static const struct pk_opt *row_of(const struct pk_opt *rows, const char *key)
{
    for (const struct pk_opt *r = rows; r && r->name; r++)
        if (strcmp(r->name, key) == 0 || (r->key && strcmp(r->key, key) == 0))
            return r;
    return NULL;
}

static enum pk_code at_key(const struct placing *p, struct pk_err *err, const char *what)
{
    return pk_fail(err, PK_E_USAGE, "%s:%d: %s", p->suite->path, p->key->line, what);
}

static enum pk_code unknown(const struct placing *p, const char *const *others, struct pk_err *err)
{
    struct pk_arena *a = p->arena;
    struct pk_texts names = {0};
    for (size_t t = 0; t < p->n_tables; t++)
        for (const struct pk_opt *r = p->tables[t].rows; r && r->name; r++)
            if (!r->cli_only || r->key)
                pk_texts_add(&names, r->key ? r->key : r->name, a);
    for (; *others; others++)
        pk_texts_add(&names, *others, a);
    at_key(p, err, pk_printf(a, "there is no key '%.100s' in [%.100s]", p->key->name, p->section->name));
    pk_why(err, "keys are options without their dashes, and the axes of an entry's experiment");
    const char *near = pk_suggest(p->key->name, names.v, names.n);
    return near ? pk_fix(err, "did you mean '%s'?", near)
                : pk_fix(err, "see docs/suites.md, or remove the line");
}

static enum pk_code misplaced(const struct placing *p, struct pk_err *err)
{
    at_key(p, err, pk_printf(p->arena, "'%.100s' cannot stand in this file", p->key->name));
    pk_why(err, "it belongs to one call of the program");
    return pk_fix(err, "remove the line and give --%s", p->key->name);
}

/* The same key above it, which it would silently replace. */
static enum pk_code check_repeat(const struct placing *p, bool list, struct pk_err *err)
{
    for (const struct pk_suite_key *k = p->section->keys; !list && k < p->key; k++) {
        if (strcmp(k->name, p->key->name) != 0)
            continue;
        at_key(p, err, pk_printf(p->arena, "'%.100s' is given twice", p->key->name));
        pk_why(err, "it has one value, and line %d gives it", k->line);
        return pk_fix(err, "remove one of the lines");
    }
    return PK_OK;
}

static enum pk_code set(const struct placing *p, struct pk_opt_table *table, const struct pk_opt *row,
                        struct pk_err *err)
{
    const char *text = p->key->value;
    const bool common = p->section == &p->suite->common;
    const struct pk_opt_origin origin = {common ? PK_OPT_SUITE : PK_OPT_SUITE_ENTRY,
                                         pk_printf(p->arena, "%s:%d", p->suite->path, p->key->line)};
    const struct pk_opt_job job = {.tables = p->tables, .n_tables = p->n_tables, .arena = p->arena};
    struct pk_opt_place at = {table, (size_t)(row - table->rows)};
    if (row->into) {
        text = pk_printf(p->arena, "%s=%s", row->key, text);
        if (!pk_opt_find(&job, row->into, &at))
            return PK_OK;
    }
    return pk_opt_set(at, text, origin, p->arena, err) ? pk_within(err, "%s: %s", origin.text, p->key->name)
                                                       : PK_OK;
}

static enum pk_code place(const struct placing *p, const char *const *others, struct pk_err *err)
{
    bool known = false, list = false, of_a_call = false;
    for (size_t t = 0; t < p->n_tables; t++) {
        const struct pk_opt *row = row_of(p->tables[t].rows, p->key->name);
        if (!row)
            continue;
        of_a_call |= row->cli_only && !row->into;
        known = true;
        list |= row->type == PK_OPT_LIST;
    }
    for (const char *const *o = others; *o; o++)
        if (strcmp(*o, p->key->name) == 0)
            return check_repeat(p, false, err);
    if (!known)
        return unknown(p, others, err);
    if (of_a_call)
        return misplaced(p, err);
    if (check_repeat(p, list, err))
        return err->code;
    for (size_t t = 0; t < p->n_tables; t++) {
        const struct pk_opt *row = row_of(p->tables[t].rows, p->key->name);
        if (row && set(p, &p->tables[t], row, err))
            return err->code;
    }
    return PK_OK;
}

enum pk_code pk_suite_apply(const struct pk_suite *suite, const struct pk_suite_section *section,
                            struct pk_opt_table *tables, size_t n_tables, const char *const *others,
                            struct pk_arena *a, struct pk_err *err)
{
    for (size_t i = 0; i < section->n; i++) {
        const struct placing p = {suite, section, &section->keys[i], tables, n_tables, a};
        if (place(&p, others, err))
            return err->code;
    }
    return PK_OK;
}
