/* Suite: reads a suite file into entries. */
#include "cmd/frame/suite.h"

#include "base/file.h"
#include "base/text/buf.h"
#include "bench/record/runinfo.h"
#include "cmd/frame/frame.h"
#include "cmd/list/describe.h"
#include "cmd/run/run.h"
#include "judge/criteria/criteria.h"
#include "opt/suite.h"

#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, TABLES = 5 };

/* Keys that are no options. */
static const char *const of_entries[] = {"experiment", "command", "a", "b", NULL};
static const char *const of_common[] = {"a", "b", NULL};

/* Options of which a suite has one value. */
static const char *const of_all[] = {"label",
                                     "alpha",
                                     "strict",
                                     "until-clear",
                                     "only-changed",
                                     "fail-on-undecided",
                                     "db",
                                     "allow-host-mismatch",
                                     NULL};

/* Options that say how it is called. */
static const char *const of_a_call[] = {"dry-run", "once", "resume", "no-save", NULL};

static bool listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Why a key cannot stand where it does. */
static enum pk_code check_key(const struct pk_suite *s, const struct pk_suite_section *section,
                              const struct pk_suite_key *k, struct pk_arena *a, struct pk_err *err)
{
    struct pk_threshold parsed;
    if (listed(of_a_call, k->name)) {
        pk_fail(err, PK_E_USAGE, "%s:%d: '%s' cannot stand in this file", s->path, k->line, k->name);
        pk_why(err, "it belongs to one call of the program");
        return pk_fix(err, "remove the line and give --%s", k->name);
    }
    if (section != &s->common && listed(of_all, k->name)) {
        pk_fail(err, PK_E_USAGE, "%s:%d: '%s' cannot stand in an entry", s->path, k->line, k->name);
        pk_why(err, "all entries are recorded and judged together, and it has one value for all");
        return pk_fix(err, "move the line to [suite]");
    }
    if (section == &s->common && listed(of_entries, k->name) && !listed(of_common, k->name)) {
        pk_fail(err, PK_E_USAGE, "%s:%d: '%s' cannot stand in [suite]", s->path, k->line, k->name);
        pk_why(err, "it says what one entry measures");
        return pk_fix(err, "move the line to an entry");
    }
    /* what is refused of it is known before anything is measured, whichever command reads the file */
    if (strcmp(k->name, "threshold") == 0 && pk_threshold_parse(k->value, a, &parsed, err))
        return pk_within(err, "%s:%d", s->path, k->line);
    return PK_OK;
}

static void check_keys(struct pk_suite *s, const struct pk_suite_section *section, struct pk_arena *a)
{
    struct pk_err err;
    for (size_t i = 0; i < section->n; i++)
        if (check_key(s, section, &section->keys[i], a, &err))
            pk_suite_add_wrong(s, section->keys[i].line, &err, a);
}

/* --- options of an entry ------------------------------------------------------------------------------------------------ */

/* As if the command had been called for this entry alone. */
static enum pk_code parse_for(struct pk_suite_entry *e, struct pk_app *app, const struct pk_cmd *c,
                              bool called, struct pk_err *err)
{
    struct pk_arena *a = app->arena;
    struct pk_texts rest;
    int help;
    struct pk_opt_input in = {.command = c->name,
                              .argc = called ? app->argc - 1 : 1,
                              .argv = called ? app->argv + 1 : &c->name,
                              .environ_ = (const char *const *)environ,
                              .known = pk_known_options(a)};
    e->app = pk_new(a, struct pk_app);
    *e->app = *app;
    e->app->options = pk_alloc(a, c->options_bytes + 1);
    e->app->tables[0].target = pk_new(a, struct pk_globals);
    e->app->tables[1] = (struct pk_opt_table){.rows = c->options, .target = e->app->options};
    e->app->tables[2] =
        (struct pk_opt_table){.rows = e->probe ? pk_run_axis_rows(e->probe, c->options, a) : NULL};
    return pk_opt_parse(&in, e->app->tables, 3, a, &rest, &help, err);
}

/* Options of other commands that may stand in the file: their values are checked, and mean nothing now. */
static size_t add_unused(const char *used, bool of_command, struct pk_arena *a, struct pk_opt_table *tables)
{
    const char *const names[] = {of_command ? "exec" : "run", "gate"};
    size_t n = 0;
    struct pk_err ignored;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], used) == 0)
            continue;
        const struct pk_cmd *c = pk_command_find(names[i], &ignored);
        tables[n] = (struct pk_opt_table){.rows = c->options, .target = pk_alloc(a, c->options_bytes + 1)};
        pk_opt_defaults(&tables[n++], a);
    }
    return n;
}

static enum pk_code apply(struct pk_suite_entry *e, struct pk_suite *s,
                          const struct pk_suite_section *section, const char *used, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct pk_opt_table tables[TABLES] = {e->app->tables[1], e->app->tables[2]};
    size_t n = 2 + add_unused(used, !e->probe, a, tables + 2);
    return pk_suite_apply(s, section, tables, n, of_entries, a, err);
}

/* The same for [suite], which may have options of experiments and of commands: each entry takes those that it knows. */
static enum pk_code apply_common(struct pk_suite_entry *e, struct pk_suite *s, const char *used,
                                 struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct pk_opt_table tables[TABLES] = {e->app->tables[1]};
    size_t n = 1 + add_unused(used, true, a, tables + 1);
    n += add_unused(used, false, a, tables + n);
    return pk_suite_apply(s, &s->common, tables, n, of_common, a, err);
}

/* --- what it measures --------------------------------------------------------------------------------------------------- */

static enum pk_code says_nothing(const struct pk_suite_entry *e, struct pk_err *err)
{
    const char *near = pk_printf(e->app->arena, "%s", err->fix);
    pk_fail(err, PK_E_USAGE, "%s: [%s] does not say what it measures", e->place, e->name);
    pk_why(err, "it has no key experiment or command, and there is no experiment of its name");
    return pk_fix(err, "add `experiment = ...`; %s", near);
}

static enum pk_code find_subject(struct pk_suite_entry *e, const struct pk_suite_section *section,
                                 struct pk_err *err)
{
    const char *experiment = pk_suite_value(section, "experiment");
    e->command = pk_suite_value(section, "command");
    e->a = pk_suite_value(section, "a");
    e->b = pk_suite_value(section, "b");
    if (experiment && e->command) {
        pk_fail(err, PK_E_USAGE, "%s: [%s] has both experiment and command", e->place, e->name);
        pk_why(err, "an entry measures one thing");
        return pk_fix(err, "make two entries of it");
    }
    if (!e->a != !e->b) {
        pk_fail(err, PK_E_USAGE, "%s: [%s] has one of the two sides a and b", e->place, e->name);
        pk_why(err, "a side is held against another");
        return pk_fix(err, "give both, or neither and --a and --b to the gate");
    }
    if (e->command)
        return pk_text_check("command", e->command, err) ? pk_suite_within(e, err) : PK_OK;
    if (!pk_describe_find(experiment ? experiment : e->name, &e->probe, err))
        return PK_OK;
    if (experiment)
        return pk_suite_within(e, err);
    return e->a ? PK_OK : says_nothing(e, err);
}

static enum pk_code tag(struct pk_suite_entry *e, const char *suite, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    const struct pk_opt *rows = e->app->tables[1].rows;
    while (strcmp(rows->name, "tag") != 0)
        rows++;
    struct pk_texts *tags = (struct pk_texts *)((char *)e->app->options + rows->offset);
    const char *json;
    pk_texts_add(tags, pk_printf(a, "suite=%s", suite), a);
    pk_texts_add(tags, pk_printf(a, "entry=%s", e->name), a);
    return pk_tags_json(tags->v, tags->n, a, &json, err) ? pk_suite_within(e, err) : PK_OK;
}

static const char *name_of(const char *path, struct pk_arena *a)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t n = strlen(file);
    return pk_strndup(a, file, n > 4 && strcmp(file + n - 4, ".ini") == 0 ? n - 4 : n);
}

/* What is wrong with the file is kept there; errors that are returned are others, such as of the command line. */
static enum pk_code open_entry(struct pk_suite_entry *e, struct pk_app *app, struct pk_suite *s,
                               const struct pk_suite_section *section, const char *command,
                               const char *of_commands, struct pk_err *err)
{
    struct pk_err in_file;
    *e = (struct pk_suite_entry){.name = section->name,
                                 .place = pk_printf(app->arena, "%s:%d", s->path, section->line),
                                 .section = *section,
                                 .app = app};
    check_keys(s, section, app->arena);
    if (pk_text_check("suite", e->name, &in_file) || find_subject(e, section, &in_file)) {
        pk_suite_add_wrong(s, section->line, &in_file, app->arena);
        return PK_OK;
    }
    const char *used = e->probe ? command : of_commands;
    const struct pk_cmd *c = pk_command_find(used, err);
    if (parse_for(e, app, c, strcmp(used, command) == 0, err))
        return err->code;
    bool sound = apply_common(e, s, used, &in_file) == PK_OK;
    sound &= apply(e, s, section, used, &in_file) == PK_OK;
    return sound ? tag(e, name_of(s->path, app->arena), err) : PK_OK;
}

/* All of it, one below the other: the last is returned. */
static enum pk_code refuse(const struct pk_suite *s, struct pk_err *err)
{
    for (size_t i = 0; i + 1 < s->n_wrong; i++)
        pk_print_error(&s->wrong[i].err);
    *err = s->wrong[s->n_wrong - 1].err;
    return err->code;
}

enum pk_code pk_suite_open(struct pk_app *app, const char *path, const char *command, const char *of_commands,
                           struct pk_suite_entries *out, struct pk_err *err)
{
    struct pk_suite s;
    struct pk_err in_file; /* kept in s.wrong */
    char *text;
    size_t bytes;
    if (pk_slurp(path, MOST_BYTES, app->arena, &text, &bytes, err))
        return err->code;
    const bool sound = pk_suite_parse(path, text, bytes, app->arena, &s, &in_file) == PK_OK;
    struct pk_suite_entry all = {.app = app};
    *out = (struct pk_suite_entries){.path = path,
                                     .name = name_of(path, app->arena),
                                     .common = s.common,
                                     .a = pk_suite_value(&s.common, "a"),
                                     .b = pk_suite_value(&s.common, "b"),
                                     .v = pk_new_n(app->arena, struct pk_suite_entry, s.n + 1)};
    check_keys(&s, &s.common, app->arena);
    bool applied = apply_common(&all, &s, command, &in_file) == PK_OK;
    for (; out->n < s.n; out->n++)
        if (open_entry(&out->v[out->n], app, &s, &s.v[out->n], command, of_commands, err))
            return err->code;
    return sound && applied && !s.n_wrong ? PK_OK : refuse(&s, err);
}

/* --- for the commands --------------------------------------------------------------------------------------------------- */

enum pk_code pk_suite_command(const struct pk_suite_entry *e, const char *side, const char **text,
                              struct pk_err *err)
{
    static const char mark[] = "{side}";
    struct pk_buf b = {.arena = e->app->arena};
    const char *rest = e->command ? e->command : e->b;
    for (const char *at; (at = strstr(rest, mark)); rest = at + strlen(mark)) {
        if (!side) {
            pk_fail(err, PK_E_USAGE, "%s: the command of [%s] needs a side", e->place, e->name);
            pk_why(err, "%s stands for that of --a or --b, and none is given", mark);
            return pk_fix(err, "write `b = build` into [suite], or give --b build to the gate");
        }
        pk_buf_add(&b, rest, (size_t)(at - rest));
        pk_buf_str(&b, side);
    }
    pk_buf_str(&b, rest);
    *text = pk_buf_text(&b);
    return PK_OK;
}

const char *pk_suite_key_place(const struct pk_suite_entries *suite, const struct pk_suite_section *section,
                               const char *key, size_t nth, struct pk_arena *a)
{
    for (size_t i = 0; i < section->n; i++)
        if (strcmp(section->keys[i].name, key) == 0 && nth-- == 0)
            return pk_printf(a, "%s:%d: [%s]", suite->path, section->keys[i].line, section->name);
    return NULL;
}

enum pk_code pk_suite_within(const struct pk_suite_entry *e, struct pk_err *err)
{
    return pk_within(err, "%s: [%s]", e->place, e->name);
}

bool pk_suite_gives(const struct pk_suite_entry *e, const char *option)
{
    return pk_opt_source_of(&e->app->tables[1], option) == PK_OPT_SUITE_ENTRY;
}
