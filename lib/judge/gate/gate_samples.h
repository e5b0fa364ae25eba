/* Gate samples: what the two sides of a gate measured, process after process: their cases, and a row per metric of one. */
#pragma once

#include "judge/pair/pair.h"

enum { PK_BASE, PK_NEW, PK_SIDES };

struct pk_gate_case {
    size_t part;                    /* of the gate: what measures it */
    struct pk_case_info info;       /* as it is shown: of what is equal on both sides */
    const char *identity[PK_SIDES]; /* of what each side measures, with its variant */
    bool reported[PK_SIDES];
    size_t judged[PK_SIDES],
        unstable[PK_SIDES];        /* slices with figures; of these, the number with doubts (wire/slice.h) */
    enum pk_status last[PK_SIDES]; /* of its last process */
    const char *message[PK_SIDES]; /* why it did not end ok */
    bool closed;                   /* a side did not end ok: the case is not measured again */
};

struct pk_gate_row {
    size_t c;                      /* index of its case */
    struct pk_figures f[PK_SIDES]; /* their ordinal is c, too */
    double *figure[PK_SIDES], *tail[PK_SIDES][PK_TAILS];
    int64_t *invocation[PK_SIDES];
    size_t figure_cap[PK_SIDES], invocation_cap[PK_SIDES], tail_cap[PK_SIDES][PK_TAILS];
    bool no_number[PK_SIDES];    /* all samples of a process were NaN or infinite */
    const char *conflict;        /* how the sides disagree, a sentence; NULL = they agree */
    const char *conflict_status; /* "other unit", "other direction" */
};

struct pk_gate_samples {
    struct pk_arena *arena;
    struct pk_gate_case *cases;
    size_t n_cases, cases_cap;
    struct pk_gate_row *rows;
    size_t n_rows, rows_cap;
};

/* A metric of a case, without figures. Texts are borrowed. */
struct pk_figures pk_figures_named(const struct pk_case_info *info, const struct pk_metric_decl *m);

/* The part's case with these experiment, variant, device and axes; a new one when there is none. Texts are copied. */
size_t pk_gate_samples_case(struct pk_gate_samples *l, size_t part, const struct pk_case_info *info);

/* The result of one process of a side for a case, stored or not. */
void pk_gate_samples_add(struct pk_gate_samples *l, int side, size_t c, const struct pk_slice *s);

/* PK_E_NOT_COMPARABLE when a requested metric was reported and cannot be compared: it is not a number, or its unit or direction differs
 * between the sides. */
enum pk_code pk_gate_samples_check(const struct pk_gate_samples *l, size_t part,
                                   const struct pk_compare_options *o, struct pk_err *err) PK_MUST_CHECK;

/* What base has and new lacks in a part, and what new alone has, of cases that are not closed, into the fields of *out for it. A sentence
 * names the sides by their options. */
void pk_gate_samples_unmatched(const struct pk_gate_samples *l, size_t part,
                               const struct pk_compare_options *o, bool commands,
                               const char *const names[PK_SIDES], struct pk_arena *a,
                               struct pk_comparison *out);

/* A part's rows that both sides have and that the options choose, as the library compares them; of cases that are not closed. The times
 * of commands count as in pk_own_time_counts. There is room for pk_gate_samples_most. */
size_t pk_gate_samples_compared(struct pk_gate_samples *l, size_t part, const struct pk_compare_options *o,
                                bool commands, struct pk_arena *a, struct pk_compared *rows, size_t *case_of);
size_t pk_gate_samples_most(const struct pk_gate_samples *l);
