/* Adamw: the optimizer's passes over a run of values. */
#include "ops/cpu/isa/element.h"
#include "ops/cpu/isa/table.h"

/* What is the same for all values of one step. */
struct step_factors {
    float keep, first, second, denom, eps, rate;
};

static struct step_factors factors_of(const struct pk_adamw_state *s)
{
    if (!s) /* what only narrows has none */
        return (struct step_factors){0};
    return (struct step_factors){.keep = 1.0f - s->lr * s->decay,
                                 .first = 1.0f - s->beta1,
                                 .second = 1.0f - s->beta2,
                                 .denom = 1.0f / (1.0f - s->beta2_t),
                                 .eps = s->eps,
                                 .rate = s->lr / (1.0f - s->beta1_t)};
}

enum {
    READS_P = PK_ADAMW_DECAY | PK_ADAMW_UPDATE | PK_ADAMW_NARROW,
    WRITES_P = PK_ADAMW_DECAY | PK_ADAMW_UPDATE,
    READS_M = PK_ADAMW_FIRST | PK_ADAMW_UPDATE,
    READS_V = PK_ADAMW_SECOND | PK_ADAMW_DENOM,
    READS_G = PK_ADAMW_FIRST | PK_ADAMW_SECOND
};

PK_INLINE void values_at(const unsigned passes, const enum pk_dtype g_type, const struct pk_adamw *a,
                         const struct step_factors *f, size_t i, const size_t lanes)
{
    const vf none = {0};
    vf p = passes & READS_P ? get(PK_FP32, a->p, i, lanes) : none;
    vf m = passes & READS_M ? get(PK_FP32, a->m, i, lanes) : none;
    vf v = passes & READS_V ? get(PK_FP32, a->v, i, lanes) : none;
    const vf g = passes & READS_G ? get(g_type, a->g, i, lanes) : none;
    if (passes & PK_ADAMW_DECAY)
        p *= f->keep;
    if (passes & PK_ADAMW_FIRST)
        put(PK_FP32, a->m, i, m += f->first * (g - m), lanes);
    if (passes & PK_ADAMW_SECOND)
        put(PK_FP32, a->v, i, v += f->second * (g * g - v), lanes);
    vf d = passes & PK_ADAMW_DENOM    ? vsqrt(v * f->denom) + f->eps
           : passes & PK_ADAMW_UPDATE ? get(PK_FP32, a->scratch, i, lanes)
                                      : none;
    if (passes & PK_ADAMW_UPDATE)
        p -= f->rate * m / d;
    else if (passes & PK_ADAMW_DENOM)
        put(PK_FP32, a->scratch, i, d, lanes);
    if (passes & WRITES_P)
        put(PK_FP32, a->p, i, p, lanes);
    if (passes & PK_ADAMW_NARROW)
        put(PK_BF16, a->narrow, i, p, lanes);
}

PK_INLINE void values_of(const unsigned passes, const enum pk_dtype g_type, const struct pk_adamw *a,
                         size_t begin, size_t end)
{
    const struct step_factors f = factors_of(a->state);
    size_t i = begin;
    for (; i + VL <= end; i += VL)
        values_at(passes, g_type, a, &f, i, VL);
    if (i < end)
        values_at(passes, g_type, a, &f, i, end - i);
}

/* All passes are a loop without branches; of others the branches cost less than the memory. */
void PK_ISA(pk_adamw)(const struct pk_adamw *a, size_t begin, size_t end)
{
    const struct pk_adamw own = *a; /* which no store can change */
    enum { ALL = PK_ADAMW_FUSED | PK_ADAMW_NARROW };
    if (a->passes == PK_ADAMW_FUSED && a->g_type == PK_FP32)
        values_of(PK_ADAMW_FUSED, PK_FP32, &own, begin, end);
    else if (a->passes == ALL && a->g_type == PK_FP32)
        values_of(ALL, PK_FP32, &own, begin, end);
    else if (a->g_type == PK_BF16)
        values_of(a->passes, PK_BF16, &own, begin, end);
    else
        values_of(a->passes, PK_FP32, &own, begin, end);
}
