/* Library search: folders that people's environments name, then the usual ones. No interpreter is started to ask for its own. */
#include "device/cuda/library_search.h"

#include "build_config.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct search {
    const char *stem;
    int major;
    struct pk_arena *a;
    struct pk_library_files *out;
};

static void add(struct search *s, const char *path)
{
    struct pk_library_files *f = s->out;
    f->v = pk_grow(s->a, f->v, sizeof *f->v, f->n, &f->cap);
    f->v[f->n++] = path;
}

/* Every file of the pattern, which the shell's rules expand. */
static size_t add_matches(struct search *s, const char *pattern)
{
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found))
        return 0;
    const size_t n = found.gl_pathc;
    for (size_t i = 0; i < n; i++)
        add(s, pk_strdup(s->a, found.gl_pathv[i]));
    globfree(&found);
    return n;
}

static void say(struct search *s, const char *where)
{
    s->out->looked = *s->out->looked ? pk_printf(s->a, "%s, %s", s->out->looked, where) : where;
}

/* The right major if there is one, else whatever is there, to be refused by name. */
static void look_in(struct search *s, const char *folder)
{
    if (!add_matches(s, pk_printf(s->a, "%s/%s.so.%d", folder, s->stem, s->major)))
        add_matches(s, pk_printf(s->a, "%s/%s.so.[0-9]*", folder, s->stem));
}

/* As pip lays NVIDIA's packages out below a Python's prefix. */
static void look_below_prefix(struct search *s, const char *said, const char *prefix)
{
    static const char *const layouts[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                          "local/lib/python3*/dist-packages"};
    say(s, said);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        look_in(s, pk_printf(s->a, "%s/%s/nvidia/*/lib", prefix, layouts[i]));
}

static void look_in_list(struct search *s, const char *list)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ":");
        if (n)
            look_in(s, pk_strndup(s->a, at, n));
        at += n + (at[n] == ':');
    }
}

/* /usr/bin/python3 -> /usr; NULL when no folder of PATH has one. */
static const char *python_prefix(struct pk_arena *a)
{
    const char *path = secure_getenv("PATH");
    for (const char *at = path ? path : ""; *at;) {
        size_t n = strcspn(at, ":");
        struct stat st;
        const char *folder = pk_strndup(a, at, n);
        if (n > 4 && !strcmp(folder + n - 4, "/bin") && !stat(pk_printf(a, "%s/python3", folder), &st))
            return pk_strndup(a, at, n - 4);
        at += n + (at[n] == ':');
    }
    return NULL;
}

static void look_everywhere_else(struct search *s)
{
    static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    const char *home = secure_getenv("CUDA_HOME"), *prefix;
    add(s, pk_printf(s->a, "%s.so.%d", s->stem, s->major));
    say(s, "the loader's paths");
    for (size_t i = 0; i < 2; i++)
        if ((prefix = secure_getenv(prefixes[i])) && *prefix)
            look_below_prefix(s, pk_printf(s->a, "$%s", prefixes[i]), prefix);
    if (home && *home) {
        say(s, "$CUDA_HOME/lib64");
        look_in(s, pk_printf(s->a, "%s/lib64", home));
    }
    say(s, "/usr/local/cuda/lib64");
    look_in(s, "/usr/local/cuda/lib64");
    say(s, "the toolkit of the build");
    look_in(s, PK_CUDA_ROOT "/lib");
    look_in(s, PK_CUDA_ROOT "/../cudnn/lib"); /* where wheels made it */
    if ((prefix = python_prefix(s->a)))
        look_below_prefix(s, pk_printf(s->a, "the packages of %s/bin/python3", prefix), prefix);
}

void pk_library_search(const char *stem, int major, struct pk_arena *a, struct pk_library_files *out)
{
    *out = (struct pk_library_files){.looked = ""};
    struct search s = {stem, major, a, out};
    const char *list = secure_getenv("PERFKIT_CUDA_LIBS");
    if (list)
        look_in_list(&s, list);
    if (!out->n)
        look_everywhere_else(&s);
}
