/* Codes: translates names of events into the kernel's codes: presets for each processor, libpfm's names, and units outside the cores as
 * sysfs describes them. */
#pragma once

#include "counter/perf/reader.h"

/* --- presets ---------------------------------------------------------------------------------------------------------- */

/* What a name stands for, and the kernel's own event of about that meaning. */
struct pk_counter_preset {
    const char *name, *unit, *summary;
    int type;        /* of perf_event_attr; -1 = the kernel has none */
    uint64_t config; /* likewise */
    enum pk_quality quality;
    const char *note; /* of the kernel's event */
};
extern const struct pk_counter_preset pk_presets[]; /* ends with a NULL name */

/* A preset on some processors, by libpfm's names. */
struct pk_native {
    const char *preset;
    const char *pmus; /* "skx icx icl spr" */
    const char *sum;  /* "FP_ARITH_INST_RETIRED:SCALAR_DOUBLE + 2*FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE" */
    enum pk_quality quality;
    const char *note;
};
extern const struct pk_native pk_natives[]; /* ends with a NULL preset */

/* The processors that presets are for. */
struct pk_pmu {
    const char *vendor;          /* "GenuineIntel", "AuthenticAMD"; "0x41" on Arm: the implementer */
    int family;                  /* -1 on Arm */
    int first_model, last_model; /* the part on Arm */
    const char *pmu;             /* libpfm's name */
    const char *alias_of;        /* "" ; else whose events these are taken for, and pmu is their name */
};
extern const struct pk_pmu pk_pmus[]; /* ends with a NULL vendor */

/* The processor that root/proc/cpuinfo names; NULL = none of those above; then *what says what it is. */
const struct pk_pmu *pk_pmu_of(const char *root, struct pk_arena *a, const char **what);

/* NULL = no row for that processor. */
const struct pk_native *pk_native_of(const char *preset, const char *pmu);

/* --- encoding: the name of a processor event to the codes whose sum it is, on this machine ---------------------------- */

/* The processor as far as codes depend on it. */
struct pk_processor {
    const struct pk_pmu *pmu; /* NULL = no presets for it */
    const char *what;         /* it is, when it is not known */
    bool hybrid; /* two kinds of cores: "cycles" is an event of cpu_core, "cycles@cpu_atom" of the other */
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
struct pk_event pk_preset_event(const struct pk_processor *cpu, const struct pk_counter_preset *p, bool other,
                                struct pk_arena *a);

/* --- libpfm4 ---------------------------------------------------------------------------------------------------------- */

/* The names that processors' vendors give events. libpfm4 is opened when it is first asked, with the events of processors that are not
 * here too. Not thread safe. */

/* NULL when libpfm4 is there, else why not. */
const char *pk_pfm_unavailable(void);
const char *pk_pfm_advice(void); /* the command that brings it */
/* "4.13"; "" when it is not there. */
const char *pk_pfm_version(struct pk_arena *a);

/* "skx::INST_RETIRED:ANY_P". False when it is not there or does not know the name. */
bool pk_pfm_encode(const char *name, struct pk_perf_code *out);

/* --- sysfs: units beside the cores, below /sys/bus/event_source/devices ----------------------------------------------- */

struct pk_sysfs_event {
    struct pk_perf_code code;
    double scale; /* of a count, to the unit */
    const char *unit;
};

/* Event `event` of unit `pmu` ("power", "energy-pkg"); false when there is none, or its description is not understood. */
bool pk_sysfs_event(const char *root, const char *pmu, const char *event, struct pk_arena *a,
                    struct pk_sysfs_event *out);

/* The CPUs on which the unit is to be asked, one for each socket: its cpumask; CPU 0 where it has none. */
size_t pk_sysfs_cpus(const char *root, const char *pmu, struct pk_arena *a, const int **cpus);

/* The units whose name matches ("uncore_imc_*"), by name. */
size_t pk_sysfs_units(const char *root, const char *pattern, struct pk_arena *a, const char *const **names);
