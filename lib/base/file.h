/* File: handles that close themselves at the end of their scope, and a user's text file, read whole.
 *     PK_CLEANUP_FD int fd = open(...);   */
#pragma once

#include "base/arena.h"

#include <stdio.h>
#include <unistd.h>

static inline void pk_cleanup_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void pk_cleanup_file(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define PK_CLEANUP_FD   __attribute__((cleanup(pk_cleanup_fd)))
#define PK_CLEANUP_FILE __attribute__((cleanup(pk_cleanup_file)))

/* The file's bytes, a byte order mark left out, and a NUL behind them, in the arena. A file that cannot be read, and one of more than `limit` bytes, is
 * PK_E_USAGE: somebody named it. */
enum pk_code pk_slurp(const char *path, size_t limit, struct pk_arena *a, char **text, size_t *n,
                      struct pk_err *err) PK_MUST_CHECK;
