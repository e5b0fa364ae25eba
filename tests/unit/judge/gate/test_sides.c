/* Gate sides: two commands recorded as two runs of one gate; what equal ones keep, and what a later gate of them then knows. */
#include "judge/gate/sides/sides.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_arena arena;
static struct pk_err err;
static const char *const true_words[] = {"true", NULL}, *const other_words[] = {"true", "x", NULL};
static const struct pk_verdict_options all_rows = {.alpha = 0.01};
static const struct pk_session_events silent = {0};
static struct pk_gate_samples samples;
static struct pk_gate_part part;
static uint64_t order_seed;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

/* Two commands, each with a store of its own, as a user who labels them "nap" starts them. */
static struct pk_gate_sides *sides(const char *store, const char *const *a, const char *const *b)
{
    static const struct pk_opt rows[] = {
        {"seed", 0, PK_OPT_INT, offsetof(struct pk_run_options, seed), "N", 0, 1000, .def = "1"}, {0}};
    static const char *typed[] = {"perfkit", "gate", NULL};
    static volatile int stop_flag;
    struct pk_run_options *o = pk_new(&arena, struct pk_run_options);
    struct pk_gate_sides *s = pk_new(&arena, struct pk_gate_sides);
    *o = (struct pk_run_options){.label = "nap", .timeout_ns = (int64_t)10 * PK_NS_PER_S};
    *s = (struct pk_gate_sides){.arena = &arena,
                                .name = "nap",
                                .options = o,
                                .what = &all_rows,
                                .rule = pk_rule_default,
                                .max_pairs = 9,
                                .budget_ns = 7};
    for (int i = 0; i < PK_SIDES; i++) {
        struct pk_run_options *own = pk_new(&arena, struct pk_run_options);
        struct pk_opt_table *table = pk_new(&arena, struct pk_opt_table);
        *own = *o;
        *table = (struct pk_opt_table){.rows = rows, .target = own};
        pk_opt_defaults(table, &arena);
        s->side[i] = (struct pk_gate_side){
            .option = i == PK_BASE ? "a" : "b",
            .text = "text",
            .argv = i == PK_BASE ? a : b,
            .run = {.arena = &arena,
                    .o = own,
                    .table = table,
                    .argc = 2,
                    .argv = typed,
                    .stop_flag = &stop_flag},
        };
        assert_int_equal(pk_store_open(store, PK_STORE_WRITE, NULL, &s->side[i].run.store, &err), PK_OK);
    }
    samples = (struct pk_gate_samples){.arena = &arena};
    part = (struct pk_gate_part){0};
    return s;
}

static void close_sides(struct pk_gate_sides *s)
{
    for (int i = 0; i < PK_SIDES; i++) {
        if (part.runners[i].kind) /* begun, and not ended by pk_gate_run */
            part.runners[i].kind->end(&part.runners[i]);
        pk_recorder_free(s->side[i].run.recorder);
        pk_store_close(s->side[i].run.store);
    }
}

static void begin(struct pk_gate_sides *s)
{
    assert_int_equal(pk_gate_sides_begin(s, 1, &samples, &silent, &part, &order_seed, &err), PK_OK);
}

static struct pk_run_facts facts_of(const struct pk_gate_sides *s, int side)
{
    struct pk_run_facts facts;
    const struct pk_run *r = &s->side[side].run;
    assert_int_equal(pk_store_run_facts(r->store, r->run_id, &arena, &facts, &err), PK_OK);
    return facts;
}

/* --- equal sides ---------------------------------------------------------------------------------------------------------- */

static bool equal(const char *const *a, const char *const *b, bool calibration)
{
    struct pk_gate_sides s = {.arena = &arena, .calibration = calibration};
    s.side[PK_BASE].argv = a;
    s.side[PK_NEW].argv = b;
    pk_gate_sides_compare(&s);
    return s.equal;
}

static void sides_are_equal_by_their_words_or_as_a_calibration(void **state)
{
    assert_true(equal(true_words, true_words, false));
    assert_false(equal(true_words, other_words, false));
    assert_true(equal(true_words, other_words, true));
}

static void what_a_command_will_report_is_not_known(void **state)
{
    struct pk_gate_sides s = {.arena = &arena};
    struct pk_errs wrong = {.arena = &arena};
    struct pk_threshold of_nothing;
    assert_int_equal(pk_threshold_parse("no_such_ns=1%", &arena, &of_nothing, &err), PK_OK);
    s.what = &all_rows;
    s.criteria = (struct pk_criteria){.own = &of_nothing, .n_own = 1};
    samples = (struct pk_gate_samples){.arena = &arena};
    assert_false(pk_gate_sides_rows_known(&s));
    assert_int_equal(pk_gate_sides_check_criteria(&s, 1, &samples, &wrong, &err), PK_OK);
}

/* --- the record ----------------------------------------------------------------------------------------------------------- */

static void both_runs_have_the_mark_of_one_gate(void **state)
{
    struct pk_gate_sides *s = sides(":memory:", true_words, other_words);
    struct pk_errs wrong = {.arena = &arena};
    const struct pk_gate_result result = {.screened = 6};
    struct pk_gate_pair pair = {.judging.rule = pk_rule_default};
    s->rule.alpha = 0.02;
    begin(s);
    pk_gate_sides_end(s, 1, &result, false, &wrong);
    assert_int_equal(wrong.n, 0);
    const struct pk_run_facts base = facts_of(s, PK_BASE), new_ = facts_of(s, PK_NEW);
    assert_true(pk_gate_pair_read(&base, &new_, &arena, &pair));
    assert_int_equal(pair.judging.screened, 6);
    assert_true(pair.judging.rule.alpha == 0.02);
    assert_false(pair.judging.equal);
    assert_string_equal(s->side[PK_BASE].run.o->label, "nap-a");
    assert_string_equal(s->side[PK_NEW].run.o->label, "nap-b");
    assert_non_null(strstr(new_.settings, "\"command\":[\"true\",\"x\"]"));
    close_sides(s);
}

static size_t pairs_at_most(bool is_equal, bool calibration)
{
    struct pk_gate_sides *s = sides(":memory:", true_words, true_words);
    s->equal = is_equal;
    s->calibration = calibration;
    begin(s);
    assert_string_equal(part.name, "nap");
    assert_true(part.commands);
    assert_int_equal(part.budget_ns, 7);
    assert_string_equal(part.runners[PK_NEW].option, "b");
    close_sides(s);
    return part.max_pairs;
}

/* Equal sides are screened and not confirmed; of a calibration all pairs are the screening. */
static void equal_sides_are_screened_only(void **state)
{
    assert_int_equal(pairs_at_most(false, false), 9);
    assert_int_equal(pairs_at_most(true, false), pk_rule_default.screen_pairs);
    assert_int_equal(pairs_at_most(true, true), 0);
}

/* --- noise ---------------------------------------------------------------------------------------------------------------- */

/* As if twelve pairs of processes had taken about 1 ms. */
static void measure(struct pk_gate_sides *s, struct pk_gate_result *result)
{
    enum { PAIRS = 12 };
    const struct pk_case_info info = {.experiment = "exec",
                                      .revision = 1,
                                      .variant = "true",
                                      .device = "cpu",
                                      .axes = "{\"command\":\"true\"}",
                                      .identity = "{\"command\":\"true\"}"};
    const struct pk_metric_decl metric = {"wall_ns", "ns", "lower", "time", "median", "max", "region"};
    const size_t c = pk_gate_samples_case(&samples, 0, &info);
    const struct pk_compare_options what = {.level = 0.95};
    for (int side = 0; side < PK_SIDES; side++) {
        struct pk_run *r = &s->side[side].run;
        int64_t id;
        assert_int_equal(pk_record_case(r->recorder, &info, &id, &err), PK_OK);
        for (int k = 1; k <= PAIRS; k++) {
            const int64_t ordinal = 0;
            const double value = 1e6 * (1 + 0.001 * ((k * 7 + side * 3) % 5));
            const struct pk_series series = {
                .phase = PK_PHASE_STEADY, .reps = 1, .n = 1, .ordinal = &ordinal, .real = &value};
            const struct pk_slice slice = {.invocation = k,
                                           .status = PK_ST_OK,
                                           .message = "",
                                           .n_metrics = 1,
                                           .metrics = &metric,
                                           .n_series = 1,
                                           .series = &series};
            pk_gate_samples_add(&samples, side, c, &slice);
            assert_int_equal(pk_record_slice(r->recorder, id, &info, &slice, &err), PK_OK);
        }
    }
    struct pk_compared *rows = pk_new_n(&arena, struct pk_compared, pk_gate_samples_most(&samples));
    size_t *case_of = pk_new_n(&arena, size_t, pk_gate_samples_most(&samples));
    result->comparison.n = pk_gate_samples_compared(&samples, 0, &what, true, &arena, rows, case_of);
    result->comparison.v = rows;
    assert_int_equal(result->comparison.n, 1);
    rows[0].judged = true;
}

static void a_calibration_is_known_to_later_gates_of_the_command(void **state)
{
    char folder[] = "/tmp/perfkit-sides-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *store = pk_printf(&arena, "%s/perfkit.db", folder);
    struct pk_gate_sides *s = sides(store, true_words, true_words);
    struct pk_gate_result result = {0};
    struct pk_errs wrong = {.arena = &arena};
    s->equal = s->calibration = true;
    begin(s);
    measure(s, &result);
    assert_int_equal(pk_gate_sides_calibrate(s, 0, &result, &samples, &err), PK_OK);
    assert_int_equal(s->n_calibration_rows, 1);
    assert_false(result.comparison.v[0].judged);
    pk_gate_sides_end(s, 1, &result, false, &wrong);
    assert_int_equal(wrong.n, 0);
    close_sides(s);

    s = sides(store, true_words, other_words);
    assert_int_equal(pk_gate_sides_noise(s, s->side[PK_BASE].run.store, &samples, false, &err), PK_OK);
    assert_int_equal(s->n_row_noise, 1);
    assert_non_null(strstr(pk_gate_sides_noise_note(s), "Calibrated by run 1 ("));
    assert_non_null(strstr(pk_gate_sides_noise_note(s), ", 12 pairs): the noise floor of 1 row is 0."));
    s->rule.min_effect = 1e-6;
    assert_int_equal(pk_gate_sides_noise(s, s->side[PK_BASE].run.store, &samples, true, &err),
                     PK_E_UNDECIDED);
    close_sides(s);

    s = sides(store, other_words, other_words);
    assert_int_equal(pk_gate_sides_noise(s, s->side[PK_BASE].run.store, &samples, false, &err), PK_OK);
    assert_int_equal(s->n_row_noise, 0);
    assert_null(pk_gate_sides_noise_note(s));
    close_sides(s);
    assert_int_equal(unlink(store), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void few_fresh_pairs_are_noted(void **state)
{
    struct pk_gate_sides s = {.arena = &arena, .rule = pk_rule_default};
    assert_null(pk_gate_sides_pairs_note(&s));
    pk_rule_of_pairs(&s.rule, 8);
    assert_non_null(strstr(pk_gate_sides_pairs_note(&s), "--max-pairs 8 leaves 2 fresh pairs to confirm"));
    s.equal = true;
    assert_null(pk_gate_sides_pairs_note(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sides_are_equal_by_their_words_or_as_a_calibration, free_arena),
        cmocka_unit_test_teardown(what_a_command_will_report_is_not_known, free_arena),
        cmocka_unit_test_teardown(both_runs_have_the_mark_of_one_gate, free_arena),
        cmocka_unit_test_teardown(equal_sides_are_screened_only, free_arena),
        cmocka_unit_test_teardown(a_calibration_is_known_to_later_gates_of_the_command, free_arena),
        cmocka_unit_test_teardown(few_fresh_pairs_are_noted, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
