/* criterion (Rust): a folder such as target/criterion. Each folder `new` in it is a benchmark: benchmark.json names it, sample.json has its
 * samples, each the time of a number of iterations. Links are not followed. */
#include "import/reader.h"

#include "base/text/words.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 12, ENTRIES_MAX = 100000 };

static const struct pk_metric_decl time_ = PK_IMPORT_TIME("time_ns", "median");

static void take_name(struct pk_import_reader *r, const json_t *j)
{
    const char *group = pk_field_text(r, j, "group_id"),
               *function = pk_field_text_or(r, j, "function_id", NULL),
               *value = pk_field_text_or(r, j, "value_str", NULL);
    const json_t *throughput = json_object_get(j, "throughput");
    PK_JSON_CLEANUP json_t *axes = json_object();
    char *end = NULL;
    const long long number = value ? strtoll(value, &end, 10) : 0;
    if (value)
        json_object_set_new(
            axes, "value", *value && !*end && strlen(value) < 18 ? json_integer(number) : json_string(value));
    if (r->failed)
        return;
    const char *variant = function ? pk_printf(r->a, "%s/%s", group, function) : group;
    struct pk_imported_case *c = pk_import_new_case(r, variant, "cpu", axes);
    if (c && json_is_object(throughput))
        pk_import_note(r, c, "throughput", json_deep_copy(throughput));
}

/* Of the newest case: its name was read before. */
static void take_samples(struct pk_import_reader *r, const json_t *j)
{
    const char *mode = pk_field_text(r, j, "sampling_mode");
    const json_t *iterations = pk_field_array(r, j, "iters", true),
                 *times = pk_field_array(r, j, "times", true);
    const size_t n = json_array_size(times);
    if (!r->failed && (!n || json_array_size(iterations) != n))
        pk_import_problem(r, "'iters' has %zu values, 'times' %zu", json_array_size(iterations), n);
    if (r->failed)
        return;
    struct pk_imported_case *c = &r->cases[r->out->n_cases - 1];
    struct pk_imported_metric *m = pk_import_metric(r, c, &time_);
    pk_import_note(r, c, "sampling_mode", json_string(mode));
    for (size_t i = 0; i < n && !r->failed; i++) {
        const json_t *k = json_array_get(iterations, i), *t = json_array_get(times, i);
        if (!json_is_number(k) || !json_is_number(t) || json_number_value(k) < 1 || json_number_value(t) < 0)
            pk_import_problem(r, "sample %zu is not a time of at least one iteration", i);
        else
            pk_import_sample(r, m, (int64_t)i, json_number_value(t) / json_number_value(k));
    }
}

/* Reads a file of a folder. */
static void read_json(struct pk_import_reader *r, int folder, const char *path, const char *name,
                      pk_import_json_fn *take)
{
    struct stat st;
    r->f = pk_import_open(r, folder, path, name);
    if (!r->f)
        return;
    if (fstat(fileno(r->f), &st) == 0) {
        const int64_t modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        r->out->started_ns = modified_ns > r->out->started_ns ? modified_ns : r->out->started_ns;
    }
    pk_import_json(r, NULL, NULL, take);
    if (!r->failed && ferror(r->f))
        pk_import_problem(r, "the file cannot be read");
    fclose(r->f);
    r->f = NULL;
}

struct folder_walk {
    struct pk_import_reader *r;
    size_t entries;
};

static void read_folder(struct folder_walk *w, int parent, const char *name, const char *path, int depth);

/* In the order of their names, so that a folder is the same run everywhere. */
static void read_folders(struct folder_walk *w, int fd, const char *path, int depth)
{
    const char **names = NULL;
    size_t n = 0, cap = 0;
    const int own = dup(fd);
    DIR *d = own < 0 ? NULL : fdopendir(own);
    for (const struct dirent *e; d && (e = readdir(d)) && !w->r->failed;) {
        if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
            continue;
        if (++w->entries > ENTRIES_MAX)
            pk_import_problem(w->r, "more than %d folders", ENTRIES_MAX);
        names = pk_grow(w->r->a, names, sizeof *names, n, &cap);
        names[n++] = pk_strdup(w->r->a, e->d_name);
    }
    if (d)
        closedir(d);
    pk_sort_texts(names, n);
    for (size_t i = 0; i < n && !pk_import_stopped(w->r); i++)
        read_folder(w, fd, names[i], pk_printf(w->r->a, "%s/%s", path, names[i]), depth + 1);
}

static void read_folder(struct folder_walk *w, int parent, const char *name, const char *path, int depth)
{
    const int fd = openat(parent, name, O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (strcmp(name, "new") == 0 && faccessat(fd, "benchmark.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        read_json(w->r, fd, path, "benchmark.json", take_name);
        if (!w->r->failed)
            read_json(w->r, fd, path, "sample.json", take_samples);
    } else if (depth < DEEPEST)
        read_folders(w, fd, path, depth);
    close(fd);
}

static void read_root(struct pk_import_reader *r)
{
    struct folder_walk w = {.r = r};
    const char *path = r->path;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd >= 0) {
        read_folders(&w, fd, path, 0);
        close(fd);
    }
    if (!r->failed)
        r->path = path;
}

const struct pk_import_source pk_import_criterion = {
    .name = "criterion",
    .files = "cargo bench; the folder target/criterion",
    .folder = true,
    .read = read_root,
};
