/* Gate outcome: what did not end ok or is missing, and why there is nothing to judge. */
#include "judge/gate/gate.h"

#include "base/text/words.h"

#include <string.h>

static const struct pk_side_runner *side_of(const struct pk_ended_gate *g, const struct pk_gate_case *c,
                                            int side)
{
    return &g->parts[c->part].runners[side];
}

/* "[flash] " of a suite. */
static const char *entry_text(const struct pk_ended_gate *g, const struct pk_gate_case *c)
{
    const char *name = g->parts[c->part].name;
    return name ? pk_printf(g->arena, "[%s] ", name) : "";
}

static bool has_failed(const struct pk_gate_case *c, int side)
{
    return c->reported[side] && c->last[side] != PK_ST_OK;
}

const struct pk_failure *pk_gate_failures(const struct pk_ended_gate *g, size_t *n)
{
    const struct pk_comparison *compared = &g->result->comparison;
    struct pk_failure *v =
        pk_new_n(g->arena, struct pk_failure, PK_SIDES * g->samples->n_cases + compared->n_unmatched + 1);
    *n = 0;
    for (size_t i = 0; i < g->samples->n_cases; i++)
        for (int s = 0; s < PK_SIDES; s++) {
            const struct pk_gate_case *c = &g->samples->cases[i];
            if (has_failed(c, s))
                v[(*n)++] = (struct pk_failure){.side = side_of(g, c, s)->option,
                                                .entry = g->parts[c->part].name,
                                                .experiment = c->info.experiment,
                                                .variant = c->info.variant,
                                                .axes = c->info.axes,
                                                .status = pk_status_name(c->last[s]),
                                                .message = c->message[s]};
        }
    for (size_t i = 0; i < compared->n_unmatched; i++)
        v[(*n)++] = compared->unmatched[i];
    return v;
}

static enum pk_code interrupted(const struct pk_ended_gate *g, struct pk_err *err)
{
    pk_fail(err, PK_E_INTERRUPTED, "interrupted after %s", pk_plural(g->result->pairs, "pair", g->arena));
    pk_why(err, "a signal stopped perfkit");
    if (g->again)
        return pk_fix(err, "`%s` compares what was measured", g->again);
    return g->stored ? pk_fix(err, "measured values are stored: %s", g->stored)
                     : pk_fix(err, "run it again; without --no-save, measured values are kept");
}

/* The first case of a side that failed for good: a crash, a wrong result, no end. That a case does not fit the memory of the base is
 * no fault of what is judged. */
static const struct pk_gate_case *failure(const struct pk_ended_gate *g, int *side)
{
    for (size_t i = 0; i < g->samples->n_cases; i++)
        for (*side = 0; *side < PK_SIDES; ++*side) {
            const struct pk_gate_case *c = &g->samples->cases[i];
            bool alone = c->reported[PK_BASE] && c->last[PK_BASE] == PK_ST_OK;
            if (has_failed(c, *side) && (c->last[*side] == PK_ST_FAILED || c->last[*side] == PK_ST_TIMEOUT ||
                                         (*side == PK_NEW && alone)))
                return c;
        }
    return NULL;
}

static enum pk_code failed(const struct pk_ended_gate *g, const struct pk_gate_case *c, int side,
                           struct pk_err *err)
{
    const struct pk_side_runner *s = side_of(g, c, side);
    pk_fail(err, PK_E_CHECK, "%s%s (--%s %s) ended '%s' in %s", entry_text(g, c),
            side == PK_BASE ? "the base" : "the judged side", s->option, s->text,
            pk_status_name(c->last[side]),
            g->parts[c->part].commands ? c->info.variant
                                       : pk_report_case(c->info.variant, c->info.axes, g->arena));
    pk_why(err, "%s", c->message[side]);
    if (c->last[side] == PK_ST_TIMEOUT)
        return pk_fix(err, "give each process more time with --timeout");
    return pk_fix(err, !g->parts[c->part].commands || strstr(c->message[side], "last output: ")
                           ? "run that side alone"
                           : "run that side alone: it wrote nothing to stderr, and its stdout is not kept");
}

static enum pk_code none_compared(const struct pk_ended_gate *g, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "nothing was compared");
    if (g->samples->n_cases && g->samples->cases[0].closed)
        pk_why(err, "of %s none ended ok on both sides: %s", pk_plural(g->samples->n_cases, "case", g->arena),
               *g->samples->cases[0].message[PK_NEW] ? g->samples->cases[0].message[PK_NEW]
                                                     : g->samples->cases[0].message[PK_BASE]);
    else
        pk_why(err, "no metric with a direction was measured on both sides");
    return pk_fix(err, !g->parts[0].commands
                           ? "choose other cases with -a, or metrics with --metric"
                           : "let both commands report the same cases, or choose --metric wall_ns");
}

enum pk_code pk_gate_ended(const struct pk_ended_gate *g, struct pk_err *err)
{
    int side = 0;
    const struct pk_gate_case *broken = failure(g, &side);
    if (g->result->refused.code)
        return *err = g->result->refused, err->code;
    if (g->result->interrupted)
        return interrupted(g, err);
    if (broken)
        return failed(g, broken, side, err);
    const struct pk_comparison *c = &g->result->comparison;
    return c->n || pk_first_unmatched(c, false) ? PK_OK : none_compared(g, err);
}
