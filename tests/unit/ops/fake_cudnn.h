/* Fake cuDNN: what a test reads of the library that fake_cudnn.c makes, and sets in it. Found by dlsym as "fake_cudnn". */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fake_cudnn {
    void (*work)(uint64_t ns); /* told of each execution: how long it takes */
    uint64_t ns;
    int64_t workspace_bytes;
    int engines;      /* how many are proposed for a graph; 0 = it is not supported */
    int refuse_plans; /* so many engines fail to become a plan */
    int fail_execute; /* the n-th execution from now fails; 0 = none */
    int fail_create;  /* cudnnCreate fails */
    double wrong;     /* what dq is multiplied by; 0 = nothing */
    /* read by the test */
    int live; /* handles and descriptors */
    int plans, packs, executions;
    int operations; /* of the last graph */
    const void *stream;
};
