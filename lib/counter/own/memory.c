/* Memory: the highest memory use of an iteration: of this process as the kernel sees it, and of the device's pool. */
#include "counter/perf/known_work.h"
#include "counter/sources.h"

#include "base/file.h"
#include "device/device.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EVENT(name, summary, note)                                                                           \
    PK_EVENT("memory", name, "bytes", summary, PK_QUALITY_EXACT, note, PK_EVENT_LEVEL)

enum { RESIDENT, POOL, RESERVED, EVENTS };

static const struct pk_event events[EVENTS] = {
    [RESIDENT] = EVENT("resident_peak_bytes", "peak resident memory of this process", ""),
    [POOL] = EVENT("pool_peak_bytes", "peak memory in use in the device's pool", ""),
    [RESERVED] =
        EVENT("pool_reserved_bytes", "memory that the pool took from the device, in use or kept", ""),
};

struct memory_handle {
    const struct pk_source_plan *plan;
    const size_t *index;
    const char *root;
    struct pk_device *dev;
    int64_t v[EVENTS]; /* -1 = not known */
};

/* /proc/self/status says it in kB. -1 when it does not. */
static int64_t resident_peak(const char *root)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *status = pk_file_text(root, "proc/self/status", &a);
    const char *peak = status ? pk_file_field(status, "VmHWM", ':', &a) : NULL;
    return peak ? strtoll(peak, NULL, 10) * 1024 : -1;
}

/* From now on the peak is that of what follows; false where the kernel cannot forget one (a container without the file). */
static bool forget_peak(const char *root)
{
    char path[256];
    snprintf(path, sizeof path, "%s/proc/self/clear_refs", root);
    PK_CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "5", 1) == 1;
}

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    const char *root = pk_counter_root(env);
    if (resident_peak(root) < 0)
        return pk_found(PK_SOURCE_DEGRADED,
                        "only the pool of the device: /proc/self/status does not show VmHWM", NULL);
    if (!forget_peak(root))
        return pk_found(
            PK_SOURCE_DEGRADED,
            "resident memory is the peak since the process began: /proc/self/clear_refs cannot be written",
            NULL);
    return pk_found(PK_SOURCE_OK, "peaks of resident memory and of the device's pool", NULL);
}

/* The peak rises by what is touched: exactly, except for pages that the kernel counts in batches. */
static struct pk_source_found selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a)
{
    enum { MIB = 32, SLACK = 2 };
    const char *root = pk_counter_root(env);
    const struct pk_source_found f = check(s, env, a);
    if (f.state != PK_SOURCE_OK)
        return f;
    const int64_t before = resident_peak(root);
    void *p = pk_known_memory((size_t)MIB << 20);
    const double rose = (double)(resident_peak(root) - before) / (1 << 20);
    if (!p)
        return f;
    pk_known_memory_end(p, (size_t)MIB << 20);
    const char *found = pk_printf(a, "%d MiB touched raised the peak by %.1f MiB", MIB, rose);
    return pk_found(fabs(rose - MIB) <= SLACK ? PK_SOURCE_OK : PK_SOURCE_DEGRADED,
                    pk_printf(a, "%s; %s", f.why, found), NULL);
}

static enum pk_code plan(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    struct pk_event *found;
    size_t *index = pk_new_n(a, size_t, n);
    if (pk_events_find(s, names, n, a, &found, index, err))
        return err->code;
    for (size_t k = 0; k < n; k++)
        if (index[k] == RESIDENT && !forget_peak(pk_counter_root(env))) {
            found[k].quality = PK_QUALITY_APPROXIMATE;
            found[k].note = "since the process began";
        }
    pk_source_plan_one(s, found, n, index, a, plans, n_plans);
    return PK_OK;
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct memory_handle *h = pk_new(a, struct memory_handle);
    *h = (struct memory_handle){.plan = p, .index = p->state, .root = pk_counter_root(env), .dev = dev};
    *handle = h;
    return PK_OK;
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct memory_handle *h = handle;
    forget_peak(h->root);
    if (h->dev)
        pk_pool_reset_peak(&h->dev->pool);
    return PK_OK;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    struct memory_handle *h = handle;
    h->v[RESIDENT] = resident_peak(h->root);
    h->v[POOL] = h->dev ? (int64_t)h->dev->pool.peak : -1;
    h->v[RESERVED] = h->dev ? (int64_t)h->dev->pool.reserved : -1;
    *again = false;
    return PK_OK;
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct memory_handle *h = handle;
    for (size_t e = 0; e < h->plan->n; e++) {
        const int64_t v = h->v[h->index[e]];
        out[e] = (struct pk_reading){.unavailable = region >= 0 || v < 0,
                                     .why = region >= 0 ? "a peak is that of the whole iteration" : NULL,
                                     .integer = v};
    }
    return PK_OK;
}

const struct pk_source pk_source_memory = {
    .name = "memory",
    .summary = "peak memory of this process and of the device's pool",
    .caps = PK_SOURCE_PROCESS,
    .check = check,
    .selftest = selftest,
    .events = events,
    .n_events = EVENTS,
    .plan = plan,
    .ours = "for a command, exec measures peak_bytes in every run",
    .open = open_,
    .start = start,
    .stop = stop,
    .read = read_,
};
