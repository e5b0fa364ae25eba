/* run --suite: each entry of the file is a run of its own; all are validated before the first is measured. */
#include "cmd/frame/suite.h"
#include "cmd/exec.h"
#include "cmd/run/run.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "opt/words.h"

#include <string.h>

/* One entry on its way: an experiment, or a command. */
struct item {
    const struct pk_suite_entry *entry;
    struct run run;
    struct exec exec;
    enum pk_code code;
    bool measured;
};

struct suite {
    struct pk_app *app;
    const struct run_options *o; /* of all */
    struct pk_suite_entries entries;
    struct item *v;
    struct pk_store *store;
    struct pk_err worst;
};

/* --- before anything is measured ---------------------------------------------------------------------------------------- */

/* What was asked of the whole suite holds for its commands, too. */
static enum pk_code prepare_command(struct suite *s, struct item *i, struct pk_err *err)
{
    struct exec_options *o = i->entry->app->options;
    const char *text;
    o->label = s->o->label;
    o->no_save = s->o->no_save;
    if (!o->name)
        o->name = i->entry->name;
    i->exec = (struct exec){.app = i->entry->app, .o = o, .store = s->store};
    if (pk_suite_command(i->entry, s->entries.b, &text, err))
        return err->code;
    return pk_words_split("command", text, s->app->arena, &i->exec.argv, err) || pk_exec_check(&i->exec, err)
               ? pk_suite_within(i->entry, err)
               : PK_OK;
}

static enum pk_code prepare(struct suite *s, struct item *i, struct pk_err *err)
{
    if (!i->entry->probe)
        return prepare_command(s, i, err);
    i->run = (struct run){
        .app = i->entry->app, .o = i->entry->app->options, .probe = i->entry->probe, .store = s->store};
    return pk_run_check(&i->run, err) || pk_run_prepare(&i->run, err) ? pk_suite_within(i->entry, err)
                                                                      : PK_OK;
}

/* --- measuring ------------------------------------------------------------------------------------------------------------- */

/* Of the time of all, a fair share of what is left; an entry's own budget is kept within it. */
static void share_budget(const struct suite *s, struct item *i, size_t left, uint64_t began_ns)
{
    struct run_options *o = i->run.o;
    if (!s->o->budget_ns)
        return;
    const int64_t rest = s->o->budget_ns - (int64_t)(pk_clock_ns() - began_ns);
    const int64_t share = rest > (int64_t)left ? rest / (int64_t)left : 1;
    if (!pk_suite_gives(i->entry, "budget") || share < o->budget_ns)
        o->budget_ns = share;
}

/* Cases that fail or do not fit end no suite; what stops every entry does. */
static bool goes_on(enum pk_code code)
{
    return code == PK_OK || code == PK_E_CHECK || code == PK_E_NOTHING || code == PK_E_UNAVAILABLE;
}

/* The first failure stands for all, a failed case before one that could not be measured. */
static void remember(struct suite *s, const struct item *i, struct pk_err *err)
{
    if (i->code == PK_OK || s->worst.code == PK_E_CHECK || (s->worst.code && i->code != PK_E_CHECK))
        return;
    s->worst = *err;
    pk_suite_within(i->entry, &s->worst);
}

/* `exec` alone says none: what it measured is its whole output. NULL = there is no run. */
static const char *closing_note_of_command(const struct suite *s, const struct item *i)
{
    struct pk_arena *a = s->app->arena;
    const char *what = pk_printf(a, "%s measured", pk_plural((size_t)i->exec.result.runs, "process", a));
    if (s->o->no_save)
        return pk_printf(a, "%s; not recorded", what);
    return i->exec.run_id ? pk_printf(a, "run %lld%s%s: %s", (long long)i->exec.run_id,
                                      s->o->label ? " " : "", s->o->label ? s->o->label : "", what)
                          : NULL;
}

static enum pk_code measure(struct suite *s, struct item *i, size_t left, uint64_t began_ns,
                            struct pk_err *err)
{
    i->measured = true;
    if (i->entry->probe) {
        share_budget(s, i, left, began_ns);
        i->run.began_ns = pk_clock_ns();
        i->code = pk_run_measure(&i->run, err);
    } else {
        i->code = pk_exec_measure(&i->exec, err);
    }
    const char *closing_note = i->entry->probe ? i->entry->app->closing_note : closing_note_of_command(s, i);
    if (closing_note)
        pk_note(s->app, "[%s] %s", i->entry->name, closing_note);
    if (goes_on(i->code))
        remember(s, i, err);
    return goes_on(i->code) ? PK_OK : pk_suite_within(i->entry, err);
}

/* --- what is printed --------------------------------------------------------------------------------------------------------- */

static const char *outcome(const struct item *i)
{
    return !i->measured              ? "not reached"
           : i->code == PK_OK        ? "ok"
           : i->code == PK_E_CHECK   ? "failed"
           : i->code == PK_E_NOTHING ? "nothing measured"
                                     : "interrupted";
}

/* Which run is which entry's. */
static void print_entries(const struct suite *s)
{
    static const struct pk_column columns[] = {
        {.key = "entry", .heading = "Entry", .left = true},
        {.key = "experiment", .heading = "Experiment", .left = true},
        {.key = "run_id", .heading = "Run", .decimals = -1},
        {.key = "answer", .heading = "Answer", .left = true},
    };
    pk_out_table(s->app->out, "suite", pk_printf(s->app->arena, "Suite %s", s->entries.name),
                 PK_COLUMNS(columns));
    for (size_t k = 0; k < s->entries.n; k++) {
        const struct item *i = &s->v[k];
        const int64_t id = i->entry->probe ? i->run.run_id : i->exec.run_id;
        struct pk_row *row = pk_row_begin(s->app->out);
        pk_put_text(row, "entry", i->entry->name);
        pk_put_text(row, "experiment", i->entry->probe ? i->entry->probe->name : "exec");
        if (id && !s->o->no_save)
            pk_put_int(row, "run_id", id);
        pk_put_text(row, "answer", outcome(i));
        pk_row_end(row);
    }
}

static const struct pk_column plan_columns[] = {
    {.key = "entry", .heading = "Entry", .left = true},
    {.key = "experiment", .heading = "Experiment", .left = true},
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .heading = "Case", .left = true, .json = true},
    {.key = "expected_ns", .heading = "About (s)", .scale = 1e9, .decimals = 1},
    {.key = "status", .heading = "Will be", .left = true},
};

static void print_cases(const struct item *i, struct pk_out *out, struct pk_arena *a)
{
    const struct run *r = &i->run;
    for (size_t k = 0; k < r->plan.n; k++) {
        const struct pk_planned *p = &r->plan.v[k];
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "entry", i->entry->name);
        pk_put_text(row, "experiment", r->probe->name);
        pk_put_text(row, "variant", p->variant);
        pk_put_text(row, "axes", pk_point_json(&p->c.at, a));
        if (r->duration.case_ns[k] > 0)
            pk_put_real(row, "expected_ns", r->duration.case_ns[k]);
        pk_put_text(row, "status", pk_run_outlook(r, p, a));
        pk_row_end(row);
    }
}

static void print_command(const struct item *i, struct pk_out *out)
{
    struct pk_row *row = pk_row_begin(out);
    pk_put_text(row, "entry", i->entry->name);
    pk_put_text(row, "experiment", "exec");
    pk_put_text(row, "variant", i->exec.o->name);
    pk_put_text(row, "status", "measured");
    pk_row_end(row);
}

/* Under the rows of all entries; what entry after entry does not know is said once. */
static void note_devices(const struct suite *s)
{
    const char *said = "";
    for (size_t k = 0; k < s->entries.n; k++) {
        const char *note = s->v[k].entry->probe ? pk_run_device_note(&s->v[k].run) : NULL;
        if (!note || !strcmp(note, said))
            continue;
        pk_out_note(s->app->out, note);
        said = note;
    }
}

static enum pk_code print_plan(struct suite *s, struct pk_err *err)
{
    pk_out_table(s->app->out, "suite_plan", pk_printf(s->app->arena, "Suite %s", s->entries.name),
                 PK_COLUMNS(plan_columns));
    for (size_t k = 0; k < s->entries.n; k++) {
        struct item *i = &s->v[k];
        if (!i->entry->probe) {
            print_command(i, s->app->out);
            continue;
        }
        pk_run_estimate(&i->run);
        if (pk_run_duration(&i->run, err))
            return err->code;
        print_cases(i, s->app->out, s->app->arena);
    }
    note_devices(s);
    return PK_OK;
}

/* --- all of it ------------------------------------------------------------------------------------------------------------------ */

static enum pk_code with_store(struct suite *s, struct pk_err *err)
{
    const uint64_t began_ns = pk_clock_ns();
    enum pk_code rc = PK_OK;
    struct pk_err of_entry;
    for (size_t k = 0; k < s->entries.n; k++) {
        s->v[k].entry = &s->entries.v[k];
        if (prepare(s, &s->v[k], &of_entry))
            rc = pk_another_error(rc, &of_entry, err);
    }
    if (rc)
        return rc;
    if (s->o->dry_run)
        return print_plan(s, err);
    for (size_t k = 0; !rc && k < s->entries.n; k++)
        rc = measure(s, &s->v[k], s->entries.n - k, began_ns, err);
    print_entries(s);
    if (!rc && s->worst.code)
        *err = s->worst;
    return rc ? rc : s->worst.code;
}

enum pk_code pk_run_suite(struct pk_app *app, struct pk_err *err)
{
    struct suite s = {.app = app, .o = app->options};
    if (pk_suite_open(app, s.o->suite, "run", "exec", &s.entries, err) || pk_label_check(s.o->label, err) ||
        pk_open_store(app, s.o->no_save ? ":memory:" : NULL, PK_STORE_WRITE, &s.store, err))
        return err->code;
    s.v = pk_new_n(app->arena, struct item, s.entries.n);
    enum pk_code rc = with_store(&s, err);
    pk_store_close(s.store);
    return rc;
}
