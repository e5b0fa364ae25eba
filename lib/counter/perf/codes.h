/* Codes: translates event names into codes of the Linux kernel: presets for each processor, libpfm's names, and units outside the cores,
 * from sysfs. */
#pragma once

#include "counter/perf/reader.h"

/* --- presets ---------------------------------------------------------------------------------------------------------- */

/* A preset, and the kernel's generic event with about the same meaning. */
struct pk_counter_preset {
    const char *name, *unit, *summary;
    int type;        /* of perf_event_attr; -1 = the kernel has none */
    uint64_t config; /* likewise */
    enum pk_quality quality;
    const char *note; /* on the kernel's event */
};
extern const struct pk_counter_preset pk_presets[]; /* ends with a NULL name */

/* The definition of a preset on some processors, in libpfm's names. */
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
    const char *alias_of;        /* "" = none; else the processor whose events are used, under the name pmu */
};
extern const struct pk_pmu pk_pmus[]; /* ends with a NULL vendor */

/* The processor named in root/proc/cpuinfo; NULL = not in the table, then *what describes it. */
const struct pk_pmu *pk_pmu_of(const char *root, struct pk_arena *a, const char **what);

/* NULL = no row for that processor. */
const struct pk_native *pk_native_of(const char *preset, const char *pmu);

/* --- encoding: the name of a processor event to the codes that are added up, on this machine ---------------------------- */

/* The properties of the processor on which codes depend. */
struct pk_processor {
    const struct pk_pmu *pmu; /* NULL = no presets for it */
    const char *what;         /* description of an unknown processor */
    bool hybrid; /* two kinds of cores: "cycles" is an event of cpu_core, "cycles@cpu_atom" of the other */
    struct pk_cores {
        const char *unit; /* the kernel's: "cpu_core", "cpu_atom" */
        uint32_t type;    /* of the kernel; 0 when there is one kind */
        const char *cpus; /* "0-15" */
    } cores[2];
};
struct pk_processor pk_processor_of(const struct pk_counter_env *env, struct pk_arena *a);

struct pk_perf_encoding {
    struct pk_event event;
    const struct pk_cores *cores; /* NULL = one kind of cores */
    struct pk_perf_code *codes;
    double *factors;
    size_t n;
};

/* PK_E_USAGE: neither a preset nor a raw name; PK_E_UNAVAILABLE: this processor does not have the preset, or libpfm4 is missing for a
 * raw name. */
enum pk_code pk_perf_encode(const struct pk_processor *cpu, const char *name, struct pk_arena *a,
                            struct pk_perf_encoding *out, struct pk_err *err) PK_MUST_CHECK;

/* "2*A:B + C", each name with the prefix "pmu::"; false when libpfm4 does not know one of them. */
bool pk_perf_encode_sum(const char *pmu, const char *sum, struct pk_arena *a, struct pk_perf_encoding *out);

/* How a preset is counted here, without opening libpfm4. other: by the second kind of cores, which uses the kernel's event. */
struct pk_event pk_preset_event(const struct pk_processor *cpu, const struct pk_counter_preset *p, bool other,
                                struct pk_arena *a);

/* --- libpfm4 ---------------------------------------------------------------------------------------------------------- */

/* The vendors' names of events. libpfm4 is opened at first use, with the events of all processors, present or not. Not thread safe. */

/* NULL when libpfm4 is available, else the reason. */
const char *pk_pfm_unavailable(void);
const char *pk_pfm_advice(void); /* the command that installs it */
/* "4.13"; "" when unavailable. */
const char *pk_pfm_version(struct pk_arena *a);

/* "skx::INST_RETIRED:ANY_P". False when libpfm4 is unavailable or does not know the name. */
bool pk_pfm_encode(const char *name, struct pk_perf_code *out);

/* --- sysfs: units beside the cores, below /sys/bus/event_source/devices ----------------------------------------------- */

struct pk_sysfs_event {
    struct pk_perf_code code;
    double scale; /* from a count to the unit */
    const char *unit;
};

/* Event `event` of unit `pmu` ("power", "energy-pkg"); false when there is none or its description cannot be parsed. */
bool pk_sysfs_event(const char *root, const char *pmu, const char *event, struct pk_arena *a,
                    struct pk_sysfs_event *out);

/* The CPUs on which the unit is read, one for each socket: its cpumask, or CPU 0 if it has none. */
size_t pk_sysfs_cpus(const char *root, const char *pmu, struct pk_arena *a, const int **cpus);

/* The units whose name matches ("uncore_imc_*"), by name. */
size_t pk_sysfs_units(const char *root, const char *pattern, struct pk_arena *a, const char *const **names);
