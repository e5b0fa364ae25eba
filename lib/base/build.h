/* Build: version and features of this program, and the text files that are compiled into it. */
#pragma once

extern const char pk_version[]; /* "0.1.0" */

/* An optional part of the build; the options have the same names in meson_options.txt. */
struct pk_feature {
    const char *name;        /* "cuda"; ends the table when NULL */
    const char *summary;     /* what it is for */
    const char *unavailable; /* why it is not in this build; NULL = it is */
    const char *enable;      /* how to build it in; NULL = it is in */
};

extern const struct pk_feature pk_features[];

/* A row by its name, which must exist (pk_assert). */
const struct pk_feature *pk_feature(const char *name);

/* A text file that is part of the program (schema, tables), made into C by schema/embed.py. */
struct pk_embedded {
    const char *name; /* base name of the file; ends the array when NULL */
    const char *text;
};

/* What a store of the versions first to last has: a row of sqlite_schema as SQLite writes it. Made by the same script. */
struct pk_schema_object {
    int first, last;
    const char *type, *name, *sql; /* name NULL ends the array */
};
