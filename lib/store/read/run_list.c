/* Run list: the query, and what to say where nothing fits. */
#include "store/store.h"

#include "base/text/words.h"
#include "store/db.h"
#include "store/table/table.h"

#include <string.h>

static bool has(const char *const *v, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i], text) == 0)
            return true;
    return false;
}

static enum pk_code check_experiment(struct pk_store *s, const char *name, struct pk_arena *a,
                                     struct pk_err *err)
{
    const char **names;
    size_t n;
    if (pk_db_texts(s, "experiments_recorded", NULL, 0, a, &names, &n, err))
        return err->code;
    if (has(names, n, name))
        return PK_OK;
    if (!n) {
        pk_fail(err, PK_E_NOTHING, "there is no run in %s", pk_store_file(s));
        pk_why(err, "nothing has been recorded in it yet");
        return pk_fix(err, "`perfkit run EXPERIMENT` records a first run");
    }
    pk_fail(err, PK_E_USAGE, "there is no run of '%.100s'", name);
    pk_why(err, "%s has runs of other experiments", pk_store_file(s));
    return pk_fix(err, "%s", pk_suggest_text(a, name, names, n));
}

static enum pk_code check_label(struct pk_store *s, const struct pk_run_wanted *w, struct pk_arena *a,
                                struct pk_err *err)
{
    const struct pk_param experiment = pk_param_text(":experiment", w->experiment);
    const char **names;
    size_t n;
    if (pk_db_texts(s, "labels_recorded", &experiment, 1, a, &names, &n, err))
        return err->code;
    if (!w->label || has(names, n, w->label))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "no run of %s has the label '%.100s'", w->experiment, w->label);
    pk_why(err, n ? "its runs have other labels" : "its runs have no labels");
    return n ? pk_fix(err, "%s", pk_suggest_text(a, w->label, names, n)) : pk_fix(err, "omit --label");
}

enum pk_code pk_store_run_list(struct pk_store *s, const struct pk_run_wanted *w, struct pk_arena *a,
                               int64_t **ids, size_t *n, struct pk_err *err)
{
    const struct pk_param p[] = {pk_param_text(":experiment", w->experiment),
                                 pk_param_text(":label", w->label), pk_param_int(":gates", w->gates),
                                 pk_param_int(":last", w->last ? w->last : -1)};
    struct pk_rows r;
    if (check_experiment(s, w->experiment, a, err) || check_label(s, w, a, err) ||
        pk_query(s, "runs_over", PK_PARAMS(p), a, &r, err))
        return err->code;
    *ids = pk_new_n(a, int64_t, r.n + 1);
    *n = r.n;
    for (size_t i = 0; i < r.n; i++)
        (*ids)[i] = r.cells[r.n - 1 - i].i;
    return PK_OK;
}
