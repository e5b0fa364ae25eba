/* Words: a command line in one text, split as a shell splits it. */
#pragma once

#include "base/arena.h"

/* Quotes and backslashes hold words together as they do for sh; "" is an empty word. Nothing is expanded and no shell is started. The
 * words, NULL-terminated. PK_E_USAGE, naming `option`, for an empty text, an open quote, and for what is not quoted and a shell would
 * act on: | > & ; ( ) and the like, $X, `...`, * ? [ ~ #, and X=1 before the command. */
enum pk_code pk_words_split(const char *option, const char *text, struct pk_arena *a,
                            const char *const **words, struct pk_err *err) PK_MUST_CHECK;
