/* Overlap: which stage of a pass was the slowest, and when it worked. */
#include "extraction/pipeline.h"

/* What a region of the pass took in its lane; at most `most` occurrences. */
static uint64_t lane_ns(struct pk_extraction *x, unsigned region, size_t first_mark, size_t most)
{
    const struct pk_marks *m = &x->dev->marks;
    uint64_t ns = 0;
    for (size_t i = first_mark; i < m->n && most; i++)
        if (m->v[i].region == region) {
            ns += pk_mark_lane_ns(x->dev, &m->v[i]);
            most--;
        }
    return ns;
}

/* Of stages of the writer, one after the other in each of `places` threads. */
static struct pk_stage_span writer_span(const struct pk_extraction *x, enum pk_stage_name from,
                                        enum pk_stage_name to, unsigned places)
{
    struct pk_stage_time sum = {0};
    for (enum pk_stage_name i = from; i <= to; i++)
        pk_stage_add(&sum, &x->facts.stored.stage[i]);
    return (struct pk_stage_span){sum.elapsed_ns / places, sum.began_ns, sum.ended_ns};
}

struct pk_stage_span pk_extraction_slowest(struct pk_extraction *x, uint64_t began, size_t first_mark)
{
    const struct pk_lane_event *copied = &x->copied[(x->batches - 1) % PK_STAGINGS];
    const uint64_t to_host = began - pk_lane_event_ns(x->dev, &x->started); /* from the clock of the lanes */
    const struct pk_stage_span stages[] = {
        {lane_ns(x, PK_EXTRACTING_FORWARD, first_mark, SIZE_MAX), began,
         to_host + pk_lane_event_ns(x->dev, &x->made)},
        {lane_ns(x, PK_EXTRACTING_D2H, first_mark, SIZE_MAX),
         began + lane_ns(x, PK_EXTRACTING_FORWARD, first_mark, 1),
         to_host + pk_lane_event_ns(x->dev, copied)},
        writer_span(x, PK_STAGE_CHECKSUM, PK_STAGE_COMPRESS, x->o.threads),
        writer_span(x, PK_STAGE_WRITE, PK_STAGE_SYNC, 1),
    };
    struct pk_stage_span slowest = stages[0];
    for (size_t i = 1; i < sizeof stages / sizeof *stages; i++)
        if (stages[i].busy_ns > slowest.busy_ns)
            slowest = stages[i];
    return slowest;
}
