/* Fake NCCL: what a test reads of the library that fake_nccl.c makes, and sets in it. Found by dlsym as "fake_nccl". */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

enum {
    FAKE_NCCL_LATENCY_NS = 1000, /* of a group on the GPU; and a ns a byte */
    FAKE_NCCL_GROUP_NS =
        30000, /* of the host from the end of a group until it is launched, of 2 ranks or more: 2.27 starts a thread */
};

struct fake_nccl {
    /* set by the test */
    void (*work)(struct CUstream_st *stream, uint64_t ns); /* told of each group */
    void (*aborted)(void);                                 /* told of an abort: what hangs ends */
    int in_progress; /* how often a call is not over yet when it is asked about; < 0: for ever */
    int id_rc, init_rc, group_rc, async_rc; /* what these answer */
    const char *last_error;
    uint64_t hang_ns; /* what a group takes beyond its time */
    /* read by the test */
    long polls;
    int ids, inits, comms, finalized, destroyed, aborts, groups, reduces, nested, outside;
    int ranks, rank, blocking, type, op;
    size_t elements;
    char id; /* the first byte of what init was given */
};
