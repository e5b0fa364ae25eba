/* Codecs and filters: what goes in comes out, for each of them together; entropy and ratios of N(0,1) are those of arithmetic. */
#include "shard/chunk.h"
#include "shard/entropy.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/index.h"

#include <math.h>
#include <string.h>

static struct pk_err err;

enum { MOST = 1 << 20 }; /* bytes */

/* Normal values; in bf16 their upper halves, rounded. */
static void normal(enum pk_dtype type, void *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = ((double)(pk_hash(1, i) >> 11) + 1) * 0x1p-53,
                     v = (double)(pk_hash(2, i) >> 11) * 0x1p-53;
        const float x = (float)(sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v));
        const uint16_t narrow = pk_bf16_of_float(x);
        if (type == PK_BF16)
            memcpy((char *)to + 2 * i, &narrow, 2);
        else
            memcpy((char *)to + 4 * i, &x, 4);
    }
}

static const struct data {
    const char *name;
    enum pk_dtype type;
    bool widened, zero;
} all_data[] = {
    {"fp32", PK_FP32}, {"bf16", PK_BF16}, {"widened", PK_FP32, true}, {"zeros", PK_BF16, .zero = true}};

static void make(const struct data *d, void *to, size_t bytes)
{
    memset(to, 0, bytes);
    if (d->zero)
        return;
    normal(d->widened ? PK_BF16 : d->type, to, bytes / pk_dtype_bytes(d->type));
    if (d->widened)
        pk_bf16_widen(to, bytes / sizeof(float));
}

static bool codec_of(const char *name, struct pk_codec *c)
{
    const enum pk_code rc = pk_codec_parse(name, c, &err);
    assert_true(rc == PK_OK || (rc == PK_E_UNAVAILABLE && err.why[0] && err.fix[0]));
    return !rc;
}

static double ratio_of(const char *codec, enum pk_byte_filter filter, const struct data *d, size_t bytes)
{
    static char in[MOST], stored[2 * MOST], out[MOST];
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_CHUNK_CODER_CLEANUP struct pk_chunk_coder c = {0};
    struct pk_chunk chunk = {.raw_bytes = bytes};
    struct pk_codec codec_row;
    if (!codec_of(codec, &codec_row))
        return NAN;
    make(d, in, bytes);
    assert_int_equal(pk_chunk_coder_open(&codec_row, filter, d->type, MOST, &a, &c, &err), PK_OK);
    const void *at = pk_chunk_encode(&c, in, stored, &chunk);
    assert_true(chunk.stored_bytes <= bytes && chunk.coded_bytes <= bytes);
    memset(out, 0x5a, sizeof out);
    if (pk_chunk_decode(&c, &chunk, at, out) || memcmp(in, out, bytes) ||
        (bytes < MOST && out[bytes] != 0x5a))
        fail_msg("%s, filter %s, %s, %zu bytes", codec, pk_byte_filter_names[filter], d->name, bytes);
    return (double)bytes / (double)chunk.stored_bytes;
}

static const char *const codecs[] = {"none",    "zlib-1",  "zlib-6",      "zlib-9", "igzip-0",
                                     "igzip-1", "igzip-2", "igzip-3",     "lz4",    "zstd-1",
                                     "zstd-3",  "zstd-19", "zstd-huffman"};

static void every_combination_comes_back(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 63, 64, 65, 4095, 20001};
    for (size_t k = 0; k < sizeof codecs / sizeof *codecs; k++)
        for (enum pk_byte_filter f = 0; f < PK_FILTERS; f++)
            for (size_t d = 0; d < sizeof all_data / sizeof *all_data; d++)
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                    if (strcmp(codecs[k], "zstd-19") || sizes[s] < 5000) /* it is slow */
                        ratio_of(codecs[k], f, &all_data[d], sizes[s]);
}

/* A loop of its own, byte by byte. */
static void plain_filter(enum pk_byte_filter f, unsigned width, const unsigned char *x, size_t n,
                         unsigned char *to)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < width; b++) {
            const unsigned char here = x[i * width + b], below = x[i * width + (b ? b - 1 : width - 1)];
            to[(width - 1 - b) * n + i] =
                f == PK_FILTER_EXPONENT ? (unsigned char)(here << 1 | below >> 7) : here;
        }
}

static void instruction_sets_give_the_same_planes(void **state)
{
    static unsigned char x[4 * 1031 + 3], want[sizeof x], got[sizeof x], back[sizeof x];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (unsigned char)pk_hash(3, i);
    for (enum pk_isa isa = 0; isa <= pk_isa_detect(); isa++)
        for (enum pk_dtype type = PK_FP32; type <= PK_BF16; type++)
            for (enum pk_byte_filter f = PK_FILTER_NONE; f < PK_FILTERS; f++)
                for (size_t bytes = 0; bytes <= sizeof x; bytes += bytes < 300 ? 1 : 977) {
                    const unsigned width = (unsigned)pk_dtype_bytes(type);
                    memcpy(want, x, sizeof x);
                    if (f)
                        plain_filter(f, width, x, bytes / width, want);
                    memset(got, 0, sizeof got);
                    pk_byte_filter_apply(f, isa, type, x, bytes, got);
                    assert_memory_equal(got, want, bytes);
                    pk_byte_filter_invert(f, isa, type, got, bytes, back);
                    assert_memory_equal(back, x, bytes);
                }
}

static void normal_values_compress_as_arithmetic_says(void **state)
{
    static char x[MOST];
    for (size_t i = 0; i < 2; i++) {
        struct pk_entropy e = {.type = all_data[i].type};
        make(&all_data[i], x, MOST);
        pk_entropy_add(&e, x, MOST / pk_dtype_bytes(e.type));
        const struct pk_entropy_bounds b = pk_entropy_bounds(&e);
        assert_true(fabs(b.exponent_bits - 2.546) < 0.01);
        assert_true(fabs(b.exponent_bound - (e.type == PK_FP32 ? 1.205 : 1.517)) < 0.002);
        assert_true(b.plane_bound >= b.exponent_bound && b.plane_bound < b.exponent_bound * 1.01);
    }
    const struct pk_entropy none = {.type = PK_BF16};
    assert_true(isnan(pk_entropy_bounds(&none).exponent_bits));
}

static void near(double got, double want, double tolerance)
{
    if (!isnan(got) && !(fabs(got - want) <= tolerance))
        fail_msg("%.4f is not %.4f", got, want);
}

static void ratios_are_those_of_the_libraries(void **state)
{
    near(ratio_of("zlib-6", PK_FILTER_NONE, &all_data[0], MOST), 1.080, 0.003);
    near(ratio_of("zlib-6", PK_FILTER_NONE, &all_data[1], MOST), 1.262, 0.004);
    near(ratio_of("zlib-6", PK_FILTER_NONE, &all_data[2], MOST), 2.13, 0.01);
    near(ratio_of("zstd-1", PK_FILTER_EXPONENT, &all_data[1], MOST), 1.47, 0.01);
    near(ratio_of("zstd-huffman", PK_FILTER_EXPONENT, &all_data[1], MOST), 1.51, 0.005);
    assert_true(ratio_of("none", PK_FILTER_EXPONENT, &all_data[1], MOST) == 1);
    near(ratio_of("lz4", PK_FILTER_NONE, &all_data[0], MOST), 1,
         0); /* what does not shrink is stored as it is */
}

static void names_are_read_and_refused(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_codec c;
    enum pk_byte_filter f;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codec_of(codecs[i], &c))
            assert_string_equal(pk_codec_name(&c, &a), codecs[i]);
    static const char *const bad[] = {
        "gzip",  "zstdx",  "zstd-", "zstd-0",  "zstd-20", "zstd--1",        "zstd-1x",
        "lz4-1", "none-0", "",      "zlib-10", "igzip-4", "zstd-huffman-2", "zstd-99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pk_codec_parse(bad[i], &c, &err), PK_E_USAGE);
        assert_true(err.what[0] && err.why[0] && err.fix[0]);
    }
    assert_int_equal(pk_byte_filter_parse("exponents", &f, &err), PK_E_USAGE);
    assert_non_null(strstr(err.fix, "exponent"));
    for (size_t i = 0; i < pk_codecs_n; i++) {
        const struct pk_codec_facts facts = pk_codec_facts(i);
        assert_true(facts.name && facts.summary && !facts.unavailable == !facts.enable);
    }
}

static void damage_is_found(void **state)
{
    static char in[4096], stored[8192], out[4096];
    make(&all_data[1], in, sizeof in);
    for (size_t k = 0; k < sizeof codecs / sizeof *codecs; k++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        PK_CHUNK_CODER_CLEANUP struct pk_chunk_coder c = {0};
        struct pk_codec codec;
        struct pk_chunk chunk = {.raw_bytes = sizeof in};
        if (!codec_of(codecs[k], &codec) || pk_checksum_unavailable())
            continue;
        assert_int_equal(pk_chunk_coder_open(&codec, PK_FILTER_EXPONENT, PK_BF16, sizeof in, &a, &c, &err),
                         PK_OK);
        pk_chunk_encode(&c, in, stored, &chunk);
        for (size_t i = 0; i < chunk.stored_bytes; i += 7) {
            stored[i] ^= 0x10;
            const char *wrong = pk_chunk_decode(&c, &chunk, stored, out);
            stored[i] ^= 0x10;
            /* a bit of gzip's header has no meaning: then the data is right */
            assert_true(wrong || !memcmp(in, out, sizeof in));
            assert_true(wrong || i < 10);
        }
        assert_null(pk_chunk_decode(&c, &chunk, stored, out));
        chunk.stored_bytes--;
        assert_non_null(pk_chunk_decode(&c, &chunk, stored, out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_comes_back),
        cmocka_unit_test(instruction_sets_give_the_same_planes),
        cmocka_unit_test(normal_values_compress_as_arithmetic_says),
        cmocka_unit_test(ratios_are_those_of_the_libraries),
        cmocka_unit_test(names_are_read_and_refused),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
