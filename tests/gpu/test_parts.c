/* Parts: flash attention of few blocks, with what a block sees cut into parts and whole, in the same process. Prints a table; results of
 * the two must agree, and parts that are slower are told and no failure. With PERFKIT_FIVE_PRODUCTS=on the table is that of flash_five.c. For
 * builds with CUDA: on another device there are no parts. */
#include "flash_bench.h"
#include "given.h"

#include "base/text/words.h"
#include "ops/workspace.h"

#include <stdio.h>
#include <stdlib.h>

enum { DIM = 64, SKIPPED = 77 };

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const struct way {
    const char *name;
    enum pk_math math;
    bool backward;
    flash_launch *launch;
} ways[] = {
    {"forward ieee", PK_MATH_IEEE, false, pk_k_flash_forward},
    {"backward ieee", PK_MATH_IEEE, true, pk_k_flash_backward},
    {"forward 3xtf32", PK_MATH_3XTF32, false, pk_k_flash_forward_3xtf32},
    {"backward 3xtf32", PK_MATH_3XTF32, true, pk_k_flash_backward_3xtf32},
};

/* One problem each, except the last; all are cut in at least one direction. */
static const struct row {
    size_t batch, seq;
    int causal;
} rows[] = {{1, 1024, 0}, {1, 2048, 0}, {1, 4096, 0}, {1, 4096, 1}, {1, 8192, 1}, {4, 2048, 1}};

/* A line; the number of those that parts make no faster. */
static int measure(struct flash_bench *b, const struct way *w, const struct row *r)
{
    const struct pk_flash_parts parts = pk_flash_parts(&b->at, w->backward), whole = {1, b->at.seq, 0};
    const size_t n = b->at.batch * b->at.seq * DIM * (w->backward ? 3 : 1);
    if (parts.n == 1)
        return 0;
    float *const memory = flash_memory(b, w->backward ? pk_workspace_flash_backward(&b->at)
                                                      : pk_workspace_flash_forward(&b->at));
    const double whole_ns = flash_best_ns(b, &whole, memory);
    float *const of_whole = flash_results(b);
    const double parts_ns = flash_best_ns(b, &parts, memory);
    float *const of_parts = flash_results(b);
    const double off = flash_difference(of_whole, of_parts, n);
    pk_device_free(b->dev, memory);
    free(of_whole);
    free(of_parts);
    if (!(off < 1e-5)) {
        fprintf(stderr, "%s, %zu x %zu: results of %zu parts are %g off those of the whole\n", w->name,
                r->batch, r->seq, parts.n, off);
        exit(EXIT_FAILURE);
    }
    printf("%-15s %zu x %-5zu %-6s %2zu parts %9.1f us, whole %9.1f us: %6.2f x%s\n", w->name, r->batch,
           r->seq, r->causal ? "causal" : "full", parts.n, parts_ns / 1e3, whole_ns / 1e3,
           whole_ns / parts_ns, whole_ns < parts_ns ? "  below its aim" : "");
    fflush(stdout);
    return whole_ns < parts_ns;
}

/* All ways of a shape; forward first: backward needs what it saves. */
static int measure_shape(struct flash_bench *b, const struct row *r)
{
    int below = 0;
    b->at = (struct pk_attention){
        .batch = r->batch, .seq = r->seq, .dim = DIM, .causal = r->causal, .scale = 0.125f};
    flash_take(b);
    for (size_t i = 0; i < COUNT(ways); i++) {
        b->at.math = ways[i].math;
        b->launch = ways[i].launch;
        b->backward = ways[i].backward;
        below += measure(b, &ways[i], r);
    }
    flash_free(b);
    return below;
}

int main(int argc, char **argv)
{
    const struct given given = given_device(argc, argv);
    struct pk_device dev;
    struct flash_bench b = {.dev = &dev};
    int below = 0;
    given_open(&dev, &given, &(struct pk_device_options){0});
    const bool five = pk_switched_on("PERFKIT_FIVE_PRODUCTS");
    if (dev.kind == PK_DEVICE_CUDA && five)
        below = flash_five_table(&b, given.tiny);
    else if (dev.kind == PK_DEVICE_CUDA)
        for (size_t i = 0; i < (given.tiny ? 1 : COUNT(rows)); i++)
            below += measure_shape(&b, &rows[i]);
    const bool measured = dev.kind == PK_DEVICE_CUDA;
    given_close(&dev);
    if (!measured) {
        printf("skipped: kernels of this device see everything whole\n");
        return SKIPPED;
    }
    printf("%d below their aim\n", below);
    return EXIT_SUCCESS;
}
