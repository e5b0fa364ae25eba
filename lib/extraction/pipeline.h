/* Pipeline: the hidden states of chosen layers, from a device to storage, batch after batch.
 *
 *     forward, gather (compute lane) -> copy to a slot (copy lane) -> checksum, filter, compress (threads) -> write (a thread)
 *
 * The first two stages are here; the others are the writer of shards (shard/writer.h), which also owns the slots: memory is n_slots
 * batches on the host and PK_STAGINGS on the device, whatever the number of samples. Where no slot is free the host waits before it
 * starts the next batch, and nowhere else: not within a batch. Lanes wait for each other.
 *
 * Ways:
 *   sequential   the yardstick: the host waits for each layer's copy, then until the batch is written
 *   replanned    the same with nothing cached: plans and device memory are made anew for each batch
 *   pipelined    as above
 * A plan is what follows from the shape of a batch alone. It is made once per shape; one that is made after the first batch is counted
 * (replans). The last batch is padded to the full shape, unless options.ragged.
 *
 * Tokens are drawn from the seed and the number of their sample, so that a pass that continues gives what one pass would have given.
 *
 * On a device that computes nothing (dry) a simulated store takes the place of the writer (simulated_store.h): the time of a pass is exact. */
#pragma once

#include "device/lane.h"
#include "extraction/simulated_store.h"
#include "model/transformer/transformer.h"
#include "shard/writer.h"

enum pk_extraction_way { PK_EXTRACT_SEQUENTIAL, PK_EXTRACT_REPLANNED, PK_EXTRACT_PIPELINED };

/* Regions that a pass marks, by their number in the probe's table. */
enum pk_extraction_region {
    PK_EXTRACTING, /* a whole pass, host */
    PK_EXTRACTING_BATCH, /* from the free slot of a batch to that of the next one; the last ends when all is written; host */
    PK_EXTRACTING_PLAN, /* host; marked when it is replanned */
    PK_EXTRACTING_FORWARD,
    PK_EXTRACTING_GATHER, /* a layer's hidden state into the staging, within forward */
    PK_EXTRACTING_D2H
};

struct pk_extraction_options {
    struct pk_transformer_config model; /* headless */
    struct pk_shard_config shards;      /* batch, length, width and type are the model's */
    enum pk_extraction_way way;
    unsigned threads; /* that filter and compress */
    size_t slots;
    const char *folder;          /* NULL = the stages run and nothing is stored */
    uint64_t seed, first_sample; /* of this process; its samples are first_sample + [0, shards.samples) */
    bool ragged;                 /* the last batch has the shape of its samples */
    bool dry;                    /* the device does no arithmetic */
};

/* What happens once per process, before the first batch. */
struct pk_extraction_warm_up {
    uint64_t module_ns; /* first use of libraries and kernels: one block of one sequence */
    uint64_t allocation_ns, weights_ns;
    uint64_t plan_ns, plan_warm_ns; /* plan_warm_ns: the same plan once more, which is there */
};

/* A stage of a pass: the time in which it worked, divided by the places in which it runs at once, and when its first piece began and its
 * last one ended, on the device's clock. */
struct pk_stage_span {
    uint64_t busy_ns, began_ns, ended_ns;
};

struct pk_extraction_facts {
    uint64_t batches, samples, slot_samples; /* slot_samples: with padding */
    uint64_t plans, replans;                 /* replans: made after the first batch */
    uint64_t bound_ns, fill_ns, drain_ns; /* pipelined: the slowest stage worked for bound_ns, between fill_ns
                                                after the pass began and drain_ns before it ended */
    struct pk_shard_writer_facts stored; /* dry: only the time of compression, which stands for all storing */
};

enum { PK_STAGINGS = 2 };

struct pk_extraction_ticket; /* pipeline.c */

struct pk_extraction {
    struct pk_extraction_options o;
    struct pk_device *dev;
    struct pk_arena *arena;
    struct pk_transformer t;
    size_t *place; /* [model.layers] where a layer lies in a slot; SIZE_MAX = not chosen */
    char *staging[PK_STAGINGS];
    struct pk_lane_event copied[PK_STAGINGS], made, started; /* started: the pass */
    int32_t *tokens;                                         /* [batches][batch * seq], pinned */
    float *rope_table;
    void **slots; /* [o.slots], pinned */
    struct pk_shard_writer *writer;
    struct pk_simulated_store store;
    struct pk_extraction_ticket *tickets;   /* [batches] */
    size_t batches, planned_batch, current; /* planned_batch: sequences of the plan; 0 = there is none */
    uint64_t *batch_ns;                     /* [batches] of the last pass */
    struct pk_extraction_warm_up warm_up;
    struct pk_extraction_facts facts; /* of the last pass */
    const char *timing;               /* the folder of timed passes; NULL = none */
    const char *hash;                 /* of the configuration, where there is that folder */
    struct pk_err broken;             /* of begin, where its caller cannot return it; code 0 = none */
};

/* Is this possible? PK_E_USAGE: layers that the model does not have, slots that do not fit into the memory of this machine. */
enum pk_code pk_extraction_valid(const struct pk_extraction_options *o, struct pk_err *err) PK_MUST_CHECK;
/* Device memory besides that of the forward pass. */
size_t pk_extraction_device_bytes(const struct pk_extraction_options *o);
size_t pk_extraction_batches(const struct pk_extraction_options *o);

/* Memory in `a`. *x is overwritten; o's pointers must live as long. After an error, too, call close. */
enum pk_code pk_extraction_open(struct pk_extraction *x, struct pk_device *dev,
                                const struct pk_extraction_options *o, struct pk_arena *a,
                                struct pk_err *err) PK_MUST_CHECK;
void pk_extraction_close(struct pk_extraction *x);

/* A new writer for the next pass. restart: removes what the folder has of this configuration; else the pass continues there. */
enum pk_code pk_extraction_begin(struct pk_extraction *x, bool restart, struct pk_err *err) PK_MUST_CHECK;
/* All batches that are missing; returns when they are written. Marks regions; allocates no host memory. */
enum pk_code pk_extraction_pass(struct pk_extraction *x, struct pk_err *err) PK_MUST_CHECK;
/* Ends the writer; its shards are then complete or removed. */
enum pk_code pk_extraction_end(struct pk_extraction *x, struct pk_err *err) PK_MUST_CHECK;

/* overlap.c. The stage that worked longest in the pipelined pass that ended, with its times in the pipeline, not alone. began, first_mark: of
 * the pass. */
struct pk_stage_span pk_extraction_slowest(struct pk_extraction *x, uint64_t began, size_t first_mark);

/* The median of the batches after the first detected change of the pass where that is in its first half, else of all; the last batch
 * apart, which ends when all is written. */
struct pk_steady {
    uint64_t median_ns;
    size_t first, n;
};
struct pk_steady pk_extraction_steady(const struct pk_extraction *x);

/* output.c. Extracts into o.folder what is missing there, so that it is complete; timed passes go to a folder `timing` inside, from now on.
 * *from: the first sample that was missing. */
enum pk_code pk_extraction_complete(struct pk_extraction *x, uint64_t *from,
                                    struct pk_err *err) PK_MUST_CHECK;
/* Removes what timed passes wrote, and their folder if nothing else is in it. */
void pk_extraction_clean(const struct pk_extraction *x);

/* check.c: the last batch once more, and its hidden states against float64: all tokens, or the first ones of one sequence. The bytes that
 * were stored are those of samples x length x width x layers. */
enum pk_code pk_extraction_check(struct pk_extraction *x, bool full, struct pk_err *err) PK_MUST_CHECK;
/* pipeline.c: runs forward of batch b into staging[0], without marks. */
enum pk_code pk_extraction_stage(struct pk_extraction *x, size_t b, struct pk_err *err) PK_MUST_CHECK;
