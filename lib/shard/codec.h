/* Codec: lossless compression of blocks of bytes by the libraries of this build, a row per library.
 *
 *   none            copies
 *   zlib-1 ... -9   the gzip format, as Python's gzip module writes it (level 6 when no level is given)
 *   igzip-0 ... -3  the gzip format by ISA-L
 *   lz4             LZ4 blocks
 *   zstd-1 ... -19  zstd frames
 *   zstd-huffman    zstd frames without a search for matches: entropy coding alone, for planes of exponents
 * A library that this build lacks keeps its row: `unavailable` says why, and pk_codec_parse refuses it with PK_E_UNAVAILABLE.
 * Decoders are given bytes that are not trusted. They write at most the expected number of bytes. */
#pragma once

#include "base/arena.h"
#include "build_config.h" /* PK_DEFAULT_CODEC: zstd-huffman, or none where zstd is not built in */

#include <stdint.h>
#include <stdio.h>

struct pk_codec_row;

struct pk_codec {
    const struct pk_codec_row *row;
    int level; /* 0 where the row has no levels */
};

/* A row for lists and help. `least` = `most` = 0: there are no levels. */
struct pk_codec_facts {
    const char *name, *summary;
    int least, most, usual;
    const char *unavailable; /* why this build lacks it; NULL = it is there */
    const char *enable;      /* how to build it in */
};
extern const size_t pk_codecs_n;
struct pk_codec_facts pk_codec_facts(size_t i);

/* "zstd-3" or "zstd". An unknown name and a level out of range are PK_E_USAGE. */
enum pk_code pk_codec_parse(const char *name, struct pk_codec *c, struct pk_err *err) PK_MUST_CHECK;
/* The name that pk_codec_parse reads, with its level. In the arena. */
const char *pk_codec_name(const struct pk_codec *c, struct pk_arena *a);
bool pk_codec_is_none(const struct pk_codec *c);

/* The largest number of bytes that n bytes can become. */
size_t pk_codec_bound(const struct pk_codec *c, size_t n);

/* What one thread needs, for blocks up to most_bytes. Nothing is allocated after pk_coder_open. */
struct pk_coder {
    struct pk_codec codec;
    void *compressor, *decompressor;
};
enum pk_code pk_coder_open(const struct pk_codec *c, struct pk_arena *a, struct pk_coder *out,
                           struct pk_err *err) PK_MUST_CHECK;
void pk_coder_close(const struct pk_coder *c); /* all zeros are allowed */

/* Returns the compressed size; `to` has room for pk_codec_bound(n). 0 = the library failed. */
size_t pk_compress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room);
/* True when the n bytes decode to exactly `bytes` bytes. */
bool pk_decompress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t bytes);

/* A stream that writes what is written to it to `to` in the gzip format. fclose ends it, and leaves `to` open; a write that fails sets errno
 * and ferror of both. PK_E_UNAVAILABLE without zlib. Its memory is in the arena. */
enum pk_code pk_gzip_stream(FILE *to, struct pk_arena *a, FILE **out, struct pk_err *err) PK_MUST_CHECK;
