/* Stored, its answer: what new lost of base, what is missing for a verdict, and the exit status with its reason. */
#include "cmd/stored.h"

#include "base/plural.h"
#include "judge/report/outcome.h"

#include <string.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A label that all runs of a side have; NULL = there is none. */
static const char *label_of(const struct pk_stored_side *side)
{
    const char *label = side->facts[0].label;
    for (size_t i = 1; label && i < side->n_runs; i++)
        if (!side->facts[i].label || strcmp(side->facts[i].label, label) != 0)
            label = NULL;
    return label;
}

void pk_stored_say_missing(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a)
{
    const size_t needed = pk_rule_default.fewest_runs;
    size_t least = needed;
    for (size_t i = 0; i < p->comparison.n; i++) {
        const struct pk_compared *row = &p->comparison.v[i];
        if (row->judged && row->decision.reason == PK_REASON_FEW_RUNS)
            least = smaller(least, smaller(p->base.n_runs, row->base->n));
    }
    if (least == needed)
        return;
    const bool commands = strcmp(p->base.facts[0].experiment, "exec") == 0;
    const char *label = label_of(&p->base);
    const char *name = label ? label : "LABEL";
    const char *gate = commands ? "" : pk_printf(a, "%s ", p->base.facts[0].experiment);
    pk_out_note(
        out,
        pk_printf(a,
                  "A verdict needs %zu separate runs of the base, which has %zu: measure it again %s with "
                  "--label %s, a name for all of them%s, or both sides now, in turns: perfkit gate %s--a ... "
                  "--b ...",
                  needed, least, pk_plural(needed - least, "time", a), name,
                  label ? "" : " (perfkit compare LABEL ...)", gate));
}

const struct pk_failure *pk_stored_failures(const struct pk_stored_pair *p, const char *entry,
                                            struct pk_arena *a)
{
    const struct pk_comparison *c = &p->comparison;
    struct pk_failure *v = pk_new_n(a, struct pk_failure, c->n_unmatched + 1);
    for (size_t i = 0; i < c->n_unmatched; i++) {
        const struct pk_unmatched *l = &c->unmatched[i];
        v[i] = (struct pk_failure){.side = "new",
                                   .entry = entry,
                                   .experiment = p->new_.facts[0].experiment,
                                   .variant = l->variant,
                                   .axes = l->axes,
                                   .metric = l->metric,
                                   .status = l->status,
                                   .message = l->message};
    }
    return v;
}

static const struct pk_unmatched *first_unmatched(const struct pk_comparison *c, bool metric)
{
    for (size_t i = 0; i < c->n_unmatched; i++)
        if ((c->unmatched[i].metric != NULL) == metric)
            return &c->unmatched[i];
    return NULL;
}

enum pk_code pk_stored_failed(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_unmatched *l = first_unmatched(&p->comparison, false);
    if (!l)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "what is judged (%s) ended '%s' in %s, which ended ok in the base (%s)",
            p->new_.name, l->status, l->what, p->base.name);
    pk_why(err, "%s", *l->message ? l->message : "no process of it ended ok");
    return pk_fix(err, "`perfkit show %lld` prints that run", (long long)p->new_.facts[0].run_id);
}

enum pk_code pk_stored_lost(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_unmatched *l = first_unmatched(&p->comparison, true);
    if (!l)
        return PK_OK;
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s of %s cannot be compared: %s", l->metric, l->what, l->status);
    pk_why(err, "%s", l->message);
    return pk_fix(err, "choose others with --metric, or measure base and new with the same metrics");
}

enum pk_code pk_stored_answer(const struct pk_stored_pair *p, const struct pk_verdict_options *o,
                              struct pk_arena *a, struct pk_err *err)
{
    const struct pk_outcome_options q = {.new_name = p->new_.name, .fail_on_undecided = o->fail_on_undecided};
    if (pk_stored_failed(p, a, err))
        return err->code;
    if (!p->refused && !pk_compare_count(&p->comparison).of[PK_SLOWER] && pk_stored_lost(p, a, err))
        return err->code;
    if (!p->refused)
        return pk_outcome(&p->comparison, &q, a, err);
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s and %s were not measured under the same conditions", p->base.name,
            p->new_.name);
    pk_why(err, "%s%s", p->differences[0], p->n_differences > 1 ? ", and more" : "");
    return pk_fix(
        err,
        "measure both here: perfkit gate --a ... --b ...; --allow-host-mismatch judges them all the same");
}
