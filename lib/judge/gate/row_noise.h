/* Row noise: turns a gate of equal sides into a stored calibration, and stored calibrations into the thresholds of later gates. */
#pragma once

#include "bench/plan/plan.h"
#include "judge/criteria/criteria.h"
#include "judge/gate/gate_samples.h"
#include "store/record/calibration.h"

/* The noise of every row of a comparison of equal sides, in the case that the figures name. Rows without noise are left out: exact
 * figures, figures that are not positive, and rows with fewer than four undisturbed pairs. Returns how many. */
size_t pk_calibration_rows(const struct pk_comparison *c, const struct pk_rule *rule, struct pk_arena *a,
                           struct pk_calibration_row **v);

/* Of `all`, the newest first, those that hold for a run with this machine and these settings: the first of each case and metric. */
size_t pk_calibrations_here(const struct pk_calibration *all, size_t n, const char *machine,
                            const char *settings, struct pk_arena *a, struct pk_calibration **here);

/* The noise of a row, from an earlier calibration. */
struct pk_row_noise {
    struct pk_calibration of;
    const char *variant, *axes; /* of the case as this gate has it */
};

/* What a gate measures, to find the calibrations of its rows. */
struct pk_noise_of {
    const struct pk_case_plan *plans[PK_SIDES]; /* of an experiment, matched; NULL: commands */
    const struct pk_gate_case *cases;           /* of the plans, as the gate shows them */
    const char *words[PK_SIDES];                /* of commands, as they are recorded: JSON arrays */
    const struct pk_texts *metrics;             /* to judge; none = all */
    const char *machine, *settings;             /* of a run that would begin now */
};

/* The noise of its rows, by those of `all`, the newest first, that hold for it: either side may be what was calibrated. Returns how many. */
size_t pk_row_noise_find(const struct pk_calibration *all, size_t n, const struct pk_noise_of *of,
                         struct pk_arena *a, struct pk_row_noise **rows);

/* How many rows have noise above changes of this size. */
size_t pk_rows_below_noise(const struct pk_row_noise *k, size_t n, double size);

/* PK_E_UNDECIDED, naming the row, when its threshold is below its noise floor: that of the criteria, or, where they have none and `by_rule` is
 * set, that of the rule. */
enum pk_code pk_noise_check(const struct pk_row_noise *k, size_t n, const struct pk_criteria *criteria,
                            const struct pk_rule *rule, bool by_rule, struct pk_err *err) PK_MUST_CHECK;
