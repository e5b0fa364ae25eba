/* Comm: averages arrays between ranks.
 *
 * One const vtable per transport (self, link, mpi, nccl), validated once by pk_comm_open; callers use the typed wrappers below. All
 * calls come from the thread that opened the comm. A transport that needs a thread to make progress starts it itself.
 *
 * An all-reduce replaces every rank's array by the mean over the ranks: what data-parallel training does to gradients. All-reduces are
 * asynchronous. The transport executes them one at a time, in the order in which they are started; this order is the same on every rank.
 * From start to the end of wait the caller does not touch the array and the struct pk_reduce.
 *
 * On a device whose lanes are queues (device/lane.h) the host does not wait: an all-reduce runs on the communication lane, after the
 * work that was on the compute lane when it was started, and wait makes the compute lane wait. settle, called after all waits, makes the
 * host wait until everything has ended; it returns errors and sets the times. Until then the caller does not touch the struct pk_reduce.
 * Times count from the last call of pk_lanes_anchor, at the beginning of a step; without it they are 0.
 *
 * Times are ns of the device's clock (pk_device_now_ns), sizes bytes. A call that waits for another rank returns PK_E_TIMEOUT after
 * options.timeout_ns; with heartbeats (comm/rank_heartbeats.h) the error names the rank that did not respond. After any error the comm
 * is broken: every call except abort and close returns an error. Nothing allocates between start and wait, so all-reduces may be timed. */
#pragma once

#include "comm/rank_heartbeats.h"
#include "device/device.h"
#include "ops/dtype.h"

enum pk_comm_kind { PK_COMM_SELF, PK_COMM_LINK, PK_COMM_MPI, PK_COMM_NCCL, PK_COMM_KINDS };

/* A virtual link: an all-reduce of b bytes between R ranks takes exactly latency_ns + b * 2(R-1)/R / bytes_per_s: a ring's bytes at the
 * link's bandwidth (nccl-tests' busbw). With jitter, this time is multiplied by a log-normal factor with that standard deviation, drawn
 * from the seed: equal seeds give equal times. */
struct pk_virtual_link {
    uint64_t latency_ns;
    double bytes_per_s; /* > 0 */
    double jitter;      /* >= 0 */
    uint64_t seed;
};

/* Time in ns of one all-reduce of this number of bytes, without jitter and without waiting. */
double pk_comm_link_ns(const struct pk_virtual_link *l, unsigned ranks, double bytes);

/* How to open a comm. Zero means "choose". */
struct pk_comm_options {
    unsigned ranks;              /* link: virtual ranks, 0 = 2; otherwise the expected number, 0 = any */
    uint64_t timeout_ns;         /* 0 = a minute */
    struct pk_virtual_link link; /* only for PK_COMM_LINK */
    struct pk_comm *world; /* only for PK_COMM_NCCL: the processes, connected over MPI; NULL = one process */
    struct pk_rank_heartbeats *heartbeats; /* only for PK_COMM_MPI: of struct pk_comm; NULL = none */
};

struct pk_part {
    void *data;
    size_t n; /* elements */
};

/* One all-reduce, in memory of the caller: zeroed before its first start, reusable after its wait. */
struct pk_reduce {
    const struct pk_part *parts; /* the caller's, or `one` */
    size_t n_parts;
    struct pk_part one;
    size_t bytes; /* of all parts */
    enum pk_dtype type;
    uint64_t queued_ns; /* when it was started; with queues, when the compute lane reached it */
    uint64_t began_ns,
        ended_ns;    /* when the transport executed it; valid after wait, with queues after settle */
    bool pending;    /* started, and wait was not called */
    uint64_t number; /* set by the transport */
};

struct pk_comm;

struct pk_comm_ops {
    const char *name;    /* required: "link" */
    const char *summary; /* required: one line */
    /* optional: why it cannot work here, determined without starting anything; NULL = it may work. Static text. */
    const char *(*unavailable)(void);
    /* required. Sets c->rank, c->size, c->processes and c->impl, in c->arena. On failure nothing is left behind. */
    enum pk_code (*open)(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err);
    /* required. Nothing is pending, unless the comm is broken. */
    void (*close)(struct pk_comm *c);
    /* required. Starts an all-reduce whose parts, bytes, type and queued_ns are set. */
    enum pk_code (*start)(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err);
    /* required. Returns when it has ended; everything that was started before it has then ended, too. */
    enum pk_code (*wait)(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err);
    /* optional: NULL when wait already returns all errors and times. wait was called for everything that was started. */
    enum pk_code (*settle)(struct pk_comm *c, struct pk_err *err);
    /* optional: NULL when all ranks are in one process. */
    enum pk_code (*barrier)(struct pk_comm *c, struct pk_err *err);
    enum pk_code (*bcast)(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err);
    enum pk_code (*gather)(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                           struct pk_err *err);
    /* optional: ends the operations that are still running on the device. */
    void (*abort)(struct pk_comm *c);
};

struct pk_comm {
    const struct pk_comm_ops *ops;
    struct pk_device *dev; /* its arrays are reduced and its clock is read; outlives the comm */
    unsigned rank, size;
    const char *library; /* the library that it calls, with version; NULL = none */
    unsigned processes;  /* 1 if ranks are virtual, else size: the number of lines of a gather */
    uint64_t timeout_ns;
    struct pk_rank_heartbeats *heartbeats; /* the heartbeats of this rank; NULL = none. Outlives the comm */
    uint64_t reduces, reduced_bytes;       /* started since open, for checks */
    size_t pending;
    bool broken;
    struct pk_arena arena;
    void *impl;
};

/* Every transport this source knows, by enum pk_comm_kind; NULL-terminated. */
extern const struct pk_comm_ops *const pk_comm_kinds[];
extern const struct pk_comm_ops pk_comm_self; /* one rank: the array is already the mean */
extern const struct pk_comm_ops pk_comm_link; /* virtual ranks, all with the data of this process */
extern const struct pk_comm_ops pk_comm_mpi;  /* processes */
extern const struct pk_comm_ops pk_comm_nccl; /* processes with a GPU each; in builds with CUDA */

/* Why this transport cannot work here, as far as known before it is opened; NULL = it may work. */
const char *pk_comm_unavailable(enum pk_comm_kind kind);

/* PK_E_USAGE for invalid options, PK_E_UNAVAILABLE when the transport cannot work here. */
enum pk_code pk_comm_open(struct pk_comm *c, enum pk_comm_kind kind, struct pk_device *dev,
                          const struct pk_comm_options *o, struct pk_err *err) PK_MUST_CHECK;
/* Nothing may be pending (pk_assert), unless the comm is broken. A comm that was never opened (all zeros) is allowed. */
void pk_comm_close(struct pk_comm *c);

/* n elements; every rank passes the same number and type. n = 0 is allowed and costs the latency. */
enum pk_code pk_comm_start(struct pk_comm *c, struct pk_reduce *r, void *data, size_t n, enum pk_dtype type,
                           struct pk_err *err) PK_MUST_CHECK;
/* Several arrays in one call, without copying: the latency is paid once. `parts` lives until the wait. */
enum pk_code pk_comm_start_group(struct pk_comm *c, struct pk_reduce *r, const struct pk_part *parts,
                                 size_t n_parts, enum pk_dtype type, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_comm_wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;
/* At the end of a step: nothing is pending. Returns when everything has ended on the device, too; times are then valid. */
enum pk_code pk_comm_settle(struct pk_comm *c, struct pk_err *err) PK_MUST_CHECK;

/* Waits until the device's clock reaches ns, without using a core, like a host whose GPU computes. Returns at once when that time has
 * passed. On the CPU the thread sleeps until shortly before and spins for the rest; on the null device the clock is set to exactly that
 * time. Not for a GPU, whose lanes have pk_device_delay. */
void pk_pause_until(struct pk_device *dev, uint64_t ns);

/* Returns when every rank has called it. Nothing is pending. */
enum pk_code pk_comm_barrier(struct pk_comm *c, struct pk_err *err) PK_MUST_CHECK;
/* Rank 0's bytes, everywhere. */
enum pk_code pk_comm_bcast(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;
/* The same without a time limit: for ranks that wait for their next request. */
enum pk_code pk_comm_await(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;
/* Of a rank that waits: PK_E_TIMEOUT when the run, which gives the ranks their requests, is stopped for too long (rank_heartbeats.h). */
enum pk_code pk_comm_abandoned(const struct pk_comm *c, struct pk_err *err) PK_MUST_CHECK;
/* Sends one text of each process, for example wire lines, to rank 0: lines[0 .. processes), which other ranks find NULL. Texts in a. */
enum pk_code pk_comm_gather(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                            struct pk_err *err) PK_MUST_CHECK;

/* After ranks did something separately, all continue together, or all stop with the error of the first rank that failed. rc with *err is
 * the result of this rank; the result on all ranks is that of the first rank that failed, with its number. Every rank calls it at the
 * same place: after an operation that may fail on one rank, and before an operation of all ranks. comm NULL = one process. */
enum pk_code pk_agree(struct pk_comm *comm, enum pk_code rc, struct pk_err *err) PK_MUST_CHECK;

/* Breaks the comm and gives up what is running. When ranks are processes, this one must report the reason and end; the launcher then
 * ends the others, which wait for it. */
void pk_comm_abort(struct pk_comm *c);

/* Rank 0's bytes, everywhere. NULL: nothing happens. */
enum pk_code pk_agree_on(struct pk_comm *comm, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;

/* flags[0..n): set on any rank, set on all. NULL: nothing happens. */
enum pk_code pk_agree_any(struct pk_comm *comm, bool *flags, size_t n, struct pk_err *err) PK_MUST_CHECK;

/* rc of an operation of this rank only, while the others are inside an all-reduce: when it failed, the comm is broken. The process must
 * end, and the launcher ends the others. */
enum pk_code pk_comm_break_on_error(struct pk_comm *comm, enum pk_code rc);
