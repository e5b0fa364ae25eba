/* Codec: a row per library. */
#include "shard/codec.h"

#include "base/build.h"
#include "base/text/words.h"
#include "build_config.h"

#include <stdlib.h>
#include <string.h>

#ifdef PK_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef PK_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef PK_HAVE_ZSTD
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode */
#include <zstd.h>
#endif
#ifdef PK_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

/* A library: open makes what a thread needs, in the arena or freed by close. A NULL is a failure. */
struct pk_codec_row {
    const char *name, *summary;
    const char *feature; /* of pk_features; NULL = always there */
    int least, most, usual;
    size_t (*bound)(size_t n);
    bool (*open)(struct pk_coder *c, struct pk_arena *a);
    void (*close)(const struct pk_coder *c);
    size_t (*compress)(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room);
    size_t (*decompress)(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room);
};

#define UNAVAILABLE SIZE_MAX /* of decompress: what was given cannot be decoded */

/* --- none --- */

static size_t same_size(size_t n)
{
    return n;
}

static bool nothing_to_open(struct pk_coder *c, struct pk_arena *a)
{
    return true;
}

static void nothing_to_close(const struct pk_coder *c)
{
}

static size_t copy(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    if (n > room)
        return UNAVAILABLE;
    memcpy(to, from, n);
    return n;
}

/* --- zlib: the gzip format --- */

#ifdef PK_HAVE_ZLIB
enum { GZIP_WINDOW = 15 + 16, WORK_MEMORY = 8 };

static size_t zlib_bound(size_t n)
{
    return compressBound(n) + 32; /* gzip's header and trailer are 18 bytes, zlib's 6 */
}

static bool zlib_open(struct pk_coder *c, struct pk_arena *a)
{
    c->compressor = pk_new(a, z_stream);
    c->decompressor = pk_new(a, z_stream);
    if (deflateInit2(c->compressor, c->codec.level, Z_DEFLATED, GZIP_WINDOW, WORK_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    return inflateInit2(c->decompressor, GZIP_WINDOW) == Z_OK;
}

static void zlib_close(const struct pk_coder *c)
{
    deflateEnd(c->compressor);
    inflateEnd(c->decompressor);
}

static size_t zlib_run(z_stream *s, int (*step)(z_stream *, int), const void *from, size_t n, void *to,
                       size_t room)
{
    s->next_in = (unsigned char *)(uintptr_t)from;
    s->avail_in = (unsigned)n;
    s->next_out = to;
    s->avail_out = (unsigned)room;
    return step(s, Z_FINISH) == Z_STREAM_END && !s->avail_in ? s->total_out : UNAVAILABLE;
}

static size_t zlib_compress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    return deflateReset(c->compressor) == Z_OK ? zlib_run(c->compressor, deflate, from, n, to, room)
                                               : UNAVAILABLE;
}

static size_t zlib_decompress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    return inflateReset(c->decompressor) == Z_OK ? zlib_run(c->decompressor, inflate, from, n, to, room)
                                                 : UNAVAILABLE;
}

/* A stream of a FILE. */
struct gzip_stream {
    z_stream z;
    FILE *to;
    unsigned char out[1 << 16];
};

/* Compresses what z has, to the end of the format with Z_FINISH. */
static bool gzip_run(struct gzip_stream *g, int flush)
{
    do {
        g->z.next_out = g->out;
        g->z.avail_out = sizeof g->out;
        if (deflate(&g->z, flush) == Z_STREAM_ERROR)
            return false;
        const size_t n = sizeof g->out - g->z.avail_out;
        if (fwrite(g->out, 1, n, g->to) != n)
            return false;
    } while (!g->z.avail_out);
    return true;
}

static ssize_t gzip_write(void *stream, const char *bytes, size_t n)
{
    struct gzip_stream *g = stream;
    g->z.next_in = (unsigned char *)(uintptr_t)bytes;
    g->z.avail_in = (unsigned)n;
    return gzip_run(g, Z_NO_FLUSH) ? (ssize_t)n : 0;
}

static int gzip_close(void *stream)
{
    struct gzip_stream *g = stream;
    g->z.avail_in = 0;
    const bool whole = !ferror(g->to) && gzip_run(g, Z_FINISH) && !fflush(g->to);
    deflateEnd(&g->z);
    return whole ? 0 : EOF;
}
#endif

/* --- ISA-L: the gzip format --- */

#ifdef PK_HAVE_ISAL
struct igzip {
    struct isal_zstream stream;
    unsigned char *level_memory;
    unsigned level_bytes;
};

static size_t igzip_bound(size_t n)
{
    return n + n / 8 + 1024;
}

static bool igzip_open(struct pk_coder *c, struct pk_arena *a)
{
    static const unsigned level_bytes[] = {ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT,
                                           ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
    struct igzip *z = pk_new(a, struct igzip);
    z->level_bytes = level_bytes[c->codec.level];
    z->level_memory = z->level_bytes ? pk_alloc(a, z->level_bytes) : NULL;
    c->compressor = z;
    c->decompressor = pk_new(a, struct inflate_state);
    return true;
}

static size_t igzip_compress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    struct igzip *z = c->compressor;
    isal_deflate_init(&z->stream);
    z->stream.level = (unsigned)c->codec.level;
    z->stream.level_buf = z->level_memory;
    z->stream.level_buf_size = z->level_bytes;
    z->stream.gzip_flag = IGZIP_GZIP;
    z->stream.end_of_stream = 1;
    z->stream.flush = NO_FLUSH;
    z->stream.next_in = (unsigned char *)(uintptr_t)from;
    z->stream.avail_in = (unsigned)n;
    z->stream.next_out = to;
    z->stream.avail_out = (unsigned)room;
    return isal_deflate(&z->stream) == COMP_OK && z->stream.internal_state.state == ZSTATE_END
               ? z->stream.total_out
               : UNAVAILABLE;
}

static size_t igzip_decompress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    struct inflate_state *s = c->decompressor;
    isal_inflate_init(s);
    s->crc_flag = ISAL_GZIP;
    s->next_in = (unsigned char *)(uintptr_t)from;
    s->avail_in = (unsigned)n;
    s->next_out = to;
    s->avail_out = (unsigned)room;
    return isal_inflate(s) == ISAL_DECOMP_OK && s->block_state == ISAL_BLOCK_FINISH && !s->avail_in
               ? s->total_out
               : UNAVAILABLE;
}
#endif

/* --- LZ4 --- */

#ifdef PK_HAVE_LZ4
static size_t lz4_bound(size_t n)
{
    return (size_t)LZ4_compressBound((int)n);
}

static bool lz4_open(struct pk_coder *c, struct pk_arena *a)
{
    c->compressor = pk_alloc(a, (size_t)LZ4_sizeofState());
    return true;
}

static size_t lz4_compress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    return (size_t)LZ4_compress_fast_extState(c->compressor, from, to, (int)n, (int)room, 1);
}

static size_t lz4_decompress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    const int got = LZ4_decompress_safe(from, to, (int)n, (int)room);
    return got < 0 ? UNAVAILABLE : (size_t)got;
}
#endif

/* --- zstd --- */

#ifdef PK_HAVE_ZSTD
static bool zstd_open(struct pk_coder *c, struct pk_arena *a)
{
    c->compressor = ZSTD_createCCtx();
    c->decompressor = ZSTD_createDCtx();
    return c->compressor && c->decompressor &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_compressionLevel, c->codec.level));
}

/* The fastest level looks for almost no match, and would leave literals as they are. */
static bool huffman_open(struct pk_coder *c, struct pk_arena *a)
{
    return zstd_open(c, a) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_compressionLevel, ZSTD_minCLevel())) &&
           !ZSTD_isError(
               ZSTD_CCtx_setParameter(c->compressor, ZSTD_c_literalCompressionMode, ZSTD_ps_enable));
}

static void zstd_close(const struct pk_coder *c)
{
    ZSTD_freeCCtx(c->compressor);
    ZSTD_freeDCtx(c->decompressor);
}

static size_t zstd_compress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    const size_t got = ZSTD_compress2(c->compressor, to, room, from, n);
    return ZSTD_isError(got) ? UNAVAILABLE : got;
}

static size_t zstd_decompress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    const size_t got = ZSTD_decompressDCtx(c->decompressor, to, room, from, n);
    return ZSTD_isError(got) ? UNAVAILABLE : got;
}
#endif

/* --- rows --- */

static const struct pk_codec_row rows[] = {
    {"none", "copies", NULL, 0, 0, 0, same_size, nothing_to_open, nothing_to_close, copy, copy},
    {"zlib", "the gzip format by zlib", "zlib", 1, 9, 6,
#ifdef PK_HAVE_ZLIB
     zlib_bound, zlib_open, zlib_close, zlib_compress, zlib_decompress
#endif
    },
    {"igzip", "the gzip format by ISA-L", "isal", 0, 3, 1,
#ifdef PK_HAVE_ISAL
     igzip_bound, igzip_open, nothing_to_close, igzip_compress, igzip_decompress
#endif
    },
    {"lz4", "LZ4 blocks", "lz4", 0, 0, 0,
#ifdef PK_HAVE_LZ4
     lz4_bound, lz4_open, nothing_to_close, lz4_compress, lz4_decompress
#endif
    },
    {"zstd", "zstd frames", "zstd", 1, 19, 3,
#ifdef PK_HAVE_ZSTD
     ZSTD_compressBound, zstd_open, zstd_close, zstd_compress, zstd_decompress
#endif
    },
    {"zstd-huffman", "zstd frames without a search for matches", "zstd", 0, 0, 0,
#ifdef PK_HAVE_ZSTD
     ZSTD_compressBound, huffman_open, zstd_close, zstd_compress, zstd_decompress
#endif
    },
};
const size_t pk_codecs_n = sizeof rows / sizeof *rows;

struct pk_codec_facts pk_codec_facts(size_t i)
{
    const struct pk_codec_row *r = &rows[i];
    const struct pk_feature *f = r->feature ? pk_feature(r->feature) : NULL;
    return (struct pk_codec_facts){
        r->name, r->summary, r->least, r->most, r->usual, f ? f->unavailable : NULL, f ? f->enable : NULL};
}

/* The row that `name` begins with, a level after it or nothing; of two the longer name. */
static const struct pk_codec_row *row_of(const char *name, const char **rest)
{
    for (size_t i = pk_codecs_n; i-- > 0;) {
        const size_t n = strlen(rows[i].name);
        *rest = name + n;
        if (!strncmp(name, rows[i].name, n) && (!**rest || **rest == '-'))
            return &rows[i];
    }
    return NULL;
}

static enum pk_code unknown(const char *name, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *names[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < pk_codecs_n; i++)
        names[i] = rows[i].name;
    pk_fail(err, PK_E_USAGE, "codec '%.100s' is unknown", name);
    pk_why(err, "a codec is %s; zlib, igzip and zstd may have a level: zstd-3",
           pk_list(names, pk_codecs_n, ", ", &a));
    return pk_fix(err, "%s", pk_suggest_text(&a, name, names, pk_codecs_n));
}

static enum pk_code bad_level(const struct pk_codec_row *r, const char *name, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "codec '%.100s' has a level that does not exist", name);
    if (!r->most)
        return pk_why(err, "%s has no levels", r->name), pk_fix(err, "%s", r->name);
    pk_why(err, "levels of %s are %d to %d", r->name, r->least, r->most);
    return pk_fix(err, "%s-%d", r->name, r->usual);
}

enum pk_code pk_codec_parse(const char *name, struct pk_codec *c, struct pk_err *err)
{
    const char *rest;
    const struct pk_codec_row *r = row_of(name, &rest);
    if (!r)
        return unknown(name, err);
    *c = (struct pk_codec){r, r->usual};
    if (*rest) {
        char *end;
        const long level = strtol(rest + 1, &end, 10);
        if (rest[1] < '0' || rest[1] > '9' || *end || end - rest > 3 || !r->most || level < r->least ||
            level > r->most)
            return bad_level(r, name, err);
        c->level = (int)level;
    }
    const struct pk_codec_facts f = pk_codec_facts((size_t)(r - rows));
    if (!f.unavailable)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "codec %s is not in this build", r->name);
    pk_why(err, "%s", f.unavailable);
    return pk_fix(err, "%s", f.enable);
}

const char *pk_codec_name(const struct pk_codec *c, struct pk_arena *a)
{
    return c->row->most ? pk_printf(a, "%s-%d", c->row->name, c->level) : c->row->name;
}

bool pk_codec_is_none(const struct pk_codec *c)
{
    return c->row == rows;
}

size_t pk_codec_bound(const struct pk_codec *c, size_t n)
{
    return c->row->bound(n);
}

enum pk_code pk_coder_open(const struct pk_codec *c, struct pk_arena *a, struct pk_coder *out,
                           struct pk_err *err)
{
    *out = (struct pk_coder){.codec = *c};
    if (c->row->open(out, a))
        return PK_OK;
    pk_coder_close(out);
    *out = (struct pk_coder){0};
    pk_fail(err, PK_E_INTERNAL, "the library of codec %s cannot be used", c->row->name);
    pk_why(err, "it has no memory for its state");
    return pk_fix(err, "leave more memory free, or choose another codec");
}

void pk_coder_close(const struct pk_coder *c)
{
    if (c->codec.row)
        c->codec.row->close(c);
}

size_t pk_compress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t room)
{
    const size_t got = c->codec.row->compress(c, from, n, to, room);
    return got == UNAVAILABLE ? 0 : got;
}

bool pk_decompress(const struct pk_coder *c, const void *from, size_t n, void *to, size_t bytes)
{
    return c->codec.row->decompress(c, from, n, to, bytes) == bytes;
}

enum pk_code pk_gzip_stream(FILE *to, struct pk_arena *a, FILE **out, struct pk_err *err)
{
    struct pk_codec c;
    if (pk_codec_parse("zlib", &c, err))
        return err->code;
#ifdef PK_HAVE_ZLIB
    struct gzip_stream *g = pk_new(a, struct gzip_stream);
    g->to = to;
    const bool opened =
        deflateInit2(&g->z, c.level, Z_DEFLATED, GZIP_WINDOW, WORK_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
    *out = opened ? fopencookie(g, "w", (cookie_io_functions_t){.write = gzip_write, .close = gzip_close})
                  : NULL;
    if (*out && !setvbuf(*out, NULL, _IOFBF, sizeof g->out))
        return PK_OK;
    return pk_fail(err, PK_E_INTERNAL, "zlib cannot be started");
#else
    return PK_OK;
#endif
}
