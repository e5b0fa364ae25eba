/* Files: the small text files of /proc and /sys under a root directory. Used by lib/machine and lib/counter. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PK_FILE_MAX = 256 << 10
}; /* what is read of a file; /proc/cpuinfo can be larger, its first block suffices */

/* The text of root/path without trailing white space, NULL when it cannot be read. */
const char *pk_file_text(const char *root, const char *path, struct pk_arena *a);

/* An integer at the start of root/path; false when there is none ("max"). */
bool pk_file_int(const char *root, const char *path, int64_t *value);

bool pk_file_exists(const char *root, const char *path);

/* The value of the first line "key<blanks><sep><blanks>value" of a text, NULL when absent; sep 0 = blanks
 * only. Any value's quotes are removed. "model name", ':' for cpuinfo; "MemTotal", ':' for meminfo;
 * "inactive_file", 0 for memory.stat. */
const char *pk_file_field(const char *text, const char *key, char sep, struct pk_arena *a);
