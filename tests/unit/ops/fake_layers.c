/* Fake layers: what the kernels of layers answer, by the ops of the CPU, which tests/unit/ops/test_cpu_layers.c checks. The real ones are checked in
 * tests/cudashim. */
#include "fake_layers.h"

#include "../device/fake_cuda.h"
#include "base/err.h"
#include "ops/cuda/kernels.h"
#include "ops/ops.h"

#include <string.h>

enum { WORK_NS = 1000 };

int fake_layers_fail, fake_layers_launches;

/* Open as long as the program runs. */
static struct pk_device *cpu(void)
{
    static struct pk_device dev;
    static struct pk_err err;
    if (!dev.ops)
        pk_assert(!pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 1}, &err));
    return &dev;
}

static int launched(pk_stream s, enum pk_code rc)
{
    pk_assert(!rc);
    fake_layers_launches++;
    fake_cuda_work(s, WORK_NS);
    return fake_layers_fail;
}

#define BY_THE_CPU(name, shape)                                                                              \
    int pk_k_##name(pk_stream s, shape *x)                                                                   \
    {                                                                                                        \
        struct pk_err err;                                                                                   \
        return launched(s, pk_ops_cpu.name(cpu(), x, &err));                                                 \
    }
BY_THE_CPU(embed, const struct pk_embed)
BY_THE_CPU(embed_backward, const struct pk_embed_backward)
BY_THE_CPU(norm, const struct pk_norm)
BY_THE_CPU(split_heads, const struct pk_heads)
BY_THE_CPU(merge_heads, const struct pk_heads)
BY_THE_CPU(glu, const struct pk_glu)
BY_THE_CPU(glu_backward, const struct pk_glu_backward)
BY_THE_CPU(cross_entropy, const struct pk_cross_entropy)
BY_THE_CPU(log_softmax, const struct pk_log_softmax)
BY_THE_CPU(nll, const struct pk_nll)
BY_THE_CPU(nll_backward, const struct pk_nll_backward)
BY_THE_CPU(adamw_tick, struct pk_adamw_state)
BY_THE_CPU(adamw, const struct pk_adamw)

int pk_k_mean(pk_stream s, const float *x, size_t n, float *out)
{
    struct pk_err err;
    return launched(s, pk_ops_cpu.mean(cpu(), x, n, out, &err));
}

int pk_k_map(pk_stream s, enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y,
             size_t n)
{
    struct pk_err err;
    return launched(s, pk_ops_cpu.map(cpu(), map, type, a, b, y, n, &err));
}

/* The workspace is as large as it is said to be. */
int pk_k_norm_backward(pk_stream s, const struct pk_norm_backward *n, float *partial, size_t parts)
{
    struct pk_err err;
    pk_assert(parts > 0);
    memset(partial, 0xff, parts * n->cols * sizeof *partial);
    return launched(s, pk_ops_cpu.norm_backward(cpu(), n, &err));
}

int pk_k_scale(pk_stream s, enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    struct pk_err err;
    return launched(s, pk_ops_cpu.scale(cpu(), type, alpha, x, y, n, &err));
}

/* The rest of elementwise.cu, which nobody calls. */

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    return 1;
}

int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    return 1;
}
