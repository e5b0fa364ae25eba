/* System events: counters of units outside the cores, of everything that runs there: energy, memory traffic. */
#include "counter/perf/codes.h"
#include "counter/perf/known_work.h"
#include "counter/perf/perf_plan.h"
#include "counter/sources.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>

#define PK_MS 1000000ull

enum { SYSTEM_EVENTS_MAX = 4 };

/* A source: units by their name in sysfs, and the kernel's names of its events. */
struct system {
    const char *units;                     /* pattern */
    const char *module;                    /* that provides them on Intel's processors, on bare metal */
    const char *reason;                    /* when there is no such unit */
    const char *unit;                      /* of the events in sysfs */
    double base;                           /* how many of perfkit's base units that is */
    uint64_t least_ns;                     /* see struct pk_perf_plan */
    const char *native[SYSTEM_EVENTS_MAX]; /* of source->events */
};

#define ALL_THAT_RAN          PK_QUALITY_EXACT, "of everything that ran there"
#define JOULES(name, summary) PK_EVENT("energy", name, "J", summary, ALL_THAT_RAN)
#define BYTES(name, summary)  PK_EVENT("uncore", name, "bytes", summary, ALL_THAT_RAN)

static const struct pk_event energy_events[] = {
    JOULES("package_joules", "energy of the sockets"),
    JOULES("cores_joules", "energy of their cores"),
    JOULES("dram_joules", "energy of memory"),
    JOULES("platform_joules", "energy of the whole board"),
};

static const struct pk_event uncore_events[] = {
    BYTES("dram_read_bytes", "read from memory"),
    BYTES("dram_write_bytes", "written to memory"),
};

static const struct system energy = {
    .units = "power",
    .module = "rapl",
    .reason = "no energy counters: this kernel exposes no power unit",
    .unit = "Joules",
    .base = 1,
    .least_ns = 100 * PK_MS,
    .native = {"energy-pkg", "energy-cores", "energy-ram", "energy-psys"},
};

static const struct system uncore = {
    .units = "uncore_imc*",
    .module = "intel_uncore",
    .reason = "no counters of memory controllers: this kernel exposes none",
    .unit = "MiB",
    .base = 1 << 20,
    .native = {"cas_count_read", "cas_count_write"},
};

static const struct system *system_of(const struct pk_source *s)
{
    return s == &pk_source_energy ? &energy : &uncore;
}

/* --- finding -------------------------------------------------------------------------------------------------------- */

/* Why an event cannot be counted here. */
struct obstacle {
    size_t event;          /* of the source */
    const char *why;       /* NULL = it can be */
    const char *fix;       /* what makes it countable; NULL = nothing */
    const char *otherwise; /* what to do where nothing helps; NULL = that is all there is to say */
    bool unit_is_there;    /* dead or not permitted: more informative than a unit that is missing */
};

/* A virtual machine has what its host gives it; on bare metal a module may be missing. */
static const char *advice(const struct system *s, const char *root, struct pk_arena *a)
{
    const char *cpuinfo = pk_file_text(root, "proc/cpuinfo", a);
    const char *vendor = cpuinfo ? pk_file_field(cpuinfo, "vendor_id", ':', a) : NULL;
    if (!vendor || pk_perf_in_guest(root, a))
        return NULL;
    if (!strcmp(vendor, "AuthenticAMD"))
        return s == &uncore ? "sudo modprobe amd_uncore" : "sudo modprobe rapl";
    return pk_printf(a, "sudo modprobe %s", s->module);
}

/* The plan of these events: every unit on every socket. An obstacle when one of them is not described. */
static struct obstacle describe(const struct system *s, const char *root, const size_t *index, size_t n,
                                struct pk_arena *a, struct pk_perf_plan *out)
{
    const char *const *units;
    const size_t n_units = pk_sysfs_units(root, s->units, a, &units);
    struct pk_perf_code *codes = pk_new_n(a, struct pk_perf_code, n);
    uint32_t *types = pk_new_n(a, uint32_t, n_units);
    double *factors = pk_new_n(a, double, n);
    size_t *ends = pk_new_n(a, size_t, n), found = 0;
    for (size_t u = 0; u < n_units; u++) {
        struct pk_sysfs_event e = {{0}};
        size_t k = 0;
        for (; k < n && pk_sysfs_event(root, units[u], s->native[index[k]], a, &e); k++) {
            if (strcmp(e.unit, s->unit) != 0)
                break;
            codes[k] = e.code;
            factors[k] = e.scale * s->base;
            ends[k] = k + 1;
        }
        if (k == n)
            types[found++] = e.code.type;
    }
    if (!found) {
        const char *guest =
            pk_perf_in_guest(root, a) ? "; this is a virtual machine, and its host does not expose more" : "";
        const char *module = n_units ? NULL : advice(s, root, a);
        return (struct obstacle){.event = index[0],
                                 .why = n_units ? pk_printf(a, "%s shows no %s in %s%s", units[0],
                                                            s->native[index[0]], s->unit, guest)
                                                : pk_printf(a, "%s%s", s->reason, guest),
                                 .fix = module   ? module
                                        : *guest ? "use bare metal"
                                                 : NULL};
    }
    *out = (struct pk_perf_plan){.group = {.codes = codes, .n = n, .types = types, .n_types = found},
                                 .factors = factors,
                                 .ends = ends,
                                 .real = true,
                                 .scope = PK_PERF_SYSTEM,
                                 .least_ns = s->least_ns};
    out->group.n_cpus = pk_sysfs_cpus(root, units[0], a, &out->group.cpus);
    return (struct obstacle){0};
}

/* There is not the same as alive: virtual machines show counters that stay 0. */
static struct obstacle count_load(const struct system *s, const struct pk_counter_env *env,
                                  const struct pk_perf_plan *p, const size_t *index, uint64_t load_ns,
                                  struct pk_arena *a, struct pk_perf_count *counts)
{
    const int error = pk_perf_try(env, &p->group, a);
    if (error) {
        const struct pk_perf_refusal r = pk_perf_refusal(pk_counter_root(env), error, PK_PERF_SYSTEM, a);
        return (struct obstacle){index[0], r.reason, r.advice, PK_PERF_OMIT,
                                 error == EACCES || error == EPERM};
    }
    const bool counted = pk_perf_count_work(env, &p->group, pk_known_load, &load_ns, a, counts);
    for (size_t k = 0; k < p->group.n; k++)
        if (!counted || !counts[k].raw)
            return (struct obstacle){index[k],
                                     pk_printf(a, "dead counter: %s stayed 0 in %llu ms of load",
                                               s->native[index[k]], (unsigned long long)(load_ns / PK_MS)),
                                     NULL, "omit it; in a virtual machine, use bare metal", true};
    return (struct obstacle){0};
}

enum { QUICK_MS = 10, LONG_MS = 200 };

static enum pk_code plan(const struct pk_source *source, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    const struct system *s = system_of(source);
    struct pk_event *events;
    size_t *index = pk_new_n(a, size_t, n);
    struct pk_perf_plan *p = pk_new(a, struct pk_perf_plan);
    struct pk_perf_count *counts = pk_new_n(a, struct pk_perf_count, n);
    if (pk_events_find(source, names, n, a, &events, index, err))
        return err->code;
    struct obstacle o = describe(s, pk_counter_root(env), index, n, a, p);
    if (!o.why)
        o = count_load(s, env, p, index, QUICK_MS * PK_MS, a, counts);
    if (o.why) {
        pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be counted", source->events[o.event].name);
        pk_why(err, "%s", o.why);
        return o.fix || o.otherwise ? pk_fix(err, "%s", o.fix ? o.fix : o.otherwise) : err->code;
    }
    for (size_t k = 0; k < n; k++)
        events[k].native = pk_printf(a, "%s/%s/", s->units, s->native[index[k]]);
    pk_source_plan_one(source, events, n, p, a, plans, n_plans);
    return PK_OK;
}

/* Tests each event separately under a load. */
static struct pk_source_found found(const struct pk_source *source, const struct pk_counter_env *env,
                                    uint64_t load_ns, struct pk_arena *a)
{
    const struct system *s = system_of(source);
    struct obstacle first = {0};
    const char *counted = "", *not = "";
    for (size_t i = 0; i < source->n_events; i++) {
        struct pk_perf_plan p;
        struct pk_perf_count c;
        struct obstacle o = describe(s, pk_counter_root(env), &i, 1, a, &p);
        if (!o.why)
            o = count_load(s, env, &p, &i, load_ns, a, &c);
        if (!o.why) {
            counted = pk_printf(a, "%s%s%s %.3g %s", counted, *counted ? ", " : "", source->events[i].name,
                                p.factors[0] * (double)c.value, source->events[i].unit);
            continue;
        }
        not = pk_printf(a, "%s%s%s", not, *not ? ", " : "", source->events[i].name);
        if (!first.why || o.unit_is_there)
            first = o;
    }
    if (!*counted)
        return pk_found(PK_SOURCE_UNAVAILABLE, first.why, first.fix);
    return pk_found(PK_SOURCE_OK,
                    pk_printf(a, "under %llu ms of load: %s%s%s", (unsigned long long)(load_ns / PK_MS),
                              counted, *not ? "; not here: " : "", not ),
                    NULL);
}

/* --- the sources ---------------------------------------------------------------------------------------------------- */

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    return found(s, env, QUICK_MS * PK_MS, a);
}

static struct pk_source_found selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a)
{
    return found(s, env, LONG_MS * PK_MS, a);
}

const struct pk_source pk_source_energy = {
    .name = "energy",
    .summary = "energy of sockets, cores and memory (RAPL), for all processes",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_SYSTEM,
    .check = check,
    .selftest = selftest,
    .events = energy_events,
    .n_events = sizeof energy_events / sizeof *energy_events,
    .plan = plan,
    PK_PERF_PLAN_HOOKS,
};

const struct pk_source pk_source_uncore = {
    .name = "uncore",
    .summary = "traffic between memory and the sockets, of all processes",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_SYSTEM,
    .check = check,
    .selftest = selftest,
    .events = uncore_events,
    .n_events = sizeof uncore_events / sizeof *uncore_events,
    .plan = plan,
    PK_PERF_PLAN_HOOKS,
};
