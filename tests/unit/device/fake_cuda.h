/* Fake CUDA: the runtime's table over host memory, for tests of the device's own logic (lib/device/cuda).
 *
 * Work is done when it is asked for, on one clock of ns that only work, copies and fake_cuda_work advance: the host's. An event reads the
 * GPU's: it began at another time, drifts from the host's, and counts in steps of FAKE_EVENT_NS, the resolution that CUDA documents.
 * With `parallel` every stream has a clock of its own, which begins where the host's is and waits for events, and the host's goes on
 * where the host waits: what overlaps then is what would on a GPU. A capture records copies, fills, events and work, and a replay does them;
 * taking or giving back memory and waiting are refused meanwhile and make the capture invalid, which its stream says until it is ended. Calls are counted; the n-th fails with a chosen error. After a sticky
 * error every call fails with it, as on a GPU; what is freed is freed all the same, so that a leak found is one of perfkit's. */
#pragma once

#include "device/cuda/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_cuda {
    /* set by the test */
    int driver_version, devices;
    cudaError_t count_rc;  /* what cudaGetDeviceCount answers */
    size_t memory_bytes;   /* of the GPU */
    unsigned long fail_at; /* the n-th call from now fails; 0 = none */
    cudaError_t fail_with;
    bool parallel;
    int compiled_for; /* pk_k_compiled_for's */
    double drift_ppm; /* the GPU's clock is faster than the host's by this */
    /* read by the test */
    unsigned long calls;
    size_t used_bytes;
    int live_blocks, live_pinned, live_streams, live_events, live_graphs, live_execs;
    int replays, launches, device_set, greatest_priority_streams;
    size_t set_bytes; /* of the last cudaMemsetAsync */
    cudaError_t last, broken;
    uint64_t now_ns;  /* how far work has come; with `parallel`, of the stream that is ahead */
    uint64_t host_ns; /* with `parallel` */
    bool recording;   /* between cudaProfilerStart and cudaProfilerStop */
    int ranges;       /* that were begun */
    int recorded;     /* kernels, copies and fills that ran in them */
    int host_waits;   /* calls that wait for a stream, an event or the device */
    char said
        [1024]; /* what was put into streams, in order: r1 an event recorded in stream 1, w a wait, c a copy, k work, h a call */
};
extern struct fake_cuda fake_cuda;
extern const struct pk_cuda_api fake_cuda_api;

enum {
    FAKE_COPY_NS = 1000,
    FAKE_SET_NS = 500,
    FAKE_LAUNCH_NS = 25000,
    FAKE_LOOK_NS = 100000,
    FAKE_EVENT_NS = 500
};

/* One healthy GPU with 1 MiB of memory, and nothing live. */
void fake_cuda_reset(void);
/* What a kernel does here: takes time, or works on what it is given (64 bytes at most, copied); recorded in a capture. */
void fake_cuda_launch(struct CUstream_st *stream, void (*kernel)(const void *args), const void *args,
                      size_t bytes);
void fake_cuda_work(struct CUstream_st *stream, uint64_t ns);
/* True when events may give event_ns for what takes host_ns by the host's clock: each of its spans, which are added up, is exact to the
 * resolution of events, and the clocks drift. */
bool fake_cuda_agrees(uint64_t event_ns, uint64_t host_ns, size_t spans);
/* Ends what keeps streams busy. */
void fake_cuda_release(void);
