/* Cpu ops: the table, and what its rows share. */
#include "ops/cpu/cpu_ops.h"

#include "ops/workspace.h"

#define ROW(op) .op = pk_cpu_##op,
const struct pk_ops pk_ops_cpu = {PK_ARRAY_OPS(ROW) PK_ATTENTION_OPS(ROW)};

/* A table for each instruction set that lib/ops/cpu/isa is compiled for. */
extern const struct pk_kernels pk_kernels_baseline;
#if defined(__x86_64__)
extern const struct pk_kernels pk_kernels_avx2, pk_kernels_avx512;
#endif

const struct pk_kernels *pk_kernels_of(enum pk_isa isa)
{
    static const struct pk_kernels *const tables[PK_ISAS] = {
        [PK_ISA_BASELINE] = &pk_kernels_baseline,
#if defined(__x86_64__)
        [PK_ISA_AVX2] = &pk_kernels_avx2,
        [PK_ISA_AVX512] = &pk_kernels_avx512,
#endif
    };
    while (!tables[isa])
        isa--;
    return tables[isa];
}

enum { LINE_FLOATS = 16 }; /* a cache line: threads do not share one */

static size_t own_gemm_floats(const struct pk_cpu_run *r)
{
    return r->blas->kind == PK_BLAS_OWN ? r->kernels->sgemm_scratch_floats() : 0;
}

static size_t whole_lines(size_t floats)
{
    return (floats + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
}

size_t pk_cpu_run_bytes(unsigned threads, size_t scratch_floats)
{
    return pk_pool_rounded(whole_lines(scratch_floats) * threads * sizeof(float));
}

enum pk_code pk_cpu_run_begin(struct pk_device *dev, size_t scratch_floats, struct pk_cpu_run *r,
                              struct pk_err *err)
{
    *r = (struct pk_cpu_run){.blas = pk_cpu_blas(dev), .kernels = pk_kernels_of(pk_cpu_isa(dev))};
    const size_t each = whole_lines(scratch_floats + own_gemm_floats(r));
    r->scratch_floats = each;
    if (!each)
        return PK_OK;
    r->scratch = pk_device_alloc(dev, each * pk_cpu_threads(dev) * sizeof *r->scratch, PK_TAG_WORKSPACE);
    return r->scratch ? PK_OK : pk_device_oom(dev, err);
}

void pk_cpu_run_end(struct pk_device *dev, struct pk_cpu_run *r)
{
    pk_device_free(dev, r->scratch);
}

enum pk_code pk_cpu_takes(const char *op, enum pk_dtype type, enum pk_math math, struct pk_err *err)
{
    if (type == PK_BF16 || math == PK_MATH_IEEE)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "%s of %s cannot run on device cpu", op, pk_math_name(math));
    pk_why(err, "the CPU multiplies fp32 elements without rounding them to tf32");
    return pk_fix(err, "choose math=ieee or dtype=bf16, or another --device");
}

float *pk_cpu_scratch(const struct pk_cpu_run *r, unsigned thread)
{
    return r->scratch ? r->scratch + r->scratch_floats * thread + own_gemm_floats(r) : NULL;
}

void pk_cpu_sgemm(const struct pk_cpu_run *r, unsigned thread, const struct pk_sgemm *g)
{
    if (r->blas->kind == PK_BLAS_OWN)
        r->kernels->sgemm(g, r->scratch + r->scratch_floats * thread);
    else
        pk_blas_sgemm(r->blas, g);
}

static size_t common_divisor(size_t a, size_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

size_t pk_cpu_parts(unsigned n_threads, size_t batch, size_t most)
{
    const size_t threads = n_threads, even = threads / common_divisor(threads, batch);
    if (batch >= 4 * threads)
        return 1;
    return even < most ? even : most ? most : 1;
}

static void pass_task(void *arg, size_t task, unsigned thread)
{
    const struct pk_cpu_pass *p = arg;
    size_t begin = task * p->rows_per_task, end = begin + p->rows_per_task;
    for (size_t row = begin; row < end && row < p->rows; row++)
        p->row(p, row);
}

void pk_cpu_each_row(struct pk_device *dev, const void *op, size_t rows, size_t elements,
                     void (*row)(const struct pk_cpu_pass *p, size_t row))
{
    struct pk_cpu_pass p = {.kernels = pk_kernels_of(pk_cpu_isa(dev)),
                            .op = op,
                            .row = row,
                            .rows = rows,
                            .rows_per_task = elements < PK_CPU_RUN ? PK_CPU_RUN / elements : 1};
    pk_cpu_parallel_for(dev, pass_task, &p, (rows + p.rows_per_task - 1) / p.rows_per_task);
}

void pk_cpu_each_run(struct pk_device *dev, const void *op, size_t n,
                     void (*run)(const struct pk_cpu_pass *p, size_t run))
{
    pk_cpu_each_row(dev, op, (n + PK_CPU_RUN - 1) / PK_CPU_RUN, PK_CPU_RUN, run);
}
