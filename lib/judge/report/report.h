/* Report: a comparison as other programs read it. Texts are UTF-8, whole files, in the arena. */
#pragma once

#include "judge/pair/pair.h"

/* A case, or a metric of one, that could not be compared. */
struct pk_report_problem {
    const char *side, *what; /* "b", "flash seq_len=256" */
    const char *status, *message;
    const char *of; /* its experiment, or the suite's entry; NULL = no one case, and nothing below */
    const char *variant, *axes; /* axes: NULL = none */
    const char *metric;         /* NULL = all of them */
};

struct pk_report {
    const struct pk_comparison *comparison;
    const struct pk_report_problem *problems;
    size_t n_problems;
    const char *answer;     /* a word: "ok", "slower", "not comparable" */
    const char *name;       /* of the whole: "perfkit gate attention-scaling" */
    const char *host;       /* that measured; "" = unknown */
    const char *started_at; /* "2026-11-21T12:00:00Z", when that was */
    double seconds;         /* that the command took */
};

/* JUnit XML: a test case per row, and per problem, which is named as the row of its case would be. slower is a failure, unstable and unreplicated are errors, as problems are, undecided is skipped. */
const char *pk_report_junit(const struct pk_report *r, struct pk_arena *a);

/* GitHub's workflow commands, a line each: an error with the number of slower rows, one for each of the worst nine, and of what
 * failed; a warning for what is unstable. "" when there is nothing to say. */
const char *pk_report_annotations(const struct pk_report *r, struct pk_arena *a);

/* Outputs of a step: verdict=ANSWER, rows=N, and how many rows have each verdict, slower=0 ..., a line each. */
const char *pk_report_outputs(const struct pk_report *r, struct pk_arena *a);

/* New figures for github-action-benchmark: of metrics of which a lower value is better (customSmallerIsBetter), or a higher one
 * (customBiggerIsBetter). NULL when there is none: it takes no empty file. */
const char *pk_report_gab(const struct pk_report *r, bool bigger, struct pk_arena *a);

/* "flash dtype=fp32 seq_len=256": a case with all its axes, which are JSON. */
const char *pk_report_case(const char *variant, const char *axes, struct pk_arena *a);

/* "forward_ns of flash seq_len=256: slower, +5.3 % (+3.9 to +6.8 %)"; of a suite with "[entry] " before it. */
const char *pk_report_row(const struct pk_compared *r, struct pk_arena *a);
