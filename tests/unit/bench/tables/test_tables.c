/* Every table of every experiment prints, from a run without results and from one with them, in every format. */
#include "tests/unit/store/fixture.h"

#include "bench/probe.h"
#include "bench/record/record.h"
#include "bench/tables/tables.h"
#include "store/table/table.h"

static char printed[1 << 16];

static void print(struct pk_store *s, int64_t run, enum pk_format format)
{
    memset(printed, 0, sizeof printed);
    FILE *f = fmemopen(printed, sizeof printed, "w");
    struct pk_out *out = pk_out_open(f, &(struct pk_out_options){.format = format});
    OK(pk_run_tables(s, run, out, &err));
    OK(pk_out_close(out, &err));
    fclose(f);
}

static int64_t add(struct pk_store *s, int64_t run, const struct pk_probe *p, unsigned variant)
{
    const struct pk_case_info c = {.experiment = p ? p->name : "exec",
                                   .variant = p ? p->variants[variant].name : "command",
                                   .device = "cpu",
                                   .axes = "{\"d_model\":16,\"seq_len\":256}",
                                   .identity = "{}"};
    int64_t id;
    OK(pk_store_cases(s, run, &c, 1, &id, &err));
    return id;
}

static void every_table_prints(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    for (size_t i = 0; pk_probes[i]; i++) {
        int64_t run = begin_run(s, NULL);
        struct pk_recorder *r = pk_recorder_new(s, run, path);
        const struct pk_case_info none = {0};
        for (unsigned v = 0; pk_probes[i]->variants[v].name; v++) {
            int64_t c = add(s, run, pk_probes[i], v);
            if (v < 2) /* of the run's cases none, or all but the last, were measured */
                print(s, run, PK_FMT_JSON);
            struct pk_slice slice = steady_slice(1, 5);
            OK(pk_record_slice(r, c, &none, &slice, &err));
        }
        for (enum pk_format f = PK_FMT_TABLE; f <= PK_FMT_JSONL; f++)
            print(s, run, f);
        pk_recorder_free(r);
    }
    pk_store_close(s);
}

static void cases_without_a_probe_have_the_built_in_tables(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t run = begin_run(s, NULL), c = add(s, run, NULL, 0);
    add(s, run, NULL, 0);
    struct pk_recorder *r = pk_recorder_new(s, run, path);
    const struct pk_case_info none = {0};
    struct pk_slice slice = steady_slice(1, 5);
    OK(pk_record_slice(r, c, &none, &slice, &err));
    OK(pk_store_run_end(s, run, "interrupted", &err));
    print(s, run, PK_FMT_MARKDOWN);
    assert_non_null(strstr(printed, "Times"));
    assert_non_null(strstr(printed, "0.001"));
    assert_non_null(strstr(printed, "Cases without a result"));
    assert_null(strstr(printed, "Memory"));
    pk_recorder_free(r);
    pk_store_close(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {T(every_table_prints),
                                       T(cases_without_a_probe_have_the_built_in_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
