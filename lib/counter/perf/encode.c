/* Encode: presets by libpfm's native names, else by the kernel's; raw names by libpfm. */
#include "counter/perf/codes.h"

#include "base/file.h"
#include "base/text/words.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

static struct pk_cores cores_of(const char *root, const char *unit, struct pk_arena *a)
{
    const char *at = pk_printf(a, "sys/bus/event_source/devices/%s", unit);
    const char *cpus = pk_file_text(root, pk_printf(a, "%s/cpus", at), a);
    int64_t type = 0;
    pk_file_int(root, pk_printf(a, "%s/type", at), &type);
    return (struct pk_cores){unit, (uint32_t)type, cpus ? cpus : ""};
}

struct pk_processor pk_processor_of(const struct pk_counter_env *env, struct pk_arena *a)
{
    const char *root = pk_counter_root(env);
    struct pk_processor cpu = {.cores = {cores_of(root, "cpu_core", a), cores_of(root, "cpu_atom", a)}};
    cpu.pmu = pk_pmu_of(root, a, &cpu.what);
    cpu.hybrid = cpu.cores[0].type;
    return cpu;
}

static struct pk_event event_on(const struct pk_processor *cpu, const struct pk_cores *cores,
                                struct pk_event e, struct pk_arena *a)
{
    if (cores == &cpu->cores[1])
        e.name = pk_printf(a, "%s@%s", e.name, cores->unit);
    e.note = pk_printf(a, "of what ran on CPUs %s (%s)%s%s", cores->cpus, cores->unit, *e.note ? "; " : "",
                       e.note);
    return e;
}

bool pk_perf_encode_sum(const char *pmu, const char *sum, struct pk_arena *a, struct pk_perf_encoding *out)
{
    enum { TERMS_MAX = 8 };
    out->codes = pk_new_n(a, struct pk_perf_code, TERMS_MAX);
    out->factors = pk_new_n(a, double, TERMS_MAX);
    out->n = 0;
    for (const char *rest = sum, *term; (term = pk_next_part(&rest, '+', a)) && out->n < TERMS_MAX;
         out->n++) {
        const char *times = strchr(term, '*');
        out->factors[out->n] = times ? strtod(term, NULL) : 1;
        if (!pk_pfm_encode(pk_printf(a, "%s::%s", pmu, times ? times + 1 : term), &out->codes[out->n]))
            return false;
    }
    return true;
}

static void one_code(struct pk_perf_encoding *out, struct pk_perf_code c, struct pk_arena *a)
{
    out->codes = pk_new(a, struct pk_perf_code);
    out->factors = pk_new(a, double);
    out->codes[0] = c;
    out->factors[0] = 1;
    out->n = 1;
}

static const struct pk_native *native_of(const struct pk_processor *cpu, const char *preset)
{
    return cpu->pmu ? pk_native_of(preset, cpu->pmu->pmu) : NULL;
}

static struct pk_event by_kernel(const struct pk_counter_preset *p)
{
    return (struct pk_event){p->name, p->unit, p->summary, "cpu-events", "", "", p->quality, p->note};
}

static struct pk_event by_native(const struct pk_processor *cpu, const struct pk_counter_preset *p,
                                 const struct pk_native *n, struct pk_arena *a)
{
    const char *native = pk_printf(a, "%s::%s", cpu->pmu->pmu, n->sum), *note = n->note;
    if (*cpu->pmu->alias_of)
        note = pk_printf(a, "%s%staken for a %s", note, *note ? "; " : "", cpu->pmu->alias_of);
    const enum pk_quality quality = *cpu->pmu->alias_of ? PK_QUALITY_APPROXIMATE : n->quality;
    return (struct pk_event){p->name, p->unit, p->summary, "cpu-events", native, "", quality, note};
}

struct pk_event pk_preset_event(const struct pk_processor *cpu, const struct pk_counter_preset *p, bool other,
                                struct pk_arena *a)
{
    const struct pk_native *n = other ? NULL : native_of(cpu, p->name);
    const struct pk_event e = n ? by_native(cpu, p, n, a) : by_kernel(p);
    return cpu->hybrid ? event_on(cpu, &cpu->cores[other], e, a) : e;
}

static enum pk_code encode_preset(const struct pk_processor *cpu, const struct pk_counter_preset *p,
                                  bool other, struct pk_arena *a, struct pk_perf_encoding *out,
                                  struct pk_err *err)
{
    const struct pk_native *n = other ? NULL : native_of(cpu, p->name);
    if (n && pk_perf_encode_sum(cpu->pmu->pmu, n->sum, a, out)) {
        out->event = by_native(cpu, p, n, a);
    } else if (p->type >= 0) {
        out->event = by_kernel(p);
        one_code(out, (struct pk_perf_code){.type = (uint32_t)p->type, .config = p->config}, a);
    } else {
        pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be counted", p->name);
        if (native_of(cpu, p->name)) {
            pk_why(err, "this name needs libpfm4: %s", pk_pfm_unavailable());
            return pk_fix(err, "%s", pk_pfm_advice());
        }
        if (cpu->pmu)
            pk_why(err, "%s has no such event", cpu->pmu->pmu);
        else
            pk_why(err, "there are no presets for %s", cpu->what);
        return pk_fix(err, "use a raw event by libpfm's name: --counters 'PMU::EVENT:MASK'");
    }
    return PK_OK;
}

static enum pk_code unknown(const char *name, struct pk_arena *a, struct pk_err *err)
{
    const char **names = NULL;
    size_t n = 0, cap = 0;
    for (const struct pk_counter_preset *p = pk_presets; p->name; p++) {
        names = pk_grow(a, names, sizeof *names, n, &cap);
        names[n++] = p->name;
    }
    pk_fail(err, PK_E_USAGE, "cpu-events: there is no event '%.100s'", name);
    pk_why(err, "it is neither a preset nor a name that libpfm4 knows; %s",
           pk_suggest_text(a, name, names, n));
    return pk_fix(err, "perfkit list counters");
}

/* A name without a PMU is this processor's. */
static enum pk_code encode_raw(const struct pk_processor *cpu, const char *name, struct pk_arena *a,
                               struct pk_perf_encoding *out, struct pk_err *err)
{
    const bool full = strstr(name, "::") != NULL;
    struct pk_perf_code code;
    if (!full && !cpu->pmu)
        return unknown(name, a, err);
    if (full && pk_pfm_unavailable()) {
        pk_fail(err, PK_E_UNAVAILABLE, "%.200s cannot be counted", name);
        pk_why(err, "a raw name needs libpfm4: %s", pk_pfm_unavailable());
        return pk_fix(err, "%s", pk_pfm_advice());
    }
    const char *native = full ? pk_strdup(a, name) : pk_printf(a, "%s::%s", cpu->pmu->pmu, name);
    if (!pk_pfm_encode(native, &code))
        return unknown(name, a, err);
    one_code(out, code, a);
    out->event = (struct pk_event){pk_strdup(a, name), "1", "event by its raw name", "cpu-events", native, "",
                                   PK_QUALITY_EXACT,   ""};
    return PK_OK;
}

enum pk_code pk_perf_encode(const struct pk_processor *cpu, const char *name, struct pk_arena *a,
                            struct pk_perf_encoding *out, struct pk_err *err)
{
    const char *at = cpu->hybrid ? strchr(name, '@') : NULL;
    const bool other = at && !strcmp(at + 1, cpu->cores[1].unit);
    const char *stem = other ? pk_strndup(a, name, (size_t)(at - name)) : name;
    const struct pk_counter_preset *p = pk_presets;
    while (p->name && strcmp(p->name, stem) != 0)
        p++;
    *out = (struct pk_perf_encoding){0};
    if (p->name ? encode_preset(cpu, p, other, a, out, err) : encode_raw(cpu, name, a, out, err))
        return err->code;
    if (cpu->hybrid) {
        /* Where there are two kinds of cores, a code is of one of them. */
        out->cores = &cpu->cores[other];
        for (size_t i = 0; i < out->n; i++) {
            struct pk_perf_code *c = &out->codes[i];
            if (c->type == PERF_TYPE_RAW)
                c->type = cpu->cores[other].type;
            else if (c->type == PERF_TYPE_HARDWARE || c->type == PERF_TYPE_HW_CACHE)
                c->config |= (uint64_t)cpu->cores[other].type << 32;
        }
        out->event = event_on(cpu, out->cores, out->event, a);
    }
    return PK_OK;
}
