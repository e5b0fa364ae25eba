/* Words: names of verdicts, reasons as sentences, and the rule that holds when nobody says otherwise. */
#include "stats/verdict/verdict.h"

#include <string.h>

const struct pk_rule pk_rule_default = {
    .alpha = 0.05,
    .min_effect = 0.02,
    .screen_pairs = 6,
    .confirm_pairs = 14,
    .max_pairs = 30,
    .confirm_faster = true,
    .disturbed_mad = 6,
    .most_disturbed = 0.2,
    .fewest_runs = 5,
    .power = 0.8,
};

const char *pk_verdict_name(enum pk_verdict v)
{
    static const char *const names[] = {
        [PK_FASTER] = "faster",
        [PK_SLOWER] = "slower",
        [PK_SAME] = "same",
        [PK_UNDECIDED] = "undecided",
        [PK_UNREPLICATED] = "unreplicated",
        [PK_UNSTABLE] = "unstable",
    };
    return names[v];
}

const char *pk_reason_text(enum pk_reason r)
{
    static const char *const texts[] = {
        [PK_REASON_PROVED] = "proved",
        [PK_REASON_MORE_PAIRS] = "more pairs will be measured",
        [PK_REASON_NOISE] = "too few processes or runs for this noise",
        [PK_REASON_UNCONFIRMED] = "suspicious at first, not confirmed by fresh pairs",
        [PK_REASON_BETWEEN] = "a real difference, but about as large as the margin",
        [PK_REASON_NEEDS_ABSOLUTE] = "values that are not positive have no ratio: use an absolute threshold",
        [PK_REASON_FEW_PAIRS] = "fewer than two processes on a side",
        [PK_REASON_FEW_RUNS] = "fewer separate runs in the baseline than a verdict needs",
        [PK_REASON_DISTURBED] = "too many processes were disturbed",
        [PK_REASON_ENVIRONMENT] =
            "most processes of a side were measured while the machine throttled itself or became slower",
        [PK_REASON_INEXACT] = "repeats differ, and the two sides overlap",
    };
    return texts[r];
}

const char *pk_reason_name(enum pk_reason r)
{
    static const char *const names[] = {
        [PK_REASON_PROVED] = "proved",       [PK_REASON_MORE_PAIRS] = "more-pairs",
        [PK_REASON_NOISE] = "noise",         [PK_REASON_UNCONFIRMED] = "unconfirmed",
        [PK_REASON_BETWEEN] = "between",     [PK_REASON_NEEDS_ABSOLUTE] = "needs-absolute",
        [PK_REASON_FEW_PAIRS] = "few-pairs", [PK_REASON_FEW_RUNS] = "few-runs",
        [PK_REASON_DISTURBED] = "disturbed", [PK_REASON_ENVIRONMENT] = "environment",
        [PK_REASON_INEXACT] = "inexact",
    };
    return names[r];
}

bool pk_verdict_parse(const char *name, enum pk_verdict *v)
{
    for (int i = PK_FASTER; i <= PK_UNSTABLE; i++)
        if (strcmp(name, pk_verdict_name((enum pk_verdict)i)) == 0) {
            *v = (enum pk_verdict)i;
            return true;
        }
    return false;
}

bool pk_reason_parse(const char *name, enum pk_reason *r)
{
    for (int i = PK_REASON_PROVED; i <= PK_REASON_INEXACT; i++)
        if (strcmp(name, pk_reason_name((enum pk_reason)i)) == 0) {
            *r = (enum pk_reason)i;
            return true;
        }
    return false;
}
