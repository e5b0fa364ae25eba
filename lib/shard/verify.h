/* Verify: reads a folder of shards back and checks all of it: manifest, headers, every chunk's bytes and checksum, samples of each layer.
 *
 * Nothing in the folder is trusted: only regular files are opened, sizes are checked before they are used, and memory is bounded by three
 * chunks (64 MiB each at most) and a header (100 MB). */
#pragma once

#include "shard/config.h"
#include "shard/entropy.h"

struct pk_verify_layer {
    unsigned layer;
    uint64_t samples, chunks, raw_bytes, stored_bytes; /* of whole shards */
    struct pk_entropy_bounds bounds;
};

/* The first defect of a shard. */
struct pk_broken_shard {
    const char *file, *why;
    int64_t layer, chunk,
        at; /* number of the layer, row in the table, byte of the file; -1 = none: of a row that is invalid only chunk is known */
};

struct pk_verify_result {
    const struct pk_shard_config *config;
    const struct pk_verify_layer *layers; /* [config->n_layers] */
    const struct pk_broken_shard *broken; /* [n_broken] */
    size_t n_broken;
    uint64_t shards, samples; /* that the manifest lists */
    uint64_t file_bytes;      /* of whole shards, headers counted */
};

/* Verifies all shards that the manifest lists. Broken shards are rows of `out`, not an error. A folder without a valid manifest is
 * PK_E_USAGE; a codec or checksums that this build lacks PK_E_UNAVAILABLE; stop_flag (NULL = none) ends it: PK_E_INTERRUPTED. */
enum pk_code pk_verify(const char *folder, const volatile int *stop_flag, struct pk_arena *a,
                       struct pk_verify_result *out, struct pk_err *err) PK_MUST_CHECK;
/* "zstd-1, filter exponent, checksums xxh64, 3 shards", and whether samples are missing. */
const char *pk_verified_text(const struct pk_verify_result *v, struct pk_arena *a);
/* PK_E_CHECK when a shard is broken; the message has the first one. */
enum pk_code pk_verified_outcome(const struct pk_verify_result *v, const char *folder,
                                 struct pk_err *err) PK_MUST_CHECK;
