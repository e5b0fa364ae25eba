/* Data sheet: GPUs that are listed have all three peaks, others none. */
#include "device/cuda/cuda.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdlib.h>
#include <string.h>

static double peak[3];
static int told;

static void take(void *user, const char *key, const char *value)
{
    static const char *const keys[] = {"sheet_fp32_flops_per_s", "sheet_tf32_flops_per_s",
                                       "sheet_bf16_flops_per_s"};
    char *end;
    for (int i = 0; i < 3; i++)
        if (!strcmp(key, keys[i]))
            peak[i] = strtod(value, &end);
    assert_int_equal(*end, '\0');
    told++;
}

static int facts_of(const char *gpu)
{
    told = 0;
    pk_data_sheet(gpu, take, NULL);
    return told;
}

static void peaks_are_told(void **state)
{
    assert_int_equal(facts_of("NVIDIA H200"), 3);
    assert_true(peak[0] == 66.9e12 && peak[1] == 494.7e12 && peak[2] == 989.4e12);
    assert_int_equal(facts_of("NVIDIA H100 PCIe"), 3);
    assert_true(peak[2] == 756e12);
    assert_int_equal(facts_of("NVIDIA A100-SXM4-80GB"), 3);
    assert_true(peak[0] == 19.5e12);
}

static void others_are_not_guessed(void **state)
{
    static const char *const names[] = {"NVIDIA H200 NVL", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "Fake GPU",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(facts_of(names[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_told),
        cmocka_unit_test(others_are_not_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
