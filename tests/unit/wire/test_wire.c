/* The wire: framing, messages and what a bad one is called, slices there and back. */
#include "wire/wire.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_wire_msg only(struct pk_wire_reader *r, const char *line)
{
    struct pk_wire_msg m;
    pk_wire_feed(r, line, strlen(line));
    assert_true(pk_wire_next(r, &m));
    return m;
}

static void types_and_defaults(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_wire_msg m = only(r, "{\"type\":\"hello\",\"version\":1,\"extra\":[1]}\n");
    assert_int_equal(m.type, PK_WIRE_HELLO);

    m = only(r, "{\"type\":\"metric\",\"name\":\"step_ns\",\"unit\":\"ns\"}\n");
    assert_string_equal(m.metric.class, "time");
    assert_string_equal(m.metric.direction, "none");
    assert_string_equal(m.metric.combine, "median");
    assert_string_equal(m.metric.ranks, "max");

    m = only(r, "{\"type\":\"samples\",\"metric\":\"step_ns\",\"values\":[9007199254740993,2]}\n");
    assert_int_equal(m.series.n, 2);
    assert_true(m.series.integer[0] == 9007199254740993);
    assert_null(m.series.real);
    assert_int_equal(m.series.phase, PK_PHASE_STEADY);
    assert_int_equal(m.samples_ordinal, -1);

    m = only(r, "{\"type\":\"setting\",\"key\":\"threads\",\"value\":2}\n");
    assert_string_equal(m.text, "2");
    m = only(r, "{\"type\":\"setting\",\"key\":\"blas\",\"value\":\"x\"}\n");
    assert_string_equal(m.text, "x");
    m = only(r, "{\"type\":\"note\",\"key\":\"stop\",\"value\":\"noise\"}\n");
    assert_string_equal(m.text, "\"noise\"");
    m = only(r, "{\"type\":\"fit\",\"name\":\"e\",\"metric\":\"m\",\"coefficient\":2}\n");
    assert_string_equal(m.key, "fit:e");
    m = only(r, "{\"type\":\"from-the-future\"}\n");
    assert_int_equal(m.type, PK_WIRE_UNKNOWN);
    pk_wire_reader_free(r);
}

static void not_a_number(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_wire_msg m =
        only(r, "{\"type\":\"samples\",\"metric\":\"NaN\",\"values\":[1,null,NaN,-Infinity,2.5]}\n");
    assert_int_equal(m.type, PK_WIRE_SAMPLES);
    assert_string_equal(m.samples_metric, "NaN");
    assert_int_equal(m.series.n, 5);
    assert_true(m.series.real[0] == 1 && m.series.real[4] == 2.5);
    for (int i = 1; i < 4; i++)
        assert_true(isnan(m.series.real[i]));
    pk_wire_reader_free(r);
}

/* Where a string ends when it ends in a backslash: what follows is outside of it, what stands in it stays. */
static void not_a_number_beside_backslashes(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_wire_msg m =
        only(r, "{\"type\":\"note\",\"key\":\"dir\",\"value\":[\"C:\\\\\",NaN,\"NaN\"]}\n");
    assert_int_equal(m.type, PK_WIRE_NOTE);
    assert_string_equal(m.text, "[\"C:\\\\\",null,\"NaN\"]");
    m = only(r, "{\"type\":\"note\",\"key\":\"\\\\\\\"NaN\\\\\",\"value\":[-Infinity,\"\\\"Infinity\"]}\n");
    assert_int_equal(m.type, PK_WIRE_NOTE);
    assert_string_equal(m.key, "\\\"NaN\\");
    assert_string_equal(m.text, "[null,\"\\\"Infinity\"]");
    pk_wire_reader_free(r);
}

static void garbage_is_named(void **state)
{
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"hello there\n", "no JSON: hello there"},
        {"[1,2]\n", "no JSON object with a \"type\""},
        {"{\"type\":7}\n", "no JSON object with a \"type\""},
        {"{\"type\":\"hello\"}\n", "without \"version\""},
        {"{\"type\":\"metric\",\"name\":\"a\"}\n", "without \"unit\""},
        {"{\"type\":\"metric\",\"name\":\"\",\"unit\":\"ns\"}\n", "\"name\" is not a string of 1 to 128"},
        {"{\"type\":\"metric\",\"name\":\"a\\u001b[31m\",\"unit\":\"ns\"}\n", "control characters"},
        {"{\"type\":\"metric\",\"name\":\"a\",\"unit\":\"ns\",\"direction\":\"up\"}\n",
         "\"direction\" is not a word of"},
        {"{\"type\":\"samples\",\"metric\":\"a\",\"values\":[\"1\"]}\n", "array of numbers"},
        {"{\"type\":\"samples\",\"metric\":\"a\",\"values\":3}\n", "array of numbers"},
        {"{\"type\":\"samples\",\"metric\":\"a\",\"rank\":-1,\"values\":[1]}\n",
         "\"rank\" is not an integer in its range"},
        {"{\"type\":\"samples\",\"metric\":\"a\",\"reps\":0,\"values\":[1]}\n", "\"reps\" is 0"},
        {"{\"type\":\"samples\",\"metric\":\"a\",\"values\":[99999999999999999999]}\n",
         "the number 99999999999999999999 is out of range"},
        {"{\"type\":\"status\",\"status\":\"fine\"}\n", "\"status\" is not a word of"},
        {"{\"type\":\"measure\",\"id\":1}\n", "without \"experiment\""},
        {"\xff\xfe\x01\n", "no JSON: ..."},
    };
    struct pk_wire_reader *r = pk_wire_reader_new();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pk_wire_msg m = only(r, bad[i].line);
        assert_int_equal(m.type, PK_WIRE_GARBAGE);
        assert_non_null(strstr(m.problem, bad[i].says));
    }
    pk_wire_reader_free(r);
}

static void in_pieces_and_truncated(void **state)
{
    const char *text = "{\"type\":\"bye\"}\n\r\n  \n{\"type\":\"quit\"}\r\n{\"type\":\"by";
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_wire_msg m;
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        pk_wire_feed(r, p, 1);
        while (pk_wire_next(r, &m))
            assert_int_equal(m.type, n++ ? PK_WIRE_QUIT : PK_WIRE_BYE);
    }
    assert_int_equal(n, 2);
    pk_wire_reader_free(r);
}

static void a_line_too_long(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_wire_msg m;
    char *chunk = malloc(1 << 20);
    memset(chunk, 'x', 1 << 20);
    int garbage = 0;
    for (int i = 0; i < 40; i++) {
        pk_wire_feed(r, chunk, 1 << 20);
        while (pk_wire_next(r, &m)) {
            assert_int_equal(m.type, PK_WIRE_GARBAGE);
            assert_non_null(strstr(m.problem, "longer than 8 MiB"));
            garbage++;
        }
    }
    assert_int_equal(garbage, 1);
    m = only(r, "tail\n{\"type\":\"bye\"}\n");
    assert_int_equal(m.type, PK_WIRE_BYE);
    free(chunk);
    pk_wire_reader_free(r);
}

static const struct pk_metric_decl metrics[] = {
    {"forward_ns", "ns", "lower", "time", "median", "max", "region"},
    {"loss", "1", "none", "rate", "mean", "mean", "reported"},
};

static int pipe_with(const struct pk_slice *s, int64_t id)
{
    char name[] = "/tmp/perfkit-wire-XXXXXX";
    int fd = mkstemp(name);
    struct pk_err err;
    unlink(name);
    assert_int_equal(pk_wire_hello(fd, "test", &err), PK_OK);
    assert_int_equal(pk_wire_slice(fd, id, s, &err), PK_OK);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static void slice_there_and_back(void **state)
{
    const int64_t ordinals[] = {3, 4, 7}, ints[] = {5, INT64_MAX, 6};
    const double reals[] = {0.5, NAN, 1e300};
    const struct pk_series series[] = {
        {.metric = 0,
         .rank = 1,
         .instance = 2,
         .phase = PK_PHASE_WARMUP,
         .reps = 9,
         .n = 3,
         .ordinal = ordinals,
         .integer = ints},
        {.metric = 1, .phase = PK_PHASE_STEADY, .reps = 1, .n = 3, .ordinal = ordinals, .real = reals},
    };
    const struct pk_note notes[] = {{"stop", "\"noise\""}, {"warmup_cut", "3"}};
    const struct pk_slice in = {.pass = PK_PASS_MEMORY,
                                .invocation = 4,
                                .status = PK_ST_OOM,
                                .message = "too \"big\"",
                                .started_wall_ns = 11,
                                .elapsed_ns = 12,
                                .n_metrics = 2,
                                .metrics = metrics,
                                .n_series = 2,
                                .series = series,
                                .n_notes = 2,
                                .notes = notes};
    int fd = pipe_with(&in, 77);
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_collector *c = pk_collector_new();
    struct pk_wire_msg m;
    struct pk_err err;
    const char *problem;
    do {
        assert_int_equal(pk_wire_read(r, fd, &m, &err), PK_OK);
    } while (!pk_collect(c, &m, &problem) && !problem);
    assert_null(problem);
    assert_int_equal(pk_json_int(m.json, "id", -1), 77);

    const struct pk_slice *s = pk_collected(c);
    assert_int_equal(s->pass, PK_PASS_MEMORY);
    assert_int_equal(s->invocation, 4);
    assert_int_equal(s->status, PK_ST_OOM);
    assert_string_equal(s->message, "too \"big\"");
    assert_int_equal(s->started_wall_ns, 11);
    assert_int_equal(s->elapsed_ns, 12);
    assert_int_equal(s->n_metrics, 2);
    assert_string_equal(s->metrics[0].source, "region");
    assert_int_equal(s->n_series, 2);
    assert_int_equal(s->series[0].n, 3);
    assert_int_equal(s->series[0].rank, 1);
    assert_int_equal(s->series[0].instance, 2);
    assert_int_equal(s->series[0].reps, 9);
    assert_memory_equal(s->series[0].ordinal, ordinals, sizeof ordinals);
    assert_memory_equal(s->series[0].integer, ints, sizeof ints);
    assert_true(s->series[1].real[0] == 0.5 && isnan(s->series[1].real[1]) && s->series[1].real[2] == 1e300);
    assert_int_equal(s->n_notes, 2);
    assert_string_equal(s->notes[1].json, "3");
    assert_int_equal(pk_wire_read(r, fd, &m, &err), PK_E_IO);
    close(fd);
    pk_collector_free(c);
    pk_wire_reader_free(r);
}

static const char *collect(struct pk_collector *c, struct pk_wire_reader *r, const char *line)
{
    const char *problem;
    struct pk_wire_msg m = only(r, line);
    pk_collect(c, &m, &problem);
    return problem;
}

#define STEP "{\"type\":\"metric\",\"name\":\"step_ns\",\"unit\":\"ns\"}\n"

static void collects_value_by_value(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_collector *c = pk_collector_new();
    assert_null(collect(c, r, STEP));
    assert_null(
        collect(c, r, "{\"type\":\"samples\",\"metric\":\"step_ns\",\"phase\":\"first\",\"values\":[9]}\n"));
    for (int i = 0; i < 1000; i++)
        assert_null(collect(c, r, "{\"type\":\"samples\",\"metric\":\"step_ns\",\"values\":[1]}\n"));
    assert_null(collect(c, r, "{\"type\":\"samples\",\"metric\":\"step_ns\",\"values\":[1.5]}\n"));
    const struct pk_slice *s = pk_collected(c);
    assert_int_equal(s->n_series, 2);
    assert_int_equal(s->series[0].ordinal[0], 0);
    assert_int_equal(s->series[1].n, 1001);
    assert_int_equal(s->series[1].ordinal[0], 1);
    assert_int_equal(s->series[1].ordinal[1000], 1001);
    assert_null(s->series[1].integer);
    assert_true(s->series[1].real[0] == 1 && s->series[1].real[1000] == 1.5);
    pk_collector_free(c);
    pk_wire_reader_free(r);
}

static void many_series(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_collector *c = pk_collector_new();
    char line[128];
    assert_null(collect(c, r, STEP));
    for (int i = 0; i < 6000; i++) {
        snprintf(line, sizeof line,
                 "{\"type\":\"samples\",\"metric\":\"step_ns\",\"instance\":%d,\"values\":[%d]}\n", i % 3000,
                 i);
        assert_null(collect(c, r, line));
    }
    const struct pk_slice *s = pk_collected(c);
    assert_int_equal(s->n_series, 3000);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(s->series[i].instance, i);
        assert_int_equal(s->series[i].integer[1], i + 3000);
    }
    pk_collector_free(c);
    pk_wire_reader_free(r);
}

static void lies_are_named(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_collector *c = pk_collector_new();
    assert_non_null(strstr(collect(c, r, "{\"type\":\"samples\",\"metric\":\"x\",\"values\":[1]}\n"),
                           "\"x\", which was not declared"));
    assert_null(collect(c, r, STEP));
    assert_null(collect(c, r, STEP));
    assert_non_null(
        strstr(collect(c, r, "{\"type\":\"metric\",\"name\":\"step_ns\",\"unit\":\"ms\"}\n"), "twice"));
    assert_non_null(strstr(collect(c, r, "nonsense\n"), "no JSON"));
    assert_null(collect(c, r, "{\"type\":\"status\",\"status\":\"ok\"}\n"));
    assert_non_null(strstr(collect(c, r, STEP), "after the status"));
    pk_collector_reset(c);
    assert_non_null(collect(c, r, "{\"type\":\"samples\",\"metric\":\"step_ns\",\"values\":[1]}\n"));
    pk_collector_free(c);
    pk_wire_reader_free(r);
}

/* The first problem when a message is collected again and again; *n counts those before it. */
static const char *collect_again(struct pk_collector *c, const struct pk_wire_msg *m, size_t *n)
{
    const char *problem = NULL;
    for (*n = 0; !pk_collect(c, m, &problem) && !problem;)
        ++*n;
    return problem;
}

/* Memory has a bound, whatever is written, and in however many cases. */
static void a_reply_has_limits(void **state)
{
    enum { VALUES = 1 << 20 };
    static char text[1 << 20];
    static int64_t values[VALUES];
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_collector *c = pk_collector_new(), *second = pk_collector_new();
    struct pk_wire_msg m = {.type = PK_WIRE_SETTING, .key = "k", .text = "1"};
    size_t n;
    pk_collector_join(second, c);
    assert_string_equal(collect_again(c, &m, &n), "more than 4096 settings in one reply");
    assert_int_equal(n, 4096);
    memset(text, 'x', sizeof text - 1);
    m = (struct pk_wire_msg){.type = PK_WIRE_NOTE, .key = "k", .text = text};
    assert_string_equal(collect_again(c, &m, &n), "more than 64 MiB of text in one reply");
    assert_int_equal(n, 63);
    pk_collector_reset(second); /* the reply goes on */
    assert_string_equal(collect_again(second, &m, &n), "more than 64 MiB of text in one reply");
    pk_collector_reset(c);
    assert_int_equal((collect_again(second, &m, &n), n), 63);

    pk_collector_reset(c);
    pk_collector_reset(second);
    assert_null(collect(c, r, STEP));
    assert_null(collect(second, r, STEP));
    m = (struct pk_wire_msg){.type = PK_WIRE_SAMPLES,
                             .samples_metric = "step_ns",
                             .samples_ordinal = -1,
                             .series = {.phase = PK_PHASE_STEADY, .reps = 1, .n = VALUES, .integer = values}};
    const char *problem;
    assert_false(pk_collect(second, &m, &problem) || problem);
    assert_string_equal(collect_again(c, &m, &n), "more than 16777216 values in one reply");
    assert_int_equal(n, PK_REPLY_VALUES_MAX / VALUES - 1);
    pk_collector_free(second);
    pk_collector_free(c);
    pk_wire_reader_free(r);
}

/* Ten times the text of an ordinary line is no matter, ten million empty objects would be. */
static void a_line_is_not_nested_without_end(void **state)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    const size_t n = PK_WIRE_LINE_NESTED_MAX;
    char *line = calloc(3, n + 100),
         *at = line + sprintf(line, "{\"type\":\"note\",\"key\":\"k\",\"value\":[[]");
    for (size_t i = 3; i < n; i++, at += 3)
        memcpy(at, ",{}", 3);
    strcpy(at, "]}\n");
    assert_int_equal(only(r, line).type, PK_WIRE_NOTE);
    strcpy(at, ",[]]}\n");
    struct pk_wire_msg m = only(r, line);
    assert_int_equal(m.type, PK_WIRE_GARBAGE);
    assert_string_equal(m.problem, "a line with more than 262144 lists and objects");
    free(line);
    pk_wire_reader_free(r);
}

static void words(void **state)
{
    enum pk_status s;
    enum pk_pass p;
    assert_true(pk_status_parse("timeout", &s) && s == PK_ST_TIMEOUT);
    assert_false(pk_status_parse("fine", &s));
    assert_true(pk_pass_parse("calibration", &p) && p == PK_PASS_OTHER);
    assert_string_equal(pk_phase_name(PK_PHASE_DISTURBED), "disturbed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_defaults),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(not_a_number_beside_backslashes),
        cmocka_unit_test(garbage_is_named),
        cmocka_unit_test(in_pieces_and_truncated),
        cmocka_unit_test(a_line_too_long),
        cmocka_unit_test(slice_there_and_back),
        cmocka_unit_test(collects_value_by_value),
        cmocka_unit_test(many_series),
        cmocka_unit_test(lies_are_named),
        cmocka_unit_test(a_reply_has_limits),
        cmocka_unit_test(a_line_is_not_nested_without_end),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
