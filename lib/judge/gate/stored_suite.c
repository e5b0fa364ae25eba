/* Stored suite: the stored pairs of its entries judged as one family. */
#include "judge/gate/stored.h"

#include "judge/report/outcome.h"

enum pk_code pk_stored_suite_judge(struct pk_stored_suite *s, const struct pk_compare_family *family,
                                   struct pk_err *err)
{
    struct pk_compare_family f = *family;
    struct pk_compare_part *parts = pk_new_n(s->arena, struct pk_compare_part, f.n + 1);
    for (size_t i = 0; i < f.n; i++) {
        parts[i] = family->v[i];
        parts[i].of = &s->pairs[i].comparison;
        parts[i].refused = s->pairs[i].refused;
    }
    f.v = s->parts = parts;
    s->n = f.n;
    s->wrong = (struct pk_errs){.arena = s->arena};
    return pk_compare_judge_family(&f, s->arena, &s->all, &s->wrong, err);
}

const struct pk_failure *pk_stored_suite_failures(const struct pk_stored_suite *s, size_t *n)
{
    size_t most = 1;
    for (size_t i = 0; i < s->n; i++)
        most += s->pairs[i].comparison.n_unmatched;
    struct pk_failure *v = pk_new_n(s->arena, struct pk_failure, most);
    *n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct pk_failure *of_entry = pk_stored_failures(&s->pairs[i], s->parts[i].name, s->arena);
        for (size_t k = 0; k < s->pairs[i].comparison.n_unmatched; k++)
            v[(*n)++] = of_entry[k];
    }
    return v;
}

typedef enum pk_code missing_fn(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err);

/* Of the first entry that misses something. */
static enum pk_code missing(const struct pk_stored_suite *s, missing_fn *of_pair, struct pk_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (of_pair(&s->pairs[i], s->arena, err))
            return pk_within(err, "[%s]", s->parts[i].name);
    return PK_OK;
}

/* A regression counts, whatever else could not be judged. */
enum pk_code pk_stored_suite_outcome(const struct pk_stored_suite *s, const struct pk_verdict_options *o,
                                     struct pk_err *err)
{
    const struct pk_outcome_options q = {.new_name = pk_printf(s->arena, "suite %s", s->name),
                                         .fail_on_undecided = o->fail_on_undecided};
    const bool slower = pk_compare_count(&s->all).of[PK_SLOWER];
    size_t refused = 0;
    if (missing(s, pk_stored_case_failed, err) || (!slower && missing(s, pk_stored_metrics_missing, err)))
        return err->code;
    while (refused < s->n && !s->pairs[refused].refused)
        refused++;
    if (slower || refused == s->n)
        return pk_outcome(&s->all, &q, s->arena, err);
    return pk_stored_outcome(&s->pairs[refused], o, s->arena, err)
               ? pk_within(err, "[%s]", s->parts[refused].name)
               : PK_OK;
}
