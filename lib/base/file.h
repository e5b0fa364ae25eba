/* File: handles that are closed at the end of their scope; reading a text file of the user; the small text files of /proc and /sys under
 * a root directory that tests replace.
 *     PK_CLEANUP_FD int fd = open(...); */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
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

/* The file's bytes without a byte order mark, followed by a NUL, in the arena. A file that cannot be read, or has more than `limit`
 * bytes, is PK_E_USAGE, because the user named it. */
enum pk_code pk_slurp(const char *path, size_t limit, struct pk_arena *a, char **text, size_t *n,
                      struct pk_err *err) PK_MUST_CHECK;

/* PK_E_USAGE, by errno, for a file that the user named. kind: "text file". */
enum pk_code pk_unreadable(const char *path, const char *kind, struct pk_err *err);

enum {
    PK_FILE_MAX = 256 << 10
}; /* bytes that are read; /proc/cpuinfo can be larger, but its first block is enough */

/* The text of root/path without trailing white space, NULL when it cannot be read. */
const char *pk_file_text(const char *root, const char *path, struct pk_arena *a);

/* An integer at the start of root/path; false when there is none ("max"). */
bool pk_file_int(const char *root, const char *path, int64_t *value);

bool pk_file_exists(const char *root, const char *path);

/* What is behind the last slash of a path: a part of it. */
const char *pk_path_name(const char *path);

/* Whether both paths lead to one file, by whatever names and links. */
bool pk_same_file(const char *x, const char *y);

/* The value of the first line "key<blanks><sep><blanks>value" of a text, NULL when absent; sep 0 = blanks only. Quotes around the value
 * are removed. "model name", ':' for cpuinfo; "MemTotal", ':' for meminfo; "inactive_file", 0 for memory.stat. */
const char *pk_file_field(const char *text, const char *key, char sep, struct pk_arena *a);
