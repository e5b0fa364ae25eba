/* Codecs benchmark: what filters and codecs gain and how fast one thread is, on N(0,1) values in bf16 and fp32, in chunks of 1 MiB (zlib-6: 128
 * KiB, for it is slow). In
 * each round every row runs once, and its speed is divided by that of zlib-6 in the same round; medians are printed. Reads the thread's
 * CPU time, so that others on the machine take less from it.
 *
 *     bench-codecs [check]
 *
 * With `check` it exits 1 where a promise is broken: exponent filter and zstd-huffman on bf16 at a ratio of 1.44 or more and 30 times the
 * speed of zlib-6 or more, filters at 5 GB/s or more. */
#include "shard/chunk.h"

#include "base/clock.h"
#include "base/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, ROUNDS = 15, ZLIB_BYTES = BYTES / 8 };

static const struct subject {
    const char *codec;
    enum pk_byte_filter filter;
    enum pk_dtype type;
    double least_ratio, least_speedup, least_filter_gbps; /* 0 = nothing is promised */
} subjects[] = {
    {"zlib-6", PK_FILTER_NONE, PK_BF16},
    {"igzip-1", PK_FILTER_NONE, PK_BF16},
    {"zstd-1", PK_FILTER_NONE, PK_BF16},
    {"lz4", PK_FILTER_SHUFFLE, PK_BF16},
    {"zstd-1", PK_FILTER_SHUFFLE, PK_BF16, .least_filter_gbps = 5},
    {"igzip-1", PK_FILTER_EXPONENT, PK_BF16},
    {"zstd-1", PK_FILTER_EXPONENT, PK_BF16, 1.44, 0, 5},
    {"zstd-huffman", PK_FILTER_EXPONENT, PK_BF16, 1.44, 30, 5},
    {"zlib-6", PK_FILTER_NONE, PK_FP32},
    {"zstd-1", PK_FILTER_NONE, PK_FP32},
    {"zstd-1", PK_FILTER_SHUFFLE, PK_FP32, .least_filter_gbps = 5},
    {"zstd-1", PK_FILTER_EXPONENT, PK_FP32, .least_filter_gbps = 5},
    {"zstd-huffman", PK_FILTER_EXPONENT, PK_FP32, .least_filter_gbps = 5},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static struct state {
    bool here;
    struct pk_chunk_coder coder;
    struct pk_chunk chunk;
    double encode_ns[ROUNDS], speedup[ROUNDS], filter_ns[ROUNDS], decode_ns[ROUNDS];
} states[SUBJECTS];

static char data[2][BYTES], stored[2 * BYTES], back[BYTES];

static void normal(void)
{
    for (size_t i = 0; i < BYTES / 2; i++) {
        const double u = ((double)(pk_hash(1, i) >> 11) + 1) * 0x1p-53,
                     v = (double)(pk_hash(2, i) >> 11) * 0x1p-53;
        const float x = (float)(sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v));
        const uint16_t narrow = pk_bf16_of_float(x);
        memcpy(data[PK_BF16] + 2 * i, &narrow, 2);
        if (i < BYTES / 4)
            memcpy(data[PK_FP32] + 4 * i, &x, 4);
    }
}

static double cpu_ns(void)
{
    return (double)pk_thread_cpu_ns();
}

/* Per byte. */
static void round_of(size_t i, unsigned r)
{
    const struct subject *s = &subjects[i];
    struct state *t = &states[i];
    const size_t n = strcmp(s->codec, "zlib-6") ? BYTES : ZLIB_BYTES;
    const double begun = cpu_ns();
    t->chunk = (struct pk_chunk){.raw_bytes = n};
    const void *at = pk_chunk_encode(&t->coder, data[s->type], stored, &t->chunk);
    t->encode_ns[r] = (cpu_ns() - begun) / (double)n;
    t->speedup[r] = states[s->type == PK_BF16 ? 0 : 8].encode_ns[r] / t->encode_ns[r];
    const double decoding = cpu_ns();
    if (pk_chunk_decode(&t->coder, &t->chunk, at, back) || memcmp(back, data[s->type], n))
        exit(1);
    t->decode_ns[r] = (cpu_ns() - decoding) / (double)n;
    const double filtering = cpu_ns();
    for (int k = 0; k < 8; k++)
        pk_byte_filter_apply(s->filter, t->coder.isa, s->type, data[s->type], n, back);
    t->filter_ns[r] = (cpu_ns() - filtering) / (double)n / 8;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

static bool print(size_t i)
{
    const struct subject *s = &subjects[i];
    struct state *t = &states[i];
    const double ratio = (double)t->chunk.raw_bytes / (double)t->chunk.stored_bytes,
                 speedup = median(t->speedup);
    const double filter_gbps = 1 / median(t->filter_ns);
    const bool ok =
        ratio >= s->least_ratio && speedup >= s->least_speedup && filter_gbps >= s->least_filter_gbps;
    printf("| %s | %s | %s | %.3f | %.0f | %.1f | %.0f | %s%.1f%s |\n", s->type == PK_BF16 ? "bf16" : "fp32",
           pk_byte_filter_names[s->filter], s->codec, ratio, 1e3 / median(t->encode_ns), speedup,
           1e3 / median(t->decode_ns), s->filter ? "" : "(", filter_gbps, s->filter ? "" : ")");
    if (!ok)
        fprintf(stderr, "%s, filter %s: less than promised\n", s->codec, pk_byte_filter_names[s->filter]);
    return ok;
}

int main(int argc, char **argv)
{
    struct pk_arena a = {0};
    struct pk_err err;
    bool ok = true;
    normal();
    for (size_t i = 0; i < SUBJECTS; i++) {
        struct pk_codec c;
        states[i].here =
            !pk_codec_parse(subjects[i].codec, &c, &err) &&
            !pk_chunk_coder_open(&c, subjects[i].filter, subjects[i].type, BYTES, &a, &states[i].coder, &err);
    }
    if (!states[0].here)
        return 77; /* nothing to compare with */
    for (unsigned r = 0; r < ROUNDS; r++)
        for (size_t i = 0; i < SUBJECTS; i++)
            if (states[i].here)
                round_of(i, r);
    printf("| type | filter | codec | ratio | MB/s | x zlib-6 | decode MB/s | filter alone GB/s "
           "|\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < SUBJECTS; i++)
        ok = (!states[i].here || print(i)) && ok;
    return argc > 1 && !strcmp(argv[1], "check") && !ok;
}
