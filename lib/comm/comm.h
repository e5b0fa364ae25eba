/* Comm: averages arrays between ranks.
 *
 * One const vtable per transport (self, link, mpi, nccl), validated once by pk_comm_open; callers use the typed wrappers below. A comm
 * belongs to one thread: the one that opened it calls everything. What a transport needs to make progress meanwhile (a thread, or
 * nothing at all on a virtual link) is its own.
 *
 * An all-reduce replaces every rank's array by the mean over the ranks: what data-parallel training does to gradients. All-reduces are
 * asynchronous and go through the transport one at a time, in the order in which they are started, which is the same on every rank.
 * From start to the end of wait the array and the struct pk_reduce are the transport's.
 *
 * On a device whose lanes are queues (device/lane.h) the host waits for none of it: an all-reduce is behind what was on the compute lane
 * when it was started and runs on the communication lane, and wait makes the compute lane wait. There settle, called when everything was
 * waited for, is where the host learns that all is over, that it went well, and what the times are; the struct is the transport's until then.
 * Times count from where pk_lanes_anchor was called last, at the beginning of a step; without it they are 0.
 *
 * Times are ns of the device's clock (pk_device_now_ns), sizes bytes. Everything that waits for another rank gives up after
 * options.timeout_ns with PK_E_TIMEOUT, and says which rank did not answer where there are heartbeats (comm/rank_heartbeats.h); after
 * that, and after any other error, the comm is broken: every call answers with an error, and only abort and close are of use. Nothing
 * here allocates between start and wait, so all-reduces may be timed. */
#pragma once

#include "comm/rank_heartbeats.h"
#include "device/device.h"
#include "ops/dtype.h"

enum pk_comm_kind { PK_COMM_SELF, PK_COMM_LINK, PK_COMM_MPI, PK_COMM_NCCL, PK_COMM_KINDS };

/* A virtual link: an all-reduce of b bytes between R ranks takes exactly latency_ns + b * 2(R-1)/R / bytes_per_s: a ring's bytes at
 * the link's bandwidth (nccl-tests' busbw). With jitter, times a log-normal factor of that standard deviation, drawn from the seed:
 * equal seeds give equal times. */
struct pk_comm_link {
    uint64_t latency_ns;
    double bytes_per_s; /* > 0 */
    double jitter;      /* >= 0 */
    uint64_t seed;
};

/* Time in ns of one all-reduce of this number of bytes, without jitter and without waiting. */
double pk_comm_link_ns(const struct pk_comm_link *l, unsigned ranks, double bytes);

/* How to open a comm. Zero means "choose". */
struct pk_comm_options {
    unsigned ranks;           /* link: virtual ranks, 0 = 2; otherwise the expected number, 0 = any */
    uint64_t timeout_ns;      /* 0 = a minute */
    struct pk_comm_link link; /* of PK_COMM_LINK alone */
    struct pk_comm *world;    /* of PK_COMM_NCCL: the processes, connected over MPI; NULL: one */
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
    uint64_t queued_ns; /* when it was started; of a queue, when the compute lane was there */
    uint64_t began_ns,
        ended_ns;    /* when it had the transport; valid once it is over, of a queue after settle */
    bool pending;    /* started and not waited for */
    uint64_t number; /* the transport's */
};

struct pk_comm;

struct pk_comm_ops {
    const char *name;    /* required: "link" */
    const char *summary; /* required: one line */
    /* optional: why it cannot work here, found out without starting anything; NULL = it may. A constant. */
    const char *(*unavailable)(void);
    /* required. Sets c->rank, c->size, c->processes and c->impl, in c->arena. On failure nothing is left behind. */
    enum pk_code (*open)(struct pk_comm *c, const struct pk_comm_options *o, struct pk_err *err);
    /* required. Nothing is pending, unless the comm is broken. */
    void (*close)(struct pk_comm *c);
    /* required. Takes an all-reduce whose parts, bytes, type and asked_ns are set. */
    enum pk_code (*start)(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err);
    /* required. Returns when it is over; everything started before it then is too. */
    enum pk_code (*wait)(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err);
    /* optional: absent where wait has said everything. Everything that was started has been waited for. */
    enum pk_code (*settle)(struct pk_comm *c, struct pk_err *err);
    /* optional: absent where all ranks are in one process. */
    enum pk_code (*barrier)(struct pk_comm *c, struct pk_err *err);
    enum pk_code (*bcast)(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err);
    enum pk_code (*gather)(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                           struct pk_err *err);
    /* optional: gives up what is under way on a device, which would keep it. */
    void (*abort)(struct pk_comm *c);
};

struct pk_comm {
    const struct pk_comm_ops *ops;
    struct pk_device *dev; /* its arrays are reduced and its clock is read; outlives the comm */
    unsigned rank, size;
    const char *library; /* the library that it calls, with version; NULL = none */
    unsigned processes;  /* 1 where ranks are virtual, else size: how many lines a gather has */
    uint64_t timeout_ns;
    struct pk_rank_heartbeats *heartbeats; /* the heartbeats of this rank; NULL = none. Outlives the comm */
    uint64_t reduces, reduced_bytes;       /* started since open: what was sent can be checked */
    size_t pending;
    bool broken;
    struct pk_arena arena;
    void *impl;
};

/* Every transport this source knows, by enum pk_comm_kind; NULL-terminated. */
extern const struct pk_comm_ops *const pk_comm_kinds[];
extern const struct pk_comm_ops pk_comm_self; /* one rank: the mean is what is there already */
extern const struct pk_comm_ops pk_comm_link; /* virtual ranks, all with the data of this process */
extern const struct pk_comm_ops pk_comm_mpi;  /* processes */
extern const struct pk_comm_ops pk_comm_nccl; /* processes with a GPU each; in builds with CUDA */

/* Why this transport cannot work here, as far as known before it is opened; NULL = it may work. */
const char *pk_comm_unavailable(enum pk_comm_kind kind);

/* PK_E_USAGE for options that make no sense, PK_E_UNAVAILABLE where the transport cannot work here. */
enum pk_code pk_comm_open(struct pk_comm *c, enum pk_comm_kind kind, struct pk_device *dev,
                          const struct pk_comm_options *o, struct pk_err *err) PK_MUST_CHECK;
/* Nothing may be pending (pk_assert), unless the comm is broken. A comm that was never opened, all zeros, may be closed. */
void pk_comm_close(struct pk_comm *c);

/* n elements; every rank passes the same number and type. n = 0 is allowed and costs the latency. */
enum pk_code pk_comm_start(struct pk_comm *c, struct pk_reduce *r, void *data, size_t n, enum pk_dtype type,
                           struct pk_err *err) PK_MUST_CHECK;
/* Several arrays in one call, without copying: the latency is paid once. `parts` lives until the wait. */
enum pk_code pk_comm_start_group(struct pk_comm *c, struct pk_reduce *r, const struct pk_part *parts,
                                 size_t n_parts, enum pk_dtype type, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_comm_wait(struct pk_comm *c, struct pk_reduce *r, struct pk_err *err) PK_MUST_CHECK;
/* Nothing is pending. Returns when everything is over on the device too, and times are valid: at the end of a step. */
enum pk_code pk_comm_settle(struct pk_comm *c, struct pk_err *err) PK_MUST_CHECK;

/* Waits without using a core, like a host whose GPU computes: returns when the device's clock reaches that time, or at once when it has passed. On the CPU the thread sleeps until shortly before
 * and spins the rest; on the null device exactly that time passes. Not on a GPU, whose lanes have pk_device_delay. */
void pk_pause_until(struct pk_device *dev, uint64_t ns);

/* Returns when every rank has called it. Nothing is pending. */
enum pk_code pk_comm_barrier(struct pk_comm *c, struct pk_err *err) PK_MUST_CHECK;
/* Rank 0's bytes, everywhere. */
enum pk_code pk_comm_bcast(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;
/* The same without a time limit: for ranks that wait for their next request. */
enum pk_code pk_comm_await(struct pk_comm *c, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;
/* Sends one text of each process, for example wire lines, to rank 0: lines[0 .. processes), which other ranks find NULL. Texts in a. */
enum pk_code pk_comm_gather(struct pk_comm *c, const char *line, struct pk_arena *a, const char **lines,
                            struct pk_err *err) PK_MUST_CHECK;

/* After ranks did something separately, all continue together, or all stop with the error of the first rank that failed. rc with *err is
 * the result of this rank; the result on all ranks is that of the first rank that failed, with its number. Every rank calls it at the
 * same place: after what a rank may fail at alone, before what ranks do together. NULL: one process, which agrees with itself. */
enum pk_code pk_agree(struct pk_comm *comm, enum pk_code rc, struct pk_err *err) PK_MUST_CHECK;

/* The comm is broken from now on, and what it has under way is given up. When ranks are processes, this one must report the reason and
 * end: the launcher then ends the others, which wait for it. */
void pk_comm_abort(struct pk_comm *c);

/* Rank 0's bytes, everywhere. NULL: nothing happens. */
enum pk_code pk_agree_on(struct pk_comm *comm, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;

/* flags[0..n): set on any rank, set on all. NULL: nothing happens. */
enum pk_code pk_agree_any(struct pk_comm *comm, bool *flags, size_t n, struct pk_err *err) PK_MUST_CHECK;

/* rc of an operation of this rank only, while the others are inside an all-reduce: when it failed, the comm is broken. The process must
 * end, and the launcher ends the others. */
enum pk_code pk_alone(struct pk_comm *comm, enum pk_code rc);
