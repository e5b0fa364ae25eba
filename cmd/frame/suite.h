/* Suite: the entries of --suite FILE, each with its own options. Shared by run and gate. */
#pragma once

#include "bench/probe.h"
#include "cmd/cmd.h"
#include "opt/suite.h"

struct pk_suite_entry {
    const char *name;                /* of its section */
    const char *place;               /* "perf.ini:12", for messages */
    const struct pk_probe *probe;    /* NULL: a command */
    const char *command;             /* as it is written; NULL: an experiment, or two commands */
    const char *a, *b;               /* its own two sides; NULL = none */
    struct pk_suite_section section; /* as it stands in the file */
    struct pk_app *app;              /* the caller's, with this entry's options */
};

struct pk_suite_entries {
    const char *path;
    const char *name;  /* of the file, without folder and ending */
    const char *a, *b; /* of [suite] */
    struct pk_suite_section common;
    struct pk_suite_entry *v;
    size_t n;
};

/* The entries of a file, their keys checked against every command's rows, for `command`; those that are commands have the options of
 * `of_commands`. What stands in [suite] is set in the caller's own options, too. Each entry is tagged suite=NAME and entry=NAME. */
enum pk_code pk_suite_open(struct pk_app *app, const char *path, const char *command, const char *of_commands,
                           struct pk_suite_entries *out, struct pk_err *err) PK_MUST_CHECK;

/* The command line of an entry, "{side}" replaced. PK_E_USAGE when it stands there and `side` is NULL. */
enum pk_code pk_suite_command(const struct pk_suite_entry *e, const char *side, const char **text,
                              struct pk_err *err) PK_MUST_CHECK;

/* Where the nth value of a key stands that is a list: "perf.ini:12: [flash]"; NULL when it does not. */
const char *pk_suite_key_place(const struct pk_suite_entries *suite, const struct pk_suite_section *section,
                               const char *key, size_t nth, struct pk_arena *a);

/* Puts the entry before an error. */
enum pk_code pk_suite_within(const struct pk_suite_entry *e, struct pk_err *err);

/* Whether the entry's own section gives an option, and nothing stronger. */
bool pk_suite_gives(const struct pk_suite_entry *e, const char *option);
