/* Units: what is read, what is refused and with which words, what is printed. */
#include "base/text/units.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

static void sizes_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"1B", 1},
                {"64KiB", 65536},
                {"200MB", 200000000},
                {"1.5GiB", 1610612736},
                {"0.1KB", 100},
                {"16TiB", 1ll << 44},
                {"9223372036854775807", INT64_MAX},
                {"0.18GiB", 193273528},
                {"0.0015KB", 2},
                {"0.0014KB", 1},
                {"1.0B", 1},
                {"0.0KB", 0},
                {"0.1234567890123456789TiB", 135742175047}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t v = -1;
        struct pk_err err;
        assert_int_equal(pk_parse_size(good[i].text, &v, &err), PK_OK);
        assert_int_equal(v, good[i].bytes);
    }
}

static void sizes_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "64M",
                                      "1K",
                                      "-1",
                                      "1.3B",
                                      "0.0001KB",
                                      "9223372036854775808",
                                      "10XB",
                                      " 1",
                                      "1 MB",
                                      "MB",
                                      "1e3",
                                      "0x10",
                                      "99999999999999999999999",
                                      "8388608TiB",
                                      "0.5B",
                                      "0.0004KiB",
                                      "0.00000000000000000000000000000000000000009TB",
                                      "1.2.3",
                                      ".5KB",
                                      "1.",
                                      "1mb",
                                      "nan",
                                      "1,5MB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v = 7;
        struct pk_err err = {0};
        assert_int_equal(pk_parse_size(bad[i], &v, &err), PK_E_USAGE);
        assert_int_equal(v, 7);
        assert_true(err.what[0] && err.why[0] && err.fix[0]);
    }
    int64_t v;
    struct pk_err err;
    assert_int_equal(pk_parse_size("64M", &v, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "64M"));
    assert_string_equal(err.fix, "write 64MB or 64MiB");
}

static void durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0", 0},
                {"500ms", 500000000},
                {"2s", 2000000000},
                {"10m", 600000000000},
                {"1h", 3600000000000},
                {"250us", 250000},
                {"1.5s", 1500000000},
                {"0.33333333333s", 333333333},
                {"7ns", 7}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t v = -1;
        struct pk_err err;
        assert_int_equal(pk_parse_duration(good[i].text, &v, &err), PK_OK);
        assert_int_equal(v, good[i].ns);
    }
    static const char *const bad[] = {"", "5", "1d", "-1s", "0.5ns", "s", "1 s", "9999999h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v;
        struct pk_err err = {0};
        assert_int_equal(pk_parse_duration(bad[i], &v, &err), PK_E_USAGE);
        assert_true(err.what[0] && err.why[0] && err.fix[0]);
    }
}

static void numbers(void **state)
{
    struct pk_err err;
    int64_t i;
    double f;
    assert_int_equal(pk_parse_int("-7", &i, &err), PK_OK);
    assert_int_equal(i, -7);
    static const char *const bad_int[] = {"",  "-", "1e9", "64Ki", "1.0", "--1", "+1", "9223372036854775808",
                                          "1 "};
    for (size_t k = 0; k < sizeof bad_int / sizeof *bad_int; k++)
        assert_int_equal(pk_parse_int(bad_int[k], &i, &err), PK_E_USAGE);

    assert_int_equal(pk_parse_real("1e-3", &f, &err), PK_OK);
    assert_true(f == 1e-3);
    static const char *const bad_real[] = {"", "nan", "inf", "1e999", "0x1p3", "1,5", "e", "1.2.3", " 1"};
    for (size_t k = 0; k < sizeof bad_real / sizeof *bad_real; k++)
        assert_int_equal(pk_parse_real(bad_real[k], &f, &err), PK_E_USAGE);

    assert_int_equal(pk_parse_ratio("0.5%", &f, &err), PK_OK);
    assert_true(fabs(f - 0.005) < 1e-15);
    assert_int_equal(pk_parse_ratio("0.005", &f, &err), PK_OK);
    assert_true(f == 0.005);
    assert_int_equal(pk_parse_ratio("200%", &f, &err), PK_OK);
    assert_true(f == 2);
    assert_int_equal(pk_parse_ratio("1", &f, &err), PK_OK);
    static const char *const bad_ratio[] = {"", "%", "5%%", "x%", "nan%", "2", "1.01", "1e300"};
    for (size_t k = 0; k < sizeof bad_ratio / sizeof *bad_ratio; k++)
        assert_int_equal(pk_parse_ratio(bad_ratio[k], &f, &err), PK_E_USAGE);
}

static void units_are_found(void **state)
{
    assert_true(pk_unit_find("ns", "ms")->scale == 1e6);
    assert_true(pk_unit_find("bytes", "GB")->scale == 1e9);
    assert_true(pk_unit_find("bytes", "GiB")->scale == 1073741824.0);
    assert_null(pk_unit_find("bytes", "ms"));
}

static void rates_are_no_sizes(void **state)
{
    static const char *const rates[][2] = {
        {"200Gbps", "write 25GB"},       {"1.6Tbit/s", "write 200GB"}, {"25GB/s", "write 25GB"},
        {"1.5GiB/s", "write 1.5GiB"},    {"0.001Kbps", "for example"}, {"200bps", "for example"},
        {"200Gb", "write 25GB"},         {"200gbps", "write 25GB"},    {"200 Gbps", "write 25GB"},
        {"1e3Gbps", "write 125GB"},      {"1.5e1Kb", "write 1875"},    {"25Mb", "write 3125KB"},
        {"25 GB/s", "write 25GB"},       {"25gb", "for example"},      {"1e99Gb", "for example"},
        {"0e99999999Gb", "for example"}, {"2e3GB/s", "for example"}};
    struct pk_err err;
    int64_t bytes;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        assert_int_equal(pk_parse_size(rates[i][0], &bytes, &err), PK_E_USAGE);
        assert_non_null(strstr(err.fix, rates[i][1]));
    }
}

static void rates_have_a_unit(void **state)
{
    static const char *const bad[][2] = {{"25", "write for example 25GB or 25MB"},
                                         {"0", "25GB"},
                                         {"25G", "25GB or 25GiB"},
                                         {"200Gbps", "write 25GB"},
                                         {"25GB/s", "write 25GB"},
                                         {"fast", "25GB, which are 200 Gbit/s"}};
    static const int64_t values[] = {0, 1, 25, 1000, 1024, 25000000000, 25000000001, INT64_MAX};
    char buf[32];
    struct pk_err err;
    int64_t v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pk_parse_rate(bad[i][0], &v, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, "is not a bandwidth"));
        assert_non_null(strstr(err.fix, bad[i][1]));
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_int_equal(pk_parse_rate(pk_format_rate_exact(values[i], buf, sizeof buf), &v, &err), PK_OK);
        assert_int_equal(v, values[i]);
    }
    assert_string_equal(pk_format_rate_exact(25000000000, buf, sizeof buf), "25GB");
    assert_string_equal(pk_format_rate_exact(25, buf, sizeof buf), "25B");
}

static void units_that_suit(void **state)
{
    static const char *const rates = "GFLOP/s TFLOP/s";
    assert_string_equal(pk_unit_fit("flops_per_s", rates, 0)->shown, "GFLOP/s");
    assert_string_equal(pk_unit_fit("flops_per_s", rates, 99999.4e9)->shown, "GFLOP/s");
    assert_string_equal(pk_unit_fit("flops_per_s", rates, 99999.5e9)->shown, "TFLOP/s");
    assert_string_equal(pk_unit_fit("flops_per_s", rates, 1e30)->shown, "TFLOP/s");
    assert_string_equal(pk_unit_fit("ns", "ms", 1e30)->shown, "ms");
    assert_null(pk_unit_fit("ns", rates, 0));
    assert_null(pk_unit_fit("flops_per_s", "GFLOP/s furlongs", 1e30));
}

static void human_forms(void **state)
{
    static const struct {
        int64_t v;
        const char *text;
    } bytes[] = {{0, "0 B"},           {1023, "1023 B"},   {1536, "1.5 KiB"}, {PK_BYTES_BEYOND, "over 8 EiB"},
                 {1048575, "1.0 MiB"}, {-1536, "-1.5 KiB"}};
    static const struct {
        double v;
        const char *text;
    } ns[] = {{0, "0 ns"},
              {7, "7 ns"},
              {1.25, "1.25 ns"},
              {2500000, "2.50 ms"},
              {999999, "1.00 ms"},
              {25e6, "25.0 ms"},
              {250e6, "250 ms"},
              {90e9, "90.0 s"},
              {150e9, "2.50 min"},
              {3 * 3600e9, "3.00 h"},
              {-3.6e300, "-1e+288 h"}};
    char buf[32];
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_string_equal(pk_format_bytes(bytes[i].v, buf, sizeof buf), bytes[i].text);
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        assert_string_equal(pk_format_ns(ns[i].v, buf, sizeof buf), ns[i].text);
    assert_string_equal(pk_format_percent(0.0534, buf, sizeof buf), "+5.3");
    assert_string_equal(pk_format_percent(-0.5, buf, sizeof buf), "-50.0");
    assert_string_equal(pk_format_percent(1e300, buf, sizeof buf), "+1e+302");
    pk_format_ns(INFINITY, buf, sizeof buf);
    pk_format_ns(NAN, buf, sizeof buf);
}

static void exact_forms_parse_back(void **state)
{
    static const int64_t values[] = {
        0,     1,     5,         60,       1000,          1024,         4096,       1536,
        12345, 65536, 100000000, 67108864, 3600000000000, 600000000000, 1610612736, INT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char buf[32];
        int64_t back = -1;
        struct pk_err err;
        assert_int_equal(pk_parse_size(pk_format_size_exact(values[i], buf, sizeof buf), &back, &err), PK_OK);
        assert_int_equal(back, values[i]);
        assert_int_equal(pk_parse_duration(pk_format_duration_exact(values[i], buf, sizeof buf), &back, &err),
                         PK_OK);
        assert_int_equal(back, values[i]);
    }
    char buf[32];
    assert_string_equal(pk_format_size_exact(67108864, buf, sizeof buf), "64MiB");
    assert_string_equal(pk_format_size_exact(4096, buf, sizeof buf),
                        "4KiB"); /* as short as 4096, and plainer */
    assert_string_equal(pk_format_size_exact(200000000, buf, sizeof buf), "200MB");
    assert_string_equal(pk_format_duration_exact(600000000000, buf, sizeof buf), "10m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_exact),    cmocka_unit_test(sizes_refused),
        cmocka_unit_test(durations),          cmocka_unit_test(numbers),
        cmocka_unit_test(units_are_found),    cmocka_unit_test(units_that_suit),
        cmocka_unit_test(rates_are_no_sizes), cmocka_unit_test(rates_have_a_unit),
        cmocka_unit_test(human_forms),        cmocka_unit_test(exact_forms_parse_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
