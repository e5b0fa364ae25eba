/* Verify: reads a folder of shards back and checks all of it: manifest, headers, every chunk's bytes and checksum, samples of each layer.
 *
 * Nothing in the folder is trusted: only regular files are opened, sizes are checked before they are used, and memory is bounded by the
 * largest chunk (64 MiB) and the headers (100 MB). */
#pragma once

#include "shard/config.h"
#include "shard/entropy.h"

struct pk_verified_layer {
    unsigned layer;
    uint64_t samples, chunks, raw_bytes, stored_bytes;
    struct pk_entropy_bounds bounds;
};

struct pk_verified {
    const struct pk_shard_config *config;
    const struct pk_verified_layer *v; /* [config->n_layers] */
    uint64_t shards, samples_expected;
    bool complete; /* all samples are there */
};

/* A broken shard is PK_E_CHECK: the message names shard, layer, chunk and byte offset. A folder without a manifest is PK_E_USAGE; a codec
 * that this build lacks PK_E_UNAVAILABLE. */
enum pk_code pk_verify(const char *folder, struct pk_arena *a, struct pk_verified *out,
                       struct pk_err *err) PK_MUST_CHECK;
