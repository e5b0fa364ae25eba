/* Baseline: naming runs, and keeping who decided it. */
#include "store/read/baseline.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "store/db.h"
#include "store/table/table.h"

#include <inttypes.h>
#include <string.h>

/* --- names ---------------------------------------------------------------------------------------------------------- */

static enum pk_code check_name(const char *name, struct pk_err *err)
{
    int64_t number;
    struct pk_err ignored;
    const bool is_number = pk_parse_int(name, &number, &ignored) == PK_OK;
    if (*name && !is_number && !strpbrk(name, "@:,"))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'%.100s' cannot be the name of a baseline", name);
    pk_why(err,
           !*name ? "it is empty"
           : is_number
               ? "numbers are the ids of runs"
               : "a name cannot have @ (the newest run), ':' (after a file or a kind) or ',' (between runs)");
    return pk_fix(err, "use a word, for example main");
}

const char *const *pk_baseline_names(struct pk_store *s, struct pk_arena *a, size_t *n)
{
    const char **names;
    struct pk_err ignored;
    return pk_db_texts(s, "baseline_names", NULL, 0, a, &names, n, &ignored) ? NULL : names;
}

enum pk_code pk_baseline_find(struct pk_store *s, const char *name, int64_t *id, struct pk_err *err)
{
    s->doing = "find a baseline";
    if (pk_db_int(s, err, id, -1, "baseline_id", "t", name))
        return err->code;
    if (*id >= 0)
        return PK_OK;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    size_t n;
    const char *const *names = pk_baseline_names(s, &a, &n);
    pk_fail(err, PK_E_USAGE, "there is no baseline '%.100s'", name);
    pk_why(err, "%s has %s", s->path, n ? "others" : "none");
    return pk_fix(err, "%s",
                  n ? pk_suggest_text(&a, name, names, n)
                    : "`perfkit baseline save NAME RUN...` creates one");
}

/* --- experiments ---------------------------------------------------------------------------------------------------- */

/* The experiment that a query finds; NULL without a row. */
static enum pk_code find_experiment(struct pk_store *s, const char *query, struct pk_param p,
                                    struct pk_arena *a, const char **experiment, struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_query(s, query, &p, 1, a, &rows, err))
        return err->code;
    *experiment = rows.n ? rows.cells[0].s : NULL;
    return PK_OK;
}

/* All of one experiment, and over; *experiment is theirs, or given, when it is not NULL. */
static enum pk_code check_runs(struct pk_store *s, const int64_t *runs, size_t n, struct pk_arena *a,
                               const char **experiment, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct pk_param run = pk_param_int(":run", runs[i]);
        struct pk_rows rows;
        if (pk_query(s, "run_experiment", &run, 1, a, &rows, err))
            return err->code;
        const char *its = rows.n ? rows.cells[0].s : NULL;
        if (its && rows.cells[1].i) {
            pk_fail(err, PK_E_USAGE, "run %" PRId64 " cannot be in a baseline", runs[i]);
            pk_why(err, "it is still being measured");
            return pk_fix(err, "wait until it has ended");
        }
        *experiment = *experiment ? *experiment : its;
        if (!its || strcmp(its, *experiment) == 0)
            continue;
        pk_fail(err, PK_E_USAGE, "run %" PRId64 " is of another experiment: %s", runs[i], its);
        pk_why(err, "all runs of a baseline are of one experiment, here %s", *experiment);
        return pk_fix(err, "save a baseline for each experiment, under different names");
    }
    return PK_OK;
}

/* The experiment of the newest complete run that a moving baseline may follow. */
static enum pk_code followed_experiment(struct pk_store *s, const struct pk_baseline *b, struct pk_arena *a,
                                        const char **experiment, struct pk_err *err)
{
    static const struct {
        const char *what, *query, *record; /* how such a run is recorded: the pattern follows */
    } followings[] = {
        {"label", "experiment_of_label", "perfkit run EXPERIMENT --label "},
        {"tag", "experiment_of_tag", "perfkit run EXPERIMENT --tag "},
        {"branch", "experiment_of_branch", "perfkit run EXPERIMENT, without uncommitted changes, on "},
    };
    size_t i = 0;
    while (strcmp(followings[i].what, b->follows) != 0)
        i++;
    if (find_experiment(s, followings[i].query, pk_param_text(":pattern", b->pattern), a, experiment, err))
        return err->code;
    if (*experiment)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "no complete run has the %s '%.100s'", b->follows, b->pattern);
    pk_why(err, "the experiment of a baseline is that of the newest run that matches");
    return pk_fix(err, "record one first: %s%s", followings[i].record, b->pattern);
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

static enum pk_code add_runs(struct pk_store *s, int64_t id, const int64_t *runs, size_t n,
                             struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = pk_db_run(s, err, "insert_baseline_run", "ii", id, runs[i]);
    return rc;
}

static enum pk_code note_change(struct pk_store *s, int64_t id, const char *action,
                                const struct pk_baseline_decision *why, struct pk_err *err)
{
    return pk_db_run(s, err, "insert_baseline_change", "iittt", id, (int64_t)pk_wall_ns(), why->who, action,
                     why->reason);
}

/* As it is now: nothing is left of the runs it had. */
static enum pk_code put(struct pk_store *s, const struct pk_baseline *b, const char *experiment, int64_t *id,
                        struct pk_err *err)
{
    if (pk_db_run(s, err, "save_baseline", "tttti", b->name, experiment, b->follows, b->pattern,
                  b->follows ? b->newest : (int64_t)0) ||
        pk_baseline_find(s, b->name, id, err) || pk_db_run(s, err, "delete_baseline_runs", "i", *id))
        return err->code;
    return b->follows ? PK_OK : add_runs(s, *id, b->runs, b->n_runs, err);
}

static enum pk_code save(struct pk_store *s, const struct pk_baseline *b, bool replace,
                         const struct pk_baseline_decision *why, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *experiment = NULL;
    int64_t had, id;
    if (pk_db_int(s, err, &had, -1, "baseline_id", "t", b->name))
        return err->code;
    if (had >= 0 && !replace) {
        pk_fail(err, PK_E_USAGE, "the baseline '%s' already exists", b->name);
        pk_why(err, "saving would replace its runs");
        return pk_fix(err, "`perfkit baseline accept %s RUN --reason TEXT` adds a run; --force replaces it",
                      b->name);
    }
    enum pk_code rc = b->follows ? followed_experiment(s, b, &a, &experiment, err)
                                 : check_runs(s, b->runs, b->n_runs, &a, &experiment, err);
    if (rc || put(s, b, experiment, &id, err))
        return err->code;
    return note_change(s, id, had >= 0 ? "replaced" : "saved", why, err);
}

enum pk_code pk_baseline_save(struct pk_store *s, const struct pk_baseline *b, bool replace,
                              const struct pk_baseline_decision *why, struct pk_err *err)
{
    if (check_name(b->name, err) || pk_db_begin(s, "save a baseline", err))
        return err->code;
    return pk_db_end(s, save(s, b, replace, why, err), err);
}

/* --- accepting ------------------------------------------------------------------------------------------------------ */

static enum pk_code accept(struct pk_store *s, const char *name, const int64_t *runs, size_t n, bool only,
                           const struct pk_baseline_decision *why, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *experiment = NULL;
    int64_t id, moving, before, after;
    if (pk_baseline_find(s, name, &id, err) || pk_db_int(s, err, &moving, 0, "baseline_moves", "i", id))
        return err->code;
    if (moving && !only) {
        pk_fail(err, PK_E_USAGE, "baseline '%s' is not pinned", name);
        pk_why(err, "it is a moving baseline: the newest matching runs belong to it automatically");
        return pk_fix(err, "use --only to pin it to the given runs");
    }
    if (find_experiment(s, "baseline_experiment", pk_param_text(":name", name), &a, &experiment, err) ||
        check_runs(s, runs, n, &a, &experiment, err))
        return err->code;
    if (only) {
        const struct pk_baseline pinned = {.name = name, .runs = runs, .n_runs = n};
        return put(s, &pinned, experiment, &id, err) ? err->code : note_change(s, id, "pinned", why, err);
    }
    if (pk_db_int(s, err, &before, 0, "count_baseline_runs", "i", id) || add_runs(s, id, runs, n, err) ||
        pk_db_int(s, err, &after, 0, "count_baseline_runs", "i", id))
        return err->code;
    if (before != after)
        return note_change(s, id, "accepted", why, err);
    pk_fail(err, PK_E_USAGE, "baseline '%s' has these runs already", name);
    pk_why(err, "there is nothing to accept");
    return pk_fix(err, "--only replaces its runs by these; `perfkit baseline show %s` lists them", name);
}

enum pk_code pk_baseline_accept(struct pk_store *s, const char *name, const int64_t *runs, size_t n_runs,
                                bool only, const struct pk_baseline_decision *why, struct pk_err *err)
{
    if (!why->reason || !why->reason[strspn(why->reason, " \t\n")]) {
        pk_fail(err, PK_E_USAGE, "accept needs a reason");
        pk_why(err, "the reason is recorded with the change of %s", name);
        return pk_fix(err, "--reason 'the new kernel trades 3 %% of time for half the memory'");
    }
    if (pk_db_begin(s, "accept runs into a baseline", err))
        return err->code;
    return pk_db_end(s, accept(s, name, runs, n_runs, only, why, err), err);
}

enum pk_code pk_baseline_remove(struct pk_store *s, const char *name, struct pk_err *err)
{
    int64_t id;
    if (pk_db_begin(s, "remove a baseline", err))
        return err->code;
    enum pk_code rc = pk_baseline_find(s, name, &id, err);
    if (!rc)
        rc = pk_db_run(s, err, "delete_baseline", "i", id);
    return pk_db_end(s, rc, err);
}
