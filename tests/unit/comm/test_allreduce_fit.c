/* Allreduce fit: the rate at which gradients are produced, and its interval, from timelines as a run stores them. */
#include "comm/allreduce_fit.h"
#include "tests/unit/store/fixture.h"

enum { SLICES = 12, BYTES = 1 << 20 };

/* Twelve processes of one case, slow and fast in turns, so that no value follows from the one before: from 0.001 to 1 s. */
static const int64_t backward_ns[SLICES] = {1000000000, 1000000, 500000000, 2000000,  100000000, 5000000,
                                            60000000,   9000000, 50000000,  10000000, 40000000,  20000000};

static void add_slice(struct pk_store *s, int64_t c, int invocation)
{
    char timeline[160];
    struct pk_slice l = steady_slice(invocation, 3);
    snprintf(timeline, sizeof timeline,
             "{\"backward_ns\": %lld, \"tensors\": [[%d, 0]], \"reduces\": [[%d, 0, 0, 9, 9]]}",
             (long long)backward_ns[invocation - 1], BYTES, BYTES);
    const struct pk_note note = {"timeline", timeline};
    l.notes = &note;
    l.n_notes = 1;
    OK(pk_store_slice(s, c, &l, NULL, 0, NULL, 0, &err));
}

/* By order statistics: of 12 values the third from either end. What varies by a factor of 1000 has ends that are rates, too. */
static void interval_of_the_rate(void **state)
{
    struct pk_arena a = {0};
    struct pk_store *s;
    struct pk_rows r;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    const int64_t run = begin_run(s, NULL);
    const struct pk_case_info c = {.experiment = "ddp-bucket",
                                   .revision = 1,
                                   .variant = "bucket",
                                   .device = "cpu",
                                   .axes = "{\"bucket_bytes\": 1000000}",
                                   .identity = "{}",
                                   .predicted_bytes = -1};
    int64_t id = 0;
    OK(pk_store_cases(s, run, &c, 1, &id, &err));
    for (int i = 1; i <= SLICES; i++)
        add_slice(s, id, i);
    OK(pk_derive_allreduce_fit(s, run, &a, &err));
    OK(pk_store_query(s, "SELECT slope, slope_low, slope_high FROM v_fit WHERE name = 'gradients_produced'",
                      NULL, 0, &a, &r, &err));
    assert_int_equal(r.n, 1);
    assert_float_equal(pk_cell_number(&r.cells[0]), (BYTES / 40e6 + BYTES / 20e6) / 2, 1e-12);
    assert_float_equal(pk_cell_number(&r.cells[1]), BYTES / 100e6, 1e-12);
    assert_float_equal(pk_cell_number(&r.cells[2]), BYTES / 5e6, 1e-12);
    pk_store_close(s);
    pk_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(interval_of_the_rate, make_dir, remove_dir)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
