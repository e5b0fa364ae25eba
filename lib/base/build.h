/* Build: what this program was built as: its version, its features, and where its own files are. */
#pragma once

#include "base/arena.h"

extern const char pk_version[]; /* "0.1.0" */

/* A part that a build can be without; the options of the same names in meson_options.txt. */
struct pk_feature {
    const char *name;    /* "cuda"; ends the table when NULL */
    const char *summary; /* what it is for */
    const char *absent;  /* why it is not in this build; NULL = it is */
};

extern const struct pk_feature pk_features[];

/* The path of a file that belongs to perfkit but is not inside the program ("peers/numpy_attention.py"):
 * under share/perfkit beside the directory of the program, or in the sources when the program still lies
 * where it was built. NULL when it is not there. No environment variable is asked: such files are code. */
const char *pk_data_path(struct pk_arena *a, const char *name);
