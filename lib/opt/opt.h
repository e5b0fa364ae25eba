/* Options: rows that define parsing, validation, help, config keys and environment variables.
 *
 * A row's value comes from, first match wins: command line, PERFKIT_<NAME> (dashes to underscores, upper
 * case), a suite file (suite.h), ./.perfkit.ini, $XDG_CONFIG_HOME/perfkit/config.ini (sections are command names, or [perfkit] for
 * all), the row's default. Unknown options, keys and PERFKIT_ names of no row are usage errors with a did-you-mean.
 * Built on libpopt (command line) and inih (files): their headers are included in lib/opt only. No
 * abbreviations of long options. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pk_opt_type {
    PK_OPT_FLAG,     /* bool; --name, --no-name (of "no-bind": --bind); config: true/false */
    PK_OPT_INT,      /* int64_t */
    PK_OPT_SIZE,     /* int64_t bytes */
    PK_OPT_RATE,     /* int64_t bytes in a second */
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

void pk_texts_add(struct pk_texts *t, const char *text, struct pk_arena *a); /* the text is borrowed */
bool pk_texts_has(const struct pk_texts *t, const char *text);
void pk_texts_add_new(struct pk_texts *t, const char *text, struct pk_arena *a); /* unless it is there */

struct pk_opt {
    const char *name; /* long name without dashes; ends the table when NULL */
    char letter;      /* short form, 0 = none */
    enum pk_opt_type type;
    size_t offset;              /* into the command's option struct */
    const char *arg;            /* what help calls the value: "N", "FILE", "AXIS=VALUES" */
    double min, max;            /* INT, SIZE, DURATION, RATIO; both 0 = any */
    const char *const *choices; /* NULL-terminated; of TEXT and LIST only what completion offers */
    const char
        *bare; /* CHOICE: the value of "--name" where none of the choices follows; NULL = it needs one */
    const char *def;   /* default as text, shown in help; NULL = zero/none */
    const char *help;  /* a sentence */
    const char *group; /* heading in --help; NULL continues the one above */
    bool
        code; /* decides what is run, written or removed: not taken from ./.perfkit.ini, which may be anyone's */
    bool commas; /* a value may be several, with commas between them; of a LIST these become several values */
    bool cli_only; /* neither config nor environment: what names a single result (-o) or runs a command */
    /* Both or neither. No field of its own: "--name value" is "key=value" for the LIST row `into`, and --key is heard as --name. */
    const char *into, *key;
    const char *also; /* "context length": names of no option, for which this one is suggested; NULL = none */
    /* In place of a row: a table whose rows stand here. Its offsets are into the struct at `offset`. pk_opt_flat puts them in. */
    const struct pk_opt *rows;
};

/* The rows with those of the tables in them; ends where name is NULL. NULL for NULL. */
const struct pk_opt *pk_opt_flat(const struct pk_opt *rows, struct pk_arena *a);

/* Where values come from, weakest first. */
enum pk_opt_source {
    PK_OPT_DEFAULT,
    PK_OPT_PRESET,
    PK_OPT_USER_FILE,         /* config.ini, section [perfkit] */
    PK_OPT_USER_FILE_COMMAND, /* config.ini, the command's section */
    PK_OPT_FILE,              /* ./.perfkit.ini likewise */
    PK_OPT_FILE_COMMAND,
    PK_OPT_SUITE, /* the file of --suite, its section [suite] */
    PK_OPT_SUITE_ENTRY,
    PK_OPT_ENVIRONMENT,
    PK_OPT_EARLIER_RUN, /* of a run that goes on */
    PK_OPT_COMMAND_LINE,
};
struct pk_opt_origin {
    enum pk_opt_source source;
    const char *text; /* "command line", "PERFKIT_DB", "./.perfkit.ini:3", "preset", "default" */
};

/* A table bound to its target struct. */
struct pk_opt_table {
    const struct pk_opt *rows; /* NULL = none */
    void *target;
    struct pk_opt_origin *origins; /* per row; made by pk_opt_parse in its arena */
};

/* Every command's rows: what sections of config files and PERFKIT_ names may exist, whichever command runs.
 */
struct pk_opt_section {
    const char *command;
    const struct pk_opt *rows; /* flat; may be NULL */
    size_t bytes;              /* size of the struct that they fill */
};
struct pk_opt_variable {
    const char *name;         /* "PERFKIT_WIRE_FD" */
    const char *const *words; /* all that it may be, NULL-terminated; NULL = anything */
};
struct pk_opt_program {
    const struct pk_opt_section *sections;
    size_t n;
    const struct pk_opt *globals;            /* of every command */
    const struct pk_opt_variable *variables; /* PERFKIT_ variables of no option; ends where name is NULL */
};

/* The command's section; one that there is. */
const struct pk_opt_section *pk_opt_command(const struct pk_opt_program *program, const char *name);

/* Input of pk_opt_parse. argv[0] is the command's name. */
struct pk_opt_input {
    const char *command;
    int argc;
    const char *const *argv;
    const char *const *environ_; /* "NAME=value" ..., NULL-terminated; NULL = the process's own */
    const struct pk_opt_program *program;
    bool lenient; /* what is wrong in the environment or a file ends the reading there, without an error */
};

/* Fills the targets from every source. Positional arguments and everything after "--" go to rest. `*help`
 * is set to 1 for -h, 2 for --help, 0 otherwise; when set, no value was validated. In a LIST the values of a
 * source replace those of a lower one; the environment gives one value. An empty environment value counts as
 * unset. Errors name the option, the variable, or the file and line. Texts live in the arena. */
enum pk_code pk_opt_parse(const struct pk_opt_input *in, struct pk_opt_table *tables, size_t n_tables,
                          struct pk_arena *a, struct pk_texts *rest, int *help,
                          struct pk_err *err) PK_MUST_CHECK;

/* Sets the defaults of a table's rows, and nothing else: for a table that pk_opt_parse does not see. */
void pk_opt_defaults(struct pk_opt_table *t, struct pk_arena *a);

/* The first positional argument of a command line, for rows that depend on it; NULL when there is none. An option that no table has
 * is taken to have a value. */
const char *pk_opt_first_argument(const struct pk_opt_input *in, const struct pk_opt_table *tables,
                                  size_t n_tables);

/* Applies one "name=value" (presets of experiments): same rows, same validation; does not override what the
 * user gave. Call between pk_opt_parse and use. */
enum pk_code pk_opt_preset(struct pk_opt_table *table, const char *setting, struct pk_arena *a,
                           struct pk_err *err) PK_MUST_CHECK;

/* The same with a value of the interrupted run that is resumed: only what was typed now is stronger. */
enum pk_code pk_opt_resume(struct pk_opt_table *table, const char *setting, struct pk_arena *a,
                           struct pk_err *err) PK_MUST_CHECK;

/* Two numbers of a table of which `least` may not be above `most`. When it is, the one from the weaker source takes the other's
 * value; two from the same source are a usage error that names both with their values. Call when presets are applied. */
enum pk_code pk_opt_ordered(const struct pk_opt_table *table, const char *least, const char *most,
                            struct pk_err *err) PK_MUST_CHECK;

/* PK_E_USAGE when option `name` was given (a switch: is on) and one of `others`, NULL-terminated, from a source as strong. why
 * is a sentence. */
enum pk_code pk_opt_exclusive(const struct pk_opt_table *table, const char *name, const char *const *others,
                              const char *why, struct pk_err *err) PK_MUST_CHECK;

/* Help text from the rows: aligned, wrapped at width, defaults and choices and environment names shown when
 * full. */
const char *pk_opt_help(const struct pk_opt_table *tables, size_t n_tables, bool full, unsigned width,
                        struct pk_arena *a);

/* Where a value came from, as text: for settings and `doctor`. NULL when no table has the name. */
const char *pk_opt_origin(const struct pk_opt_table *tables, size_t n_tables, const char *name);
/* What kind of place that is; PK_OPT_DEFAULT when the table does not have the name. */
enum pk_opt_source pk_opt_source_of(const struct pk_opt_table *table, const char *name);

/* --- a command line in the text of an option (words.c) --- */

/* Quotes and backslashes hold words together as they do for sh; "" is an empty word. Nothing is expanded and no shell is started. The
 * words, NULL-terminated. PK_E_USAGE, naming `option` (NULL: it is an argument), for an empty text, an open quote, and for what is not quoted and a shell would
 * act on: | > & ; ( ) and the like, $X, `...`, * ? [ ~ #, and X=1 before the command. */
enum pk_code pk_words_split(const char *option, const char *text, struct pk_arena *a,
                            const char *const **words, struct pk_err *err) PK_MUST_CHECK;

/* Whether the n arguments of a command line are what follows "--": the words of one command. PK_E_USAGE when only some of them do. */
enum pk_code pk_opt_in_words(int argc, const char *const *argv, size_t n, bool *in_words,
                             struct pk_err *err) PK_MUST_CHECK;
