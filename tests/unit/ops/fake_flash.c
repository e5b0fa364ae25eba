/* Fake flash: what the kernels of flash attention answer, from the float64 reference. They remember the chip they were told of. */
#include "fake_flash.h"

#include "../device/fake_cuda.h"
#include "base/err.h"
#include "reference.h"

/* Launches are in timed regions, where nothing is allocated: problems are as small as those of tests. */
enum { MOST_SCORES = 1 << 16, MOST = 1 << 15, WORK_NS = 100000 };
static double scores[MOST_SCORES], x[3][MOST];

struct pk_chip fake_flash_chip;
int fake_flash_fail, fake_flash_3xtf32;

static void narrow(const double *from, float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

static size_t begin(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    const size_t rows = at->batch * at->seq;
    pk_assert(rows * at->seq <= MOST_SCORES && rows * at->dim <= MOST);
    fake_flash_chip = *chip;
    fake_cuda_work(s, WORK_NS);
    return rows * at->dim;
}

int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    const size_t n = begin(s, chip, at);
    pk_reference_attention(at, &(struct pk_reference_attention){.p = scores, .o = x[0], .lse = x[1]});
    narrow(x[0], at->o, n);
    narrow(x[1], at->lse, at->batch * at->seq);
    return fake_flash_fail;
}

int pk_k_flash_backward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    const size_t n = begin(s, chip, at);
    pk_reference_attention(at,
                           &(struct pk_reference_attention){.p = scores, .dq = x[0], .dk = x[1], .dv = x[2]});
    narrow(x[0], at->dq, n);
    narrow(x[1], at->dk, n);
    narrow(x[2], at->dv, n);
    return fake_flash_fail;
}

int pk_k_flash_forward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    fake_flash_3xtf32++;
    return pk_k_flash_forward(s, chip, at);
}

int pk_k_flash_backward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at)
{
    fake_flash_3xtf32++;
    return pk_k_flash_backward(s, chip, at);
}
