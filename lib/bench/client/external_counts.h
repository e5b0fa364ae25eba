/* External counts: those around samples of a program that is not perfkit's. It says when a sample begins and ends, and waits for `go` each time
 * (docs/protocol.md, `count`): what it does between the two replies is counted, with a message to and fro. The threads that it has then are
 * counted, and what they start; processes that it started before are not. */
#pragma once

#include "counter/source.h"
#include "wire/slice.h"
#include "json/json.h"

struct pk_external_counts {
    const struct pk_source_plan *plan;
    void *handle;    /* NULL = not open */
    const char *why; /* nothing is counted; NULL = it is, or no sample has begun */
    bool counting;
    int64_t reps;         /* of each sample */
    struct pk_reading *v; /* [n][plan->n] */
    size_t n, cap;
};

/* Takes a message `count` of the process, whose threads are opened at the first one. NULL, or what is wrong with the message. */
const char *pk_external_counts_take(struct pk_external_counts *c, pid_t pid, const json_t *message,
                                    struct pk_arena *a);

/* Closes, and adds the counts to a reply that is ok: metrics iteration.EVENT and the note "counters" (measure/steps.h). Without counts the
 * reply becomes skipped, with the reason. */
void pk_external_counts_end(struct pk_external_counts *c, struct pk_arena *a, struct pk_slice *reply);
