/* Filters: what they keep, what they refuse. */
#include "axes.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static bool keeps(const char *text, const char *point, const char *variant)
{
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_filter *f;
    struct pk_point p;
    PK_JSON_CLEANUP json_t *j = json_loads(point, 0, NULL);
    assert_int_equal(pk_point_from_json(axes, j, &a, &p, &err), PK_OK);
    assert_int_equal(pk_filter_parse(axes, text, &a, &f, &err), PK_OK);
    bool yes = pk_filter_match(f, &p, variant);
    pk_arena_free(&a);
    return yes;
}

static void keeps_what_it_says(void **state)
{
    static const char *const p = "{\"seq_len\": 1024, \"d_model\": 64, \"alpha\": 0.25, \"dtype\": \"bf16\"}";
    static const struct {
        const char *text;
        bool yes;
    } rows[] = {
        {"seq_len=1024", true},
        {"seq_len=1023", false},
        {"seq_len!=1024", false},
        {"seq_len>=1024", true},
        {"seq_len>1024", false},
        {"seq_len<=1024", true},
        {"seq_len<1024", false},
        {"seq_len<2000", true},
        {"seq_len=1|1024", true},
        {"seq_len!=1|1024", false},
        {"seq_len!=1|2", true},
        {"alpha>0.2", true},
        {"alpha<0.2", false},
        {"variant=flash|fused", true},
        {"variant=vanilla", false},
        {"variant!=vanilla", true},
        {"variant!=flash", false},
        {"dtype=bf16", true},
        {"dtype!=bf16|fp32", false},
        {"causal=off", true},
        {"bucket_bytes>=25MB", true},
        {"bucket_bytes<24MiB", true},
        {"bucket_bytes<23MiB", false},
        {" seq_len >= 1024 , d_model = 64 ", true},
        {"seq_len>=1024,d_model=32", false},
        {"window=0", false},
        {"window!=0", true},
        {"window>=0", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (keeps(rows[i].text, p, "flash") != rows[i].yes)
            fail_msg("%s", rows[i].text);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "not a filter"},
        {"seq_len", "one of = != < <= > >="},
        {"seq_len=", "value is missing"},
        {"seq_len=1|", "value is missing"},
        {"seq_len=1,", "one of = != < <= > >="},
        {"seqlen=1", "did you mean 'seq_len'?"},
        {"varaint=flash", "did you mean 'variant'?"},
        {"=5", "there is no axis ''"},
        {"seq_len=0", "out of range"},
        {"seq_len>1|2", "alternatives"},
        {"dtype>fp32", "compare numbers"},
        {"variant<flash", "compare numbers"},
        {"causal>=on", "compare numbers"},
        {"seq_len==5", "--filter 'seq_len=5'"},
        {"dtype<>fp32", "--filter 'dtype!=fp32'"},
        {"seq_len", "--filter 'seq_len>=256'"},
        {"dtype=fp8", "not one of its values"},
        {"dtype=fp23", "did you mean --filter dtype=fp32?"},
        {"seq_len=0", "write for example --filter seq_len=256"},
        {"seq_len!5", "one of = != < <= > >="},
        {"bucket_bytes=5M", "5MB or 5MiB"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pk_arena a = {0};
        struct pk_err err = {0};
        struct pk_filter *f;
        assert_int_equal(pk_filter_parse(axes, bad[i].text, &a, &f, &err), PK_E_USAGE);
        assert_true(err.what[0] && err.why[0] && err.fix[0]);
        if (!strstr(err.what, bad[i].says) && !strstr(err.why, bad[i].says) && !strstr(err.fix, bad[i].says))
            fail_msg("%s: %s | %s | %s", bad[i].text, err.what, err.why, err.fix);
        pk_arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_what_it_says), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
