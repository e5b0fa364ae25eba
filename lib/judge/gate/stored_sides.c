/* Stored sides: the runs of a side, read from their store. */
#include "judge/gate/stored_sides.h"

#include "base/text/units.h"
#include "bench/own/descriptor_setting.h"
#include "machine/software/software.h"

#include <string.h>

/* Everything of one run. */
struct read {
    struct pk_run_facts facts;
    struct pk_run_state state;
    struct pk_compare_side figures, counters;
};

/* A command is always measured whole: each of its processes could have measured every case. */
static void count_processes(struct pk_figures *v, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = v[i].processes > most ? v[i].processes : most;
    for (size_t i = 0; i < n; i++)
        v[i].processes = most;
}

static enum pk_code read_run(struct pk_store *s, int64_t id, struct pk_arena *a, struct read *r,
                             struct pk_err *err)
{
    struct pk_figures *v;
    if (pk_store_run_facts(s, id, a, &r->facts, err) ||
        pk_store_figures(s, id, a, &v, &r->figures.n, &r->facts.cases_ok, err) ||
        pk_store_counter_figures(s, id, a, &r->counters.v, &r->counters.n, err))
        return err->code;
    r->figures.v = v;
    if (pk_is_exec(r->facts.experiment))
        count_processes(v, r->figures.n);
    if (r->facts.cases_ok < r->facts.cases &&
        pk_store_unfinished(s, id, a, &r->figures.unfinished, &r->figures.n_unfinished, err))
        return err->code;
    return pk_run_state_read(s, id, a, &r->state, err);
}

static bool has(const struct pk_stored_side *side, const struct pk_run_facts *run)
{
    for (size_t i = 0; side && i < side->n_runs; i++)
        if (strcmp(side->facts[i].uuid, run->uuid) == 0)
            return true;
    return false;
}

static size_t leave_out(const struct pk_stored_side *except, struct read *runs, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (!has(except, &runs[i].facts))
            runs[left++] = runs[i];
    return left ? left : n;
}

static void join(const struct read *runs, size_t n, struct pk_arena *a, struct pk_stored_side *side)
{
    struct pk_compare_side *figures = pk_new_n(a, struct pk_compare_side, n),
                           *counters = pk_new_n(a, struct pk_compare_side, n);
    side->n_runs = n;
    side->facts = pk_new_n(a, struct pk_run_facts, n);
    side->states = pk_new_n(a, struct pk_run_state, n);
    for (size_t i = 0; i < n; i++) {
        side->facts[i] = runs[i].facts;
        side->states[i] = runs[i].state;
        figures[i] = runs[i].figures;
        counters[i] = runs[i].counters;
    }
    side->figures = pk_compare_join(figures, n, side->name, a);
    side->counters = pk_compare_join(counters, n, side->name, a);
}

enum pk_code pk_stored_read(const struct pk_run_source *from, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err)
{
    struct pk_arena *a = from->arena;
    struct pk_store *s;
    int64_t *ids;
    size_t n;
    if (from->open(from->user, ref, of, &s, &ids, &n, err))
        return err->code;
    struct read *runs = pk_new_n(a, struct read, n);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = read_run(s, ids[i], a, &runs[i], err);
    struct pk_kernel_figure *kernels = NULL;
    const size_t named = n;
    if (!rc) {
        n = leave_out(except, runs, n);
        rc = pk_store_kernels(s, runs[n - 1].facts.run_id, a, &kernels, &side->kernels.n, err);
    }
    side->kernels.v = kernels;
    side->n_verdicts = 0;
    side->file = pk_strdup(a, pk_store_file(s));
    const struct pk_probe *probe =
        rc ? NULL : pk_run_probe(s, runs[n - 1].facts.run_id, runs[n - 1].facts.experiment, a);
    side->own = probe ? probe->own : NULL;
    side->yardstick = n == 1 && side->own ? side->own->yardstick : NULL;
    if (!rc && n == 1)
        rc = pk_store_read_verdicts(s, runs[0].facts.run_id, a, &side->verdicts, &side->n_verdicts, err);
    pk_store_close(s);
    if (rc)
        return rc;
    side->name = n > 1       ? pk_printf(a, "runs %s", ref)
                 : named > 1 ? pk_printf(a, "run %lld", (long long)runs[0].facts.run_id)
                             : pk_printf(a, "run %s", ref);
    side->instead = NULL;
    join(runs, n, a, side);
    return PK_OK;
}

/* A side that is compared with itself never differs. */
static enum pk_code refuse_itself(const struct pk_stored_side *except, const struct pk_stored_side *side,
                                  struct pk_err *err)
{
    for (size_t i = 0; i < side->n_runs; i++)
        if (!has(except, &side->facts[i]))
            return PK_OK;
    pk_fail(err, PK_E_NOT_COMPARABLE, "both sides are the same: %s", side->name);
    pk_why(err, "every run of the base is also in the judged side, %s", except->name);
    return pk_fix(err, "give another base (`perfkit list runs`), or measure once more; for cases of one run: "
                       "perfkit compare --by AXIS RUN");
}

/* True if the name may be a branch or commit: it is not a number and has no syntax of run references. */
static bool may_be_of_git(const char *ref)
{
    int64_t number;
    struct pk_err ignored;
    return !strpbrk(ref, "@:,") && pk_parse_int(ref, &number, &ignored) != PK_OK;
}

enum pk_code pk_stored_base(const struct pk_run_source *from, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err)
{
    struct pk_arena *a = from->arena;
    struct pk_err ignored;
    const char *commit;
    enum pk_code rc = pk_stored_read(from, ref, of, except, side, err);
    if (!rc)
        return except ? refuse_itself(except, side, err) : PK_OK;
    if ((rc != PK_E_USAGE && rc != PK_E_NOT_COMPARABLE) || !may_be_of_git(ref) ||
        pk_machine_merge_base(ref, a, &commit, &ignored))
        return rc;
    if (pk_stored_read(from, pk_printf(a, "commit:%s", commit), of, except, side, err))
        return pk_within(err, "%s", ref);
    side->instead = pk_printf(a,
                              "No baseline and no run has the name %s: the base is the runs of commit %.12s, "
                              "where HEAD left this branch.",
                              ref, commit);
    return except ? refuse_itself(except, side, err) : PK_OK;
}
