/* Header: of a shard, a valid header of a safetensors file.
 *
 * Plain shards (no filter, no codec) have a tensor "layer_N" of [samples, length, width] for each layer: any reader of safetensors reads
 * them. Others have one tensor "chunks" of bytes. In both, __metadata__ has:
 *   format perfkit-shard-1 · hash, first_sample, samples, layers, length, width, dtype, codec, filter, checksum
 *   chunks     a row for each, ended by ';': layer's index, raw_at, raw_bytes, stored_at, stored_bytes, coded_bytes, checksum in hex
 * stored_at counts from the end of the header. The header is written last, when all chunks are known, and padded with blanks to
 * pk_header_room bytes, which are known first. */
#pragma once

#include "model/safetensors.h"
#include "shard/config.h"

/* The bytes before the tensors: the length, the JSON and blanks. A multiple of 64. */
size_t pk_header_room(const struct pk_shard_config *c, const struct pk_shard_layout *l);
/* All these bytes. stored_bytes: of the tensor "chunks". */
const char *pk_header_text(const struct pk_shard_config *c, const char *hash, const struct pk_shard_layout *l,
                           const struct pk_chunk *chunks, uint64_t stored_bytes, struct pk_arena *a);

/* Checks that the header of an opened file is that of this shard and takes its l->chunks chunks from it: where they are, and that they
 * fill the tensors. NULL, or what is wrong; *at is then the row of the chunk, or l->chunks when it is none. Fuzzed. */
const char *pk_header_chunks(const struct pk_safetensors *f, const struct pk_shard_config *c,
                             const char *hash, const struct pk_shard_layout *l, struct pk_arena *a,
                             struct pk_chunk **chunks, size_t *at);
