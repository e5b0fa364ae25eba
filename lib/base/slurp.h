/* Slurp: a user's text file, read whole. */
#pragma once

#include "base/arena.h"

/* The file's bytes, a byte order mark left out, and a NUL behind them, in the arena. A file that cannot be read, and one of more than `limit` bytes, is
 * PK_E_USAGE: somebody named it. */
enum pk_code pk_slurp(const char *path, size_t limit, struct pk_arena *a, char **text, size_t *n,
                      struct pk_err *err) PK_MUST_CHECK;
