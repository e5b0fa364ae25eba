/* Provider: finding a peer's file and the words that start it. */
#include "bench/client/worker_client.h"

#include "base/text/words.h"
#include "build_config.h"
#include "opt/opt.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct pk_provider pk_native_provider = {
    .name = "native",
    .argv = (const char *const[]){"/proc/self/exe", "worker", NULL},
};

/* Places where peers are looked for, best first; NULL-terminated. */
static const char *const peer_folders[] = {PK_SOURCE_ROOT "/probes/peers", PK_PEERS_INSTALLED, NULL};

/* "numpy-attention" -> "numpy_attention.py" and back: names have dashes, Python's files underscores. */
static char *swapped(struct pk_arena *a, const char *name, char from, char to)
{
    char *s = pk_strdup(a, name);
    for (char *p = s; *p; p++)
        if (*p == from)
            *p = to;
    return s;
}

bool pk_is_python(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".py");
}

static const char *in_folder(const char *folder, const char *name, struct pk_arena *a)
{
    const char *path = pk_printf(a, "%s/%s.py", folder, swapped(a, name, '-', '_'));
    return access(path, R_OK) ? NULL : path;
}

static const char *find_file(const char *name, struct pk_arena *a)
{
    if (strchr(name, '/'))
        return access(name, R_OK) ? NULL : name;
    const char *own = secure_getenv("PERFKIT_PEERS");
    const char *path = own ? in_folder(own, name, a) : NULL;
    for (const char *const *f = peer_folders; !path && *f; f++)
        path = in_folder(*f, name, a);
    return path;
}

/* Adds the names of the peers of one folder. */
static void list_folder(const char *folder, struct pk_arena *a, struct pk_texts *names)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    while (d && (e = readdir(d))) {
        if (!pk_is_python(e->d_name) || *e->d_name == '_')
            continue;
        const char *name = swapped(a, pk_strndup(a, e->d_name, strlen(e->d_name) - 3), '_', '-');
        if (!pk_texts_has(names, name))
            pk_texts_add(names, name, a);
    }
    if (d)
        closedir(d);
}

void pk_peer_names(struct pk_texts *names, struct pk_arena *a)
{
    const char *own = secure_getenv("PERFKIT_PEERS");
    if (own)
        list_folder(own, a, names);
    for (const char *const *f = peer_folders; *f; f++)
        list_folder(*f, a, names);
    pk_sort_texts(names->v, names->n);
}

static enum pk_code unknown_peer(const char *name, struct pk_arena *a, struct pk_err *err)
{
    struct pk_texts names = {0};
    pk_fail(err, PK_E_USAGE, "there is no peer '%s'", name);
    if (strchr(name, '/')) {
        pk_why(err, "that file cannot be read");
        return pk_fix(err, "give the path of a program that implements docs/protocol.md");
    }
    pk_peer_names(&names, a);
    pk_why(err, "%s", names.n ? pk_suggest_text(a, name, names.v, names.n) : "no folder of peers was found");
    return pk_fix(err, "set PERFKIT_PEERS to a folder of peers, or give a path with a slash");
}

/* A peer given by its path is called by its file. */
static const char *display_name(const char *name, struct pk_arena *a)
{
    const char *base = strrchr(name, '/');
    if (!base)
        return name;
    base++;
    return pk_is_python(base) ? swapped(a, pk_strndup(a, base, strlen(base) - 3), '_', '-') : base;
}

/* The words that start a program, or a file of Python. */
static const char *const *words_of(const char *path, const char *python, struct pk_arena *a)
{
    const char *chosen = python ? python : secure_getenv("PERFKIT_PYTHON");
    const char **argv = pk_new_n(a, const char *, 3);
    size_t n = 0;
    if (pk_is_python(path))
        argv[n++] = chosen ? chosen : "python3";
    argv[n++] = path;
    return argv;
}

const char *pk_client_folder(void)
{
    static const char sources[] = PK_SOURCE_ROOT "/lib/client";
    return access(sources, R_OK) ? PK_CLIENT_INSTALLED : sources;
}

enum pk_code pk_peer_provider(const char *name, const char *python, struct pk_arena *a,
                              struct pk_provider *out, struct pk_err *err)
{
    const char *path = find_file(name, a);
    if (!path)
        return unknown_peer(name, a, err);
    *out = (struct pk_provider){.name = display_name(name, a), .argv = words_of(path, python, a)};
    return PK_OK;
}

/* `import perfkit` finds perfkit.py behind everything else that PYTHONPATH names, in what this process starts. */
static void offer_client(struct pk_arena *a)
{
    static const char name[] = "PYTHONPATH";
    const char *path = getenv(name), *folder = pk_client_folder();
    if (!path || !*path)
        setenv(name, folder, 1);
    else if (!strstr(path, folder))
        setenv(name, pk_printf(a, "%s:%s", path, folder), 1);
}

enum pk_code pk_program_provider(const char *path, const char *python, struct pk_arena *a,
                                 struct pk_provider *out, struct pk_err *err)
{
    if (access(path, pk_is_python(path) ? R_OK : X_OK) != 0) {
        pk_fail(err, PK_E_USAGE, "'%.200s' cannot be %s", path, pk_is_python(path) ? "read" : "executed");
        pk_why_errno(err, errno);
        if (access(path, F_OK) == 0 && !pk_is_python(path))
            return pk_fix(err, "chmod +x it, or give the program that was compiled from it");
        return pk_fix(err, "give the path of a program; `perfkit list experiments` lists what is built in");
    }
    if (pk_is_python(path))
        offer_client(a);
    *out =
        (struct pk_provider){.name = display_name(path, a), .argv = words_of(path, python, a), .own = true};
    return PK_OK;
}
