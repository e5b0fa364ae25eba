/* Library: searches NVIDIA's libraries, opens them, and refuses other versions. */
#include "device/cuda/library.h"

#include "base/err.h"
#include "base/text/units.h"
#include "build_config.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* How a library reports its version: all but NVML as 10000 major + 100 minor + patch. */
enum version_how { RETURNS_SIZE, FILLS_INT, FILLS_TEXT };

/* Of the library's own version, or of the toolkit's, as cuBLASLt is; 0: its file's name has none. */
static const struct sibling {
    const char *stem;
    int major;
    bool needed; /* by the function of the version, which ends the process without it */
} cupti_siblings[] = {{"libnvperf_host", 0}, {0}},
  cublaslt_siblings[] = {{"libnvrtc", PK_CUBLASLT_MAJOR}, {0}},
  cudnn_siblings[] = {{"libnvrtc", PK_CUBLASLT_MAJOR},
                      {"libcublasLt", PK_CUBLASLT_MAJOR},
                      {"libcudnn_graph", PK_CUDNN_MAJOR, .needed = true},
                      {"libcudnn_ops", PK_CUDNN_MAJOR},
                      {"libcudnn_heuristic", PK_CUDNN_MAJOR},
                      {"libcudnn_engines_precompiled", PK_CUDNN_MAJOR},
                      {"libcudnn_engines_runtime_compiled", PK_CUDNN_MAJOR},
                      {0}};

static const struct library_row {
    const char *name, *stem;
    int major,
        minor; /* what perfkit was built against; the major is in the file's name; 0: its headers were not there */
    bool any_version; /* any version, as it comes with the driver */
    const char *version;
    enum version_how how;
    const char *get;                /* how to come by it, where it is missing; NULL: it is the toolkit's */
    const struct sibling *siblings; /* libraries that it opens itself, in order; ends with a NULL stem */
} rows[PK_CUDA_LIBRARIES] = {
    [PK_LIB_CUBLASLT] = {"cuBLASLt", "libcublasLt", PK_CUBLASLT_MAJOR, PK_CUBLASLT_MINOR, false,
                         "cublasLtGetVersion", RETURNS_SIZE, NULL, cublaslt_siblings},
    [PK_LIB_CUDNN] = {"cuDNN", "libcudnn", PK_CUDNN_MAJOR, PK_CUDNN_MINOR, false, "cudnnGetVersion",
                      RETURNS_SIZE, NULL, cudnn_siblings},
    [PK_LIB_NCCL] = {"NCCL", "libnccl", PK_NCCL_MAJOR, PK_NCCL_MINOR, false, "ncclGetVersion", FILLS_INT,
                     "install libnccl2 of NVIDIA's repository or the Python package nvidia-nccl-cu13; "
                     "set PERFKIT_CUDA_LIBS=FOLDER for another location"},
    [PK_LIB_CUPTI] = {"CUPTI", "libcupti", PK_CUPTI_MAJOR, PK_CUPTI_MINOR, false, "cuptiGetVersion",
                      FILLS_INT, NULL, cupti_siblings},
    [PK_LIB_NVML] = {"NVML", "libnvidia-ml", 1, 0, true, "nvmlSystemGetNVMLVersion", FILLS_TEXT,
                     "install the NVIDIA driver, which contains it; in a container: --gpus all"},
};

const char *pk_library_name(enum pk_cuda_library which)
{
    pk_assert(which < PK_CUDA_LIBRARIES);
    return rows[which].name;
}

/* --- where a library may lie, best first; no interpreter is started to ask for its own --- */

/* Files called `stem`.so.`major` or, where a folder has only others, `stem`.so.N: absolute paths. Where a row of the search is the
 * loader's own the path is the bare soname. */
struct library_files {
    const char **v;
    size_t n, cap;
    const char *looked; /* "the loader's paths, /usr/local/cuda/lib64": what to say when none fits */
};

struct file_search {
    const char *stem;
    int major;
    struct pk_arena *a;
    struct library_files *out;
};

static void add(struct file_search *s, const char *path)
{
    struct library_files *f = s->out;
    f->v = pk_grow(s->a, f->v, sizeof *f->v, f->n, &f->cap);
    f->v[f->n++] = path;
}

/* Every file of the pattern, which the shell's rules expand. */
static size_t add_matches(struct file_search *s, const char *pattern)
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

static void add_searched(struct file_search *s, const char *where)
{
    s->out->looked = *s->out->looked ? pk_printf(s->a, "%s, %s", s->out->looked, where) : where;
}

/* The right major version if there is one, else any other, which is then refused with its name. */
static void look_in(struct file_search *s, const char *folder)
{
    if (!add_matches(s, pk_printf(s->a, "%s/%s.so.%d", folder, s->stem, s->major)))
        add_matches(s, pk_printf(s->a, "%s/%s.so.[0-9]*", folder, s->stem));
}

/* As pip lays NVIDIA's packages out below a Python's prefix. */
static void look_below_prefix(struct file_search *s, const char *place, const char *prefix)
{
    static const char *const layouts[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                          "local/lib/python3*/dist-packages"};
    add_searched(s, place);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        look_in(s, pk_printf(s->a, "%s/%s/nvidia/*/lib", prefix, layouts[i]));
}

static void look_in_list(struct file_search *s, const char *list)
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

static void look_everywhere_else(struct file_search *s)
{
    static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    const char *home = secure_getenv("CUDA_HOME"), *prefix;
    add(s, pk_printf(s->a, "%s.so.%d", s->stem, s->major));
    add_searched(s, "the loader's paths");
    for (size_t i = 0; i < 2; i++)
        if ((prefix = secure_getenv(prefixes[i])) && *prefix)
            look_below_prefix(s, pk_printf(s->a, "$%s", prefixes[i]), prefix);
    if (home && *home) {
        add_searched(s, "$CUDA_HOME/lib64");
        look_in(s, pk_printf(s->a, "%s/lib64", home));
    }
    add_searched(s, "/usr/local/cuda/lib64");
    look_in(s, "/usr/local/cuda/lib64");
    add_searched(s, "the toolkit of the build");
    look_in(s, PK_CUDA_ROOT "/lib");
    look_in(s, PK_CUDA_ROOT "/../cudnn/lib"); /* where wheels made it */
    if ((prefix = python_prefix(s->a)))
        look_below_prefix(s, pk_printf(s->a, "the packages of %s/bin/python3", prefix), prefix);
}

/* What $PERFKIT_CUDA_LIBS names decides: when its folders have such a file, nothing else is listed. */
static void search_library(const char *stem, int major, struct pk_arena *a, struct library_files *out)
{
    *out = (struct library_files){.looked = ""};
    struct file_search s = {stem, major, a, out};
    const char *list = secure_getenv("PERFKIT_CUDA_LIBS");
    if (list)
        look_in_list(&s, list);
    if (!out->n)
        look_everywhere_else(&s);
}

/* --- opening -------------------------------------------------------------------------------------------------------- */

struct version {
    int major, minor;
    char text[80]; /* "13.1.0" */
};

/* False when the library has no such function or does not answer. */
static bool read_version(const struct library_row *r, void *handle, struct version *v)
{
    void *f = dlsym(handle, r->version);
    if (!f)
        return false;
    if (r->how == FILLS_TEXT)
        return ((int (*)(char *, unsigned))f)(v->text, sizeof v->text) == 0;
    int number = 0;
    if (r->how == RETURNS_SIZE)
        number = (int)((size_t(*)(void))f)();
    else if (((int (*)(int *))f)(&number))
        return false;
    v->major = number / 10000;
    v->minor = number / 100 % 100;
    snprintf(v->text, sizeof v->text, "%d.%d.%d", v->major, v->minor, number % 100);
    return number > 0;
}

static const char *fill_symbols(const struct pk_symbol *symbols, void *handle)
{
    for (const struct pk_symbol *s = symbols; s && s->name; s++)
        if (!(*s->at = (void (*)(void))dlsym(handle, s->name)))
            return s->name;
    return NULL;
}

static bool open_for_good(const char *path)
{
    return dlopen(path, RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE) != NULL;
}

static bool open_sibling(const struct library_row *r, const struct sibling *s, const char *folder,
                         struct pk_arena *a)
{
    struct library_files files = {0};
    const char *number = s->major ? pk_printf(a, ".%d", s->major) : "";
    if (open_for_good(pk_printf(a, "%s/%s.so%s", folder, s->stem, number)))
        return true;
    if (s->major == r->major || !s->major)
        return false;
    search_library(s->stem, s->major, a, &files);
    for (size_t i = 0; i < files.n; i++)
        if (open_for_good(files.v[i]))
            return true;
    return false;
}

/* By absolute path: the loader then uses these when the library opens them by name. They stay open. First from its own folder; if each
 * library is a separate package, libraries of the toolkit are in other folders. Returns what was needed and cannot be opened, else NULL. */
static const char *open_siblings(const struct library_row *r, const char *path, bool needed,
                                 struct pk_arena *a)
{
    const char *slash = strrchr(path, '/'),
               *folder = slash ? pk_strndup(a, path, (size_t)(slash - path)) : "";
    for (const struct sibling *s = r->siblings; s && s->stem; s++)
        if (s->needed == needed && !open_sibling(r, s, folder, a) && needed)
            return s->stem;
    return NULL;
}

/* NULL when the library is taken, else why not. */
static const char *judge(const struct library_row *r, const struct pk_symbol *symbols, struct pk_arena *a,
                         struct pk_library *l)
{
    struct version v = {0};
    const char *unopened = open_siblings(r, l->path, true, a);
    if (unopened)
        return pk_printf(a, "%s needs %s.so.%d, which cannot be opened", l->path, unopened, r->major);
    if (!read_version(r, l->handle, &v))
        return pk_printf(a, "%s does not report its version (%s)", l->path, r->version);
    if (!r->any_version && (v.major != r->major || v.minor < r->minor))
        return pk_printf(a, "%s is version %s; perfkit was built for %d.%d or a later %d", l->path, v.text,
                         r->major, r->minor, r->major);
    const char *missing = fill_symbols(symbols, l->handle);
    if (missing)
        return pk_printf(a, "%s, version %s, has no function %s", l->path, v.text, missing);
    l->version = pk_strdup(a, v.text);
    if (symbols)
        open_siblings(r, l->path, false, a);
    return NULL;
}

/* The name of another major is enough to refuse it: nothing of it is run. */
static const char *wrong_name(const struct library_row *r, const char *path, struct pk_arena *a)
{
    const char *so = strstr(path, ".so."), *wanted = pk_printf(a, ".so.%d", r->major);
    return so && strcmp(so, wanted) != 0
               ? pk_printf(a, "%s is another major version; perfkit was built for %d", path, r->major)
               : NULL;
}

/* NULL when it is taken, "" when the loader knows no such file, else why it is refused. */
static const char *try_file(const struct library_row *r, const char *path, const struct pk_symbol *symbols,
                            struct pk_arena *a, struct pk_library *l)
{
    const char *why = wrong_name(r, path, a);
    if (why)
        return why;
    /* not to be unloaded: what such a library has started and allocated does not end with it */
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!l->handle)
        return strchr(path, '/') ? pk_strdup(a, dlerror()) : "";
    struct link_map *map = NULL;
    l->path = dlinfo(l->handle, RTLD_DI_LINKMAP, &map) ? "" : pk_strdup(a, map->l_name);
    why = judge(r, symbols, a, l);
    if (why)
        pk_library_close(l);
    return why;
}

/* NVIDIA's libraries end the process where they get no memory (std::bad_alloc in their constructors). */
static enum pk_code check_address_space(const struct library_row *r, struct pk_err *err)
{
    struct rlimit limit;
    char text[32];
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur >= PK_LIBRARY_ADDRESS_SPACE)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be used", r->name);
    pk_why(err, "the address space is limited to %s, which may be too little for it",
           pk_format_bytes((int64_t)limit.rlim_cur, text, sizeof text));
    return pk_fix(err, "raise the limit: `ulimit -v unlimited`");
}

enum pk_code pk_library_open(enum pk_cuda_library which, const struct pk_symbol *symbols, struct pk_arena *a,
                             struct pk_library *out, struct pk_err *err)
{
    pk_assert(which < PK_CUDA_LIBRARIES);
    const struct library_row *r = &rows[which];
    const char *refused = NULL;
    struct library_files files;
    *out = (struct pk_library){.which = which};
    if (!r->major) {
        pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be used", r->name);
        pk_why(err, "perfkit was built without its headers");
        return pk_fix(err, "add them to the CUDA Toolkit and build perfkit again");
    }
    if (check_address_space(r, err))
        return err->code;
    search_library(r->stem, r->major, a, &files);
    for (size_t i = 0; i < files.n; i++) {
        const char *why = try_file(r, files.v[i], symbols, a, out);
        if (!why)
            return PK_OK;
        if (!refused && *why)
            refused = why;
    }
    pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be used", r->name);
    if (refused)
        pk_why(err, "%s", refused);
    else
        pk_why(err, "%s.so.%d was not found in %s", r->stem, r->major, files.looked);
    if (r->get && !refused)
        return pk_fix(err, "%s", r->get);
    return pk_fix(err, "set PERFKIT_CUDA_LIBS=FOLDER to the folder of a matching %s.so.%d", r->stem,
                  r->major);
}

void pk_library_close(struct pk_library *l)
{
    if (l->handle)
        dlclose(l->handle);
    l->handle = NULL;
}
