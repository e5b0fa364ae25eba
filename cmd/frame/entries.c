/* Entries: the command line, or the sections of a suite file, each parsed as a separate command line. */
#include "cmd/frame/entries.h"

#include "base/file.h"
#include "base/text/buf.h"
#include "bench/record/runinfo.h"
#include "cmd/frame/frame.h"
#include "judge/criteria/criteria.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20 };

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
static const char *const of_a_call[] = {"dry-run", "once", "profile", "resume", "no-save", NULL};

static bool listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Why a key is not allowed in its section. */
static enum pk_code check_key(const struct pk_suite *s, const struct pk_suite_section *section,
                              const struct pk_suite_key *k, struct pk_arena *a, struct pk_err *err)
{
    struct pk_threshold parsed;
    if (listed(of_a_call, k->name)) {
        pk_fail(err, PK_E_USAGE, "%s:%d: '%s' is not allowed in this file", s->path, k->line, k->name);
        pk_why(err, "it applies to one call of the program");
        return pk_fix(err, "remove the line and give --%s", k->name);
    }
    if (section != &s->common && listed(of_all, k->name)) {
        pk_fail(err, PK_E_USAGE, "%s:%d: '%s' is not allowed in an entry", s->path, k->line, k->name);
        pk_why(err, "all entries are recorded and judged together, with one value for all of them");
        return pk_fix(err, "move the line to [suite]");
    }
    if (section == &s->common && listed(of_entries, k->name) && !listed(of_common, k->name)) {
        pk_fail(err, PK_E_USAGE, "%s:%d: '%s' is not allowed in [suite]", s->path, k->line, k->name);
        pk_why(err, "it selects what one entry measures");
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

static enum pk_code apply(struct pk_entry *e, struct pk_suite *s, const struct pk_suite_section *section,
                          struct pk_err *err)
{
    static const char *const any[] = {"exec", "gate", "run", NULL},
                             *const of_experiments[] = {"run", "gate", NULL},
                             *const of_commands[] = {"exec", "gate", NULL};
    const bool common = section == &s->common; /* whose keys may be of experiments and of commands */
    const struct pk_suite_keys may = {.tables = &e->app->tables[1],
                                      .n_tables = common ? 1 : 2,
                                      .program = e->app->input.program,
                                      .commands = common     ? any
                                                  : e->probe ? of_experiments
                                                             : of_commands,
                                      .others = of_entries};
    return pk_suite_apply(s, section, &may, e->app->arena, err);
}

/* Parses as if the command had been called for this entry only; errors of the file are collected in the suite. */
static enum pk_code read_options(struct pk_entry *e, struct pk_suite *s, const char *command, bool *sound,
                                 struct pk_err *err)
{
    struct pk_app *app = pk_new(e->app->arena, struct pk_app);
    struct pk_texts rest;
    struct pk_err in_file;
    int help;
    *app = *e->app;
    e->app = app;
    if (strcmp(command, app->input.command) != 0)
        app->input.argc = 1; /* what was typed is another command's */
    pk_app_options(app, command, e->probe);
    app->tables[0].target = pk_new(app->arena, struct pk_globals); /* those of the caller stay */
    if (pk_opt_parse(&app->input, app->tables, 3, app->arena, &rest, &help, err))
        return err->code;
    *sound = apply(e, s, &s->common, &in_file) == PK_OK;
    *sound &= apply(e, s, e->section, &in_file) == PK_OK;
    return PK_OK;
}

/* --- what it measures --------------------------------------------------------------------------------------------------- */

static enum pk_code find_subject(struct pk_entry *e, struct pk_err *err)
{
    const char *experiment = pk_suite_value(e->section, "experiment");
    e->command = pk_suite_value(e->section, "command");
    e->a = pk_suite_value(e->section, "a");
    e->b = pk_suite_value(e->section, "b");
    if (experiment && e->command) {
        pk_fail(err, PK_E_USAGE, "%s has both experiment and command", e->place);
        pk_why(err, "an entry measures one thing");
        return pk_fix(err, "write two entries");
    }
    if (!e->a != !e->b) {
        pk_fail(err, PK_E_USAGE, "%s has one of the two sides a and b", e->place);
        pk_why(err, "a gate compares two sides");
        return pk_fix(err, "give both, or neither and use --a and --b of the gate");
    }
    if (e->command)
        return pk_text_check("command", e->command, err) ? pk_entry_within(e, err) : PK_OK;
    if (!pk_experiment_named(e->app, experiment ? experiment : e->name, &e->probe, err))
        return PK_OK;
    if (experiment)
        return pk_entry_within(e, err);
    if (e->a)
        return PK_OK;
    const char *near = pk_strdup(e->app->arena, err->fix);
    pk_fail(err, PK_E_USAGE, "%s does not say what it measures", e->place);
    pk_why(err, "it has neither a key `experiment` nor `command`, and no experiment has its name");
    return pk_fix(err, "add `experiment = ...`; %s", near);
}

static enum pk_code tag(struct pk_entry *e, const char *suite, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    const struct pk_opt *rows = e->app->tables[1].rows;
    while (strcmp(rows->name, "tag") != 0)
        rows++;
    struct pk_texts *tags = (struct pk_texts *)((char *)e->app->options + rows->offset);
    const char *json;
    pk_texts_add(tags, pk_printf(a, "suite=%s", suite), a);
    pk_texts_add(tags, pk_printf(a, "entry=%s", e->name), a);
    return pk_tags_json(tags->v, tags->n, a, &json, err) ? pk_entry_within(e, err) : PK_OK;
}

static const char *name_of(const char *path, struct pk_arena *a)
{
    const char *file = pk_path_name(path);
    size_t n = strlen(file);
    return pk_strndup(a, file, n > 4 && strcmp(file + n - 4, ".ini") == 0 ? n - 4 : n);
}

/* What is wrong with the file is kept there; errors that are returned are others, such as of the command line. */
static enum pk_code open_entry(struct pk_entry *e, struct pk_app *app, struct pk_suite *s,
                               const struct pk_suite_section *section, const char *of_commands,
                               struct pk_err *err)
{
    struct pk_err in_file;
    bool sound = false;
    *e = (struct pk_entry){.name = section->name,
                           .place =
                               pk_printf(app->arena, "%s:%d: [%s]", s->path, section->line, section->name),
                           .section = section,
                           .app = app};
    check_keys(s, section, app->arena);
    if (pk_text_check("suite", e->name, &in_file) || find_subject(e, &in_file)) {
        pk_suite_add_wrong(s, section->line, &in_file, app->arena);
        return PK_OK;
    }
    if (read_options(e, s, e->probe ? app->input.command : of_commands, &sound, err))
        return err->code;
    return sound ? tag(e, name_of(s->path, app->arena), err) : PK_OK;
}

static enum pk_code open_suite(struct pk_app *app, const char *path, const char *of_commands,
                               struct pk_entries *out, struct pk_err *err)
{
    struct pk_suite *s = pk_new(app->arena, struct pk_suite);
    struct pk_entry all = {.app = app};
    struct pk_err in_file; /* kept in s->wrong */
    char *text;
    size_t bytes;
    if (pk_slurp(path, MOST_BYTES, app->arena, &text, &bytes, err))
        return err->code;
    bool sound = pk_suite_parse(path, text, bytes, app->arena, s, &in_file) == PK_OK;
    *out = (struct pk_entries){.name = name_of(path, app->arena),
                               .path = path,
                               .a = pk_suite_value(&s->common, "a"),
                               .b = pk_suite_value(&s->common, "b"),
                               .common = &s->common,
                               .v = pk_new_n(app->arena, struct pk_entry, s->n + 1)};
    check_keys(s, &s->common, app->arena);
    sound &= apply(&all, s, &s->common, &in_file) == PK_OK;
    for (; out->n < s->n; out->n++)
        if (open_entry(&out->v[out->n], app, s, &s->v[out->n], of_commands, err))
            return err->code;
    enum pk_code rc = PK_OK;
    for (size_t i = 0; i < s->n_wrong; i++) /* of all that is wrong the last is returned */
        rc = pk_another_error(rc, &s->wrong[i].err, err);
    pk_assert(rc || sound);
    return rc;
}

enum pk_code pk_entries_open(struct pk_app *app, const char *path, const struct pk_probe *probe,
                             const char *of_commands, struct pk_entries *out, struct pk_err *err)
{
    if (path)
        return open_suite(app, path, of_commands, out, err);
    *out = (struct pk_entries){.v = pk_new(app->arena, struct pk_entry), .n = 1};
    out->v[0] = (struct pk_entry){.probe = probe, .app = app};
    return PK_OK;
}

/* --- for the commands --------------------------------------------------------------------------------------------------- */

enum pk_code pk_entry_command(const struct pk_entry *e, const char *side, const char **text,
                              struct pk_err *err)
{
    static const char mark[] = "{side}";
    struct pk_buf b = {.arena = e->app->arena};
    const char *rest = e->command ? e->command : e->b;
    for (const char *at; (at = strstr(rest, mark)); rest = at + strlen(mark)) {
        if (!side) {
            pk_fail(err, PK_E_USAGE, "%.*sthe command of [%s] needs a side",
                    (int)(strlen(e->place) - strlen(e->name) - 2), e->place, e->name);
            pk_why(err, "%s is replaced by the side of --a or --b, and none is given", mark);
            return pk_fix(err, "write `b = build` in [suite], or use --b build of the gate");
        }
        pk_buf_add(&b, rest, (size_t)(at - rest));
        pk_buf_str(&b, side);
    }
    pk_buf_str(&b, rest);
    *text = pk_buf_text(&b);
    return PK_OK;
}

enum pk_code pk_entry_within(const struct pk_entry *e, struct pk_err *err)
{
    return e->place ? pk_within(err, "%s", e->place) : err->code;
}

bool pk_entry_gives(const struct pk_entry *e, const char *option)
{
    return e->place && pk_opt_source_of(&e->app->tables[1], option) == PK_OPT_SUITE_ENTRY;
}
