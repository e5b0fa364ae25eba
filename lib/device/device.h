/* Device: the hardware, or its simulation, on which work runs.
 *
 * One const vtable per kind (cpu, null, cuda): few hooks in lifecycle order, each marked required or optional and validated once by
 * pk_device_open. Callers use the typed wrappers below, never the hooks: wrappers contain the asserts and the fault injection of tests.
 * A device owns its memory pool (pool.h), its streams and events (lanes and marks, mark.h). One device is open per worker process;
 * nothing here is thread safe unless stated.
 *
 * Lanes are ordered queues of work. On the CPU work runs at once on the calling thread and its pool of
 * threads, so every lane is the same; on a GPU a lane is a stream. PK_LANE_HOST is the calling thread itself: no queue, so nothing is
 * copied, delayed or recorded there. */
#pragma once

#include "base/arena.h"
#include "device/mark.h"
#include "device/pool.h"
#include "device/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pk_device_kind { PK_DEVICE_CPU, PK_DEVICE_NULL, PK_DEVICE_CUDA, PK_DEVICE_KINDS };
enum pk_lane { PK_LANE_COMPUTE, PK_LANE_COMM, PK_LANE_COPY, PK_LANE_HOST, PK_LANES };
enum pk_copy { PK_COPY_HOST_TO_DEVICE, PK_COPY_DEVICE_TO_HOST, PK_COPY_ON_DEVICE };

/* How to open a device. Zero means "choose". */
struct pk_device_options {
    unsigned threads; /* CPU: worker threads, the calling one included; 0 = one per core we may use */
    bool no_bind;     /* do not bind threads to CPUs */
    const char *cpus; /* "0-3,8": the CPUs to use, in the order in which threads are bound to them; NULL =
                            choose: of the CPU one per core, of a GPU those nearest to it */
    unsigned
        local_rank; /* ranks on one host: with "cuda" the GPU number is local_rank modulo the number of GPUs */
    bool cold;      /* the caches are emptied before every sample: dev->cold */
    int64_t limit_bytes; /* pool limit; 0 = the kind's own rule (CPU: 0.9 * min(cgroup, MemAvailable)) */
    uint64_t seed;       /* null: start of its fake clock's jitter; 0 = exact */
};

struct pk_device;
struct pk_choice;
struct pk_graph;
struct pk_graph_ops;
struct pk_lane_ops;

/* Facts with the peaks that a vendor states for its GPU, for comparison with measured rates: "sheet_fp32_flops_per_s". */
#define PK_SHEET_PREFIX "sheet_"

/* A fact about the open device, recorded with the invocation: ("blas", "openblas 0.3.21 SkylakeX"). A fact whose name
 * ends in "_warning" is shown to the user. */
typedef void pk_fact_fn(void *user, const char *key, const char *value);

struct pk_device_ops {
    const char *kind;    /* required: "cpu" */
    const char *summary; /* required: one line for `list devices` */

    /* required. NULL when this kind works here, else the reason ("built without CUDA"). Must not load anything heavy. */
    const char *(*unavailable)(void);
    /* required. Sets dev->impl; dev->arena is for data that lives as long as the device. Pool and marks are ready; with opt->limit_bytes
     * 0 the kind may lower dev->pool.limit. On failure nothing is left behind. */
    enum pk_code (*open)(struct pk_device *dev, const struct pk_device_options *opt, struct pk_err *err);
    /* required. */
    void (*close)(struct pk_device *dev);
    /* required. The time that marks and the harness read: monotonic ns. The null device's is fake. */
    uint64_t (*now_ns)(struct pk_device *dev);
    /* required. Waits until every lane is idle; reports a device error of the work before it. */
    enum pk_code (*sync)(struct pk_device *dev, struct pk_err *err);
    /* required. Backing memory of the pool: 64-byte aligned (256 on a GPU); NULL when refused. */
    void *(*reserve)(struct pk_device *dev, size_t bytes);
    void (*release)(struct pk_device *dev, void *p, size_t bytes);
    /* required. Asynchronous on `lane` if the kind supports it. */
    enum pk_code (*copy)(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                         const void *src, size_t bytes, struct pk_err *err);
    /* optional. Records a point in time on a lane (CUDA event); NULL: the host clock is read. */
    void (*record)(struct pk_device *dev, enum pk_lane lane, size_t slot);
    /* optional, with record. Lane time in ns between two slots of this iteration, 0 when `to` was first; valid after sync. */
    uint64_t (*elapsed_ns)(struct pk_device *dev, size_t from, size_t to);
    /* optional. Keeps a lane busy for ns and does nothing else; NULL: the host spins on now_ns. */
    void (*delay)(struct pk_device *dev, enum pk_lane lane, uint64_t ns);
    /* optional. Overwrites the contents of the device's caches, without memory of the pool; NULL: no caches. */
    enum pk_code (*flush)(struct pk_device *dev, struct pk_err *err);
    /* optional. The range that an outside profiler records begins (`on`) or ends; NULL: this kind has none. */
    enum pk_code (*profiler)(struct pk_device *dev, bool on, struct pk_err *err);
    /* optional. Capturing and replaying work (lane.h). */
    const struct pk_graph_ops *graphs;
    /* optional. Set when lanes are queues: order between them (lane.h). */
    const struct pk_lane_ops *lanes;
    /* optional. True after an error after which no work is possible: the process has to end, and sync returns that error. */
    bool (*broken)(const struct pk_device *dev);
    /* optional. Reports properties and choices (model, threads, BLAS core, ...). */
    void (*facts)(struct pk_device *dev, pk_fact_fn *fn, void *user);
};

/* What an op found out in a timed region and the user should know. Its texts live as long as the device. */
struct pk_notice {
    const char *key, *text;
    bool reported;
};

struct pk_device {
    const struct pk_device_ops *ops;
    enum pk_device_kind kind;
    unsigned ordinal; /* cuda:1 -> 1 */
    bool cold;
    struct pk_arena arena;
    struct pk_pool pool;
    struct pk_marks marks;
    struct pk_choice *choices;  /* choices.h */
    struct pk_notice notice;    /* choices.h; .text NULL = none */
    struct pk_trace *trace;     /* the log of ops and copies; NULL = none */
    struct pk_graph *capturing; /* the graph that is being captured (lane.h) */
    void *impl;
};

/* Every kind this source knows, available or not, by enum pk_device_kind; NULL-terminated. */
extern const struct pk_device_ops *const pk_device_kinds[];

/* "cpu", "null", "cuda", "cuda:1" -> kind and ordinal; a usage error with a did-you-mean otherwise. "cuda:GPU-UUID" and "cuda:MIG-UUID"
 * are ordinal 0: from this call on CUDA shows that GPU or MIG instance alone, to this process and to those that it starts
 * (CUDA_VISIBLE_DEVICES), because it shows a process no more than one instance. Comes before the first call of CUDA. */
enum pk_code pk_device_parse(const char *name, enum pk_device_kind *kind, unsigned *ordinal,
                             struct pk_err *err) PK_MUST_CHECK;

/* NULL when the kind works here, else the reason. Opening an unavailable kind is PK_E_UNAVAILABLE. */
const char *pk_device_unavailable(enum pk_device_kind kind);

/* name: "cpu", "null", "cuda", "cuda:1". PK_E_USAGE for another; PK_E_UNAVAILABLE. After an error nothing is left to close. */
enum pk_code pk_device_open(struct pk_device *dev, const char *name, const struct pk_device_options *opt,
                            struct pk_err *err) PK_MUST_CHECK;
/* The pool must be empty (pk_assert): a leak in a probe is a bug. */
void pk_device_close(struct pk_device *dev);

uint64_t pk_device_now_ns(struct pk_device *dev);
/* Waits for the work of all lanes. Returns the first error of that work. */
enum pk_code pk_device_sync(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_device_copy(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                            const void *src, size_t bytes, struct pk_err *err) PK_MUST_CHECK;
/* A copy between host and device on the compute lane, complete when it returns: for set-up and checks. */
enum pk_code pk_device_copy_now(struct pk_device *dev, enum pk_copy dir, void *dst, const void *src,
                                size_t bytes, struct pk_err *err) PK_MUST_CHECK;
/* The declared work of a copy: bytes read and written in the device's memory. */
double pk_device_copy_declares(enum pk_copy dir, size_t bytes);
/* Empties the caches and waits until every lane is idle. */
enum pk_code pk_device_flush(struct pk_device *dev, struct pk_err *err) PK_MUST_CHECK;
/* Begins or ends the range that a profiler outside of perfkit (nsys, ncu) records when it is told to wait for one. The device is idle. */
enum pk_code pk_device_profiler(struct pk_device *dev, bool on, struct pk_err *err) PK_MUST_CHECK;
/* Keeps a lane busy for ns: enqueued on a device with queues, else the calling thread spins (null: its clock advances). */
void pk_device_delay(struct pk_device *dev, enum pk_lane lane, uint64_t ns);
void pk_device_facts(struct pk_device *dev, pk_fact_fn *fn, void *user);
bool pk_device_broken(const struct pk_device *dev);

/* Memory for probes and ops: from the pool, so it is counted. NULL when the limit is reached; the pool remembers the refused request,
 * and pk_device_oom makes it the error PK_E_OOM with sizes. On a broken device, and during a capture (lane.h), which cannot reserve
 * device memory, pk_device_oom returns the device's or the capture's error. Contents are not cleared. O(1) after warm-up; safe inside a
 * timed region. */
void *pk_device_alloc(struct pk_device *dev, size_t bytes, enum pk_tag tag);
void pk_device_free(struct pk_device *dev, void *p); /* NULL is allowed */
enum pk_code pk_device_oom(struct pk_device *dev, struct pk_err *err);
