/* Answer: from verdicts to an exit status and the words that go with it. */
#include "cmd/answer.h"

#include "base/buf.h"
#include "base/plural.h"
#include "bench/report/report.h"

const char *pk_answer_sentence(const struct pk_comparison *c, struct pk_arena *a)
{
    static const enum pk_verdict order[] = {PK_SLOWER,    PK_FASTER,   PK_SAME,
                                            PK_UNDECIDED, PK_UNSTABLE, PK_UNREPLICATED};
    const struct pk_verdicts v = pk_compare_count(c);
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (v.of[order[i]])
            pk_buf_printf(&b, "%s%zu %s", b.n ? ", " : "", v.of[order[i]], pk_verdict_name(order[i]));
    return pk_printf(a, "%s: %s", pk_plural(v.rows, "row", a), b.n ? pk_buf_text(&b) : "no verdict");
}

/* The gravest row with the verdict: rows are sorted. */
static const struct pk_compared *first_of(const struct pk_comparison *c, enum pk_verdict verdict)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].judged && c->v[i].decision.verdict == verdict)
            return &c->v[i];
    return NULL;
}

static enum pk_code regression(const struct pk_comparison *c, const struct pk_question *q, size_t slower,
                               struct pk_arena *a, struct pk_err *err)
{
    pk_fail(err, PK_E_REGRESSION, "%s is slower: %s", q->new_name, pk_report_row(first_of(c, PK_SLOWER), a));
    pk_why(err, "%zu of %s slower, each significant among all of them and beyond the margin", slower,
           pk_plural(c->n, "row", a));
    return q->again ? pk_fix(err, "`%s` prints them again; a larger --min-effect accepts more", q->again)
                    : pk_fix(err, "a larger --min-effect accepts more");
}

static enum pk_code undecided(const struct pk_comparison *c, const struct pk_question *q,
                              const struct pk_verdicts *v, struct pk_arena *a, struct pk_err *err)
{
    bool nothing = v->refused == v->rows;
    pk_fail(err, PK_E_UNDECIDED, nothing ? "nothing could be decided: %s" : "not everything is decided: %s",
            pk_answer_sentence(c, a));
    size_t i = 0;
    while (c->v[i].judged && c->v[i].decision.reason == PK_REASON_PROVED)
        i++;
    pk_why(err, "%s", pk_reason_text(c->v[i].decision.reason));
    return pk_fix(err, "%s",
                  c->design == PK_DESIGN_STORED
                      ? "record more separate runs of the baseline, or measure both sides now: perfkit gate "
                        "--a ... --b ..."
                      : "give it more --max-pairs or --budget, or a quieter machine");
}

enum pk_code pk_answer(const struct pk_comparison *c, const struct pk_question *q, struct pk_arena *a,
                       struct pk_err *err)
{
    const struct pk_verdicts v = pk_compare_count(c);
    if (v.of[PK_SLOWER])
        return regression(c, q, v.of[PK_SLOWER], a, err);
    size_t open = v.rows - v.of[PK_FASTER] - v.of[PK_SAME];
    if (v.rows && (v.refused == v.rows || (q->fail_on_undecided && open)))
        return undecided(c, q, &v, a, err);
    return PK_OK;
}

const char *pk_answer_word(enum pk_code code)
{
    static const struct {
        enum pk_code code;
        const char *word;
    } words[] = {
        {PK_OK, "ok"},          {PK_E_REGRESSION, "slower"},        {PK_E_UNDECIDED, "undecided"},
        {PK_E_CHECK, "failed"}, {PK_E_NOTHING, "nothing measured"}, {PK_E_INTERRUPTED, "interrupted"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].code == code)
            return words[i].word;
    return "not comparable";
}
