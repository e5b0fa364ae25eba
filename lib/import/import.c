/* Import: which source a file is of, and reading it. */
#include "import/import.h"

#include "base/file.h"
#include "base/index.h"
#include "import/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void no_read(struct pk_import_reader *r)
{
    r->out->spool = r->path;
}

/* In this order. */
static const struct pk_import_source spool = {
    .name = "spool",
    .files = "slices kept beside a store that could not be written",
    .begins = {"{\"type\":\"spool\""},
    .read = no_read,
};
static const struct pk_import_source *const sources[] = {
    &spool,
    &pk_import_nccl_tests_json, /* has the members of hyperfine, too */
    &pk_import_hyperfine,
    &pk_import_nvbench,
    &pk_import_google_benchmark,
    &pk_import_pytest_benchmark,
    &pk_import_nccl_tests,
    &pk_import_nsys,
    &pk_import_pytorch_profiler,
    &pk_import_superbench,
    &pk_import_criterion,
};

enum { SOURCES = sizeof sources / sizeof *sources, KEYS_MOST = 64, HEAD_BYTES = 64 };

bool pk_import_is_source(const char *name)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (strcmp(sources[i]->name, name) == 0)
            return true;
    return false;
}

/* --- which one -------------------------------------------------------------------------------------------------------- */

static bool has_keys(const struct pk_import_source *s, const char *const *keys, size_t n)
{
    size_t found = 0, wanted = 0;
    for (; wanted < PK_IMPORT_KEYS && s->keys[wanted]; wanted++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(s->keys[wanted], keys[i]) == 0) {
                found++;
                break;
            }
    return wanted && found == wanted;
}

static bool is_wanted(const char *name)
{
    for (size_t i = 0; i < SOURCES; i++)
        for (size_t k = 0; k < PK_IMPORT_KEYS && sources[i]->keys[k]; k++)
            if (strcmp(sources[i]->keys[k], name) == 0)
                return true;
    return false;
}

/* A broken file of a source may still have the members by which it is recognised. */
static const struct pk_import_source *by_keys(const struct pk_import_reader *r)
{
    const char *keys[KEYS_MOST];
    struct pk_err ignored;
    struct pk_import_reader own = *r;
    own.err = &ignored;
    const size_t n = pk_import_json_keys(&own, is_wanted, keys, KEYS_MOST);
    rewind(r->f);
    for (size_t i = 0; i < SOURCES; i++)
        if (has_keys(sources[i], keys, n))
            return sources[i];
    return NULL;
}

static const struct pk_import_source *recognise(const struct pk_import_reader *r)
{
    char head[HEAD_BYTES + 1];
    for (size_t i = 0; !r->f && i < SOURCES; i++)
        if (sources[i]->folder)
            return sources[i];
    const size_t n = fread(head, 1, HEAD_BYTES, r->f);
    head[n] = '\0';
    rewind(r->f);
    for (size_t i = 0; i < SOURCES; i++)
        for (size_t k = 0; k < PK_IMPORT_BEGINNINGS && sources[i]->begins[k]; k++)
            if (strncmp(head, sources[i]->begins[k], strlen(sources[i]->begins[k])) == 0)
                return sources[i];
    return by_keys(r);
}

static enum pk_code not_recognised(const char *path, struct pk_arena *a, struct pk_err *err)
{
    const char *names = "";
    for (size_t i = 0; i < SOURCES; i++)
        if (!strstr(names, sources[i]->name)) /* some have two kinds of files */
            names = pk_printf(a, "%s%s%s", names, i ? ", " : "", sources[i]->name);
    pk_fail(err, PK_E_IO, "%s: cannot import it", path);
    pk_why(err, "it is a file of none of these: %s", names);
    return pk_fix(
        err, "docs/import.md says how each of them writes its files; a spool is a file that perfkit wrote "
             "(STORE.spool-RUN.jsonl)");
}

/* --- reading ---------------------------------------------------------------------------------------------------------- */

static enum pk_code bad_file(const char *path, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "%s: cannot import it", path);
    pk_why(err, "%s", why);
    return pk_fix(err, "give a file that this user can read (perfkit import -h)");
}

/* *f is NULL for a folder. */
static enum pk_code open_file(const char *path, FILE **f, int64_t *modified_ns, struct pk_err *err)
{
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return bad_file(path, strerror(errno), err);
    const bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode); /* a pipe could be endless */
    const bool folder = !regular && S_ISDIR(st.st_mode);
    *f = regular ? fdopen(fd, "r") : NULL;
    if (!*f) {
        close(fd);
        return folder ? PK_OK : bad_file(path, "it is not a regular file", err);
    }
    *modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return PK_OK;
}

/* All that follows from the whole file. */
static void finish(struct pk_import_reader *r, int64_t modified_ns)
{
    struct pk_imported *im = r->out;
    if (!r->failed && r->f && ferror(r->f))
        pk_import_problem(r, "the file cannot be read");
    if (!r->failed && !im->spool && !im->n_cases)
        pk_import_problem(r, "there is no result in it");
    size_t processes = 0;
    for (size_t i = 0; i < im->n_cases; i++)
        for (size_t m = 0; im->cases[i].process_each && m < im->cases[i].n_metrics; m++)
            processes += im->cases[i].metrics[m].n;
    if (processes > PK_IMPORT_PROCESSES_MAX)
        pk_import_problem(r, "more than %d values of processes of their own", PK_IMPORT_PROCESSES_MAX);
    if (!im->machine && !r->failed) {
        PK_JSON_CLEANUP json_t *unknown = json_object();
        pk_import_machine(r, unknown);
    }
    if (!im->started_ns)
        im->started_ns = modified_ns;
    const uint64_t name = pk_fnv1a(PK_FNV1A_EMPTY, r->source->name, strlen(r->source->name));
    snprintf(im->uuid, sizeof im->uuid, "%016llx%016llx", (unsigned long long)name,
             (unsigned long long)r->hash);
}

enum pk_code pk_import_read(const char *path, struct pk_import_options *o, struct pk_arena *a,
                            struct pk_imported *out, struct pk_err *err)
{
    PK_CLEANUP_FILE FILE *f = NULL;
    struct pk_index cases = {.arena = a};
    int64_t modified_ns = 0;
    *out = (struct pk_imported){.path = path, .git_dirty = -1};
    if (open_file(path, &f, &modified_ns, err))
        return err->code;
    struct pk_import_reader r = {.a = a,
                                 .path = path,
                                 .f = f,
                                 .line = 1,
                                 .hash = PK_FNV1A_EMPTY,
                                 .out = out,
                                 .index = &cases,
                                 .values_left = PK_IMPORT_VALUES_MAX - o->values,
                                 .stop_flag = o->stop_flag,
                                 .err = err};
    r.source = recognise(&r);
    if (pk_import_stopped(&r))
        return err->code;
    if (!r.source)
        return not_recognised(path, a, err);
    out->source = r.source->name;
    if (r.source->read)
        r.source->read(&r);
    else
        pk_import_json(&r, r.source->list, r.source->element, r.source->rest);
    if (!f && !r.failed && !out->n_cases)
        return bad_file(path, "it is not a regular file, and not a folder with results of criterion", err);
    finish(&r, modified_ns);
    o->values += out->n_values;
    return r.failed ? err->code : PK_OK;
}

enum pk_code pk_import_read_all(const struct pk_texts *paths, struct pk_import_options *o, struct pk_arena *a,
                                struct pk_imported **out, enum pk_store_mode *mode, struct pk_err *err)
{
    struct pk_imported *v = *out = pk_new_n(a, struct pk_imported, paths->n);
    *mode = PK_STORE_UPDATE;
    for (size_t i = 0; i < paths->n; i++) {
        if (pk_import_read(paths->v[i], o, a, &v[i], err))
            return err->code;
        *mode = v[i].spool ? *mode : PK_STORE_WRITE;
    }
    return PK_OK;
}
