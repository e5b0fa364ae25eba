/* Flash: the tiled kernels over all problems and threads.
 *
 * Forward is parallel over blocks of queries. Backward is parallel over problems, and over ranges of keys
 * when problems are too few: each range owns its rows of dk and dv, and writes its part of dq, which are then
 * added up. Workspace: kilobytes per thread, and for backward with r > 1 ranges (r - 1) copies of dq. */
#include "ops/cpu/cpu_ops.h"
#include "ops/workspace.h"

struct flash_job {
    const struct pk_attention *at;
    const struct pk_cpu_run *run;
    size_t blocks;                      /* forward */
    const struct pk_key_ranges *ranges; /* backward */
};

static struct pk_flash problem_of(const struct pk_attention *at, size_t problem)
{
    const float *q = at->q, *k = at->k, *v = at->v;
    float *o = at->o;
    size_t rows = problem * at->seq, x = rows * at->dim;
    struct pk_flash f = {.seq = at->seq,
                         .dim = at->dim,
                         .causal = at->causal,
                         .scale = at->scale,
                         .q = q + x,
                         .k = k + x,
                         .v = v + x,
                         .o = o + x,
                         .lse = at->lse + rows};
    return f;
}

static void forward_task(void *arg, size_t task, unsigned thread)
{
    const struct flash_job *j = arg;
    struct pk_flash f = problem_of(j->at, task / j->blocks);
    /* The last block first: in the causal case it is the longest. */
    size_t block = j->blocks - 1 - task % j->blocks;
    j->run->kernels->flash_forward(&f, block * j->run->kernels->flash_rows, pk_cpu_scratch(j->run, thread));
}

static enum pk_code forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_kernels *k = pk_kernels_of(pk_cpu_isa(dev));
    struct pk_cpu_run run;
    if (pk_cpu_takes("flash_forward", at->dtype, at->math, err) ||
        pk_cpu_run_begin(dev, k->flash_forward_scratch_floats(at->dim), &run, err))
        return err->code;
    struct flash_job j = {.at = at, .run = &run, .blocks = (at->seq + k->flash_rows - 1) / k->flash_rows};
    pk_cpu_parallel_for(dev, forward_task, &j, at->batch * j.blocks);
    pk_cpu_run_end(dev, &run);
    return PK_OK;
}

static void backward_task(void *arg, size_t task, unsigned thread)
{
    const struct flash_job *j = arg;
    size_t problem = task / j->ranges->n, range = task % j->ranges->n, x = problem * j->at->seq * j->at->dim;
    struct pk_flash f = problem_of(j->at, problem);
    const float *d_o = j->at->d_o;
    float *dk = j->at->dk, *dv = j->at->dv;
    f.d_o = d_o + x;
    f.dk = dk + x;
    f.dv = dv + x;
    f.dq = pk_key_ranges_dq(j->ranges, problem, range);
    j->run->kernels->flash_backward(&f, pk_key_ranges_begin(j->ranges, range),
                                    pk_key_ranges_begin(j->ranges, range + 1),
                                    pk_cpu_scratch(j->run, thread));
}

static enum pk_code backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_kernels *k = pk_kernels_of(pk_cpu_isa(dev));
    struct pk_cpu_run run;
    struct pk_key_ranges ranges;
    if (pk_cpu_takes("flash_backward", at->dtype, at->math, err) ||
        pk_cpu_run_begin(dev, k->flash_backward_scratch_floats(at->dim), &run, err))
        return err->code;
    enum pk_code rc = pk_key_ranges_init(&ranges, dev, at, err);
    if (!rc) {
        struct flash_job j = {.at = at, .run = &run, .ranges = &ranges};
        pk_cpu_parallel_for(dev, backward_task, &j, at->batch * ranges.n);
        pk_key_ranges_sum(&ranges, dev, k);
    }
    pk_cpu_run_end(dev, &run);
    return rc;
}

enum pk_code pk_cpu_flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pk_cpu_attention_bf16(dev, at, false, forward, err);
}

enum pk_code pk_cpu_flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return pk_cpu_attention_bf16(dev, at, true, backward, err);
}

static size_t forward_bytes(const struct pk_attention *at, unsigned threads)
{
    return pk_cpu_run_bytes(threads, pk_kernels_of(pk_isa_detect())->flash_forward_scratch_floats(at->dim));
}

static size_t backward_bytes(const struct pk_attention *at, unsigned threads)
{
    const struct pk_kernels *k = pk_kernels_of(pk_isa_detect());
    return pk_cpu_run_bytes(threads, k->flash_backward_scratch_floats(at->dim)) +
           pk_key_ranges_bytes(at, threads);
}

size_t pk_workspace_cpu_flash(const struct pk_attention *at, bool backward, unsigned threads)
{
    return pk_cpu_attention_bf16_bytes(at, backward, threads, backward ? backward_bytes : forward_bytes);
}
