/* Stored: verdict options, and printing two stored sides. Shared by compare and gate. */
#pragma once

#include "cmd/cmd.h"
#include "judge/gate/stored.h"

#define PK_VERDICT_ROWS(at)                                                                                  \
    {"metric",                                                                                               \
     'm',                                                                                                    \
     PK_OPT_LIST,                                                                                            \
     at(metrics),                                                                                            \
     "NAME",                                                                                                 \
     .group = "The verdict",                                                                                 \
     .help = "judge this metric; without it, times"},                                                        \
        {"all-metrics", 0, PK_OPT_FLAG, at(all_metrics), .help = "judge every metric"},                      \
        {"min-effect",                                                                                       \
         0,                                                                                                  \
         PK_OPT_RATIO,                                                                                       \
         at(min_effect),                                                                                     \
         "RATIO",                                                                                            \
         1e-6,                                                                                               \
         10,                                                                                                 \
         .def = "2%",                                                                                        \
         .help = "the smallest change of interest"},                                                         \
        {"threshold",                                                                                        \
         0,                                                                                                  \
         PK_OPT_LIST,                                                                                        \
         at(thresholds),                                                                                     \
         "METRIC=SIZE",                                                                                      \
         .help = "another one for some: forward_ns=5%, forward_ns=5%,20us, "                                 \
                 "'forward_ns[variant=flash]=10%'"},                                                         \
        {"alpha",   0,           PK_OPT_RATIO,                                                               \
         at(alpha), "RATIO",     1e-6,                                                                       \
         0.5,       .def = "5%", .help = "the risk of a false alarm, over all rows"},                        \
        {"strict", 0, PK_OPT_FLAG, at(strict),                                                               \
         .help = "slower only when the whole interval is beyond --min-effect, not the estimate alone"},      \
        {"allow-host-mismatch", 0, PK_OPT_FLAG, at(allow_host_mismatch),                                     \
         .help = "judge stored runs although their machines or settings differ"},                            \
        {"fail-on-undecided", 0, PK_OPT_FLAG, at(fail_on_undecided),                                         \
         .help = "exit status 4 when any row is undecided"},                                                 \
    {                                                                                                        \
        "only-changed", 0, PK_OPT_FLAG, at(only_changed), .help = "leave out the rows that are the same"     \
    }

/* Contradictions, and thresholds that make no sense. *thresholds holds o->thresholds.n; o->given is filled. */
enum pk_code pk_verdict_options_check(const struct pk_app *app, struct pk_verdict_options *o,
                                      struct pk_threshold **thresholds, struct pk_err *err) PK_MUST_CHECK;

/* The runs that a reference of the command line names. */
struct pk_run_source pk_run_source(struct pk_app *app);

/* pk_stored_compare, all that is wrong with thresholds printed but for the last. */
enum pk_code pk_stored_judge(struct pk_app *app, const char *base, const char *new_,
                             const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                             struct pk_stored_pair *out, struct pk_err *err) PK_MUST_CHECK;
void pk_stored_print(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a);
