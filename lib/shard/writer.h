/* Writer: stores the layers of batches in shards, on threads of its own, with bounded memory.
 *
 *     slots (memory of the caller) -> `threads` threads: checksum, filter, compress -> one thread: write, sync, rename, manifest
 * The caller takes a free slot, fills it (from a device, in a lane's host call), and submits it. pk_shard_writer_slot waits while every slot is
 * in use: back-pressure. Memory is that of the slots and 3 x threads + 1 chunks. Chunks are written in the order of the samples, so the
 * files do not depend on the number of threads.
 *
 * A slot is [n_layers][batch][length][width] elements. In the last batch only the first `n` samples of each layer are real; the rest are
 * padding and are not stored.
 *
 * Files (docs/extraction.md): FOLDER/manifest.json, and FOLDER/HASH-FIRST.safetensors for each shard. A file is written as ".NAME.tmp",
 * synced and renamed; a shard is entered into the manifest then. Whatever ends the process, a shard is absent or whole. The next writer
 * of the same configuration continues after the last whole shard.
 *
 * The first error is kept: every later call returns it, and nothing half written stays: full disk, a folder that cannot be written, one
 * of another configuration (the message names the first difference), one that another process writes.
 *
 * Threads: slot, release, submit and drain may be called from any thread. Nothing is allocated on the caller's threads between open and
 * close. */
#pragma once

#include "machine/bind.h"
#include "shard/config.h"

struct pk_shard_writer;

struct pk_shard_writer_options {
    const struct pk_shard_config *config; /* copied */
    const char *folder;                   /* made when it is absent; NULL: all stages but writing run */
    bool restart;                         /* removes the shards of this configuration that are there */
    unsigned threads;                     /* that compress, at least 1 */
    const struct pk_cpus *
        cpus; /* where the threads run; NULL = where the caller's thread runs, which may be bound to one CPU */
    void *const *slots; /* [n_slots], each of pk_shard_batch_bytes(config); the caller's, used until close */
    size_t n_slots;
};

enum pk_code pk_shard_writer_open(struct pk_shard_writer **out, const struct pk_shard_writer_options *o,
                                  struct pk_err *err) PK_MUST_CHECK;

/* Removes from a folder what a writer of the configuration with this hash puts there, unfinished files too, and the folder if nothing else is in it.
 * Nothing happens to a folder that is a link. */
void pk_shards_remove(const char *folder, const char *hash);

/* The first sample that is missing: 0 in a new folder, config->samples when all are there. */
uint64_t pk_shard_writer_first(const struct pk_shard_writer *w);

/* A free slot's index; waits until there is one. */
enum pk_code pk_shard_writer_slot(struct pk_shard_writer *w, size_t *slot, struct pk_err *err) PK_MUST_CHECK;
/* The slot holds samples first .. first + n - 1. Batches come in order and without gaps: first begins as pk_shard_writer_first and grows by
 * batch; n is batch, or what is left of all samples. Never waits. */
void pk_shard_writer_submit(struct pk_shard_writer *w, size_t slot, uint64_t first, uint64_t n);
/* Waits until all that was submitted is written. */
enum pk_code pk_shard_writer_drain(struct pk_shard_writer *w, struct pk_err *err) PK_MUST_CHECK;

struct pk_shard_writer_facts {
    uint64_t samples;                      /* written, padding not counted */
    uint64_t raw_bytes, stored_bytes;      /* of chunks; headers not counted */
    uint64_t chunks, shards;               /* shards that are whole */
    uint64_t full_ns;                      /* how long pk_shard_writer_slot waited */
    struct pk_stage_time stage[PK_STAGES]; /* sums over the threads */
};
/* After a drain. */
void pk_shard_writer_facts(struct pk_shard_writer *w, struct pk_shard_writer_facts *f);

/* Waits as drain does, ends the threads and frees. A shard whose samples did not all come is removed. facts may be NULL. */
enum pk_code pk_shard_writer_close(struct pk_shard_writer *w, struct pk_shard_writer_facts *f,
                                   struct pk_err *err) PK_MUST_CHECK;
