/* Every preset is a name that libpfm4 encodes, on every processor that it is for; and the processor is recognised. */
#include "counter/perf/codes.h"

#include "base/text/words.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct pk_arena arena;
static struct pk_err err;

static void needs_libpfm(void)
{
    if (pk_pfm_unavailable()) {
        print_message("%s\n", pk_pfm_unavailable());
        skip();
    }
}

/* libpfm4 of an amd64 machine knows no Arm names, and encodes nothing for a uncore that is not there. */
static bool encodable(const char *pmu)
{
    return strncmp(pmu, "arm_", 4) != 0;
}

static void every_preset_encodes(void **state)
{
    size_t n = 0;
    needs_libpfm();
    for (const struct pk_native *p = pk_natives; p->preset; p++)
        for (const char *rest = p->pmus, *pmu; (pmu = pk_next_part(&rest, ' ', &arena));) {
            struct pk_perf_encoding e;
            if (!encodable(pmu))
                continue;
            if (!pk_perf_encode_sum(pmu, p->sum, &arena, &e))
                fail_msg("%s: %s::%s", p->preset, pmu, p->sum);
            for (size_t i = 0; i < e.n; i++)
                assert_true(e.codes[i].type == PERF_TYPE_RAW && e.codes[i].config && e.factors[i] >= 1);
            n++;
        }
    print_message("%zu presets\n", n);
    assert_true(n >= 80);
}

static void names_that_are_wrong_do_not(void **state)
{
    struct pk_perf_encoding e;
    needs_libpfm();
    assert_false(pk_perf_encode_sum("skx", "INST_RETIRED:ANY_P + INST_RETIRED:NOBODY", &arena, &e));
}

static void flops_are_weighted(void **state)
{
    struct pk_perf_encoding e;
    needs_libpfm();
    assert_true(pk_perf_encode_sum("spr", pk_native_of("sp_flops", "spr")->sum, &arena, &e));
    assert_int_equal(e.n, 4);
    assert_true(e.factors[0] == 1 && e.factors[1] == 4 && e.factors[2] == 8 && e.factors[3] == 16);
    assert_int_equal(e.codes[3].config & 0xffff,
                     0x80c7); /* 512B_PACKED_SINGLE: Intel's event C7H, mask 80H */
}

/* Natives are of presets that exist, for processors that exist, and each processor has the basic ones. */
static void tables_belong_together(void **state)
{
    static const char *const basic[] = {"cycles", "instructions", "branches", "branch_misses"};
    for (const struct pk_native *n = pk_natives; n->preset; n++) {
        const struct pk_counter_preset *p = pk_presets;
        while (p->name && strcmp(p->name, n->preset) != 0)
            p++;
        if (!p->name)
            fail_msg("no preset %s", n->preset);
        assert_true(n->quality == PK_QUALITY_EXACT || *n->note);
    }
    for (const struct pk_pmu *p = pk_pmus; p->vendor; p++)
        for (size_t i = 0; i < 4; i++)
            if (!pk_native_of(basic[i], p->pmu))
                fail_msg("%s has no %s", p->pmu, basic[i]);
    assert_null(pk_native_of("cycles", "sk"));
    assert_null(pk_native_of("l1d_fills", "amd64_fam17h_zen2"));
}

/* --- processors ----------------------------------------------------------------------------------------------------- */

static char root[] = "/tmp/perfkit-presets-XXXXXX";

static void set_cpuinfo(const char *text)
{
    FILE *f = fopen(pk_printf(&arena, "%s/proc/cpuinfo", root), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *pmu_of(const char *vendor, int family, int model)
{
    const char *what;
    set_cpuinfo(pk_printf(
        &arena, "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel\t\t: %d\nmodel name\t: X 85\n",
        vendor, family, model));
    const struct pk_pmu *p = pk_pmu_of(root, &arena, &what);
    return p ? p->pmu : what;
}

static void processors_are_recognised(void **state)
{
    const char *what;
    assert_string_equal(pmu_of("GenuineIntel", 6, 85), "skx");
    assert_string_equal(pmu_of("GenuineIntel", 6, 106), "icx");
    assert_string_equal(pmu_of("GenuineIntel", 6, 207), "spr");
    assert_string_equal(pmu_of("AuthenticAMD", 0x17, 0x31), "amd64_fam17h_zen2");
    assert_string_equal(pmu_of("AuthenticAMD", 0x19, 0x01), "amd64_fam19h_zen3");
    assert_string_equal(pmu_of("AuthenticAMD", 0x19, 0x11), "amd64_fam19h_zen4");
    assert_string_equal(pmu_of("AuthenticAMD", 0x1a, 2), "amd64_fam19h_zen4"); /* Zen 5 */
    assert_string_equal(pmu_of("AuthenticAMD", 0x1a, 0x50), "AuthenticAMD, family 26, model 80");
    set_cpuinfo("processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd49\n");
    assert_string_equal(pk_pmu_of(root, &arena, &what)->pmu, "arm_n2");
}

static struct pk_perf_encoding encoded(const struct pk_processor *cpu, const char *name)
{
    struct pk_perf_encoding e;
    if (pk_perf_encode(cpu, name, &arena, &e, &err))
        fail_msg("%s: %s", err.what, err.why);
    return e;
}

static void one_that_is_taken_for_another_says_so(void **state)
{
    needs_libpfm();
    const struct pk_counter_env env = {.root = root};
    pmu_of("GenuineIntel", 6, 207);
    const struct pk_processor cpu = pk_processor_of(&env, &arena);
    const struct pk_perf_encoding e = encoded(&cpu, "instructions");
    assert_string_equal(e.event.native, "spr::INST_RETIRED:ANY_P");
    assert_string_equal(e.event.note, "taken for a Sapphire Rapids");
    assert_int_equal(e.event.quality, PK_QUALITY_APPROXIMATE);
    assert_string_equal(encoded(&cpu, "INST_RETIRED:ANY_P").event.native, "spr::INST_RETIRED:ANY_P");
    assert_string_equal(encoded(&cpu, "skx::INST_RETIRED:ANY_P").event.native, "skx::INST_RETIRED:ANY_P");
    pmu_of("AuthenticAMD", 0x1a, 2);
    const struct pk_processor zen5 = pk_processor_of(&env, &arena);
    const struct pk_perf_encoding flops = encoded(&zen5, "sp_flops");
    assert_string_equal(flops.event.note, "single and double precision together; taken for a Zen 4");
    assert_int_equal(flops.codes[0].config, 0x1f03); /* counts them on a Zen 5, as its 0x0f03 does */
}

static void unknown_processors_have_the_kernels_events(void **state)
{
    const struct pk_counter_env env = {.root = root};
    struct pk_perf_encoding e;
    pmu_of("AuthenticAMD", 0x1a, 0x50);
    const struct pk_processor cpu = pk_processor_of(&env, &arena);
    e = encoded(&cpu, "cycles");
    assert_int_equal(e.codes[0].type, PERF_TYPE_HARDWARE);
    assert_string_equal(e.event.native, "");
    assert_int_equal(encoded(&cpu, "llc_misses").event.quality, PK_QUALITY_APPROXIMATE);
    assert_int_equal(pk_perf_encode(&cpu, "dp_flops", &arena, &e, &err), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "there are no presets for AuthenticAMD, family 26, model 80");
    assert_int_equal(pk_perf_encode(&cpu, "cycels", &arena, &e, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "did you mean 'cycles'?"));
}

static int make_root(void **state)
{
    assert_non_null(mkdtemp(root));
    return mkdir(pk_printf(&arena, "%s/proc", root), 0700);
}

static int remove_root(void **state)
{
    unlink(pk_printf(&arena, "%s/proc/cpuinfo", root));
    rmdir(pk_printf(&arena, "%s/proc", root));
    rmdir(root);
    pk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_encodes),
        cmocka_unit_test(names_that_are_wrong_do_not),
        cmocka_unit_test(flops_are_weighted),
        cmocka_unit_test(tables_belong_together),
        cmocka_unit_test(processors_are_recognised),
        cmocka_unit_test(one_that_is_taken_for_another_says_so),
        cmocka_unit_test(unknown_processors_have_the_kernels_events),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
