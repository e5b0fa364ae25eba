/* Config: what a folder of shards holds. Its hash names the shards, so that data of two configurations never mix.
 *
 * A sample of a layer is `length` x `width` elements. A shard holds `shard_samples` consecutive samples of all layers (the last one may
 * hold fewer). A block is `batch` consecutive samples of one layer, cut into chunks of chunk_bytes. `attributes` are the rest of what
 * decides the content: model, seed, hash of the weights; names and values are free text. All of this is in the hash. */
#pragma once

#include "shard/chunk.h"
#include "json/json.h"

struct pk_shard_attribute {
    const char *name, *value;
};

enum {
    PK_SHARD_LAYERS_MAX = 4096,
    PK_SHARD_ATTRIBUTES_MAX = 256,
    PK_SHARD_CHUNK_BYTES = 1 << 20,
    PK_SHARD_CHUNK_BYTES_MAX = 64 << 20
};

struct pk_shard_config {
    enum pk_dtype type;
    struct pk_codec codec;
    enum pk_byte_filter filter;
    const unsigned *layers; /* [n_layers], increasing */
    size_t n_layers;
    uint64_t samples, length, width, batch;
    uint64_t shard_samples; /* a multiple of batch */
    uint64_t chunk_bytes;   /* 0 = PK_SHARD_CHUNK_BYTES; a multiple of 4 */
    const struct pk_shard_attribute *attributes;
    size_t n_attributes;
    bool checksum; /* set by pk_shard_config_copy: whether this build has checksums */
};

/* PK_E_USAGE when a number is 0 or too large: a shard's header has at most 100 MB, all data at most 2^60 bytes. */
enum pk_code pk_shard_config_check(const struct pk_shard_config *c, struct pk_err *err) PK_MUST_CHECK;
uint64_t pk_shard_sample_bytes(const struct pk_shard_config *c); /* of one layer */
uint64_t pk_shard_batch_bytes(const struct pk_shard_config *c);  /* of all layers: the size of a slot */
/* PK_E_USAGE when `bytes` bytes are not `samples` samples of this configuration; the message names the length that they would have. */
enum pk_code pk_shard_bytes_check(const struct pk_shard_config *c, uint64_t samples, uint64_t bytes,
                                  struct pk_err *err) PK_MUST_CHECK;

/* A copy in the arena with chunk_bytes and checksum set: only such a one, or one that was read, has JSON and a hash. */
struct pk_shard_config *pk_shard_config_copy(const struct pk_shard_config *c, struct pk_arena *a);
/* As JSON, for the manifest, and from it. An invalid object is PK_E_USAGE, an unknown codec too; *why says what is wrong with it. */
json_t *pk_shard_config_json(const struct pk_shard_config *c);
enum pk_code pk_shard_config_read(const json_t *j, struct pk_arena *a, struct pk_shard_config *out,
                                  struct pk_err *err) PK_MUST_CHECK;
/* 16 hexadecimal digits of the canonical JSON. */
const char *pk_shard_config_hash(const struct pk_shard_config *c, struct pk_arena *a);
/* "codec is zstd-1 there and lz4 here" of the first member that differs between two objects of pk_shard_config_json; NULL when none does. */
const char *pk_shard_config_difference(const json_t *there, const json_t *here, struct pk_arena *a);

/* --- layout --- */

/* The shard that begins with sample `first`. Chunks are in the order of their storage: blocks, in them layers, in them pieces. */
struct pk_shard_layout {
    uint64_t first, samples, layer_bytes; /* of one layer's tensor */
    size_t chunks;
};
struct pk_shard_layout pk_shard_layout(const struct pk_shard_config *c, uint64_t first);
/* The number of pieces that the block of n samples of one layer is cut into. */
size_t pk_shard_pieces(const struct pk_shard_config *c, uint64_t n);
/* Layer, raw_at and raw_bytes of a piece of the block that begins with sample `at` of a shard. */
struct pk_chunk pk_shard_piece(const struct pk_shard_config *c, uint64_t at, uint64_t n, size_t layer,
                               size_t piece);
/* Whether shards are plain safetensors: no filter, no codec. */
bool pk_shard_is_plain(const struct pk_shard_config *c);
const char *pk_shard_type_name(enum pk_dtype type); /* "F32", "BF16" */
/* HASH-00000000.safetensors, by the first sample. */
const char *pk_shard_file_name(const char *hash, uint64_t first, struct pk_arena *a);
