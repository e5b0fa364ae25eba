/* Outcome: the exit status that follows from verdicts, with its reason. */
#pragma once

#include "base/err.h"
#include "judge/criteria/criteria.h"

struct pk_outcome_options {
    const char *new_name;   /* what is judged: "b", "run 12" */
    bool fail_on_undecided; /* any undecided row is PK_E_UNDECIDED */
    bool measured;          /* now: options can have more of it measured */
    bool out_of_time;       /* a budget ended it */
    const char *again;      /* a command that prints it again, for advice; NULL = none */
};

/* PK_OK; PK_E_REGRESSION naming the worst row; PK_E_NOT_COMPARABLE when base has what new lacks; PK_E_NOTHING when no metric of all, or of
 * an entry, has a direction; PK_E_UNDECIDED when this was requested, or when no row could be judged. */
enum pk_code pk_outcome(const struct pk_comparison *c, const struct pk_outcome_options *q, struct pk_arena *a,
                        struct pk_err *err) PK_MUST_CHECK;

/* "1 slower, 10 same, 1 undecided"; "no verdict" */
const char *pk_outcome_counts(const struct pk_verdicts *v, struct pk_arena *a);
/* "12 rows: 1 slower, 10 same, 1 undecided" */
const char *pk_outcome_sentence(const struct pk_comparison *c, struct pk_arena *a);

/* ok, slower, undecided, ...; "error" when there is no verdict and no measurement */
const char *pk_outcome_word(enum pk_code code);
