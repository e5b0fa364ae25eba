/* Reports: the whole text of each form, of rows of every verdict and of failures, with characters that mean something in it. */
#include "judge/report/report.h"

#include "base/err.h"
#include "judge/report/comparison.h"
#include "judge/report/outcome.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct pk_arena arena;
static struct pk_err err;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

/* A row of one case that takes `ratio` as long, known to 1 %. */
static struct pk_compared row(const char *variant, const char *metric, enum pk_verdict verdict,
                              enum pk_reason reason, double ratio)
{
    struct pk_figures *f = pk_new(&arena, struct pk_figures);
    *f = (struct pk_figures){.experiment = "demo",
                             .variant = variant,
                             .axes = "{\"n\":2}",
                             .metric = metric,
                             .unit = "ns",
                             .direction = "lower",
                             .class = "time",
                             .median = 100 * ratio};
    return (struct pk_compared){
        .base = f,
        .new_ = f,
        .place = "",
        .judged = true,
        .ratio = {.ratio = ratio, .ci = {ratio - 0.01, ratio + 0.01}},
        .decision = {
            .verdict = verdict, .reason = reason, .ratio = ratio, .ci = {ratio - 0.01, ratio + 0.01}}};
}

static struct pk_report report(struct pk_compared *v, size_t n)
{
    struct pk_comparison *c = pk_new(&arena, struct pk_comparison);
    *c = (struct pk_comparison){.v = v, .n = n};
    return (struct pk_report){.comparison = c,
                              .outcome = "slower",
                              .name = "gate demo",
                              .host = "",
                              .started_at = "2026-11-21T12:00:00Z",
                              .seconds = 1};
}

/* --- JUnit ------------------------------------------------------------------------------------------------------------- */

static void junit_has_a_test_for_each_row_and_failure(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("b", "x_ns", PK_UNDECIDED, PK_REASON_NOISE, 1.1)};
    const struct pk_failure failure = {.side = "new",
                                       .experiment = "demo",
                                       .variant = "<c>",
                                       .axes = "{\"n\":3}",
                                       .status = "oom",
                                       .message = "\"7\" & \x01 \xff"};
    struct pk_report r = report(v, 2);
    r.failures = &failure, r.n_failures = 1;
    assert_string_equal(
        pk_report_junit(&r, &arena),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
        "  <testsuite package=\"perfkit\" id=\"0\" name=\"gate demo\" timestamp=\"2026-11-21T12:00:00\" "
        "hostname=\"localhost\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"1.000\">\n"
        "    <properties/>\n"
        "    <testcase classname=\"perfkit.demo.x_ns\" name=\"a n=2\" time=\"0.333\"><failure "
        "type=\"slower\" "
        "message=\"x_ns of a: slower, +25.0 % (+24.0 to +26.0 %)\">"
        "x_ns of a: slower, +25.0 % (+24.0 to +26.0 %)</failure></testcase>\n"
        "    <testcase classname=\"perfkit.demo.x_ns\" name=\"b n=2\" time=\"0.333\"><skipped "
        "message=\"x_ns of b: undecided, +10.0 % (+9.0 to +11.0 %): "
        "too few processes or runs for this noise\"/></testcase>\n"
        "    <testcase classname=\"perfkit.demo.side.new\" name=\"&lt;c&gt; n=3\" time=\"0.000\">"
        "<error type=\"oom\" message=\"&quot;7&quot; &amp; ? ?\">&quot;7&quot; &amp; ? ?</error></testcase>\n"
        "    <system-out>x_ns of a: slower, +25.0 % (+24.0 to +26.0 %)\n"
        "x_ns of b: undecided, +10.0 % (+9.0 to +11.0 %)\n"
        "</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
}

/* Each verdict is counted as its ending, once; a row without a verdict is no test. */
/* Bidirectional marks, zero-width characters, a byte order mark, a tag, C1: in no form. */
static void what_is_not_seen_is_in_no_form(void **state)
{
    static const char hostile[] = "a\xd8\x9c\xe2\x80\x8b\xe2\x80\xae\xef\xbb\xbf\xf3\xa0\x81\x81\xc2\x85z";
    struct pk_compared v[] = {row(hostile, hostile, PK_SLOWER, PK_REASON_PROVED, 1.1)};
    const struct pk_report r = report(v, 1);
    const char *const texts[] = {pk_report_junit(&r, &arena), pk_report_gab(&r, false, &arena),
                                 pk_report_annotations(&r, &arena)};
    static const char *const unseen[] = {"\xd8\x9c", "\xe2\x80", "\xef\xbb\xbf", "\xf3\xa0", "\xc2\x85"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof unseen / sizeof *unseen; k++)
            assert_null(strstr(texts[i], unseen[k]));
}

static void junit_counts_each_ending(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("b", "x_ns", PK_FASTER, PK_REASON_PROVED, 0.5),
                              row("c", "x_ns", PK_SAME, PK_REASON_PROVED, 1),
                              row("d", "x_ns", PK_UNDECIDED, PK_REASON_NOISE, 1.1),
                              row("e", "x_ns", PK_UNSTABLE, PK_REASON_DISTURBED, 1.1),
                              row("f", "x_ns", PK_UNREPLICATED, PK_REASON_FEW_PAIRS, 1.1),
                              row("g", "x_ns", PK_SAME, PK_REASON_PROVED, 1)};
    v[6].judged = false;
    const struct pk_report r = report(v, 7);
    const char *text = pk_report_junit(&r, &arena);
    assert_non_null(strstr(text, "tests=\"6\" failures=\"1\" errors=\"2\" skipped=\"1\""));
    assert_non_null(strstr(text, "name=\"b\" time=\"0.167\"/>"));
    assert_null(strstr(text, "name=\"g\""));
    assert_non_null(strstr(text, "x_ns of g: not judged"));
}

/* --- GitHub ------------------------------------------------------------------------------------------------------------ */

static void annotations_escape_what_commands_mean(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("b", "x_ns", PK_SAME, PK_REASON_PROVED, 1),
                              row("c", "x_ns", PK_UNSTABLE, PK_REASON_DISTURBED, 1.1)};
    const struct pk_failure failure = {.side = "both", .status = "failed", .message = "50%\nof it"};
    struct pk_report r = report(v, 3);
    r.name = "gate a:b,c", r.failures = &failure, r.n_failures = 1;
    assert_string_equal(
        pk_report_annotations(&r, &arena),
        "::error title=gate a%3Ab%2Cc%3A slower::x_ns of a: slower, +25.0 %25 (+24.0 to +26.0 %25)\n"
        "::warning title=gate a%3Ab%2Cc%3A unstable::x_ns of c: unstable, +10.0 %25 (+9.0 to +11.0 %25)\n"
        "::error title=gate a%3Ab%2Cc%3A failed::50%25%0Aof it\n");
    const struct pk_report quiet = report(v + 1, 1);
    assert_string_equal(pk_report_annotations(&quiet, &arena), "");
}

/* GitHub shows ten of a kind: the number of all, and nine rows. */
static void annotations_are_ten_of_a_kind(void **state)
{
    struct pk_compared v[12];
    for (size_t i = 0; i < 12; i++)
        v[i] = row(pk_printf(&arena, "v%zu", i), "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25);
    const struct pk_report r = report(v, 12);
    const char *text = pk_report_annotations(&r, &arena);
    size_t lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 10);
    assert_non_null(strstr(text, "::12 rows slower\n"));
    assert_non_null(strstr(text, "x_ns of v8:"));
    assert_null(strstr(text, "x_ns of v9:"));
}

static void outputs_have_every_verdict(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("b", "x_ns", PK_SAME, PK_REASON_PROVED, 1),
                              row("c", "x_ns", PK_SAME, PK_REASON_PROVED, 1)};
    const struct pk_report r = report(v, 3);
    assert_string_equal(
        pk_report_outputs(&r, &arena),
        "verdict=slower\nrows=3\nslower=1\nslower-in-some=0\nfaster=0\nsame=2\nundecided=0\nunstable=0\n"
        "unreplicated=0\nmissing=0\n");
}

static void benchmark_figures_are_apart_by_direction(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("b", "y_ns", PK_SAME, PK_REASON_PROVED, NAN)};
    v[0].place = "n=2", v[0].entry = "quick";
    const struct pk_report r = report(v, 2);
    assert_string_equal(
        pk_report_gab(&r, false, &arena),
        "[\n {\n  \"name\": \"quick x_ns a n=2\",\n  \"unit\": \"ns\",\n  \"value\": 125.0,\n"
        "  \"extra\": \"[quick] x_ns of a n=2: slower, +25.0 % (+24.0 to +26.0 %)\"\n }\n]\n");
    assert_null(pk_report_gab(&r, true, &arena)); /* none is better when higher: no file */
}

/* --- rows and failures as clauses -------------------------------------------------------------------------------------- */

static void a_row_says_what_is_known_of_it(void **state)
{
    struct pk_compared absolute = row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1), bare = absolute;
    absolute.decision.absolute = true;
    absolute.decision.ratio = 2.5, absolute.decision.ci = (struct pk_interval){1.25, 3.75};
    assert_string_equal(pk_report_row(&absolute, &arena), "x_ns of a: slower, +2.500 ns (+1.250 to +3.750)");
    absolute.decision.ci = (struct pk_interval){NAN, NAN};
    absolute.decision.ratio = 4096;
    assert_string_equal(pk_report_row(&absolute, &arena), "x_ns of a: slower, +4096 ns");
    absolute.decision.ratio = 3e12;
    assert_string_equal(pk_report_row(&absolute, &arena), "x_ns of a: slower, +3.00000e+12 ns");
    bare.ratio = (struct pk_ratio){.ratio = 2, .ci = {NAN, NAN}};
    bare.judged = false;
    assert_string_equal(pk_report_row(&bare, &arena), "x_ns of a: not judged (new / base 2.000)");
}

static void a_failure_names_what_could_not_be_compared(void **state)
{
    const struct pk_failure metric = {.entry = "quick",
                                      .variant = "a",
                                      .axes = "{\"n\":2}",
                                      .metric = "x_ns"},
                            all = {.side = "both"};
    assert_string_equal(pk_failure_text(&metric, &arena), "[quick] x_ns of a n=2");
    assert_string_equal(pk_failure_text(&all, &arena), "all");
}

/* --- outcomes ---------------------------------------------------------------------------------------------------------- */

/* An outcome that rows and failures show is not said again; another one is a failure of its own. */
static void a_report_is_red_where_the_status_is(void **state)
{
    struct pk_compared slower[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25)},
                       same[] = {row("a", "x_ns", PK_SAME, PK_REASON_PROVED, 1)};
    const struct pk_report red = report(slower, 1), green = report(same, 1);
    struct pk_err outcome;
    pk_fail(&outcome, PK_E_REGRESSION, "it is slower");
    pk_why(&outcome, "a row");
    assert_int_equal(pk_report_with_outcome(&red, &outcome, &arena).n_failures, 0);
    const struct pk_report more = pk_report_with_outcome(&green, &outcome, &arena);
    assert_int_equal(more.n_failures, 1);
    assert_string_equal(more.failures[0].message, "it is slower: a row");
    outcome.code = PK_E_INTERRUPTED; /* which no row shows */
    assert_int_equal(pk_report_with_outcome(&red, &outcome, &arena).n_failures, 1);
}

static void an_outcome_has_a_status_and_a_word(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("b", "x_ns", PK_UNDECIDED, PK_REASON_NOISE, 1.1),
                              row("c", "x_ns", PK_SAME, PK_REASON_PROVED, 1)};
    const struct {
        size_t from, n;
        bool fail_on_undecided;
        enum pk_code code;
        const char *word, *sentence;
    } rows[] = {
        {0, 3, false, PK_E_REGRESSION, "slower", "3 rows: 1 slower, 1 same, 1 undecided"},
        {1, 2, true, PK_E_UNDECIDED, "undecided", "2 rows: 1 same, 1 undecided"},
        {1, 2, false, PK_OK, "ok", "2 rows: 1 same, 1 undecided"},
        {2, 1, true, PK_OK, "ok", "1 row: 1 same"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pk_report r = report(v + rows[i].from, rows[i].n);
        const struct pk_outcome_options o = {.new_name = "b", .fail_on_undecided = rows[i].fail_on_undecided};
        const enum pk_code code = pk_outcome(r.comparison, &o, &arena, &err);
        assert_int_equal(code, rows[i].code);
        assert_string_equal(pk_outcome_word(code), rows[i].word);
        assert_string_equal(pk_outcome_sentence(r.comparison, &arena), rows[i].sentence);
    }
    ((struct pk_figures *)v[2].new_)->direction = "none";
    const struct pk_report r = report(v + 2, 1);
    assert_int_equal(pk_outcome(r.comparison, &(struct pk_outcome_options){0}, &arena, &err), PK_E_NOTHING);
    assert_string_equal(pk_outcome_word(PK_E_IO), "error");
}

/* As a program reads it that has only what was printed. */
static double read_change(struct pk_compared *v, size_t n)
{
    const struct pk_comparison c = {.v = v, .n = n, .level = 0.95, .common = ""};
    const struct pk_out_options options = {.format = PK_FMT_JSON};
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    struct pk_out *out = pk_out_open(f, &options);
    pk_compare_print(out, &c, NULL, &arena);
    assert_int_equal(pk_out_close(out, &err), PK_OK);
    fclose(f);
    PK_JSON_CLEANUP json_t *printed = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(printed);
    return pk_compare_read_change(printed);
}

static void the_change_of_a_printed_comparison_is_that_of_its_gravest_row(void **state)
{
    struct pk_compared v[] = {row("a", "x_ns", PK_SLOWER_IN_SOME, PK_REASON_PROVED, 1.125),
                              row("b", "x_ns", PK_SLOWER, PK_REASON_PROVED, 1.25),
                              row("c", "x_ns", PK_FASTER, PK_REASON_PROVED, 0.25),
                              row("d", "x_ns", PK_SAME, PK_REASON_PROVED, 1)};
    assert_true(read_change(v, 4) == 1.25);
    assert_true(read_change(v, 1) == 1.125);
    assert_true(read_change(v + 2, 2) == 0.25);
    ((struct pk_figures *)v[2].new_)->direction = "higher"; /* less of it is worse */
    assert_true(read_change(v + 2, 2) == 4);
    v[3].judged = false;
    assert_true(isnan(read_change(v + 3, 1)));
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, free_arena)
    const struct CMUnitTest tests[] = {T(junit_has_a_test_for_each_row_and_failure),
                                       T(what_is_not_seen_is_in_no_form),
                                       T(junit_counts_each_ending),
                                       T(annotations_escape_what_commands_mean),
                                       T(annotations_are_ten_of_a_kind),
                                       T(outputs_have_every_verdict),
                                       T(benchmark_figures_are_apart_by_direction),
                                       T(a_row_says_what_is_known_of_it),
                                       T(a_failure_names_what_could_not_be_compared),
                                       T(a_report_is_red_where_the_status_is),
                                       T(an_outcome_has_a_status_and_a_word),
                                       T(the_change_of_a_printed_comparison_is_that_of_its_gravest_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
