/* Five: the backward pass of flash attention with five products and with seven. Results of the two must agree; five that are slower are told
 * and no failure. */
#include "flash_bench.h"

#include "ops/workspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const struct way {
    const char *name;
    enum pk_math math;
    flash_launch *forward, *backward;
} ways[] = {
    {"ieee", PK_MATH_IEEE, pk_k_flash_forward, pk_k_flash_backward},
    {"3xtf32", PK_MATH_3XTF32, pk_k_flash_forward_3xtf32, pk_k_flash_backward_3xtf32},
};

/* The smallest first; a length that is no multiple of tiles, few and many blocks, and parts. */
static const struct row {
    size_t batch, seq, dim;
    int causal;
} rows[] = {{2, 200, 64, 1},    {1, 1024, 64, 0},  {16, 1000, 64, 1},  {16, 4096, 64, 0},
            {16, 4096, 64, 1},  {2, 16384, 64, 0}, {16, 4096, 128, 0}, {16, 4096, 128, 1},
            {2, 16384, 128, 0}, {16, 4096, 100, 0}};

/* A line; the number of those that five products make no faster. */
static int measure(struct flash_bench *b, const struct way *w, const struct row *r)
{
    struct pk_flash_parts seven = pk_flash_parts(&b->at, true), five = seven;
    const size_t tokens = r->batch * r->seq, n = tokens * r->dim;
    seven.five = 0, five.five = 1;
    float *const memory =
        flash_memory(b, tokens * sizeof(float) * (five.n > 1 ? 2 * five.n * r->dim + 1 : 1));
    const double seven_ns = flash_best_ns(b, &seven, memory);
    float *const of_seven = flash_results(b);
    const double five_ns = flash_best_ns(b, &five, memory);
    float *const of_five = flash_results(b);
    flash_best_ns(b, &five, memory);
    float *const again = flash_results(b);
    const double off = flash_difference(of_seven, of_five, n),
                 others = flash_difference(of_seven + n, of_five + n, 2 * n),
                 apart = flash_difference(of_five, again, n);
    pk_device_free(b->dev, memory);
    free(of_seven);
    free(of_five);
    free(again);
    if (!(off < 1e-5 && others < 1e-5 && apart < 1e-5)) {
        fprintf(
            stderr,
            "%s, %zu x %zu, %zu features: dq of five products is %g off that of seven, dk and dv are %g off, "
            "dq of two runs differs by %g\n",
            w->name, r->batch, r->seq, r->dim, off, others, apart);
        exit(EXIT_FAILURE);
    }
    printf("%-6s %2zu x %-5zu d=%-3zu %-6s five %9.1f us, seven %9.1f us, dq off by %.1e, between runs %.1e: "
           "%6.2f x%s\n",
           w->name, r->batch, r->seq, r->dim, r->causal ? "causal" : "full", five_ns / 1e3, seven_ns / 1e3,
           off, apart, seven_ns / five_ns, seven_ns < five_ns ? "  below its aim" : "");
    fflush(stdout);
    return seven_ns < five_ns;
}

/* Both ways of a shape, after the forward pass, which saves what they need. */
static int measure_shape(struct flash_bench *b, const struct row *r)
{
    int below = 0;
    b->at = (struct pk_attention){.batch = r->batch,
                                  .seq = r->seq,
                                  .dim = r->dim,
                                  .causal = r->causal,
                                  .scale = 1 / sqrtf((float)r->dim)};
    flash_take(b);
    for (size_t i = 0; i < COUNT(ways); i++) {
        const struct pk_flash_parts whole = {1, r->seq, 0};
        b->at.math = ways[i].math;
        b->launch = ways[i].forward;
        flash_best_ns(b, &whole, NULL);
        b->launch = ways[i].backward;
        b->backward = true;
        below += measure(b, &ways[i], r);
    }
    flash_free(b);
    return below;
}

int flash_five_table(struct flash_bench *b, bool tiny)
{
    int below = 0;
    for (size_t i = 0; i < (tiny ? 1 : COUNT(rows)); i++)
        below += measure_shape(b, &rows[i]);
    return below;
}
