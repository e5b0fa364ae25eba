/* gate's options as rows: of the command gate, and of compare where it measures. */
#pragma once

#include "cmd/gate.h"
#include "cmd/run_rows.h"

#define PK_GATE_AT(member)         offsetof(struct gate_options, member)
#define PK_GATE_FILE_AT(member)    PK_GATE_AT(files.member)
#define PK_GATE_VERDICT_AT(member) PK_GATE_AT(verdict.member)

#define PK_GATE_ROWS                                                                                         \
    {"a",                                                                                                    \
     0,                                                                                                      \
     PK_OPT_TEXT,                                                                                            \
     PK_GATE_AT(a),                                                                                          \
     "SIDE",                                                                                                 \
     .cli_only = true,                                                                                       \
     .group = "The two sides",                                                                               \
     .help = "the base: a command; with an EXPERIMENT a build of perfkit (build-main) or settings "          \
             "(dtype=fp32)"},                                                                                \
        {"b", 0, PK_OPT_TEXT, PK_GATE_AT(b), "SIDE", .cli_only = true, .help = "likewise, what is judged"},  \
        {"against",                                                                                          \
         0,                                                                                                  \
         PK_OPT_TEXT,                                                                                        \
         PK_GATE_AT(against),                                                                                \
         "BASE",                                                                                             \
         .cli_only = true,                                                                                   \
         .help = "instead of --a and --b: judge a stored RUN (without one, the newest) by stored BASE"},     \
        {"suite",                                                                                            \
         0,                                                                                                  \
         PK_OPT_TEXT,                                                                                        \
         PK_RUN_AT(suite),                                                                                   \
         "FILE",                                                                                             \
         .cli_only = true,                                                                                   \
         .help = "instead of one thing: all that the file has, judged as one (docs/suites.md)"},             \
        {"name", 0, PK_OPT_TEXT, PK_GATE_AT(name), "NAME", .help = "what to call the case of two commands"}, \
        {"prepare",                                                                                          \
         0,                                                                                                  \
         PK_OPT_TEXT,                                                                                        \
         PK_GATE_AT(prepare),                                                                                \
         "LINE",                                                                                             \
         .code = true,                                                                                       \
         .help = "shell line before each run of a command, not timed"},                                      \
        PK_VERDICT_ROWS(PK_GATE_VERDICT_AT),                                                                 \
        {"max-pairs",                                                                                        \
         0,                                                                                                  \
         PK_OPT_INT,                                                                                         \
         PK_GATE_AT(max_pairs),                                                                              \
         "N",                                                                                                \
         8,                                                                                                  \
         1000,                                                                                               \
         .help = "pairs of processes at most; default 20 (6 for all, 14 more for the suspicious), with "     \
                 "--until-clear 30"},                                                                        \
        {"until-clear", 0, PK_OPT_FLAG, PK_GATE_AT(until_clear),                                             \
         .help = "a look after every pair, until it is clear; for few rows"},                                \
        {"budget",        0,                                                                                 \
         PK_OPT_DURATION, PK_RUN_AT(budget_ns),                                                              \
         "TIME",          1,                                                                                 \
         3.1536e16,       .help = "time for all pairs; rows that still want some are undecided then"},       \
        PK_RUN_ROWS_GRID, PK_RUN_ROWS_PLACE,                                                                 \
        {"dry-run", 'n', PK_OPT_FLAG, PK_RUN_AT(dry_run),                                                    \
         .help = "print the cases of both sides, measure nothing"},                                          \
        {"timeout",                                                                                          \
         0,                                                                                                  \
         PK_OPT_DURATION,                                                                                    \
         PK_RUN_AT(timeout_ns),                                                                              \
         "TIME",                                                                                             \
         1e6,                                                                                                \
         3.1536e16,                                                                                          \
         .def = "10m",                                                                                       \
         .group = "One process",                                                                             \
         .help = "longest time for one case, or one run of a command"},                                      \
        PK_RUN_ROWS_PROCESS, PK_RUN_ROWS_DEVICE, PK_REPORT_ROWS(PK_GATE_FILE_AT),                            \
        {"label",                                                                                            \
         'l',                                                                                                \
         PK_OPT_TEXT,                                                                                        \
         PK_RUN_AT(label),                                                                                   \
         "NAME",                                                                                             \
         .group = "The record",                                                                              \
         .help = "names the two runs NAME-a and NAME-b"},                                                    \
        {"tag", 0, PK_OPT_LIST, PK_RUN_AT(tags), "KEY=VALUE", .help = "anything else to remember of them"},  \
    {                                                                                                        \
        "no-save", 0, PK_OPT_FLAG, PK_RUN_AT(no_save),                                                       \
            .help = "print and write the verdicts, record nothing"                                           \
    }
