/* Manifest: manifest.json of a folder of shards: the configuration, and which shards are whole.
 *
 *   {"format": "perfkit-shards-1", "hash": "0123456789abcdef", "config": {...}, "shards": [{"file": ..., "first_sample": 0,
 *    "samples": 64, "file_bytes": 1234}, ...]}
 * Shards are in the order of their samples, without gaps, from sample 0 on. */
#pragma once

#include "shard/config.h"
#include "shard/file/folder.h"

#define PK_MANIFEST "manifest.json"

struct pk_manifest_shard {
    const char *file;
    uint64_t first, samples, file_bytes;
};

struct pk_manifest {
    const struct pk_shard_config *config;
    const char *hash;
    struct pk_manifest_shard *v;
    size_t n, cap;
};

/* Reads and checks it; all is in the arena. PK_E_USAGE when it is invalid; config is NULL when there is none. */
enum pk_code pk_manifest_read(const struct pk_folder *f, struct pk_arena *a, struct pk_manifest *out,
                              struct pk_err *err) PK_MUST_CHECK;
/* Checks a text of n bytes. Fuzzed. */
enum pk_code pk_manifest_parse(const char *path, const char *text, size_t n, struct pk_arena *a,
                               struct pk_manifest *out, struct pk_err *err) PK_MUST_CHECK;
/* Replaces the file. */
enum pk_code pk_manifest_write(const struct pk_folder *f, const struct pk_manifest *m,
                               struct pk_err *err) PK_MUST_CHECK;
/* The first sample that no shard has. */
uint64_t pk_manifest_samples(const struct pk_manifest *m);
