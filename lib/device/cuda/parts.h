/* Parts: what the files of the CUDA device share. Private to lib/device/cuda. */
#pragma once

#include "device/cuda/api.h"
#include "device/cuda/cuda.h"
#include "device/lane.h"

struct pk_pin {
    struct pk_pin *next;
    void *p;
};

struct pk_cuda_state {
    struct pk_cuda_state *next;
    pk_cuda_end_fn *end;
    void *state;
};

struct pk_cuda {
    const struct pk_cuda_api *api;
    struct pk_cuda_traits traits;
    struct cudaDeviceProp properties;
    cudaStream_t stream[PK_LANES]; /* PK_LANE_HOST has none */
    cudaEvent_t *events; /* by slot; created when a slot is first used, never in a repeated iteration */
    size_t n_events;
    cudaEvent_t anchor; /* lanes.c: made by the first call */
    uint64_t anchor_ns;
    bool capturing;
    cudaError_t capture_rc; /* the first error of this or the last capture that no call could return */
    cudaError_t sticky;     /* the first error after which the context is useless */
    char sticky_what[128];
    void *l2_scratch;
    size_t l2_scratch_bytes;
    struct pk_pin *pins;
    struct pk_cuda_state *beside;
    int driver_version, runtime_version; /* 13000 */
    const char *overrides;               /* variables of the environment that are ignored */
    const char *overlap; /* with PERFKIT_DEPENDENT_LAUNCH=on its effect, as a fact; else NULL */
    const char *binding; /* CPUs of the thread that launches work on the GPU; "off" */
};

static inline struct pk_cuda *pk_cuda_of(const struct pk_device *dev)
{
    return dev->impl;
}

/* NULL when a GPU can be used through this table, else why not: static text. */
const char *pk_cuda_missing(const struct pk_cuda_api *api);

/* graph.c */
extern const struct pk_graph_ops pk_cuda_graphs;

/* delay.cu: one thread that reads the GPU's clock until ns have passed; the rest of the GPU is free. Returns the launch's error, 0 =
 * none. */
int pk_k_delay(struct CUstream_st *stream, uint64_t ns);
/* delay.cu: the compute capability of the code that runs on the current GPU: 90 for sm_90a, 80 for PTX of compute_80; 0 when there is
 * none. */
int pk_k_compiled_for(void);

/* lanes.c */
extern const struct pk_lane_ops pk_cuda_lanes;
void pk_cuda_delay(struct pk_device *dev, enum pk_lane lane, uint64_t ns_long);

/* errors.c. True for errors after which the process has to end. */
bool pk_cuda_is_sticky(cudaError_t rc);
/* Remembers an error that cannot be returned where it happens: all later checks return it. */
void pk_cuda_remember(struct pk_cuda *c, cudaError_t rc, const char *what);
/* True for an error that ends only the running capture, not the device: it is kept and returned at the end of the capture. */
bool pk_cuda_spoils_capture(struct pk_cuda *c, cudaError_t rc);

/* lanes.c: the hooks of marks. */
void pk_cuda_record(struct pk_device *dev, enum pk_lane lane, size_t slot);
uint64_t pk_cuda_elapsed_ns(struct pk_device *dev, size_t from, size_t to);
void pk_cuda_events_free(struct pk_cuda *c);
