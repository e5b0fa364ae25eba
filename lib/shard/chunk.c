/* Chunk: checksum, filter and codec of one piece, with their times. */
#include "shard/chunk.h"

#include "base/clock.h"
#include "build_config.h"

#include <string.h>

#ifdef PK_HAVE_XXHASH
#include <xxhash.h>
#else
#define XXH64(data, n, seed) 0
#endif

const char *const pk_stage_names[PK_STAGES] = {"checksum", "filter", "compress", "write", "sync"};

const char *pk_checksum_unavailable(void)
{
    return PK_XXHASH_UNAVAILABLE;
}

/* --- stages --- */

struct pk_stage_time pk_stage_begin(void)
{
    return (struct pk_stage_time){.began_ns = pk_clock_ns(), .cpu_ns = pk_thread_cpu_ns()};
}

void pk_stage_end(struct pk_stage_time *sum, const struct pk_stage_time *begun, uint64_t bytes)
{
    const uint64_t now = pk_clock_ns();
    pk_stage_add(sum, &(struct pk_stage_time){1, now - begun->began_ns, pk_thread_cpu_ns() - begun->cpu_ns,
                                              bytes, begun->began_ns, now});
}

void pk_stage_add(struct pk_stage_time *sum, const struct pk_stage_time *s)
{
    if (s->count && (!sum->count || s->began_ns < sum->began_ns))
        sum->began_ns = s->began_ns;
    if (s->ended_ns > sum->ended_ns)
        sum->ended_ns = s->ended_ns;
    sum->count += s->count;
    sum->elapsed_ns += s->elapsed_ns;
    sum->cpu_ns += s->cpu_ns;
    sum->bytes += s->bytes;
}

/* --- coder --- */

enum pk_code pk_chunk_coder_open(const struct pk_codec *codec, enum pk_byte_filter filter, enum pk_dtype type,
                                 size_t most_bytes, struct pk_arena *a, struct pk_chunk_coder *out,
                                 struct pk_err *err)
{
    *out = (struct pk_chunk_coder){.filter = filter,
                                   .type = type,
                                   .isa = pk_isa_detect(),
                                   .checksum = !pk_checksum_unavailable(),
                                   .most_bytes = most_bytes,
                                   .planes = pk_alloc(a, most_bytes)};
    return pk_coder_open(codec, a, &out->coder, err);
}

void pk_chunk_coder_close(const struct pk_chunk_coder *c)
{
    pk_coder_close(&c->coder);
}

size_t pk_chunk_bound(const struct pk_codec *codec, size_t raw_bytes)
{
    return pk_codec_bound(codec, raw_bytes);
}

enum { SAMPLES = 4096 };

/* Whether bytes look random: in a sample of them no value is much more frequent than 1 in 256. A codec gains nothing there. */
static bool look_random(const unsigned char *v, size_t n)
{
    unsigned count[256] = {0};
    const size_t step = n / SAMPLES | 1;
    uint64_t squares = 0, samples = 0;
    for (size_t i = 0; i < n && samples < SAMPLES; i += step, samples++)
        count[v[i]]++;
    for (unsigned i = 0; i < 256; i++)
        squares += (uint64_t)count[i] * count[i];
    /* of random bytes samples + samples^2 / 256 */
    return squares * 256 < samples * samples * 5 / 4 + 512 * samples;
}

/* How many bytes of the filtered chunk the codec is given. */
static size_t worth_coding(const struct pk_chunk_coder *c, const unsigned char *filtered, size_t n)
{
    const size_t first = pk_byte_filter_first_plane(c->filter, c->type, n);
    if (pk_codec_is_none(&c->coder.codec))
        return 0;
    return first < n && look_random(filtered + first, n - first) ? first : n;
}

const void *pk_chunk_encode(struct pk_chunk_coder *c, const void *from, void *to, struct pk_chunk *chunk)
{
    const size_t n = chunk->raw_bytes;
    pk_assert(n <= c->most_bytes);
    const char *filtered = from;
    struct pk_stage_time s = pk_stage_begin();
    chunk->checksum = XXH64(from, n, 0);
    pk_stage_end(&c->stage[PK_STAGE_CHECKSUM], &s, n);
    if (c->filter) {
        s = pk_stage_begin();
        pk_byte_filter_apply(c->filter, c->isa, c->type, from, n, c->planes);
        filtered = c->planes;
        pk_stage_end(&c->stage[PK_STAGE_FILTER], &s, n);
    }
    s = pk_stage_begin();
    chunk->coded_bytes = worth_coding(c, (const unsigned char *)filtered, n);
    const size_t rest = n - chunk->coded_bytes,
                 coded = chunk->coded_bytes ? pk_compress(&c->coder, filtered, chunk->coded_bytes, to,
                                                          pk_chunk_bound(&c->coder.codec, chunk->coded_bytes))
                                            : 0;
    if (!coded || coded >= chunk->coded_bytes) {
        chunk->coded_bytes = 0;
        chunk->stored_bytes = n;
        if (filtered != from)
            memcpy(to, filtered, n);
    } else {
        chunk->stored_bytes = coded + rest;
        memcpy((char *)to + coded, filtered + chunk->coded_bytes, rest);
    }
    if (!pk_codec_is_none(&c->coder.codec))
        pk_stage_end(&c->stage[PK_STAGE_COMPRESS], &s, n);
    return chunk->coded_bytes || c->filter ? to : from;
}

const char *pk_chunk_decode(struct pk_chunk_coder *c, const struct pk_chunk *chunk, const void *stored,
                            void *to)
{
    const size_t n = chunk->raw_bytes, rest = n - chunk->coded_bytes;
    char *filtered = c->filter ? c->planes : to;
    pk_assert(n <= c->most_bytes);
    if (chunk->coded_bytes > n || rest > chunk->stored_bytes)
        return "its sizes do not agree";
    const size_t coded = chunk->stored_bytes - rest;
    if (chunk->coded_bytes ? !pk_decompress(&c->coder, stored, coded, filtered, chunk->coded_bytes) : coded)
        return "it cannot be decompressed";
    memcpy(filtered + chunk->coded_bytes, (const char *)stored + coded, rest);
    if (c->filter)
        pk_byte_filter_invert(c->filter, c->isa, c->type, filtered, n, to);
    return !c->checksum || chunk->checksum == XXH64(to, n, 0) ? NULL : "its checksum differs";
}
