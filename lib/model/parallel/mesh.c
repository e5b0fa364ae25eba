/* Mesh: its axes, what must divide what, and the values that follow from it. */
#include "model/parallel/mesh.h"

#include "base/text/buf.h"

#include <string.h>

const char *const pk_recompute_names[] = {"none", "selective", "block", NULL};

#define AXIS_ROW(axis, kind, least, most, meaning)                                                           \
    {.name = #axis,                                                                                          \
     .type = PK_AXIS_##kind,                                                                                 \
     .min = least,                                                                                           \
     .max = most,                                                                                            \
     .def = PK_AXIS_##kind == PK_AXIS_ENUM   ? "none"                                                        \
            : PK_AXIS_##kind == PK_AXIS_BOOL ? "on"                                                          \
                                             : "2",                                                          \
     .choices = PK_AXIS_##kind == PK_AXIS_ENUM ? pk_recompute_names : NULL,                                  \
     .help = meaning},
const struct pk_axis pk_mesh_axes[PK_MESH_AXES_N + 1] = {PK_MESH_AXES(AXIS_ROW){0}};

const struct pk_precision pk_precisions[] = {
    {"mixed", "states in fp32, activations and transfers in bf16 (as FSDP2 does with bf16 parameters)", 4, 4,
     8, 2, 2},
    {"bf16", "weights and gradients in bf16, optimizer with fp32 weights (as the ZeRO paper counts)", 2, 2,
     12, 2, 2},
    {"bf16-fp32-grads", "the same with gradients in fp32 (as Megatron-LM and mixed-precision)", 2, 4, 12, 2,
     4},
    {"fp32", "everything in fp32", 4, 4, 8, 4, 4},
    {0},
};

int64_t pk_mesh_chips(const struct pk_mesh *m)
{
    return (int64_t)m->dp * m->fsdp * m->tp * m->cp * m->pp;
}

const char *pk_mesh_text(const struct pk_mesh *m, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < PK_MESH_AXES_N; i++) {
        const int v = ((const int32_t *)m)[i];
        const union pk_value value = {.i = v};
        if (v != (i < PK_MESH_zero))
            pk_buf_printf(&b, "%s%s=%s", b.n ? " " : "", pk_mesh_axes[i].name,
                          pk_axis_format(&pk_mesh_axes[i], value, a));
    }
    return b.n ? pk_buf_text(&b) : "one chip";
}

/* One thing that a mesh must not be. */
struct mesh_check {
    bool broken;
    const char *what;
    int64_t first, second; /* for the text */
};

const char *pk_mesh_problem(const struct pk_parallel_setup *s, const struct pk_mesh *m, struct pk_arena *a)
{
    const struct pk_model_shape *h = &s->shape;
    const int64_t shards = (int64_t)m->dp * m->fsdp, stage = (h->layers + m->pp - 1) / m->pp;
    const bool parts = m->interleave > 1;
    const struct mesh_check checks[] = {
        {h->heads % m->tp, "tp=%lld does not divide heads=%lld", m->tp, h->heads},
        {h->kv_heads % m->tp, "tp=%lld does not divide kv_heads=%lld", m->tp, h->kv_heads},
        {h->ff % m->tp, "tp=%lld does not divide ff=%lld", m->tp, h->ff},
        {s->seq % m->cp, "cp=%lld does not divide seq=%lld", m->cp, s->seq},
        {m->cp > 1 && !h->heads, "cp=%lld needs attention; the model has heads=%lld", m->cp, h->heads},
        {h->heads && m->sp && s->seq / m->cp % m->tp, "sp with tp=%lld does not divide seq/cp=%lld", m->tp,
         s->seq / m->cp},
        {s->batch % shards, "dp*fsdp=%lld does not divide batch=%lld", shards, s->batch},
        {!(s->batch % shards) && s->batch / shards % m->micro,
         "micro=%lld does not divide the %lld sequences of a data shard", m->micro, s->batch / shards},
        {m->pp > h->layers || stage * (m->pp - 1) >= h->layers, "pp=%lld leaves a stage of layers=%lld empty",
         m->pp, h->layers},
        {parts && h->layers % ((int64_t)m->pp * m->interleave),
         "pp*interleave=%lld does not divide layers=%lld", (int64_t)m->pp * m->interleave, h->layers},
        {parts && (m->pp == 1 || m->micro % m->pp),
         "an interleaved pipeline of pp=%lld stages needs a multiple of them as micro=%lld", m->pp, m->micro},
        {m->fsdp > 1 && !m->zero,
         "zero=0 divides no states among fsdp=%lld (use dp for replicas, zero=%lld or more for shards)",
         m->fsdp, 1},
        {m->sp && m->tp == 1, "sp needs tp of %lld or more; here it is %lld", 2, 1},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].broken)
            return a ? pk_printf(a, checks[i].what, (long long)checks[i].first, (long long)checks[i].second)
                     : checks[i].what;
    return NULL;
}

void pk_parallel_fill(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                      struct pk_parallel_values *v)
{
    const struct pk_model_shape *h = &s->shape;
    const struct pk_precision *p = s->precision;
#define FROM(object, name) v->name = (double)(object)->name
    FROM(h, layers), FROM(h, width), FROM(h, ff), FROM(h, ff_matrices), FROM(h, ff_kept), FROM(h, heads);
    FROM(h, kv_heads), FROM(h, head_dim), FROM(h, vocab), FROM(h, positions), FROM(h, tied);
    FROM(h, block_vectors), FROM(h, end_vectors), FROM(s, batch), FROM(s, seq);
    FROM(m, dp), FROM(m, fsdp), FROM(m, tp), FROM(m, cp), FROM(m, pp), FROM(m, micro), FROM(m, interleave);
    FROM(m, zero), FROM(m, sp), FROM(s, scores), FROM(s, prefetch), FROM(s, sharded_share), FROM(s, book);
    FROM(s, sum_axes), FROM(s, hidden), FROM(s, node);
    v->selective = m->recompute == PK_RECOMPUTE_SELECTIVE,
    v->whole_block = m->recompute == PK_RECOMPUTE_BLOCK;
    v->weight_bytes = p->weight, v->gradient_bytes = p->gradient, v->optimizer_bytes = p->optimizer;
    v->value_bytes = p->value, v->reduce_bytes = p->reduce;
    v->flops_per_s = s->rate[PK_RATE_COMPUTE].value, v->link_bytes_per_s = s->rate[PK_RATE_LINK].value;
    v->network_bytes_per_s = s->rate[PK_RATE_NETWORK].value, v->launch_ns = s->rate[PK_RATE_LAUNCH].value;
    v->links_dp = (double)s->links[PK_MESH_dp], v->links_fsdp = (double)s->links[PK_MESH_fsdp];
    v->links_tp = (double)s->links[PK_MESH_tp], v->links_cp = (double)s->links[PK_MESH_cp];
    v->links_pp = (double)s->links[PK_MESH_pp];
    v->first_stage = m->pp == 1, v->last_stage = 1;
}

void pk_parallel_mesh(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                      struct pk_parallel_values *time, struct pk_parallel_values *memory)
{
    pk_parallel_fill(s, m, time);
    pk_parallel_evaluate(time);
    *memory = *time;
    if (m->pp == 1)
        return;
    memory->first_stage = 1, memory->last_stage = 0;
    pk_parallel_evaluate(memory);
    if (memory->memory_bytes < time->memory_bytes)
        *memory = *time;
}

bool pk_parallel_corner_repeats(const struct pk_parallel_setup *s, unsigned corner)
{
    for (unsigned r = 0; r < PK_PARALLEL_RATES; r++)
        if (corner >> r & 1 && s->rate[r].ci.lo == s->rate[r].ci.hi)
            return true;
    return false;
}

void pk_parallel_corner(const struct pk_parallel_setup *s, const struct pk_mesh *m, unsigned corner,
                        struct pk_parallel_values *v)
{
    struct pk_parallel_setup at = *s;
    for (unsigned r = 0; r < PK_PARALLEL_RATES; r++)
        at.rate[r].value = corner >> r & 1 ? at.rate[r].ci.hi : at.rate[r].ci.lo;
    pk_parallel_fill(&at, m, v);
    pk_parallel_evaluate(v);
}
