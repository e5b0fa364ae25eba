/* Options: rows that parse, validate, document themselves and map to config keys and environment variables.
 *
 * A row's value comes from, first match wins: command line, PERFKIT_<NAME> (dashes to underscores, upper case),
 * ./.perfkit.ini, $XDG_CONFIG_HOME/perfkit/config.ini (sections are command names, or [perfkit] for all), the row's default.
 * Unknown options, keys and PERFKIT_ names of no row are usage errors with a did-you-mean. Built on libpopt (command
 * line) and inih (files): their headers are included in lib/opt only. No abbreviations of long options. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pk_opt_type {
    PK_OPT_FLAG,     /* bool; --name, --no-name; config: true/false */
    PK_OPT_INT,      /* int64_t */
    PK_OPT_SIZE,     /* int64_t bytes */
    PK_OPT_DURATION, /* int64_t ns */
    PK_OPT_RATIO,    /* double; "0.5%" */
    PK_OPT_TEXT,     /* const char * */
    PK_OPT_CHOICE,   /* const char *, one of choices */
    PK_OPT_LIST,     /* struct pk_texts: repeatable; in config files one key per value */
};

struct pk_texts {
    const char **v;
    size_t n;
};

struct pk_opt {
    const char *name;           /* long name without dashes; ends the table when NULL */
    char letter;                /* short form, 0 = none */
    enum pk_opt_type type;
    size_t offset;              /* into the command's option struct */
    const char *arg;            /* what help calls the value: "N", "FILE", "AXIS=VALUES" */
    double min, max;            /* INT, SIZE, DURATION, RATIO; both 0 = any */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const char *def;            /* default as text, shown in help; NULL = zero/none */
    const char *help;           /* a sentence */
    const char *group;          /* heading in --help; NULL continues the one above */
    bool cli_only;              /* neither config nor environment (--help, --version) */
};

/* A table bound to its target struct. */
struct pk_opt_table {
    const struct pk_opt *rows;
    void *target;
};

/* Parses argv (argv[0] = command name) into the targets; positional arguments and everything after "--" go to rest.
 * `*help` is set to 1 for -h, 2 for --help, 0 otherwise; then nothing else is validated. */
enum pk_code pk_opt_parse(const char *command, const struct pk_opt_table *tables, size_t n_tables, int argc, const char **argv,
                          struct pk_arena *a, struct pk_texts *rest, int *help, struct pk_err *err) PK_MUST_CHECK;

/* Applies one "name=value" (presets of experiments): same rows, same validation; does not override what the user gave.
 * Call between pk_opt_parse and use. */
enum pk_code pk_opt_preset(const struct pk_opt_table *table, const char *setting, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* Help text from the rows: aligned, wrapped at width, defaults and choices and environment names shown when full. */
const char *pk_opt_help(const struct pk_opt_table *tables, size_t n_tables, bool full, unsigned width, struct pk_arena *a);

/* Where each value came from ("command line", "PERFKIT_DB", "./.perfkit.ini:3", "default"): for settings and `doctor`. */
const char *pk_opt_origin(const char *name);
