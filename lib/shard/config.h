/* Config: what a folder of shards holds. Its hash names the shards, so that data of two configurations never mix.
 *
 * A sample of a layer is `length` x `width` elements. A shard holds `shard_samples` consecutive samples of all layers (the last one may
 * hold fewer), and a block is `batch` consecutive samples of one layer, cut into chunks of chunk_bytes. `attributes` are the rest of what
 * decides the content: model, seed, weights' hash; names and values are free text. All of this is in the hash. */
#pragma once

#include "shard/chunk.h"

struct pk_shard_attribute {
    const char *name, *value;
};

enum { PK_SHARD_LAYERS_MAX = 4096, PK_SHARD_CHUNK_BYTES = 1 << 20 };

struct pk_shard_config {
    enum pk_dtype type;
    struct pk_codec codec;
    enum pk_byte_filter filter;
    const unsigned *layers; /* [n_layers], increasing */
    size_t n_layers;
    uint64_t samples, length, width, batch, shard_samples;
    uint64_t chunk_bytes; /* 0 = PK_SHARD_CHUNK_BYTES; at most 64 MiB, a multiple of 4 */
    const struct pk_shard_attribute *attributes;
    size_t n_attributes;
};

/* PK_E_USAGE when a number is 0 or sizes overflow 2^62 bytes. */
enum pk_code pk_shard_config_check(const struct pk_shard_config *c, struct pk_err *err) PK_MUST_CHECK;
uint64_t pk_shard_sample_bytes(const struct pk_shard_config *c); /* of one layer */
uint64_t pk_shard_batch_bytes(const struct pk_shard_config *c);  /* of all layers: the size of a slot */
