/* Sweeps: lists and ranges read, and everything that is refused with the words that help. */
#include "axes.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

/* The sweep as text again: "256,1024", or "!" and what failed. */
static const char *sweep(int axis, const char *text, struct pk_arena *a)
{
    struct pk_sweep s;
    struct pk_err err = {0};
    if (pk_sweep_parse(&axes[axis], text, a, &s, &err)) {
        assert_int_equal(err.code, PK_E_USAGE);
        assert_true(err.what[0] && err.why[0] && err.fix[0]);
        assert_non_null(strstr(err.what, axes[axis].name));
        return pk_printf(a, "!%s|%s|%s", err.what, err.why, err.fix);
    }
    char *out = pk_strdup(a, "");
    for (size_t i = 0; i < s.n; i++)
        out = pk_printf(a, "%s%s%s", out, i ? "," : "", pk_axis_format(&axes[axis], s.v[i], a));
    return out;
}

static void lists_and_ranges(void **state)
{
    static const struct {
        int axis;
        const char *text, *values;
    } good[] = {
        {SEQ_LEN, "256,1024,4096", "256,1024,4096"},
        {SEQ_LEN, " 256 , 1024", "256,1024"},
        {SEQ_LEN, "256:16384:*4", "256,1024,4096,16384"},
        {SEQ_LEN, "256:1000:*2", "256,512"},
        {SEQ_LEN, "1:10:+3", "1,4,7,10"},
        {SEQ_LEN, "5:5:+1", "5"},
        {SEQ_LEN, "7,1:8:*2,7,2", "7,1,2,4,8"},
        {DTYPE, "bf16,fp32,bf16", "bf16,fp32"},
        {CAUSAL, "on,off,true", "on,off"},
        {BUCKET, "1MiB:4MiB:*2", "1MiB,2MiB,4MiB"},
        {BUCKET, "1MB:3MB:+1MB", "1MB,2MB,3MB"},
        {ALPHA, "0:0.5:+0.1", "0,0.1,0.2,0.3,0.4,0.5"},
        {ALPHA, "0.001:1:*10", "0.001,0.01,0.1,1"},
        {ALPHA, "-0,0", "0"},
        {WINDOW, "0:100:+50", "0,50,100"},
    };
    struct pk_arena a = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_string_equal(sweep(good[i].axis, good[i].text, &a), good[i].values);
    pk_arena_free(&a);
}

static void refused(void **state)
{
    static const struct {
        int axis;
        const char *text, *says; /* somewhere in the three parts */
    } bad[] = {
        {SEQ_LEN, "", "there is no value"},
        {SEQ_LEN, "1,,2", "between two commas"},
        {SEQ_LEN, "1,", "between two commas"},
        {SEQ_LEN, "0", "an integer from 1 to 65536 (tokens)"},
        {SEQ_LEN, "65537", "out of range"},
        {SEQ_LEN, "0", "-a seq_len=256,1024"},
        {SEQ_LEN, "99999999999999999999", "below 2^63"},
        {SEQ_LEN, "x", "'x' is not an integer"},
        {SEQ_LEN, "1e3", "only digits"},
        {SEQ_LEN, "1e3", "-a seq_len=256,1024"},
        {SEQ_LEN, "1:8", "FIRST:LAST:*FACTOR"},
        {SEQ_LEN, "1:8:*2:3", "FIRST:LAST:*FACTOR"},
        {SEQ_LEN, "1:8:2", "*FACTOR or +DISTANCE"},
        {SEQ_LEN, "8:1:+1", "not above its last"},
        {SEQ_LEN, "8:1:+1", "-a seq_len=256:1024:*2"},
        {SEQ_LEN, "1:8:*1", "never advances"},
        {SEQ_LEN, "1:8:+0", "never advances"},
        {SEQ_LEN, "1:8:*0", "never advances"},
        {SEQ_LEN, "1:8:+-1", "never advances"},
        {SEQ_LEN, "1:8:*1.5", "only digits"},
        {SEQ_LEN, "1:8:*", "only digits"},
        {SEQ_LEN, "1:100000:*2", "from 1 to 65536"},
        {SEQ_LEN, ":8:*2", "empty"},
        {SEQ_LEN, "1:65536:+1", "more than 4096 values"},
        {SEQ_LEN, "3:8:*9223372036854775807", "never advances"}, /* the second value overflows */
        {WINDOW, "0:8:*2", "never advances"},
        {DTYPE, "fp16", "fp32, tf32, bf16"},
        {DTYPE, "bf61", "did you mean -a dtype=bf16"},
        {DTYPE, "fp32:bf16:*2", "one of"},
        {CAUSAL, "maybe", "on or off"},
        {BUCKET, "64M", "64MB or 64MiB"},
        {BUCKET, "2GB", "a size from 1 to 1GB"},
        {ALPHA, "nan", "is not a number"},
        {ALPHA, "1e300:1e300:+1", "never advances"},
        {ALPHA, "-2", "a number from -1 to 1e+300"},
    };
    struct pk_arena a = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *said = sweep(bad[i].axis, bad[i].text, &a);
        if (*said != '!' || !strstr(said, bad[i].says))
            fail_msg("'%s' gave %s", bad[i].text, said);
    }
    pk_arena_free(&a);
}

static void assignments(void **state)
{
    struct pk_arena a = {0};
    struct pk_axis_sweep s = {.axis = 99};
    struct pk_err err = {0};
    assert_int_equal(pk_axis_assign(axes, "d_model=16,32", &a, &s, &err), PK_OK);
    assert_int_equal(s.axis, D_MODEL);
    assert_int_equal(s.sweep.n, 2);
    assert_string_equal(s.text, "d_model=16,32");
    assert_int_equal(pk_axis_assign(axes, "seqlen=16", &a, &s, &err), PK_E_USAGE);
    assert_string_equal(err.what, "there is no axis 'seqlen'");
    assert_string_equal(err.fix, "did you mean 'seq_len'?");
    assert_int_equal(pk_axis_assign(axes, "seq_len", &a, &s, &err), PK_E_USAGE);
    assert_int_equal(pk_axis_assign(axes, "=5", &a, &s, &err), PK_E_USAGE);
    pk_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(refused),
        cmocka_unit_test(assignments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
