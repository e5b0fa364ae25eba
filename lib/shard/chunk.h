/* Chunk: a piece of a tensor as it is stored: filtered, compressed, with a checksum.
 *
 * stored bytes = compress(first `coded_bytes` bytes of the filtered chunk), then the rest of the filtered chunk as it is. coded_bytes is
 * the size of the chunk, of the first plane where a sample of the other planes has nothing to compress, or 0 where compression gains
 * nothing. The checksum is the XXH64 (seed 0) of the chunk's original bytes, so it covers filter and codec too. Without the xxhash
 * library in the build there are no checksums (pk_checksum_unavailable). */
#pragma once

#include "shard/codec.h"
#include "shard/filter.h"

/* Which layer and which bytes of its tensor, and where they are stored after the header of the file. */
struct pk_chunk {
    uint32_t layer; /* an index of the configuration's layers */
    uint64_t raw_at, raw_bytes, stored_at, stored_bytes, coded_bytes, checksum;
};

/* Time and bytes of a stage: elapsed time, CPU time of the thread, and when the first piece began and the last one ended (pk_clock_ns). */
struct pk_stage_time {
    uint64_t count, elapsed_ns, cpu_ns, bytes, began_ns, ended_ns;
};
enum pk_stage_name {
    PK_STAGE_CHECKSUM,
    PK_STAGE_FILTER,
    PK_STAGE_COMPRESS,
    PK_STAGE_WRITE,
    PK_STAGE_SYNC,
    PK_STAGES
};
extern const char *const pk_stage_names[PK_STAGES];
/* Begins a stage on this thread, and adds what passed since. */
struct pk_stage_time pk_stage_begin(void);
void pk_stage_end(struct pk_stage_time *sum, const struct pk_stage_time *begun, uint64_t bytes);
void pk_stage_add(struct pk_stage_time *sum, const struct pk_stage_time *s);

/* A thread's coder, with scratch for chunks up to most_bytes. Nothing is allocated after it was opened. */
struct pk_chunk_coder {
    struct pk_coder coder;
    enum pk_byte_filter filter;
    enum pk_dtype type;
    enum pk_isa isa;
    bool checksum; /* whether chunks have one; set by pk_chunk_coder_open where the build has the library */
    size_t most_bytes;
    char *planes;                          /* [most_bytes] */
    struct pk_stage_time stage[PK_STAGES]; /* of this thread: the first three */
};
enum pk_code pk_chunk_coder_open(const struct pk_codec *codec, enum pk_byte_filter filter, enum pk_dtype type,
                                 size_t most_bytes, struct pk_arena *a, struct pk_chunk_coder *out,
                                 struct pk_err *err) PK_MUST_CHECK;
void pk_chunk_coder_close(const struct pk_chunk_coder *c);
#define PK_CHUNK_CODER_CLEANUP __attribute__((cleanup(pk_chunk_coder_close)))

/* The room that an encoded chunk needs. */
size_t pk_chunk_bound(const struct pk_codec *codec, size_t raw_bytes);
/* Encodes chunk->raw_bytes bytes; sets stored_bytes, coded_bytes and checksum. Returns where the stored bytes are: `to`, or `from` where
 * neither filter nor codec changed anything. */
const void *pk_chunk_encode(struct pk_chunk_coder *c, const void *from, void *to, struct pk_chunk *chunk);
/* Decodes and compares the checksum. NULL, or what is wrong: "its checksum differs". */
const char *pk_chunk_decode(struct pk_chunk_coder *c, const struct pk_chunk *chunk, const void *stored,
                            void *to);

/* Why this build has no checksums; NULL = it has. */
const char *pk_checksum_unavailable(void);
