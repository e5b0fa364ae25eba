/* Fake flash: what the kernels of flash attention answer, from the float64 reference. They remember the chip they were told of. */
#include "fake_flash.h"

#include "../device/fake_cuda.h"
#include "base/err.h"
#include "reference.h"

#include <string.h>

/* Launches are in timed regions, where nothing is allocated: problems are as small as those of tests. */
enum { MOST_SCORES = 1 << 20, MOST = 1 << 16, WORK_NS = 100000 };
static double scores[MOST_SCORES], x[3][MOST];

struct pk_chip fake_flash_chip;
size_t fake_flash_parts;
int fake_flash_fail, fake_flash_3xtf32, fake_flash_fp16x3, fake_flash_five;

static void narrow(const double *from, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* The workspace is as large as it is said to be. */
static size_t begin(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                    const struct pk_flash_parts *parts, float *memory, size_t floats)
{
    const size_t rows = at->batch * at->seq;
    pk_assert(rows * at->seq <= MOST_SCORES && rows * at->dim <= MOST);
    pk_assert((parts->n - 1) * parts->rows < at->seq && parts->n * parts->rows >= at->seq);
    pk_assert((parts->n > 1 || parts->five) == (memory != NULL));
    if (memory)
        memset(memory, 0xff,
               ((parts->n > 1 ? parts->n * floats : 0) + (parts->five ? 1 : 0)) * rows * sizeof *memory);
    fake_flash_chip = *chip;
    fake_flash_parts = parts->n;
    fake_cuda_work(s, WORK_NS);
    return rows * at->dim;
}

int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                       const struct pk_flash_parts *parts, float *memory)
{
    const size_t n = begin(s, chip, at, parts, memory, at->dim + 2);
    pk_reference_attention(at, &(struct pk_reference_attention){.p = scores, .o = x[0], .lse = x[1]});
    narrow(x[0], at->o, n);
    narrow(x[1], at->lse, at->batch * at->seq);
    return fake_flash_fail;
}

int pk_k_flash_backward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                        const struct pk_flash_parts *parts, float *memory)
{
    const size_t n = begin(s, chip, at, parts, memory, 2 * at->dim);
    fake_flash_five += parts->five;
    pk_reference_attention(at,
                           &(struct pk_reference_attention){.p = scores, .dq = x[0], .dk = x[1], .dv = x[2]});
    narrow(x[0], at->dq, n);
    narrow(x[1], at->dk, n);
    narrow(x[2], at->dv, n);
    return fake_flash_fail;
}

int pk_k_flash_forward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                              const struct pk_flash_parts *parts, float *memory)
{
    fake_flash_3xtf32++;
    return pk_k_flash_forward(s, chip, at, parts, memory);
}

int pk_k_flash_forward_fp16x3(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                              const struct pk_flash_parts *parts, float *memory)
{
    fake_flash_fp16x3++;
    memset(memory, 0xff, pk_fp16x3_bytes(at)); /* all of its workspace */
    return pk_k_flash_forward(s, chip, at, parts, NULL);
}

int pk_k_flash_backward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                               const struct pk_flash_parts *parts, float *memory)
{
    fake_flash_3xtf32++;
    return pk_k_flash_backward(s, chip, at, parts, memory);
}
