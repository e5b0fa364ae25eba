/* Fake cuBLASLt: what a test reads of the library that fake_lt.c makes, and sets in it. Found by dlsym as "fake_lt". */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FAKE_LT_CANDIDATES = 3 };

struct fake_lt {
    void (*work)(uint64_t ns);       /* told of each product: how long it takes */
    uint64_t ns[FAKE_LT_CANDIDATES]; /* of each candidate */
    size_t workspace_bytes[FAKE_LT_CANDIDATES];
    int products, asked, last; /* calls of Matmul and of the heuristic; the candidate used last */
    int live;                  /* handles, descriptors, layouts, preferences */
    int checked, refuse;       /* algorithms that were looked at; none is good */
    int idle;                  /* products take their time and compute nothing */
    int fail_products;         /* the n-th from now fails; 0 = none */
    int tf32;                  /* products that were asked for in TF32 */
    /* of the last product, the library's numbers; its a is perfkit's b */
    int compute_type, scale_type, a_type, b_type, c_type;
    uint32_t sums; /* the last heuristic's: ways in which parts of a product may be added */
};
