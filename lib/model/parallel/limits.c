/* Limits: thresholds from the time model, numbers of chips from the memory model. */
#include "model/parallel/limits.h"

#include <math.h>

/* --- arithmetic against transfers --- */

static double group_ns(const struct pk_parallel_values *v, enum pk_parallel_group g,
                       enum pk_parallel_scope scope)
{
    const double step[PK_PARALLEL_GROUPS] = {
#define STEP_NS(name, GROUP, ...) [PK_PARALLEL_##GROUP] = v->name,
        PK_PARALLEL_SUMS(STEP_NS)};
    return scope == PK_SCOPE_FORWARD ? v->forward[g] : step[g];
}

/* Every term of time is a constant and a part proportional to the batch: t(b) = c + d b. Arithmetic has no constant. */
static double threshold_batch(const struct pk_parallel_values *v, enum pk_parallel_scope scope)
{
    struct pk_parallel_values none = *v;
    none.batch = 0;
    pk_parallel_evaluate(&none);
    const double math = group_ns(v, PK_PARALLEL_MATH, scope) / v->batch;
    double c = 0, d = 0, most = 0;
    for (enum pk_parallel_group g = PK_PARALLEL_FSDP; g < PK_PARALLEL_GROUPS; g++) {
        const double ci = group_ns(&none, g, scope), di = (group_ns(v, g, scope) - ci) / v->batch;
        c += ci, d += di;
        if (ci + di > 0)
            most = fmax(most, math > di ? ci / (math - di) : INFINITY);
    }
    if (!v->sum_axes || c + d == 0)
        return most;
    return math > d ? c / (math - d) : INFINITY;
}

struct pk_balance pk_parallel_balance(const struct pk_parallel_values *v, enum pk_parallel_scope scope)
{
    struct pk_balance b = {.math_ns = group_ns(v, PK_PARALLEL_MATH, scope)};
    enum pk_parallel_group longest = PK_PARALLEL_FSDP;
    for (enum pk_parallel_group g = PK_PARALLEL_FIRST_TIME; g < PK_PARALLEL_GROUPS; g++)
        b.axis_ns[g] = group_ns(v, g, scope);
    for (enum pk_parallel_group g = PK_PARALLEL_FSDP; g < PK_PARALLEL_GROUPS; g++) {
        b.transfers_ns = v->sum_axes ? b.transfers_ns + b.axis_ns[g] : fmax(b.transfers_ns, b.axis_ns[g]);
        longest = b.axis_ns[g] > b.axis_ns[longest] ? g : longest;
    }
    b.binds = b.transfers_ns > b.math_ns ? longest : PK_PARALLEL_MATH;
    const double batch = threshold_batch(v, scope);
    b.batch_tokens = batch * v->seq;
    b.shard_tokens = b.batch_tokens / (v->dp * v->fsdp);
    b.chip_tokens = b.batch_tokens / v->chips;
    return b;
}

/* --- chips that a number of tokens needs --- */

/* So many shards that what they divide is nothing. */
#define ENDLESS 0x1p50

static double memory_with(const struct pk_parallel_setup *s, const struct pk_mesh *m, double tokens,
                          double shards)
{
    struct pk_parallel_values v;
    double most = 0;
    pk_parallel_fill(s, m, &v);
    v.fsdp = shards;
    v.batch = tokens * v.micro * v.dp * shards / v.seq;
    for (int last = 0; last < 2; last++) {
        v.first_stage = m->pp == 1 || !last, v.last_stage = m->pp == 1 || last;
        pk_parallel_evaluate(&v);
        most = fmax(most, v.memory_bytes);
    }
    return most;
}

/* Memory falls with the number of shards, except for the gathered units, which one shard does not have. */
struct pk_chips_needed pk_parallel_chips_needed(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                                                double tokens)
{
    const double others = (double)m->dp * m->tp * m->cp * m->pp;
    double low = 1, high = 1;
    if (memory_with(s, m, tokens, ENDLESS) > s->memory_bytes &&
        memory_with(s, m, tokens, 1) > s->memory_bytes)
        return (struct pk_chips_needed){.tokens = tokens, .memory_bytes = memory_with(s, m, tokens, ENDLESS)};
    while (memory_with(s, m, tokens, high) > s->memory_bytes)
        low = high, high *= 2;
    while (high - low > 1) {
        const double half = floor((low + high) / 2);
        *(memory_with(s, m, tokens, half) > s->memory_bytes ? &low : &high) = half;
    }
    return (struct pk_chips_needed){tokens, high, high * others, memory_with(s, m, tokens, high)};
}

double pk_parallel_most_tokens(const struct pk_parallel_setup *s, const struct pk_mesh *m)
{
    double low = 0, high = 1;
    while (high < ENDLESS && memory_with(s, m, high, ENDLESS) <= s->memory_bytes)
        low = high, high *= 2;
    while (high - low > 1) {
        const double half = floor((low + high) / 2);
        *(memory_with(s, m, half, ENDLESS) <= s->memory_bytes ? &low : &high) = half;
    }
    return low;
}
