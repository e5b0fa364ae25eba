/* Figures: what fits start from, and what a run says of itself; run_figures.c reads what was measured. */
#include "store/read/figures.h"

#include "base/err.h"
#include "base/text/words.h"
#include "store/db.h"
#include "store/table/table.h"
#include "json/json.h"

#include <string.h>

/* A merge patch (RFC 7396) that removes x and what is ignored from an object. */
static const char *without(const char *x, const char *ignore, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *patch = json_object();
    json_object_set_new(patch, x, json_null());
    for (const char *rest = ignore, *name; rest && (name = pk_next_part(&rest, ' ', a));)
        json_object_set_new(patch, name, json_null());
    return pk_json_text(a, patch, PK_JSON_COMPACT);
}

enum pk_code pk_store_fit_groups(struct pk_store *s, int64_t run_id, const char *metric, const char *x,
                                 const char *ignore, struct pk_arena *a, struct pk_fit_group **groups,
                                 size_t *n, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":metric", metric),
                                      pk_param_text(":x", x),
                                      pk_param_text(":path", pk_printf(a, "$.\"%s\"", x)),
                                      pk_param_text(":without", without(x, ignore, a))};
    struct pk_rows r;
    size_t cap = 0;
    *groups = NULL;
    *n = 0;
    if (pk_query(s, "fit_points", PK_PARAMS(params), a, &r, err))
        return err->code;
    double *xs = pk_new_n(a, double, r.n + 1), *ys = pk_new_n(a, double, r.n + 1);
    struct pk_fit_group *last = NULL;
    for (size_t i = 0; i < r.n; i++) {
        struct pk_fit_group g = {.x = &xs[i], .y = &ys[i]};
        pk_db_row(&r, i, "ttttff", &g.experiment, &g.variant, &g.device, &g.fixed, &xs[i], &ys[i]);
        if (!last || strcmp(g.experiment, last->experiment) || strcmp(g.variant, last->variant) ||
            strcmp(g.device, last->device) || strcmp(g.fixed, last->fixed)) {
            *groups = pk_grow(a, *groups, sizeof **groups, *n, &cap);
            last = &(*groups)[(*n)++];
            *last = g;
        }
        last->n++;
    }
    return PK_OK;
}

enum pk_code pk_store_kernels(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                              struct pk_kernel_figure **kernels, size_t *n, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    *n = 0;
    enum pk_code code = pk_query(s, "has_traces", &run, 1, a, &r, err);
    if (code || !r.n)
        return code;
    if (pk_query(s, "kernels", &run, 1, a, &r, err))
        return err->code;
    *kernels = pk_new_n(a, struct pk_kernel_figure, r.n + 1);
    for (; *n < r.n; ++*n) {
        struct pk_kernel_figure *k = &(*kernels)[*n];
        pk_db_row(&r, *n, "tttti", &k->variant, &k->axes, &k->region, &k->name, &k->time_ns);
    }
    return PK_OK;
}

enum pk_code pk_store_run_facts(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                struct pk_run_facts *facts, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(s, "run_facts", &run, 1, a, &r, err))
        return err->code;
    int64_t machine;
    if (!r.n) /* the caller resolved it, but the view of runs has it only with its machine */
        return pk_db_int(s, err, &machine, 0, "machine_of_run", "i", run_id)
                   ? err->code
                   : pk_db_no_parent(s, "run", run_id, "machine", machine, err);
    struct pk_run_facts *f = facts;
    *f = (struct pk_run_facts){0};
    pk_db_row(&r, 0, "ittootttottti", &f->run_id, &f->uuid, &f->experiment, &f->label, &f->entry,
              &f->started_at, &f->status, &f->version, &f->git_commit, &f->machine, &f->settings,
              &f->worker_facts, &f->cases);
    return PK_OK;
}

enum pk_code pk_store_unfinished(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 const struct pk_unfinished_case **v, size_t *n, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(s, "unfinished_cases", &run, 1, a, &r, err))
        return err->code;
    struct pk_unfinished_case *u = pk_new_n(a, struct pk_unfinished_case, r.n + 1);
    for (size_t i = 0; i < r.n; i++) {
        struct pk_figures *f = &u[i].of;
        pk_db_row(&r, i, "iittttttttt", &f->ordinal, &f->revision, &f->experiment, &f->variant, &f->device,
                  &f->axes, &f->identity, &f->metric, &f->unit, &u[i].status, &u[i].message);
    }
    *v = u;
    *n = r.n;
    return PK_OK;
}

enum pk_code pk_store_cases_ok(struct pk_store *s, int64_t run_id, int64_t *n, struct pk_err *err)
{
    s->doing = "read it";
    return pk_db_own_views(s, err) ? err->code : pk_db_int(s, err, n, 0, "cases_ok", "i", run_id);
}

enum pk_code pk_store_counter_figures(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                      const struct pk_figures **figures, size_t *n, struct pk_err *err)
{
    static const int64_t only = 1;
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(s, "counter_figures", &run, 1, a, &r, err))
        return err->code;
    struct pk_figures *f = pk_new_n(a, struct pk_figures, r.n + 1);
    *figures = f;
    for (*n = 0; *n < r.n; ++*n, f++) {
        pk_db_row(&r, *n, "iitttttttttf", &f->ordinal, &f->revision, &f->experiment, &f->variant, &f->device,
                  &f->axes, &f->identity, &f->metric, &f->unit, &f->class, &f->source, &f->median);
        f->direction = "none";
        f->n = 1;
        f->figure = &f->median;
        f->invocation = &only;
    }
    return PK_OK;
}
