/* Directory: a file for each table. */
#include "out/output/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_NAME = 200 };

/* A table can have the unit of a metric in its name, and that is any text. */
static const char *file_name(const struct pk_output *o, const char *table)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char *stem = pk_printf(o->arena, "%.*s", LONGEST_NAME, table);
    for (char *c = stem; *c; c++)
        *c = strchr(plain, *c) ? *c : '_';
    const char *name = pk_printf(o->arena, "%s.csv", stem);
    for (unsigned n = 2; pk_texts_has(&o->names, name); n++)
        name = pk_printf(o->arena, "%s_%u.csv", stem, n);
    return name;
}

enum pk_code pk_output_open_directory(const char *path, struct pk_arena *a, struct pk_output *o,
                                      struct pk_err *err)
{
    o->made = mkdir(path, 0777) == 0;
    o->directory = path;
    o->arena = a;
    if (o->made || (errno == EEXIST && access(path, W_OK | X_OK) == 0))
        return PK_OK;
    return pk_output_cannot(path, err);
}

FILE *pk_output_next(void *output, const char *table)
{
    struct pk_output *o = output;
    if (o->err.code || pk_output_keep(o, &o->err))
        return NULL;
    const char *name = file_name(o, table);
    if (pk_output_open(pk_printf(o->arena, "%s%s", o->directory, name), o->arena, o, &o->err))
        return NULL;
    pk_texts_add(&o->names, name, o->arena);
    return o->f;
}
