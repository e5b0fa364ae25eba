/* Same program: comparing command lines by their words and the files that are run. */
#include "judge/gate/gate.h"

#include "base/file.h"
#include "base/text/words.h"
#include "bench/command/command.h"
#include "machine/software/software.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *folder_of(const char *path, struct pk_arena *a)
{
    const char *slash = strrchr(path, '/');
    return !slash ? "." : slash == path ? "/" : pk_strndup(a, path, (size_t)(slash - path));
}

/* --- files -------------------------------------------------------------------------------------------------------------- */

static bool equal_bytes(const char *x, const char *y)
{
    char from_x[16384], from_y[16384];
    PK_CLEANUP_FD int fx = open(x, O_RDONLY | O_CLOEXEC), fy = open(y, O_RDONLY | O_CLOEXEC);
    ssize_t n = fx < 0 || fy < 0 ? -1 : 1;
    while (n > 0) {
        n = read(fx, from_x, sizeof from_x);
        if (n < 0 || read(fy, from_y, sizeof from_y) != n || memcmp(from_x, from_y, (size_t)n) != 0)
            return false;
    }
    return n == 0;
}

/* --- copies ------------------------------------------------------------------------------------------------------------- */

/* "libm.so.6 => /lib/libm.so.6" of one program and of the other. */
static bool same_library(const char *x, const char *y)
{
    const char *file_x = strstr(x, "=> "), *file_y = strstr(y, "=> ");
    if (strcmp(x, y) == 0)
        return true;
    return file_x && file_y && file_x - x == file_y - y && !strncmp(x, y, (size_t)(file_x - x)) &&
           (pk_same_file(file_x + 3, file_y + 3) || equal_bytes(file_x + 3, file_y + 3));
}

/* A script is unknown: it may source other files. */
static bool same_libraries(const char *x, const char *y, struct pk_arena *a)
{
    const char *of_x = pk_machine_libraries(x, a), *of_y = of_x ? pk_machine_libraries(y, a) : NULL;
    while (of_x && of_y) {
        const char *line_x = pk_next_part(&of_x, '\n', a), *line_y = pk_next_part(&of_y, '\n', a);
        if (!same_library(line_x, line_y))
            return false;
        if (!of_x && !of_y)
            return true;
    }
    return false;
}

static bool same_commit(const char *x, const char *y, struct pk_arena *a)
{
    const char *commit_x, *commit_y;
    int dirty_x, dirty_y;
    pk_machine_repository(folder_of(x, a), a, &commit_x, &dirty_x);
    if (!commit_x || dirty_x)
        return false;
    pk_machine_repository(folder_of(y, a), a, &commit_y, &dirty_y);
    return commit_y && !dirty_y && strcmp(commit_x, commit_y) == 0;
}

bool pk_same_program(const char *const *a_words, const char *const *b_words, struct pk_arena *a)
{
    const char *x = pk_program_path(a_words[0], a), *y = pk_program_path(b_words[0], a);
    size_t i = 1;
    while (a_words[i] && b_words[i] && strcmp(a_words[i], b_words[i]) == 0)
        i++;
    if (a_words[i] || b_words[i] || strcmp(pk_path_name(a_words[0]), pk_path_name(b_words[0])) != 0)
        return false; /* a program may do by its name what it does */
    return pk_same_file(x, y) || (equal_bytes(x, y) && same_libraries(x, y, a) && same_commit(x, y, a));
}
