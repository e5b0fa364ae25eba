/* Groups are read with the line of what is wrong, and --counters becomes plans and metrics. */
#include "counter/select.h"
#include "device/device.h"
#include "device/null.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct pk_arena arena;
static struct pk_err err;
static struct pk_counters c;

/* --- groups --------------------------------------------------------------------------------------------------------- */

#define HEAD "title  T\nevents a b\n"

static void a_group_is_read(void **state)
{
    struct pk_group g;
    assert_int_equal(pk_group_parse("g",
                                    "# note\n\ntitle  Some title  \nevents a  b\noptional c\n"
                                    "metric r 1/s = 1e9 * a / time_ns -- how often\nhelp\nTwo\nlines\n",
                                    &arena, &g, &err),
                     0);
    assert_string_equal(g.title, "Some title");
    assert_int_equal(g.n_required, 2);
    assert_int_equal(g.n_events, 3);
    assert_string_equal(g.events[2], "c");
    assert_string_equal(g.metrics[0].name, "r");
    assert_string_equal(g.metrics[0].unit, "1/s");
    assert_string_equal(g.metrics[0].formula->text, "1e9 * a / time_ns");
    assert_string_equal(g.metrics[0].summary, "how often");
    assert_string_equal(g.help, "Two\nlines\n");
}

static void wrong_groups_name_the_line(void **state)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"events a\n", "group g, line 1: there is no title"},
        {"title T\n\n", "group g, line 2: there are no events"},
        {"title\nevents a\n", "group g, line 1: the title is empty"},
        {HEAD "events a\n", "group g, line 3: event a is given twice"},
        {HEAD "optional c\nevents d\n", "group g, line 4: the events it needs come before the optional ones"},
        {HEAD "\nmetrics r 1 = a -- x\n", "group g, line 4: 'metrics r 1 = a -- x' cannot begin a line"},
        {HEAD "metric r = a -- x\n", "group g, line 3: a metric is NAME UNIT = FORMULA -- SUMMARY"},
        {HEAD "metric r 1 2 = a -- x\n", "group g, line 3: a metric is NAME UNIT = FORMULA -- SUMMARY"},
        {HEAD "metric r 1 = -- x\n", "group g, line 3: a metric is NAME UNIT = FORMULA -- SUMMARY"},
        {HEAD "metric r 1 = a\n", "group g, line 3: a metric is NAME UNIT = FORMULA -- SUMMARY"},
        {HEAD "metric r 1 = a / d -- x\n", "group g, line 3: d is not an event of this group"},
        {HEAD "metric r 1 = a / -- x\n", "group g, line 3: 'a /' is not a formula"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_group g;
        assert_int_equal(pk_group_parse("g", rows[i].text, &arena, &g, &err), PK_E_USAGE);
        assert_string_equal(err.what, rows[i].what);
        assert_true(*err.why && *err.fix);
    }
}

static bool listed(const char *event)
{
    for (const struct pk_source *const *s = pk_sources; *s; s++) {
        const struct pk_event *events;
        size_t n = pk_source_events(*s, &pk_counter_host, &arena, &events);
        for (size_t i = 0; i < n; i++)
            if (!strcmp(events[i].name, event))
                return true;
    }
    return false;
}

static void every_group_is_of_known_events(void **state)
{
    const struct pk_group *groups;
    size_t n = pk_groups(&arena, &groups);
    assert_true(n >= 10);
    assert_string_equal(groups[0].name, "cpu-basic");
    assert_string_equal(groups[n - 1].name, "sw");
    for (size_t i = 0; i < n; i++) {
        assert_true(*groups[i].title && *groups[i].help && groups[i].n_metrics);
        assert_null(strchr(groups[i].help, '[')); /* ends before the next section */
        assert_null(strstr(groups[i].help, "\n\n"));
        for (size_t e = 0; e < groups[i].n_events; e++)
            if (strncmp(groups[i].name, "gpu-", 4) != 0 && !listed(groups[i].events[e]))
                fail_msg("group %s: nobody lists %s", groups[i].name, groups[i].events[e]);
    }
}

/* --- selections ----------------------------------------------------------------------------------------------------- */

static void select_(const char *text)
{
    if (pk_counters_select(&pk_counter_host, text, false, &arena, &c, &err))
        fail_msg("%s: %s", err.what, err.why);
}

static void a_group_becomes_plans_and_metrics(void **state)
{
    select_("fake,fake_scaled,minor_faults");
    assert_int_equal(c.n_plans, 4); /* three of the group, the other two, and one each by themselves */
    assert_int_equal(c.plans[0].n, 3);
    assert_int_equal(c.plans[1].n, 2);
    assert_int_equal(c.n_missing, 0);
    assert_int_equal(c.n_metrics, 6);
    assert_string_equal(c.metrics[1].name, "fake_flops_per_s");
    assert_int_equal(c.metrics[1].inputs[0].kind, PK_INPUT_COUNT);
    assert_int_equal(c.metrics[1].inputs[1].kind, PK_INPUT_GIVEN);
    assert_int_equal(c.metrics[1].inputs[1].event, PK_GIVEN_TIME_NS);
}

static double metric(const char *name, const double *const *counts, const double *given, const char **missing)
{
    for (size_t i = 0; i < c.n_metrics; i++)
        if (!strcmp(c.metrics[i].name, name))
            return pk_counter_metric_value(&c.metrics[i], counts, given, &arena, missing);
    fail_msg("no metric %s", name);
    return NAN;
}

static void metrics_have_values_or_miss_something(void **state)
{
    static const double first[] = {2, 4096, 1024}, second[] = {8, NAN};
    const double *counts[] = {first, second};
    double given[PK_GIVENS] = {[PK_GIVEN_TIME_NS] = 4, [PK_GIVEN_FLOPS] = NAN};
    const char *missing;
    select_("fake");
    assert_true(metric("fake_intensity", counts, given, &missing) == 4);
    assert_null(missing);
    assert_true(metric("fake_flops_per_s", counts, given, &missing) == 1024e9);
    assert_true(metric("fake_slowdown", counts, given, &missing) == 2);
    assert_true(isnan(metric("fake_consistency", counts, given, &missing)));
    assert_string_equal(missing, "flops");
    assert_true(isnan(metric("fake_nothing", counts, given, &missing)));
    assert_string_equal(missing, "fake_absent");
    counts[1] = NULL;
    assert_true(isnan(metric("fake_slowdown", counts, given, &missing)));
    assert_string_equal(missing, "fake_ns");
}

static const char *apart(const char *metric)
{
    for (size_t i = 0; i < c.n_metrics; i++)
        if (!strcmp(c.metrics[i].name, metric))
            return c.metrics[i].apart;
    fail_msg("no metric %s", metric);
    return NULL;
}

static void what_was_not_counted_at_once_is_flagged(void **state)
{
    select_("fake");
    assert_string_equal(apart("fake_intensity"), "");
    assert_string_equal(apart("fake_slowdown"), ""); /* one event: the times are never of its pass */
    assert_string_equal(apart("fake_pace"), "fake_ns and fake_works were counted in different passes");
}

static void wrong_selections(void **state)
{
    static const struct {
        const char *text, *what, *fix;
    } rows[] = {
        {"cpu-basci", "--counters: unknown group or event 'cpu-basci'", "did you mean 'cpu-basic'?"},
        {"page_fualts", "--counters: unknown group or event 'page_fualts'", "did you mean 'page_faults'?"},
        {"sw,weather_report_of_tomorrow", "--counters: unknown group or event 'weather_report_of_tomorrow'",
         "`perfkit list counters` shows what is available"},
        {"", "--counters: a name is empty", "--counters cpu-basic,page_faults"},
        {"sw,,fake", "--counters: a name is empty", "--counters cpu-basic,page_faults"},
        {"sw, sw", "--counters: 'sw' is given twice", "remove one"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(pk_counters_select(&pk_counter_host, rows[i].text, false, &arena, &c, &err),
                         PK_E_USAGE);
        assert_string_equal(err.what, rows[i].what);
        assert_string_equal(err.fix, rows[i].fix);
    }
}

static int free_all(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_is_read),
        cmocka_unit_test(wrong_groups_name_the_line),
        cmocka_unit_test(every_group_is_of_known_events),
        cmocka_unit_test(a_group_becomes_plans_and_metrics),
        cmocka_unit_test(metrics_have_values_or_miss_something),
        cmocka_unit_test(what_was_not_counted_at_once_is_flagged),
        cmocka_unit_test(wrong_selections),
    };
    return cmocka_run_group_tests(tests, NULL, free_all);
}
