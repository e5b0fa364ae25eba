/* Writer: stores the layers of batches in shards, on threads of its own with bounded memory.
 *
 *     slots (memory of the caller) -> `threads` threads: checksum, filter, compress -> one thread: write, sync, rename, manifest
 * The caller takes a free slot, fills it (from a device, from a lane's host call), and submits it. Memory is n_slots slots of
 * pk_shard_batch_bytes, plus 2 x threads + 1 chunks. pk_writer_slot waits while every slot is in use: back-pressure.
 *
 * A slot is [n_layers][batch][length][width] elements. In the last batch only the first `n` samples of each layer are real; the rest are
 * padding and are not stored.
 *
 * Files (docs/extraction.md): DIR/manifest.json, and DIR/HASH-FIRST.safetensors for each shard. A shard is written as a name that begins
 * with '.', synced, renamed and entered into the manifest, which is replaced in the same way. Whatever ends the process, a shard is
 * absent or whole. The next writer of the same configuration continues after the last whole shard: `first` in the facts.
 *
 * The first error is kept: every later call returns it, and nothing half written stays. Full disk, a folder that cannot be written, a
 * folder of another configuration (the message names the first difference), a folder in use by another writer.
 *
 * Threads: pk_writer_slot, pk_writer_submit, pk_writer_release may be called from any one thread at a time each; open, drain, close from
 * one. Nothing is allocated between open and close on the caller's threads. */
#pragma once

#include "shard/config.h"

struct pk_writer;

struct pk_writer_options {
    const struct pk_shard_config *config; /* copied */
    const char *folder;                   /* made when it is absent; NULL = stages run, nothing is stored */
    bool restart;                         /* removes the shards of this configuration that are there */
    unsigned threads;                     /* that compress, at least 1 */
    void *const *slots; /* [n_slots], each of pk_shard_batch_bytes(config); the caller's until close */
    size_t n_slots;
};

enum pk_code pk_writer_open(struct pk_writer **out, const struct pk_writer_options *o,
                            struct pk_err *err) PK_MUST_CHECK;

/* The first sample that is missing: 0 in a new folder, config->samples when all are there. A multiple of shard_samples or the end. */
uint64_t pk_writer_first(const struct pk_writer *w);

/* A free slot's index; waits until there is one. */
enum pk_code pk_writer_slot(struct pk_writer *w, size_t *slot, struct pk_err *err) PK_MUST_CHECK;
/* The slot is free again, nothing is stored. */
void pk_writer_release(struct pk_writer *w, size_t slot);
/* The slot holds samples first .. first + n - 1. Batches come in order without gaps: first = pk_writer_first, then + batch. n = batch, or
 * what is left of a shard or of all samples. Never waits. After an error the slot is freed and nothing else is done. */
void pk_writer_submit(struct pk_writer *w, size_t slot, uint64_t first, uint64_t n);
/* Waits until all that was submitted is written (the last shard of it perhaps not yet complete). */
enum pk_code pk_writer_drain(struct pk_writer *w, struct pk_err *err) PK_MUST_CHECK;

struct pk_writer_facts {
    uint64_t samples;                 /* stored by this writer, padding not counted */
    uint64_t raw_bytes, stored_bytes; /* of chunks; headers not counted */
    uint64_t chunks, shards;
    uint64_t full_ns;                      /* how long pk_writer_slot waited */
    struct pk_stage_time stage[PK_STAGES]; /* sums over threads */
};
/* At any time after a drain, and by close. */
void pk_writer_facts(struct pk_writer *w, struct pk_writer_facts *f);

/* Ends the threads. A shard whose samples did not all come is removed, so that a resumed writer begins with it. facts may be NULL. */
enum pk_code pk_writer_close(struct pk_writer *w, struct pk_writer_facts *f,
                             struct pk_err *err) PK_MUST_CHECK;
