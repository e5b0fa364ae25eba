/* Stop: when enough samples were taken, and which of them are warm-up. Inner part of measure.c; the rule is in measure.h.
 *
 * Looking costs a sort, so it is done when the number of samples grew by a quarter, or after 20 ms. */
#pragma once

#include "bench/measure/measure.h"
#include "bench/measure/sample.h"

struct pk_stopper {
    const struct pk_stop *rule;
    const struct pk_sampler *s;
    double *v, *scratch;
    uint64_t started_ns, looked_ns; /* device clock */
    size_t next_look;               /* samples */
    const char *reason;             /* once pk_stop_now answered true */
    size_t cut;                     /* leading samples, the first iteration not counted, that are warm-up */
    bool settled;                   /* false: the warm-up found took half of the samples */
    double noise;                   /* NaN: too few samples to say */
    size_t disturbed;               /* samples after the cut that are set aside */
    bool kept;                      /* most were disturbed: they count like the others, disturbed is 0 */
};

void pk_stopper_init(struct pk_stopper *st, const struct pk_stop *rule, const struct pk_sampler *s,
                     uint64_t now_ns);
bool pk_stop_now(struct pk_stopper *st, uint64_t now_ns);

/* Counts disturbances again: some may have been learnt of after the last look. */
void pk_stop_recount(struct pk_stopper *st);

/* The phase of sample i under the cut found last. */
enum pk_phase pk_stop_phase(const struct pk_stopper *st, size_t i);

/* Times of the steady samples, of one repetition, in time order: of one region, or of all when region is negative. Returns how
 * many; v has room for s->n. */
size_t pk_stop_steady(const struct pk_stopper *st, int region, double *v);
