/* Shards of strangers: a manifest, the header of a shard, and chunks of every codec. The first byte chooses. */
#include "fuzz.h"
#include "shard/file/header.h"
#include "shard/file/manifest.h"

static void a_manifest(const char *text, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_manifest m;
    if (pk_manifest_parse("file", text, n, &a, &m, &err)) {
        if (err.code != PK_E_UNAVAILABLE)
            pk_fuzz_refusal(&err);
        return;
    }
    pk_assert(pk_manifest_samples(&m) <= m.config->samples &&
              m.config->chunk_bytes <= PK_SHARD_CHUNK_BYTES_MAX);
}

/* Of a small shard; the configuration is fixed. */
static void a_header(const char *text, size_t n)
{
    static const unsigned layers[] = {3, 5};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_shard_config c = {.filter = PK_FILTER_EXPONENT,
                                .layers = layers,
                                .n_layers = 2,
                                .samples = 4,
                                .length = 2,
                                .width = 3,
                                .batch = 2,
                                .shard_samples = 4,
                                .chunk_bytes = 8,
                                .checksum = true};
    struct pk_safetensors f;
    struct pk_chunk *chunks;
    size_t at;
    pk_assert(!pk_codec_parse("none", &c.codec, &err));
    const struct pk_shard_layout l = pk_shard_layout(&c, 0);
    if (pk_safetensors_parse("file", text, n, 192, &a, &f, &err) ||
        pk_header_chunks(&f, &c, "0", &l, &a, &chunks, &at))
        return;
    for (size_t i = 0; i < l.chunks; i++)
        pk_assert(chunks[i].stored_at + chunks[i].stored_bytes <= 192 &&
                  chunks[i].raw_bytes <= c.chunk_bytes && chunks[i].stored_bytes <= chunks[i].raw_bytes &&
                  chunks[i].layer < 2);
}

static void a_chunk(const struct pk_codec *codec, const uint8_t *data, size_t n)
{
    enum { MOST = 8192 };
    static char raw[MOST];
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_CHUNK_CODER_CLEANUP struct pk_chunk_coder c = {0};
    struct pk_err err;
    if (n < 4 ||
        pk_chunk_coder_open(codec, data[0] % PK_FILTERS, data[0] / PK_FILTERS % 2, MOST, &a, &c, &err))
        return;
    c.checksum = false;
    const struct pk_chunk chunk = {.raw_bytes = 1 + (data[1] * 256u + data[2]) % MOST,
                                   .stored_bytes = n - 4,
                                   .coded_bytes = data[3] * 32u};
    pk_chunk_decode(&c, &chunk, data + 4, raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct pk_err err;
    struct pk_codec codec;
    if (!n)
        return 0;
    if (data[0] == 'm')
        a_manifest((const char *)data + 1, n - 1);
    else if (data[0] == 'h')
        a_header((const char *)data + 1, n - 1);
    else if (!pk_codec_parse(pk_codec_facts(data[0] % pk_codecs_n).name, &codec, &err))
        a_chunk(&codec, data + 1, n - 1);
    return 0;
}
