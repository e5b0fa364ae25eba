/* Suite: reading the file, and its keys into options. */
#include "opt/suite.h"

#include "base/text/words.h"
#include "opt/source.h"

#include <ctype.h>
#include <ini.h>
#include <string.h>

#define COMMON "suite" /* the section of what all have in common */

/* --- the file ------------------------------------------------------------------------------------------------------ */

struct suite_reader {
    struct pk_suite *suite;
    struct pk_arena *arena;
    const char *rest, *end;
    int line;
    bool open;                        /* the line is neither a key nor a section yet, and no comment */
    struct pk_suite_section *section; /* NULL: none began */
    struct pk_suite_section lost;     /* of keys below a section that is wrong */
};

void pk_suite_add_wrong(struct pk_suite *s, int line, const struct pk_err *err, struct pk_arena *a)
{
    size_t at = s->n_wrong;
    while (at && s->wrong[at - 1].line >= line)
        at--;
    if (s->n_wrong == PK_SUITE_ERRORS_MAX || (at < s->n_wrong && s->wrong[at].line == line))
        return;
    s->wrong = pk_grow(a, s->wrong, sizeof *s->wrong, s->n_wrong, &s->cap_wrong);
    memmove(s->wrong + at + 1, s->wrong + at, (s->n_wrong++ - at) * sizeof *s->wrong);
    s->wrong[at] = (struct pk_suite_error){line, *err};
}

/* The first of it, if there is any. */
static enum pk_code fail_first(const struct pk_suite *s, struct pk_err *err)
{
    if (!s->n_wrong)
        return PK_OK;
    *err = s->wrong[0].err;
    return err->code;
}

static void fail_at(const struct suite_reader *r, const char *what, const char *why, const char *fix)
{
    struct pk_err err;
    pk_fail(&err, PK_E_USAGE, "%s:%d: %s", r->suite->path, r->line, what);
    pk_why(&err, "%s", why);
    pk_fix(&err, "%s", fix);
    pk_suite_add_wrong(r->suite, r->line, &err, r->arena);
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

/* Sections are parsed here, because inih reports only keys and cuts long names. */
static void begin_section(struct suite_reader *r, const char *line)
{
    struct pk_suite *s = r->suite;
    const char *name = pk_strndup(r->arena, line + 1, strcspn(line + 1, "]\n"));
    struct pk_suite_section *had = section_named(s, name);
    r->section = &r->lost;
    if (had && had->line) {
        fail_at(r, pk_printf(r->arena, "there is a second section [%.100s]", name),
                pk_printf(r->arena, "the first is in line %d", had->line),
                "give each entry a different name; `experiment = ...` selects what it measures");
        return;
    }
    if (!*name) {
        fail_at(r, "this section has no name", "an entry is identified by its name",
                "write a word between the brackets, [flash]");
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

/* As in inih, a comment is allowed before the bracket. */
static bool is_section(const char *line)
{
    const char *end = *line == '[' ? strchr(line, ']') : NULL;
    for (const char *c = line + 1; end && c < end; c++)
        if (*c == ';' && isspace((unsigned char)c[-1]))
            return false;
    return end;
}

/* What is read of a line: without its indentation, which inih would take for the continuation of the value above. */
static const char *next_line(struct suite_reader *r, size_t room)
{
    const char *newline = memchr(r->rest, '\n', (size_t)(r->end - r->rest));
    const size_t n = (size_t)((newline ? newline + 1 : r->end) - r->rest);
    const char *line = pk_strndup(r->arena, r->rest, n);
    r->line++;
    r->rest += n;
    if (strlen(line) < n || n > room - 1) {
        fail_at(r, "the line is too long, or contains a NUL byte",
                "lines of this file have at most 198 bytes, and no NUL",
                "shorten it: a command can be a script, and a list can have several lines");
        return "\n";
    }
    line += strspn(line, " \t");
    const bool section = is_section(line);
    if (section)
        begin_section(r, line);
    r->open = !section && line[strspn(line, " \t\r\n")] && !strchr("#;", *line);
    return line;
}

static char *read_line(char *s, int room, void *user)
{
    struct suite_reader *r = user;
    /* Called when the next line is read, and at the end. */
    if (r->open)
        fail_at(r, "this line is not understood",
                "a line is [section], key = value, or a comment that begins with # or ;", "correct the line");
    r->open = false;
    if (r->rest == r->end)
        return NULL;
    const char *line = next_line(r, (size_t)room);
    memcpy(s, line, strlen(line) + 1);
    return s;
}

static int on_key(void *user, const char *ignored, const char *key, const char *value)
{
    struct suite_reader *r = user;
    struct pk_suite_section *s = r->section;
    r->open = false;
    if (!s) {
        fail_at(r, "this key is before the first section",
                "each section is an entry, and [" COMMON "] has the settings of all entries",
                "add a line [" COMMON "] above it");
        return 1;
    }
    s->keys = pk_grow(r->arena, s->keys, sizeof *s->keys, s->n, &s->cap);
    s->keys[s->n++] = (struct pk_suite_key){pk_strdup(r->arena, key), pk_strdup(r->arena, value), r->line};
    return 1;
}

enum pk_code pk_suite_parse(const char *path, const char *text, size_t bytes, struct pk_arena *a,
                            struct pk_suite *out, struct pk_err *err)
{
    *out = (struct pk_suite){.path = path, .common = {.name = COMMON}};
    struct suite_reader r = {.suite = out, .arena = a, .rest = text, .end = text + bytes};
    ini_parse_stream(read_line, &r, on_key, &r); /* what it does not understand is seen above */
    if (!out->n && !out->n_wrong) {
        pk_fail(err, PK_E_USAGE, "%s has no entry", path);
        pk_why(err, "each section except [" COMMON "] is an entry, and there is none");
        pk_fix(err, "add one: a line [attention-scaling], followed by its settings");
        pk_suite_add_wrong(out, 0, err, a);
    }
    return fail_first(out, err);
}

/* --- its keys ------------------------------------------------------------------------------------------------------- */

const char *pk_suite_value(const struct pk_suite_section *s, const char *key)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->keys[i].name, key) == 0)
            return s->keys[i].value;
    return NULL;
}

const char *pk_suite_place(const char *path, const struct pk_suite_section *section, const char *key,
                           size_t nth, struct pk_arena *a)
{
    for (size_t i = 0; i < section->n; i++)
        if (strcmp(section->keys[i].name, key) == 0 && nth-- == 0)
            return pk_printf(a, "%s:%d: [%s]", path, section->keys[i].line, section->name);
    return NULL;
}

/* A key and where it is to go. */
struct placing {
    struct pk_suite *suite;
    const struct pk_suite_section *section;
    const struct pk_suite_key *key;
    struct pk_opt_table *tables; /* tables to fill, then others without a target */
    size_t n_tables;
    const char *const *others;
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

static enum pk_code unknown(const struct placing *p, struct pk_err *err)
{
    struct pk_arena *a = p->arena;
    struct pk_texts names = {0};
    for (size_t t = 0; t < p->n_tables; t++)
        for (const struct pk_opt *r = p->tables[t].rows; r && r->name; r++)
            if (!r->cli_only || r->key)
                pk_texts_add(&names, r->key ? r->key : r->name, a);
    for (const char *const *o = p->others; *o; o++)
        pk_texts_add(&names, *o, a);
    at_key(p, err, pk_printf(a, "there is no key '%.100s' in [%.100s]", p->key->name, p->section->name));
    pk_why(err, "keys are options without their dashes, and the axes of an entry's experiment");
    const char *near = pk_suggest(p->key->name, names.v, names.n);
    return near ? pk_fix(err, "did you mean '%s'?", near)
                : pk_fix(err, "see docs/suites.md, or remove the line");
}

/* The same key above it, which it would silently replace. */
static enum pk_code check_repeat(const struct placing *p, struct pk_err *err)
{
    for (const struct pk_suite_key *k = p->section->keys; k < p->key; k++) {
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
    const enum pk_code rc = at.table->target ? pk_opt_set(at, text, origin, p->arena, err)
                                             : pk_opt_check(row, text, p->arena, err);
    return rc ? pk_within(err, "%s: %s", origin.text, p->key->name) : PK_OK;
}

static enum pk_code set_key(const struct placing *p, struct pk_err *err)
{
    bool exists = false, list = false, of_a_call = false;
    for (const char *const *o = p->others; *o; o++)
        if (strcmp(*o, p->key->name) == 0)
            return check_repeat(p, err);
    for (size_t t = 0; t < p->n_tables; t++) {
        const struct pk_opt *row = row_of(p->tables[t].rows, p->key->name);
        exists |= row != NULL;
        of_a_call |= row && row->cli_only && !row->into;
        list |= row && row->type == PK_OPT_LIST;
    }
    if (!exists)
        return unknown(p, err);
    if (of_a_call) {
        at_key(p, err, pk_printf(p->arena, "'%.100s' is not allowed in this file", p->key->name));
        pk_why(err, "it applies to one call of the program");
        return pk_fix(err, "remove the line and give --%s", p->key->name);
    }
    if (!list && check_repeat(p, err))
        return err->code;
    for (size_t t = 0; t < p->n_tables; t++) {
        const struct pk_opt *row = row_of(p->tables[t].rows, p->key->name);
        if (row && set(p, &p->tables[t], row, err))
            return err->code;
    }
    return PK_OK;
}

/* The tables to set, and those of the other commands. */
static struct pk_opt_table *all_tables(const struct pk_suite_keys *may, struct pk_arena *a, size_t *n)
{
    size_t n_commands = 0;
    while (may->commands && may->commands[n_commands])
        n_commands++;
    struct pk_opt_table *v = pk_new_n(a, struct pk_opt_table, may->n_tables + n_commands);
    for (*n = 0; *n < may->n_tables; ++*n)
        v[*n] = may->tables[*n];
    for (size_t i = 0; i < n_commands; i++)
        v[(*n)++].rows = pk_opt_command(may->program, may->commands[i])->rows;
    return v;
}

enum pk_code pk_suite_apply(struct pk_suite *suite, const struct pk_suite_section *section,
                            const struct pk_suite_keys *may, struct pk_arena *a, struct pk_err *err)
{
    bool any = false;
    struct pk_err of_key;
    struct placing p = {.suite = suite, .section = section, .others = may->others, .arena = a};
    p.tables = all_tables(may, a, &p.n_tables);
    for (size_t i = 0; i < section->n; i++) {
        p.key = &section->keys[i];
        if (!set_key(&p, &of_key))
            continue;
        pk_suite_add_wrong(suite, p.key->line, &of_key, a);
        any = true;
    }
    return any ? fail_first(suite, err) : PK_OK;
}
