/* Outcome: from verdicts to an exit status and the words that go with it. */
#include "judge/report/outcome.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "judge/criteria/criteria.h"
#include "judge/report/report.h"

#include <math.h>
#include <string.h>

const char *pk_outcome_counts(const struct pk_verdicts *v, struct pk_arena *a)
{
    static const enum pk_verdict order[] = {PK_SLOWER,    PK_SLOWER_IN_SOME, PK_FASTER,      PK_SAME,
                                            PK_UNDECIDED, PK_UNSTABLE,       PK_UNREPLICATED};
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (v->of[order[i]])
            pk_buf_printf(&b, "%s%zu %s", b.n ? ", " : "", v->of[order[i]], pk_verdict_name(order[i]));
    return b.n ? pk_buf_text(&b) : "no verdict";
}

const char *pk_outcome_sentence(const struct pk_comparison *c, struct pk_arena *a)
{
    const struct pk_verdicts v = pk_compare_count(c);
    const size_t missing = pk_count_missing(c);
    return pk_printf(a, "%s: %s%s", pk_plural(v.rows, "row", a), pk_outcome_counts(&v, a),
                     missing ? pk_printf(a, "; %zu missing", missing) : "");
}

/* What makes a row like this one no regression. */
static const char *accepting(const struct pk_compared *row, struct pk_arena *a)
{
    const char *metric = row->new_->metric;
    if (row->decision.verdict == PK_SLOWER_IN_SOME)
        return "find out what its slow processes have in common (layout of memory, huge pages, placement, "
               "clocks)";
    if (row->decision.absolute)
        return pk_printf(a, "a larger --threshold %s=... accepts larger changes", metric);
    if (pk_figures_exact(row->new_))
        return pk_printf(
            a, "its figures repeat exactly, so any difference counts: --threshold %s=%.3g%% accepts this one",
            metric, 105 * fabs(row->decision.ratio - 1));
    return row->threshold
               ? pk_printf(a, "a larger --threshold than %s accepts larger changes", row->threshold->text)
               : "a larger --min-effect accepts larger changes";
}

static enum pk_code regression(const struct pk_comparison *c, const struct pk_outcome_options *q,
                               const struct pk_verdicts *v, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_compared *row = c->v; /* the gravest: rows are sorted */
    while (!row->judged || (row->decision.verdict != PK_SLOWER && row->decision.verdict != PK_SLOWER_IN_SOME))
        row++;
    pk_fail(err, PK_E_REGRESSION, "%s is slower%s: %s", q->new_name,
            row->decision.verdict == PK_SLOWER ? "" : " in some processes", pk_report_row(row, a));
    pk_why(err, "%zu of %s slower, each significant among all of them and beyond the margin", v->slower,
           pk_plural(v->rows, "row", a));
    return q->again ? pk_fix(err, "`%s` prints them again; %s", q->again, accepting(row, a))
                    : pk_fix(err, "%s", accepting(row, a));
}

/* A quieter machine does not help against modes. */
#define MODES_ADVICE                                                                                         \
    "use more processes (--max-pairs), or remove the cause of the modes: pin threads (--bind) or randomise " \
    "the layout of memory in each process"

/* What would decide a row, by why it is not. */
static const char *deciding(const struct pk_compared *row, const struct pk_outcome_options *q,
                            struct pk_arena *a)
{
    static const char *const of_runs[] = {
        [PK_REASON_FEW_RUNS] = "record separate runs of the baseline until there are five, or measure both "
                               "sides now: perfkit gate --a ... --b ...",
        [PK_REASON_NOISE] = "record more separate runs of both sides, or measure them now: perfkit gate --a "
                            "... --b ...",
        [PK_REASON_ENVIRONMENT] = "measure again when the machine is cool and idle (perfkit doctor)",
        [PK_REASON_INEXACT] = "find out why repetitions differ: the metric is declared exact",
    };
    static const char *const of_pairs[] = {
        [PK_REASON_MORE_PAIRS] = "let every process of both sides report it",
        [PK_REASON_NOISE] = "use more --max-pairs, or a quieter machine",
        [PK_REASON_UNCONFIRMED] = "use more --max-pairs, or measure again",
        [PK_REASON_BETWEEN] = "use more --max-pairs, or another --min-effect",
        [PK_REASON_FEW_PAIRS] = "let every process of both sides report it",
        [PK_REASON_ONE_SIDED] = "use more --max-pairs",
        [PK_REASON_MODES] = MODES_ADVICE,
        [PK_REASON_DISTURBED] = MODES_ADVICE,
        [PK_REASON_ENVIRONMENT] = "measure again when the machine is cool and idle (perfkit doctor)",
        [PK_REASON_INEXACT] = "find out why repetitions differ: the metric is declared exact",
    };
    const enum pk_reason r = row->decision.reason;
    const char *unit = row->new_->unit;
    if (r == PK_REASON_NEEDS_ABSOLUTE)
        return pk_printf(a, "give one in the unit of the metric: --threshold %s=%s", row->new_->metric,
                         strcmp(unit, "ns") == 0      ? "20us"
                         : strcmp(unit, "bytes") == 0 ? "64KiB"
                                                      : "1");
    if (q->out_of_time && (r == PK_REASON_MORE_PAIRS || r == PK_REASON_FEW_PAIRS))
        return "use a longer --budget";
    const char *text = q->measured ? of_pairs[r] : of_runs[r];
    return text ? text : "measure both sides now, in turns: perfkit gate --a ... --b ...";
}

static enum pk_code undecided(const struct pk_comparison *c, const struct pk_outcome_options *q,
                              const struct pk_verdicts *v, struct pk_arena *a, struct pk_err *err)
{
    bool nothing = v->refused == v->rows;
    pk_fail(err, PK_E_UNDECIDED, nothing ? "no row could be judged: %s" : "some rows are not decided: %s",
            pk_outcome_sentence(c, a));
    size_t i = 0;
    while (!c->v[i].judged || c->v[i].decision.reason == PK_REASON_PROVED)
        i++;
    pk_why(err, "%s", pk_reason_text(c->v[i].decision.reason));
    return pk_fix(err, "%s", deciding(&c->v[i], q, a));
}

static enum pk_code missing(const struct pk_comparison *c, const struct pk_failure *f, struct pk_arena *a,
                            struct pk_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_unmatched; i++)
        n += c->unmatched[i].kind != PK_FAILED && !c->unmatched[i].allowed;
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s cannot be compared: %s%s", pk_failure_text(f, a), f->status,
            n > 1 ? pk_printf(a, ", and %zu more", n - 1) : "");
    pk_why(err, "%s", f->message);
    return f->kind == PK_PARTLY_MISSING || strcmp(f->status, "missing") == 0
               ? pk_fix(err, "measure it on both sides; --allow-missing accepts that it is missing")
               : pk_fix(err, "measure it in the same way on both sides, or choose metrics with --metric");
}

/* The first row of an entry, or of all entries, without any metric that has a direction: such a gate would check nothing. */
static const struct pk_compared *not_judged(const struct pk_comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *x = &c->v[i];
        size_t k = 0;
        for (; k < c->n; k++) {
            const struct pk_compared *y = &c->v[k];
            const bool one_entry = !x->entry || !y->entry || strcmp(x->entry, y->entry) == 0;
            if (one_entry && pk_has_direction(y->new_->direction))
                break;
        }
        if (k == c->n)
            return x;
    }
    return NULL;
}

enum pk_code pk_outcome(const struct pk_comparison *c, const struct pk_outcome_options *q, struct pk_arena *a,
                        struct pk_err *err)
{
    const struct pk_verdicts v = pk_compare_count(c);
    const struct pk_compared *none = not_judged(c);
    const struct pk_failure *lost = pk_first_unmatched(c, false);
    if (v.slower)
        return regression(c, q, &v, a, err);
    if (lost)
        return missing(c, lost, a, err);
    if (none) {
        pk_fail(err, PK_E_NOTHING, "%snothing was judged: %s has no direction",
                none->entry ? pk_printf(a, "[%s] ", none->entry) : "", none->new_->metric);
        pk_why(err, "neither a lower nor a higher value of it is better, and no other metric was compared");
        return pk_fix(
            err, "let the program that reports it give a direction, or choose other metrics with --metric");
    }
    size_t open = v.rows - v.of[PK_FASTER] - v.of[PK_SAME];
    if (v.rows && (v.refused == v.rows || (q->fail_on_undecided && open)))
        return undecided(c, q, &v, a, err);
    return PK_OK;
}

const char *pk_outcome_word(enum pk_code code)
{
    static const struct {
        enum pk_code code;
        const char *word;
    } words[] = {{PK_OK, "ok"},
                 {PK_E_REGRESSION, "slower"},
                 {PK_E_UNDECIDED, "undecided"},
                 {PK_E_CHECK, "failed"},
                 {PK_E_NOT_COMPARABLE, "not comparable"},
                 {PK_E_NOTHING, "nothing judged"},
                 {PK_E_INTERRUPTED, "interrupted"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].code == code)
            return words[i].word;
    return "error";
}
