/* Words: names of verdicts, reasons as sentences, and the rule that holds when nobody says otherwise. */
#include "stats/verdict/parts.h"

#include <string.h>

const struct pk_rule pk_rule_default = {
    .alpha = 0.05,
    .min_effect = 0.02,
    .screen_pairs = 6,
    .confirm_pairs = 14,
    .max_pairs = 30,
    .confirm_faster = true,
    .apart_sd = 6,
    .most_disturbed = 0.75,
    .fewest_runs = 5,
    .power = 0.8,
    .mde_power = 0.95,
};

static const char *const verdicts[] = {
    [PK_FASTER] = "faster",     [PK_SLOWER] = "slower",       [PK_SLOWER_IN_SOME] = "slower-in-some",
    [PK_SAME] = "same",         [PK_UNDECIDED] = "undecided", [PK_UNREPLICATED] = "unreplicated",
    [PK_UNSTABLE] = "unstable",
};

static const struct {
    const char *name, *text;
    enum pk_verdict verdict; /* the one that follows from it; of PROVED what was proved */
} reasons[] = {
    [PK_REASON_PROVED] = {"proved", "proved", PK_SAME},
    [PK_REASON_MORE_PAIRS] = {"more-pairs", "fewer pairs were measured than a verdict needs", PK_UNDECIDED},
    [PK_REASON_NOISE] = {"noise", "too few processes or runs for this noise", PK_UNDECIDED},
    [PK_REASON_UNCONFIRMED] = {"unconfirmed", "suspicious at first, not confirmed by fresh pairs",
                               PK_UNDECIDED},
    [PK_REASON_BETWEEN] = {"between", "a real difference, but about as large as the margin", PK_UNDECIDED},
    [PK_REASON_NEEDS_ABSOLUTE] = {"needs-absolute",
                                  "values that are not positive have no ratio: use an absolute threshold",
                                  PK_UNDECIDED},
    [PK_REASON_FEW_PAIRS] = {"few-pairs", "fewer than two processes on a side", PK_UNREPLICATED},
    [PK_REASON_FEW_RUNS] = {"few-runs", "fewer separate runs in the baseline than a verdict needs",
                            PK_UNREPLICATED},
    [PK_REASON_ONE_SIDED] =
        {"one-sided", "processes of one side alone are outliers: neither `same` nor enough for `slower`",
         PK_UNDECIDED},
    [PK_REASON_MODES] = {"modes", "both sides have slow and fast processes, in shares that may differ",
                         PK_UNDECIDED},
    [PK_REASON_DISTURBED] = {"disturbed",
                             "both sides have so many slow processes that too few pairs are without one",
                             PK_UNSTABLE},
    [PK_REASON_ENVIRONMENT] =
        {"environment",
         "most processes of a side were measured while the machine throttled itself or became slower",
         PK_UNSTABLE},
    [PK_REASON_INEXACT] = {"inexact", "repeats differ, and the two sides overlap", PK_UNDECIDED},
};

void pk_rule_of_pairs(struct pk_rule *rule, size_t pairs)
{
    const size_t screened = pairs * 3 / 10;
    rule->max_pairs = pairs;
    rule->screen_pairs = screened > pk_rule_default.screen_pairs ? screened : pk_rule_default.screen_pairs;
    rule->confirm_pairs = pairs > rule->screen_pairs ? pairs - rule->screen_pairs : 0;
}

const char *pk_verdict_name(enum pk_verdict v)
{
    return verdicts[v];
}

const char *pk_reason_text(enum pk_reason r)
{
    return reasons[r].text;
}

const char *pk_reason_name(enum pk_reason r)
{
    return reasons[r].name;
}

enum pk_verdict pk_reason_verdict(enum pk_reason r)
{
    return reasons[r].verdict;
}

bool pk_verdict_parse(const char *name, enum pk_verdict *v)
{
    for (int i = PK_FASTER; i <= PK_UNSTABLE; i++)
        if (strcmp(name, verdicts[i]) == 0) {
            *v = (enum pk_verdict)i;
            return true;
        }
    return false;
}

bool pk_reason_parse(const char *name, enum pk_reason *r)
{
    for (int i = PK_REASON_PROVED; i <= PK_REASON_INEXACT; i++)
        if (strcmp(name, reasons[i].name) == 0) {
            *r = (enum pk_reason)i;
            return true;
        }
    return false;
}
