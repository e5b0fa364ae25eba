/* Reader: opening a group per thread or CPU, and sums of differences per region. */
#include "counter/perf/reader.h"

#include "base/clock.h"
#include "base/err.h"
#include "device/mark.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHOLE = PK_REGIONS_MAX, SPANS };      /* regions, and the iteration */
enum { ENABLED = 1, RUNNING, FIRST };        /* what the kernel writes: how many, two times, the values */
enum { TRY_NS = 50000, THREADS_MAX = 4096 }; /* of a pinned group; of a process */

struct pk_perf_reader {
    const struct pk_perf *perf;
    const struct pk_perf_group *group;
    struct pk_arena *arena;
    size_t n, words; /* events; words of a group read */
    bool inherit;
    struct pk_other_process other; /* pid 0 = ours */
    size_t n_groups, cap;
    struct opened {
        pid_t thread;
        int *fd;        /* [n] */
        uint64_t *now;  /* [words] */
        uint64_t *sums; /* [SPANS][words] */
    } * groups;
    bool used[SPANS]; /* in this iteration */
    int error;        /* of a read in this iteration */
};

/* --- opening -------------------------------------------------------------------------------------------------------- */

static void close_one(const struct pk_perf_reader *r, const struct opened *o)
{
    for (size_t i = 0; i < r->n; i++)
        if (o->fd[i] >= 0)
            r->perf->close(o->fd[i]);
}

void pk_perf_reader_close(struct pk_perf_reader *r)
{
    for (size_t i = 0; i < r->n_groups; i++)
        close_one(r, &r->groups[i]);
    r->n_groups = 0;
}

/* Where a group counts: a thread, or a CPU and optionally a unit outside the cores. */
struct counting_place {
    pid_t thread;
    int cpu;
    const uint32_t *type; /* NULL = the code's */
};

static bool starts_at_exec(const struct pk_perf_reader *r)
{
    return r->other.pid && !r->other.runs;
}

static struct perf_event_attr attributes(const struct pk_perf_reader *r, size_t i, const uint32_t *type)
{
    const struct pk_perf_code *c = &r->group->codes[i];
    const bool process = !r->group->n_cpus;
    return (struct perf_event_attr){
        .type = type ? *type : c->type,
        .config = c->config,
        .config1 = c->config1,
        .config2 = c->config2,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = i == 0,
        .inherit = process && r->inherit,
        .enable_on_exec = i == 0 && process && starts_at_exec(r),
        .pinned = i == 0 && r->group->pinned && !r->other.pid,
        .exclude_kernel = r->group->user_only,
        .exclude_hv = r->group->user_only,
    };
}

/* 0 or an errno; *which is the event. On failure nothing of it is open. */
static int open_events(const struct pk_perf_reader *r, const struct opened *o,
                       const struct counting_place *at, size_t *which)
{
    for (size_t i = 0; i < r->n; i++) {
        struct perf_event_attr attr = attributes(r, i, at->type);
        o->fd[i] = pk_perf_open(r->perf, &attr, at->thread, at->cpu, i ? o->fd[0] : -1);
        if (o->fd[i] < 0) {
            int error = errno;
            *which = i;
            close_one(r, o);
            return error;
        }
    }
    return 0;
}

static int open_group(struct pk_perf_reader *r, const struct counting_place *at, size_t *which)
{
    struct opened o = {.thread = at->thread, .fd = pk_new_n(r->arena, int, r->n)};
    for (size_t i = 0; i < r->n; i++)
        o.fd[i] = -1;
    int error = open_events(r, &o, at, which);
    if (error == EINVAL && !*which && r->inherit) { /* kernels that cannot inherit groups */
        if (r->other.pid)
            return PK_NO_INHERITANCE;
        r->inherit = false;
        error = open_events(r, &o, at, which);
    }
    if (error)
        return error;
    o.now = pk_new_n(r->arena, uint64_t, r->words);
    o.sums = pk_new_n(r->arena, uint64_t, r->words * SPANS);
    if ((!starts_at_exec(r) || r->group->n_cpus) && r->perf->enable(o.fd[0])) {
        error = errno;
        close_one(r, &o);
        return error;
    }
    if (r->n_groups == r->cap)
        r->groups = pk_grow(r->arena, r->groups, sizeof *r->groups, r->n_groups, &r->cap);
    r->groups[r->n_groups++] = o;
    return 0;
}

static bool has_thread(const struct pk_perf_reader *r, pid_t thread)
{
    for (size_t i = 0; i < r->n_groups; i++)
        if (r->groups[i].thread == thread)
            return true;
    return false;
}

/* The threads of a process, except this one: what they count is not inherited. Until no new one is found; one that ended
 * meanwhile (ESRCH) counts nothing. */
static int open_threads(struct pk_perf_reader *r, const char *root, size_t *which)
{
    const char *path = r->other.pid ? pk_printf(r->arena, "%s/proc/%d/task", root, (int)r->other.pid)
                                    : pk_printf(r->arena, "%s/proc/self/task", root);
    size_t before;
    do {
        if (r->n_groups > THREADS_MAX)
            return PK_TOO_MANY_THREADS;
        before = r->n_groups;
        DIR *d = opendir(path);
        int error = 0;
        for (struct dirent *e; d && !error && (e = readdir(d));) {
            pid_t thread = (pid_t)strtol(e->d_name, NULL, 10);
            if (thread > 0 && thread != gettid() && !has_thread(r, thread))
                error = open_group(r, &(struct counting_place){thread, -1, NULL}, which);
            error = error == ESRCH ? 0 : error;
        }
        if (d)
            closedir(d);
        if (error)
            return error;
    } while (before != r->n_groups);
    return 0;
}

static int read_group(const struct pk_perf_reader *r, const struct opened *o)
{
    const size_t bytes = r->words * sizeof *o->now;
    ssize_t got = r->perf->read(o->fd[0], o->now, bytes);
    return got == (ssize_t)bytes ? 0 : got < 0 ? errno : EBUSY; /* end of file: pinned, and had to give way */
}

static int open_cpus(struct pk_perf_reader *r, size_t *which)
{
    const struct pk_perf_group *g = r->group;
    const size_t units = g->n_types ? g->n_types : 1;
    int error = 0;
    for (size_t i = 0; !error && i < g->n_cpus * units; i++)
        error = open_group(
            r, &(struct counting_place){-1, g->cpus[i / units], g->n_types ? &g->types[i % units] : NULL},
            which);
    return error;
}

static int open_process(struct pk_perf_reader *r, const char *root, size_t *which)
{
    int error = open_group(r, &(struct counting_place){0, -1, NULL}, which);
    /* an open counter may not count: the kernel's watchdog or another user may occupy it */
    if (!error && r->group->pinned) {
        const uint64_t until = pk_clock_ns() + TRY_NS;
        while (pk_clock_ns() < until)
            ;
        error = read_group(r, &r->groups[0]);
        if (!error && !r->groups[0].now[RUNNING] && !r->group->part)
            error = EBUSY;
    }
    return error ? error : open_threads(r, root, which);
}

static struct pk_perf_reader *new_reader(const struct pk_counter_env *env, const struct pk_perf_group *g,
                                         struct pk_arena *a)
{
    struct pk_perf_reader *r = pk_new(a, struct pk_perf_reader);
    pk_assert(g->n);
    *r = (struct pk_perf_reader){.perf = env->perf ? env->perf : &pk_perf_host,
                                 .group = g,
                                 .arena = a,
                                 .n = g->n,
                                 .words = FIRST + g->n,
                                 .inherit = !g->n_cpus};
    return r;
}

static int open_other(struct pk_perf_reader *r, const char *root, size_t *which)
{
    if (starts_at_exec(r))
        return open_group(r, &(struct counting_place){r->other.pid, -1, NULL}, which);
    const int error = open_threads(r, root, which);
    return error || r->n_groups ? error : ESRCH;
}

int pk_perf_reader_open(const struct pk_counter_env *env, const struct pk_perf_group *g,
                        struct pk_other_process other, struct pk_arena *a, struct pk_perf_reader **out,
                        size_t *which)
{
    struct pk_perf_reader *r = *out = new_reader(env, g, a);
    *which = 0;
    r->other = other;
    const int error = g->n_cpus   ? open_cpus(r, which)
                      : other.pid ? open_other(r, pk_counter_root(env), which)
                                  : open_process(r, pk_counter_root(env), which);
    if (error)
        pk_perf_reader_close(r);
    return error;
}

bool pk_perf_inherits(const struct pk_counter_env *env, struct pk_arena *a)
{
    const struct pk_perf_code code = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
    const struct pk_perf_group g = {.codes = &code, .n = 1, .user_only = true};
    struct pk_perf_reader *r = new_reader(env, &g, a);
    size_t which = 0;
    if (open_group(r, &(struct counting_place){0, -1, NULL}, &which))
        return true; /* another error, which is reported elsewhere */
    pk_perf_reader_close(r);
    return r->inherit;
}

int pk_perf_try(const struct pk_counter_env *env, const struct pk_perf_group *g, struct pk_arena *a)
{
    struct pk_perf_reader *r;
    size_t which;
    int error = pk_perf_reader_open(env, g, (struct pk_other_process){0}, a, &r, &which);
    if (!error)
        pk_perf_reader_close(r);
    return error;
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

/* What is read at its begin is subtracted from a span's sums, what is read at its end added: so spans may lie within each other.
 * Counters of 64 bits may wrap; differences do not mind. */
static void add(struct pk_perf_reader *r, unsigned span, bool at_end)
{
    for (size_t i = 0; i < r->n_groups; i++) {
        int error = read_group(r, &r->groups[i]);
        r->error = error ? error : r->error;
    }
    for (size_t i = 0; i < r->n_groups; i++) {
        const struct opened *o = &r->groups[i];
        uint64_t *sum = o->sums + span * r->words;
        if (!r->used[span])
            memset(sum, 0, r->words * sizeof *sum);
        for (size_t k = ENABLED; k < r->words; k++)
            sum[k] += at_end ? o->now[k] : -o->now[k];
    }
    r->used[span] = true;
}

void pk_perf_reader_start(struct pk_perf_reader *r)
{
    memset(r->used, 0, sizeof r->used);
    r->error = 0;
    add(r, WHOLE, false);
}

void pk_perf_reader_stop(struct pk_perf_reader *r)
{
    add(r, WHOLE, true);
}

void pk_perf_reader_mark(struct pk_perf_reader *r, unsigned region, bool end)
{
    pk_assert(region < PK_REGIONS_MAX && (!end || r->used[region]));
    add(r, region, end);
}

int pk_perf_reader_read(const struct pk_perf_reader *r, int region, size_t i, struct pk_perf_count *out)
{
    const unsigned span = region < 0 ? WHOLE : (unsigned)region;
    *out = (struct pk_perf_count){.unavailable = !r->used[span]};
    for (size_t g = 0; r->used[span] && g < r->n_groups; g++) {
        const struct opened *o = &r->groups[g];
        const uint64_t *sum = o->sums + span * r->words;
        out->raw += sum[FIRST + i];
        out->enabled_ns += sum[ENABLED];
        out->running_ns += sum[RUNNING];
        out->unavailable |= sum[ENABLED] && !sum[RUNNING];
        if (sum[RUNNING] && sum[RUNNING] >= sum[ENABLED])
            out->value += (int64_t)sum[FIRST + i];
        else if (sum[RUNNING]) /* the product does not fit 64 bits */
            out->value += (int64_t)((unsigned __int128)sum[FIRST + i] * sum[ENABLED] / sum[RUNNING]);
    }
    if (r->group->part && out->enabled_ns) {
        out->value = (int64_t)out->raw;
        out->enabled_ns = out->running_ns;
        out->unavailable = false;
    }
    return r->error;
}
