/* Fake CUPTI: the table over a made-up GPU whose counts and records the test sets.
 *
 * It has the habits of the real one: ranges with equal names become one, and more ranges in a pass than max_ranges are refused. Records
 * are on a clock of its own, which was set at another time than the host's (of test_gpu.c) and drifts from it, and are handed out by a forced flush alone. From the second time on that kinds
 * are enabled, kernels of graphs have wrong correlation numbers. After cuptiFinalize there is no profiler. */
#pragma once

#include "counter/cuda/cupti.h"
#include "counter/cuda/nvml/nvml.h"

enum { FAKE_RANGES = 16, FAKE_RECORDS = 16 };

struct fake_cupti {
    /* set by the test */
    const char *fail_in; /* the function that answers fail_with */
    CUptiResult fail_with;
    CUpti_Profiler_DeviceSupported_Params supported;
    unsigned passes;
    size_t max_ranges; /* of a pass: cuptiRangeProfilerSetConfig takes no more */
    size_t drop_ranges, drop_records;
    double value; /* of every metric in the range that is pushed first; twice that in the second */
    double share; /* of metrics in percent */
    const void *records[FAKE_RECORDS]; /* handed out by the next flush, each of record_bytes */
    size_t record_bytes[FAKE_RECORDS], n_records;
    const void *
        running; /* the record of a kernel that ends when the host waits the next time: the first flush after that has it, too */
    size_t running_bytes;
    int running_waits;             /* fake_cuda.host_waits when it was launched */
    bool no_context, no_overheads; /* no_overheads: CUPTI_ACTIVITY_KIND_OVERHEAD is refused */
    uint64_t host_ns;              /* the host's clock */
    int64_t ahead_ns;              /* the clock of records before it, when the host's was 0 */
    double drift_ppm;              /* and faster by this: neither as fast as the host's nor as events' */
    /* read by the test */
    char ranges[FAKE_RANGES][40]; /* their names, each once */
    size_t n_ranges, pass, metrics;
    size_t pushes,
        sized_for;   /* ranges pushed since the last reset, ranges that the counter data image has room for */
    CUdevice device; /* of the last question whether a GPU can be counted on */
    const char *chip; /* of the last configuration */
    bool range_is_open;
    int live_hosts, live_profilers, enabled_kinds, subscribers, finalised;
};
extern struct fake_cupti fake_cupti;
extern const struct pk_cupti fake_cupti_table;
void fake_cupti_reset(void);

/* Its processes are this one, `others` times the first of the machine, and the peer of this one. */
struct fake_nvml {
    int init_rc, processes_rc;
    unsigned gpus, others;
    pid_t peer;
    bool ids_of_the_host; /* as in a container: there are no such processes here */
    unsigned long long held_back, millijoules;
    bool no_power;
    unsigned long long held_ns; /* by the power cap, so far; heat is not told of this GPU */
    char asked_pci[32];
    unsigned joined; /* the first GPUs, each joined with the others of them by NVLink; PCIe joins all */
    int p2p_status;  /* of pairs that PCIe joins */
    bool old_driver; /* what newer drivers have is refused */
    bool no_gpm;     /* the GPU has none */
    double busy;     /* of all GPM metrics, in percent; the next is one more */
    _Atomic int gpm_live, gpm_samples, powers; /* samples that are there; samples and powers that were read */
    int live;
};
extern struct fake_nvml fake_nvml;
extern const struct pk_nvml fake_nvml_table;
