/* Same: comparing command lines by their words and the file that is run. */
#include "bench/gate/same.h"

#include "bench/command/command.h"

#include <string.h>
#include <sys/stat.h>

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_words(const char *const *x, const char *const *y)
{
    for (; *x && *y; x++, y++)
        if (strcmp(*x, *y) != 0)
            return false;
    return !*x && !*y;
}

/* A program may do by its name what it does (busybox), and by its folder. */
static bool same_file(const char *x, const char *y, struct pk_arena *a)
{
    struct stat s, t;
    const char *const x_path = pk_program_path(x, a), *const y_path = pk_program_path(y, a);
    return strcmp(name_of(x), name_of(y)) == 0 && !stat(x_path, &s) && !stat(y_path, &t) &&
           s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

bool pk_same_program(const char *const *a_words, const char *const *b_words, struct pk_arena *a)
{
    return same_words(a_words + 1, b_words + 1) && same_file(a_words[0], b_words[0], a);
}
