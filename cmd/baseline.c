/* Baseline: manages named baselines, the runs that later ones are judged against. */
#include "cmd/compare/compare.h"

#include "base/text/words.h"
#include "bench/record/runinfo.h"
#include "store/read/baseline.h"
#include "store/table/table.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

struct baseline_options {
    const char *label, *tag, *branch, *reason;
    int64_t newest;
    bool force, only;
};

#define O(field) offsetof(struct baseline_options, field)

static const struct pk_opt options[] = {
    {"reason", .type = PK_OPT_TEXT, .offset = O(reason), .arg = "TEXT", .cli_only = true, .group = "Deciding",
     .help = "the reason; required by accept, recorded by save"},
    {"only", .type = PK_OPT_FLAG, .offset = O(only), .cli_only = true,
     .help = "accept: replace the baseline's runs by these runs"},
    {"force", .type = PK_OPT_FLAG, .offset = O(force), .cli_only = true,
     .help = "save: replace an existing baseline of that name"},
    {"label", .type = PK_OPT_TEXT, .offset = O(label), .arg = "LABEL", .cli_only = true, .group = "Moving",
     .help = "save: the newest complete runs with this label, looked up whenever the baseline is used"},
    {"tag", .type = PK_OPT_TEXT, .offset = O(tag), .arg = "KEY=VALUE", .cli_only = true,
     .help = "the same for runs with this tag"},
    {"branch", .type = PK_OPT_TEXT, .offset = O(branch), .arg = "NAME", .cli_only = true,
     .help = "the same for runs recorded on this git branch without uncommitted changes (sides of gates "
             "excluded)"},
    {"newest", .type = PK_OPT_INT, .offset = O(newest), .arg = "N", .min = 1, .max = 1e6, .def = "10",
     .cli_only = true, .help = "maximum number of these runs"},
    {0},
};

/* --- what was decided ----------------------------------------------------------------------------------------------- */

static const char *user_name(struct pk_arena *a)
{
    const struct passwd *p = getpwuid(geteuid());
    return p ? pk_strdup(a, p->pw_name) : pk_printf(a, "uid %u", (unsigned)geteuid());
}

/* The runs that are named from argument `first` on, each once. */
static enum pk_code read_runs(struct pk_app *app, struct pk_store *s, size_t first, int64_t **ids, size_t *n,
                              struct pk_err *err)
{
    size_t cap = 0;
    for (size_t i = first; i < app->args.n; i++) {
        const char *ref = app->args.v[i];
        int64_t *some;
        size_t m;
        if (pk_run_ref(app, &ref, err) || pk_store_refs(s, ref, app->arena, &some, &m, err))
            return err->code;
        for (size_t k = 0; k < m; k++) {
            *ids = pk_grow(app->arena, *ids, sizeof **ids, *n, &cap);
            (*ids)[(*n)++] = some[k];
        }
    }
    return PK_OK;
}

static enum pk_code print_one(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    static const char *const tables[] = {"baseline", "baseline_runs", "baseline_changes"};
    const struct pk_param name = pk_param_text(":name", app->args.v[1]);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (pk_table_print(s, NULL, tables[i], &name, 1, app->out, err))
            return err->code;
    return PK_OK;
}

static enum pk_code check_texts(const struct pk_app *app, const struct baseline_options *o,
                                struct pk_err *err)
{
    const char *json;
    if (pk_text_check("reason", o->reason, err) || pk_text_check("branch", o->branch, err) ||
        pk_label_check(o->label, err) || (o->tag && pk_tags_json(&o->tag, 1, app->arena, &json, err)))
        return err->code;
    static const char *const others[] = {"tag", "branch", NULL};
    static const char why[] = "a baseline follows one of them";
    const struct pk_opt_table *table = &app->tables[1];
    return pk_opt_exclusive(table, "label", others, why, err)
               ? err->code
               : pk_opt_exclusive(table, "tag", others + 1, why, err);
}

static enum pk_code save(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    const struct baseline_options *o = app->options;
    const struct pk_baseline_decision why = {user_name(app->arena), o->reason};
    int64_t *ids = NULL, newest;
    struct pk_baseline b = {.name = app->args.v[1], .newest = o->newest};
    b.pattern = o->label ? o->label : o->tag ? o->tag : o->branch;
    b.follows = o->label ? "label" : o->tag ? "tag" : o->branch ? "branch" : NULL; /* NULL = it is pinned */
    if (check_texts(app, o, err))
        return err->code;
    if (b.follows && app->args.n > 2) {
        pk_fail(err, PK_E_USAGE, "a baseline is either pinned to runs or follows a %s, not both", b.follows);
        pk_why(err, "runs are named and --%s is given", b.follows);
        return pk_fix(err, "give only one of them");
    }
    if (!b.follows && read_runs(app, s, 2, &ids, &b.n_runs, err))
        return err->code;
    if (!b.follows && !b.n_runs) {
        if (pk_store_resolve(s, "@", &newest, err))
            return err->code;
        ids = &newest;
        b.n_runs = 1;
    }
    b.runs = ids;
    return pk_baseline_save(s, &b, o->force, &why, err) ? err->code : print_one(app, s, err);
}

static enum pk_code accept(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    const struct baseline_options *o = app->options;
    const struct pk_baseline_decision why = {user_name(app->arena), o->reason};
    int64_t *ids = NULL;
    size_t n = 0;
    if (check_texts(app, o, err) || read_runs(app, s, 2, &ids, &n, err))
        return err->code;
    /* A run that none of the baseline's can be compared with is accepted, since an experiment gets new cases, with a warning. This is found
     * out while the baseline is without it, and printed when it is accepted: a run of another experiment is refused. */
    const struct pk_run_source from = pk_run_source(app);
    struct pk_texts unlike = {0};
    struct pk_err why_not;
    for (size_t i = 2; i < app->args.n && !o->only; i++)
        if (pk_stored_not_comparable(&from, app->args.v[1], app->args.v[i], &why_not))
            pk_texts_add(&unlike,
                         pk_printf(app->arena, "%s: %s; --only replaces its runs by the new runs",
                                   why_not.what, why_not.why),
                         app->arena);
    if (pk_baseline_accept(s, app->args.v[1], ids, n, o->only, &why, err))
        return err->code;
    for (size_t i = 0; i < unlike.n; i++)
        pk_print_warning(app, "%s", unlike.v[i]);
    return print_one(app, s, err);
}

static enum pk_code list(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    const struct pk_param path = pk_param_text(":path", pk_store_file(s));
    return pk_table_print(s, NULL, "baselines", &path, 1, app->out, err);
}

static enum pk_code show(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    int64_t id;
    return pk_baseline_find(s, app->args.v[1], &id, err) ? err->code : print_one(app, s, err);
}

static enum pk_code rm(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    if (pk_baseline_remove(s, app->args.v[1], err))
        return err->code;
    pk_print_note(app, "baseline %s is removed; its runs are kept", app->args.v[1]);
    return PK_OK;
}

/* --- which of them -------------------------------------------------------------------------------------------------- */

static const struct baseline_action {
    const char *name, *usage;
    enum pk_store_mode mode;
    size_t min_args, max_args; /* with its own name */
    const char *takes;         /* options, between blanks */
    enum pk_code (*run)(struct pk_app *app, struct pk_store *s, struct pk_err *err);
} actions[] = {
    {"save", "save NAME [RUN...]", PK_STORE_UPDATE, 2, SIZE_MAX, " reason force label tag branch newest ",
     save},
    {"list", "list", PK_STORE_READ, 1, 1, "", list},
    {"show", "show NAME", PK_STORE_READ, 2, 2, "", show},
    {"rm", "rm NAME", PK_STORE_UPDATE, 2, 2, "", rm},
    {"accept", "accept NAME RUN... --reason TEXT", PK_STORE_UPDATE, 3, SIZE_MAX, " reason only ", accept},
};
enum { N_ACTIONS = sizeof actions / sizeof *actions };

static enum pk_code find_action(struct pk_app *app, const struct baseline_action **action, struct pk_err *err)
{
    const char *names[N_ACTIONS], *name = app->args.v[0];
    for (size_t i = 0; i < N_ACTIONS; i++) {
        const struct baseline_action *x = *action = &actions[i];
        names[i] = x->name;
        if (strcmp(name, x->name) != 0)
            continue;
        if (app->args.n >= x->min_args && app->args.n <= x->max_args)
            return PK_OK;
        pk_fail(err, PK_E_USAGE, "perfkit baseline %s: too %s arguments", name,
                app->args.n < x->min_args ? "few" : "many");
        pk_why(err, "usage: perfkit baseline %s", x->usage);
        return pk_fix(err, "perfkit baseline -h shows examples");
    }
    pk_fail(err, PK_E_USAGE, "there is no command 'baseline %.100s'", name);
    pk_why(err, "usage: perfkit baseline save|list|show|rm|accept");
    return pk_fix(err, "%s", pk_suggest_text(app->arena, name, names, N_ACTIONS));
}

/* Options that it would not look at are refused. */
static enum pk_code check_options(const struct pk_app *app, const struct baseline_action *action,
                                  struct pk_err *err)
{
    for (const struct pk_opt *o = options; o->name; o++) {
        if (pk_opt_source_of(&app->tables[1], o->name) == PK_OPT_DEFAULT ||
            strstr(action->takes, pk_printf(app->arena, " %s ", o->name)))
            continue;
        pk_fail(err, PK_E_USAGE, "perfkit baseline %s has no --%s", action->name, o->name);
        pk_why(err, "usage: perfkit baseline %s", action->usage);
        return pk_fix(err, "perfkit baseline -h describes each option");
    }
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct baseline_action *action;
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    if (find_action(app, &action, err) || check_options(app, action, err) ||
        pk_open_store(app, NULL, action->mode, &s, err))
        return err->code;
    return action->run(app, s, err);
}

const struct pk_cmd pk_cmd_baseline = {
    .name = "baseline",
    .summary = "manage named baselines, which later runs are compared with",
    .usage =
        "baseline save BASELINE [RUN...]|list|show BASELINE|rm BASELINE|accept BASELINE RUN... [options]",
    .examples = "perfkit baseline save main --branch main\n"
                "perfkit baseline save nightly --label nightly --newest 20\n"
                "perfkit baseline save v1.2 31,32,33,35,36 --reason 'release'\n"
                "perfkit baseline accept v1.2 @ --reason 'slower by design: checks its input'\n"
                "perfkit gate --against main @",
    .options = options,
    .options_bytes = sizeof(struct baseline_options),
    .exact_args = "1+",
    .run = run,
};
