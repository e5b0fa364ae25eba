/* Complete: what the last word of an unfinished command line may become, by the option rows and the usage of its command.
 *
 * What an option or an argument takes is told by its name in the rows (`arg`) and in the usage ("RUN", "METRIC"): its kind. The caller knows
 * the names of each kind, so a new option needs a kind that there is, or one more row in the caller's table. */
#pragma once

#include "opt/opt.h"

enum { PK_COMPLETE_TABLES = 3 };

struct pk_complete {
    /* given */
    const char *const
        *words; /* the line, from the program's name to the word that is completed, which may be empty */
    size_t n;
    const char *usage; /* of the command, words[1]: "show [RUN] | show NAME" */
    const struct pk_opt *const
        *tables; /* rows, flat: of all commands, its own, of axes; NULL = it has none */
    struct pk_arena *arena;

    /* found */
    struct pk_texts args;        /* the arguments before it */
    const struct pk_opt *option; /* it is the value of this option; NULL = of none */
    const char *axis;            /* it is a value of this axis, "dtype" of "-a dtype=b"; NULL = of none */
    struct pk_texts kinds;       /* names of which kinds fit */
    struct pk_texts
        texts; /* options, choices and words of the usage that fit, whatever has been typed of them */
    const char *before; /* what stays of the word: "--metric=", "a,b,"; "" = nothing */
    const char *begun;  /* the rest of it, with which a name has to begin */
};

/* Fills what is found. words[1] is a command, and there is a word behind it. */
void pk_complete(struct pk_complete *c);
