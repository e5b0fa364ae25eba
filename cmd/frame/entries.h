/* Entries: the list of what a command measures: the one thing that its arguments name, or every section of --suite FILE, each with its
 * own options. */
#pragma once

#include "bench/probe.h"
#include "cmd/cmd.h"
#include "opt/suite.h"

struct pk_entry {
    const char *name, *place; /* of its section: "flash", "perf.ini:12: [flash]"; NULL = there is no suite */
    const struct pk_probe *probe; /* NULL: a command */
    const char *command;          /* as it is written there; NULL: an experiment, or two commands */
    const char *a, *b;            /* its own two sides; NULL = none */
    const struct pk_suite_section *section;
    struct pk_app *app; /* the caller's, with this entry's options; without a suite the caller's itself */
};

struct pk_entries {
    const char *name; /* of the file, without folder and ending; NULL = there is no suite */
    const char *path;
    const char *a, *b; /* of [suite] */
    const struct pk_suite_section *common;
    struct pk_entry *v;
    size_t n;
};

/* Without a suite (path NULL): `probe`, or the command that the caller reads when it is NULL. With one the entries of the file: their keys
 * are checked against every command's options; entries that are commands have the options of `of_commands`. What stands in [suite] is set in
 * the caller's own options, too. Each entry is tagged suite=NAME and entry=NAME. */
enum pk_code pk_entries_open(struct pk_app *app, const char *path, const struct pk_probe *probe,
                             const char *of_commands, struct pk_entries *out,
                             struct pk_err *err) PK_MUST_CHECK;

/* The command line of an entry, "{side}" replaced. PK_E_USAGE when it stands there and `side` is NULL. */
enum pk_code pk_entry_command(const struct pk_entry *e, const char *side, const char **text,
                              struct pk_err *err) PK_MUST_CHECK;

/* Puts the entry before an error; without a suite nothing. */
enum pk_code pk_entry_within(const struct pk_entry *e, struct pk_err *err);

/* Whether the entry's own section gives an option, and nothing stronger. */
bool pk_entry_gives(const struct pk_entry *e, const char *option);
