/* Presets: perfkit's names of processor events, and what they are on each processor. Data alone. */
#pragma once

#include "counter/source.h"

/* What a name stands for, and the kernel's own event of about that meaning. */
struct pk_preset {
    const char *name, *unit, *summary;
    int type;        /* of perf_event_attr; -1 = the kernel has none */
    uint64_t config; /* likewise */
    enum pk_quality quality;
    const char *note; /* of the kernel's event */
};
extern const struct pk_preset pk_presets[]; /* ends with a NULL name */

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
