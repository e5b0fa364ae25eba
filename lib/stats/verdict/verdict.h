/* Verdict: the verdict for cases that were measured on two sides.
 *
 * A *figure* is the value of one metric of one case from one process: the median of its steady samples. Everything here counts
 * processes: the iterations of one process share its conditions (heap, pages, clocks) and are not independent repetitions. Figures are
 * finite. A *case* is one row of the result: one metric of one case of an experiment, compared in ratios new / base when all its figures
 * are positive, else in differences.
 *
 *   slower        significant, with the risk shared among the cases (Holm), and at least min_effect worse
 *   slower-in-some  more of the new side's processes than of the base's are slow: apart from the others, by min_effect or more
 *   faster        the same as slower, on the other side
 *   same          proved to be within +-same_within, by two one-sided tests, and slow processes are not on one side alone
 *   undecided     none of these; `needed` says how many more pairs would probably do
 *   unreplicated  too few processes, or runs in the baseline, for any verdict
 *   unstable      processes of both sides lie apart, and too few pairs are left; or the caller saw throttling or drift
 *
 * A real effect of exactly min_effect is "slower" half of the time: choose a min_effect below the change that must be found.
 *
 * There are four designs, the best first:
 *
 *   pk_decide_gate    interleaved pairs, screened, then confirmed with fresh pairs: for CI
 *   pk_decide_pairs   interleaved pairs, as many as there are, or until it is clear
 *   pk_decide_stored  a baseline measured in other sessions: a session is then the unit
 *   pk_decide_exact   figures without noise: instructions, bytes, launches
 *
 * A gate is a loop: decide; measure for each case the `wanted` pairs of its `stage`, appended to `screen` or `confirm`, in the order of
 * pk_pair_order; decide again; until no case wants any, or the time limit is reached. The first call has no pairs. Cases that share
 * processes share pairs: what one wants may be given to all; but once a case is being confirmed, no case gets another pair in `screen`.
 *
 * Memory is taken and given back inside. Reasons and measured error rates: docs/statistics.md. */
#pragma once

#include "base/arena.h"
#include "base/rng.h"
#include "stats/infer.h"
#include "stats/stats.h"

enum pk_verdict {
    PK_FASTER,
    PK_SLOWER,
    PK_SLOWER_IN_SOME,
    PK_SAME,
    PK_UNDECIDED,
    PK_UNREPLICATED,
    PK_UNSTABLE,
};

/* The reason of a verdict. */
enum pk_reason {
    PK_REASON_PROVED,         /* faster, slower, slower-in-some, same */
    PK_REASON_MORE_PAIRS,     /* the stage is not complete: `wanted` pairs are to be measured */
    PK_REASON_NOISE,          /* too few pairs, or runs, for so much noise */
    PK_REASON_UNCONFIRMED,    /* suspected after screening, not confirmed by fresh pairs */
    PK_REASON_BETWEEN,        /* a real difference, about as large as the margin */
    PK_REASON_NEEDS_ABSOLUTE, /* figures that are not positive have no ratio: give min_change */
    PK_REASON_FEW_PAIRS,      /* under two pairs */
    PK_REASON_FEW_RUNS,       /* under five separate baseline runs */
    PK_REASON_ONE_SIDED, /* those that lie apart are of one side alone: neither `same` nor a verdict of their own */
    PK_REASON_MODES,       /* slow processes on both sides, whose shares may differ */
    PK_REASON_DISTURBED,   /* so many of them that too few pairs are left */
    PK_REASON_ENVIRONMENT, /* the caller marked the case as unstable */
    PK_REASON_INEXACT,     /* repeats of an exact figure differ, and the two sides overlap */
};

const char *pk_verdict_name(enum pk_verdict v);
const char *pk_reason_text(enum pk_reason r); /* a clause without a full stop */
const char *pk_reason_name(enum pk_reason r); /* one word, which stays what it is: "unconfirmed" */
/* The value of a name; false, and nothing is set, for any other word. */
bool pk_verdict_parse(const char *name, enum pk_verdict *v);
bool pk_reason_parse(const char *name, enum pk_reason *r);

struct pk_rule {
    /* 0.05: the risk that any case is falsely called slower or faster, and that any one case is falsely called same. */
    double alpha;
    double min_effect;  /* 0.02: relative; smaller differences are of no interest */
    double same_within; /* 0 = min_effect */
    bool strict;        /* the whole interval beyond min_effect, not the estimate alone */

    size_t screen_pairs;  /* 6 */
    size_t confirm_pairs; /* 14 */
    bool confirm_faster;  /* true; false saves pairs, and a gate then calls nothing faster */

    bool until_clear; /* false; pk_decide_pairs: a look after every pair, which the intervals allow for */
    size_t max_pairs; /* 30: where that ends */

    double
        apart_sd; /* 6: a process so many standard deviations from the others lies apart; more where they are few */
    double most_disturbed; /* 0.75: of all pairs; more are unstable */
    size_t fewest_runs;    /* 5 separate runs in a stored baseline */
    double power;          /* 0.8: of needed, slow_found and the noise floor */
    double mde_power;      /* 0.95: of mde */
};
extern const struct pk_rule pk_rule_default;

struct pk_pairs {
    const double *base, *new_; /* figures of processes that ran one after the other */
    size_t n;
};

/* One case of an interleaved comparison. */
struct pk_pair_series {
    bool higher_is_better; /* throughput; a metric without direction is not to be judged */
    double min_effect;     /* 0 = the rule's */
    double min_change;     /* also at least this much in the figures' unit (two clock ticks, say); 0 = none */
    size_t max_pairs;      /* of this case in all (pk_rule_of_pairs); 0 = the rule's */
    bool unstable;         /* throttled or drifting, as the caller found */
    struct pk_pairs screen;
    struct pk_pairs confirm; /* measured after the screening; not used by pk_decide_pairs */
};

enum pk_gate_stage {
    PK_GATE_STAGE_DONE,
    PK_GATE_STAGE_SCREEN,
    PK_GATE_STAGE_CONFIRM,
};

/* Processes that lie apart from the main mode, which is most of them: both sides pooled, so the rule does not know the sides. The
 * class of a process: 1 worse than the main mode, -1 better, 0 in it. */
struct pk_modes {
    int apart;                  /* the class of most that lie apart; 0 = none does */
    size_t slow_base, slow_new; /* slow are those of class 1; with `apart` -1, all that are not of class -1 */
    size_t n_base, n_new;       /* of so many processes of each side */
    double slow, fast;          /* the centres of the slow and of the other processes */
};

struct pk_decision {
    enum pk_verdict verdict;
    enum pk_reason reason;
    enum pk_gate_stage stage; /* of the pairs that are wanted */
    size_t wanted;            /* pairs to measure now; 0 when done */
    int suspected;            /* gate, after screening: 1 slower, -1 faster, 0 neither */
    bool
        modes_suspected; /* gate, after screening: slow processes on one side alone, or on the sides in different shares */

    /* Over all undisturbed pairs: new / base, their geometric mean, and its interval at 1 - alpha for this case alone; with
     * `absolute`, because some figure is not positive, new - base. Of a suspected case both lean towards the suspicion,
     * because it was selected; p does not. */
    bool absolute;
    double ratio;
    struct pk_interval ci;

    double p;          /* two-sided; gate: of the fresh pairs alone, NaN without a suspicion */
    double p_adjusted; /* with the other cases in mind: below alpha it is significant */
    /* Of not being within the margin: below alpha it is. A gate's is corrected for two attempts. */
    double p_same;
    double sd; /* of the pairs' differences, of logs or figures */
    /* The minimum detectable effect, the smallest worsening found with rule.mde_power: 0.014 is 1.4 %; with `absolute`, in the figures' unit. */
    double mde;

    size_t pairs;     /* undisturbed */
    size_t disturbed; /* pairs left out, because a process lies apart */

    /* Slow processes of so many of each side; all 0 where none lies apart. */
    size_t slow_base, slow_new, of_base, of_new;
    double slow_centre,
        other_centre; /* of slow and of other processes, in the unit of the figures; equal where they are not known: they are not stored */
    double
        slow_size; /* between the centres of slow and other processes: a ratio above 1, or with `absolute` a difference */
    double
        slow_found; /* the share of slow processes on the new side alone that so many pairs find with rule.power; NaN without any */

    /* More pairs (stored: runs on each side) that would probably settle an undecided case; PK_PAIRS_NEVER when its effect
     * is as large as the margin; 0 when settled or wanted pairs come first. */
    size_t needed;
};

/* One decision per series. Suspected are cases with a two-sided p below 0.2 and half of min_effect when screened. Their p
 * is that of fresh pairs alone, because those of the screening were chosen for being suspicious; Holm goes over the
 * suspected cases of one direction, those not confirmed yet included. Equivalence may be claimed twice, and shares its
 * risk (4/5, 1/5). A quarter more pairs than a stage has may be wanted, to replace disturbed ones when
 * more than one was. */
void pk_decide_gate(const struct pk_pair_series *t, size_t n, const struct pk_rule *rule,
                    struct pk_decision *out);

/* All pairs in `screen`, Holm over all cases, and over the tests of slow processes of those that have any; nothing is wanted. With until_clear, the anytime interval takes the place
 * of Student's (alpha in equal shares, p are NaN), and cases want pairs until they are decided or have max_pairs. */
void pk_decide_pairs(const struct pk_pair_series *t, size_t n, const struct pk_rule *rule,
                     struct pk_decision *out);

/* The figures of the processes of a run. */
struct pk_run_processes {
    const double *figure;
    size_t n;
};

/* One case against a stored baseline. A figure here is what one separate run says: the geometric mean over its processes,
 * each run in a session of its own, because what a session adds to all its processes does not average out. */
struct pk_baseline_series {
    bool higher_is_better;
    double min_effect, min_change;
    bool unstable;
    const double *base;
    size_t n_base;
    const double *new_;
    size_t n_new;                                    /* >= 1 */
    const struct pk_run_processes *base_of, *new_of; /* what these runs are means of; NULL = not known */
};

/* Prediction interval from the spread of the baseline's runs, df = n_base - 1; from five new runs on Welch's. Holm over
 * all cases. `pairs` is n_base.
 *
 * Where processes are known and some lie apart from the others of their run, as in pk_find_modes, means are without those.
 * slower-in-some needs significantly more slow processes (Fisher, Holm over the cases that have any). Whatever changed, the means of all
 * processes, which vary as runs differ in how many are slow, must be significantly worse (better), too. */
void pk_decide_stored(const struct pk_baseline_series *s, size_t n, const struct pk_rule *rule,
                      struct pk_decision *out);

/* Figures that repeat exactly: any difference beyond `tolerance` (relative, 0 allowed) and min_change is one. Where
 * repeats differ, the verdict needs all of one side beyond all of the other. The interval holds every ratio of a new
 * figure to a base one; p are NaN. */
struct pk_decision pk_decide_exact(const struct pk_baseline_series *s, double tolerance);

/* v: the figures (or their logs) of n_base processes of the base, then of n_new of the new side. The main mode grows from the half that lies
 * closest together until all others are farther from its mean than rule.apart_sd of its standard deviations (more where it has few
 * processes) and than `least`. worse: 1 when a larger figure is worse, else -1. Fills class[0..n_base + n_new). */
struct pk_modes pk_find_modes(const double *v, size_t n_base, size_t n_new, double least, int worse,
                              const struct pk_rule *rule, signed char *class);

/* Sets the stages for so many pairs a case: three tenths of them are screened, at least 6. */
void pk_rule_of_pairs(struct pk_rule *rule, size_t pairs);

/* The order in which n take their turns in the next round, of which `round` were before, kept in order[0..n): blocks of four rounds, in an
 * order drawn at random, its reverse twice, and that order again. Neither drift nor a place in the round favours one. */
void pk_turn_order(struct pk_rng *r, size_t round, size_t *order, size_t n);

/* The same for n pairs: blocks of four, ABBA BAAB or BAAB ABBA at random. Neither drift nor the second place favours a side, and what returns
 * with every second or fourth process hits both sides alike in each block. */
void pk_pair_order(uint64_t seed, size_t n, bool *base_first);

/* The noise in pairs of *equal* work, and what a gate with this rule can find in it. In shares: 0.014 is 1.4 %. */
struct pk_pair_noise {
    size_t pairs, disturbed; /* of them; left out of sd, unless they are more than rule.most_disturbed */
    double ratio;            /* new / base; it differs from 1 only by chance */
    double p;                /* two-sided, of the hypothesis that it is 1 */
    double between;          /* between processes of one side, disturbed ones included */
    double
        sd; /* of the differences of logs of a pair's members: what drifts slower than pairs is not in it */
    /* The smallest change that the gate can tell from none with rule.power, for any min_effect: simulated, in normal noise, through both
     * stages. A min_effect below it has no use. */
    double floor;
    /* A min_effect that is above the floor of 9 in 10 later gates; no less than 1 %, as programs differ by that much that a linker
     * laid out differently, which equal ones do not show. */
    double min_effect;
    double mde; /* the smallest worsening found with rule.mde_power, with that min_effect */
};
/* What chance does in gates of this rule: simulated once, and the same for each of its cases. */
struct pk_simulated_gates;
const struct pk_simulated_gates *pk_simulate_gates(const struct pk_rule *rule, struct pk_arena *a);
/* False, and *out is not set, if figures are not positive or fewer than four pairs are undisturbed. */
bool pk_measure_noise(const struct pk_pairs *p, const struct pk_rule *rule,
                      const struct pk_simulated_gates *gates, struct pk_pair_noise *out);
