/* Shard: one that is being written, chunk after chunk.
 *
 * Begin, put each chunk of pk_shard_layout in its order, end. Times of writing and syncing are added to `stage`. */
#pragma once

#include "shard/file/header.h"
#include "shard/file/manifest.h"

struct pk_shard {
    const struct pk_shard_config *config;
    struct pk_shard_layout layout;
    struct pk_new_file file;
    uint64_t data_at, stored_bytes;
    struct pk_chunk *chunks; /* [layout.chunks] */
    size_t n;
    struct pk_arena arena; /* of this shard: name, table, header */
};

/* A shard without a file (f = NULL) keeps its table only. hash is that of the configuration. */
enum pk_code pk_shard_begin(const struct pk_shard_config *c, const char *hash, const struct pk_folder *f,
                            uint64_t first, struct pk_shard *out, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_shard_put(struct pk_shard *s, struct pk_chunk *chunk, const void *stored,
                          struct pk_stage_time stage[PK_STAGES], struct pk_err *err) PK_MUST_CHECK;
/* All chunks were put: the file gets its name and is entered into the manifest. */
enum pk_code pk_shard_end(struct pk_shard *s, struct pk_manifest *m, struct pk_arena *of_manifest,
                          struct pk_stage_time stage[PK_STAGES], struct pk_err *err) PK_MUST_CHECK;
/* Removes what is not ended; frees. All zeros are allowed. */
void pk_shard_free(struct pk_shard *s);
