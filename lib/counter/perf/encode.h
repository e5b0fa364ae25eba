/* Encode: the name of a processor event to the codes whose sum it is, on this machine. */
#pragma once

#include "counter/perf/presets.h"
#include "counter/perf/reader.h"

/* The processor as far as codes depend on it. */
struct pk_processor {
    const struct pk_pmu *pmu; /* NULL = no presets for it */
    const char *what;         /* it is, when it is not known */
    bool
        hybrid; /* cores of two kinds: an event is of one of them, "cycles" of cpu_core, "cycles@cpu_atom" of the other */
    struct pk_cores {
        const char *unit; /* the kernel's: "cpu_core", "cpu_atom" */
        uint32_t type;    /* likewise; 0 where there is one kind */
        const char *cpus; /* "0-15" */
    } cores[2];
};
struct pk_processor pk_processor_of(const struct pk_counter_env *env, struct pk_arena *a);

struct pk_encoded {
    struct pk_event event;
    const struct pk_cores *cores; /* NULL = there is one kind */
    struct pk_perf_code *codes;
    double *factors;
    size_t n;
};

/* PK_E_USAGE: neither a preset nor a raw name; PK_E_UNAVAILABLE: a preset that this processor has not, or libpfm4 is missing for a raw
 * name. */
enum pk_code pk_perf_encode(const struct pk_processor *cpu, const char *name, struct pk_arena *a,
                            struct pk_encoded *out, struct pk_err *err) PK_MUST_CHECK;

/* "2*A:B + C", each name behind "pmu::"; false when libpfm4 does not know one of them. */
bool pk_perf_encode_sum(const char *pmu, const char *sum, struct pk_arena *a, struct pk_encoded *out);

/* How a preset is counted here, without asking libpfm4: with `other` by the second kind of cores, which counts those with a kernel's
 * event. */
struct pk_event pk_preset_event(const struct pk_processor *cpu, const struct pk_preset *p, bool other,
                                struct pk_arena *a);
