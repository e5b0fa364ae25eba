/* State of recorded hosts, what a span of it says, and when a measurement is doubtful. */
#include "machine/state.h"

#include "base/clock.h"
#include "recorded.h"

#include "json/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const unsigned cpus[] = {0, 1};

static struct pk_state state_of(const char *host, struct pk_arena *a)
{
    char root[] = "/tmp/perfkit-state-XXXXXX";
    struct pk_state s;
    assert_non_null(mkdtemp(root));
    recorded_unpack(host, root);
    pk_state_read(root, cpus, 2, a, &s);
    recorded_remove(root);
    return s;
}

static void everything_that_a_host_says(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_state s = state_of("metal-quota", &a);
    static const double want[PK_STATE_VALUES] = {
        [PK_STATE_LOAD] = 3.25,
        [PK_STATE_FREQUENCY_HZ] = 2e9,
        [PK_STATE_STEAL_NS] = 300 * 1e7,
        [PK_STATE_PRESSURE_CPU_NS] = 1.5e9,
        [PK_STATE_PRESSURE_MEMORY_NS] = 2e6,
        [PK_STATE_PRESSURE_IO_NS] = 0,
        [PK_STATE_QUOTA_STOPS] = 5,
        [PK_STATE_QUOTA_STOPPED_NS] = 1e6,
        [PK_STATE_THERMAL_STOPS] = 13,
    };
    for (int i = 0; i < PK_STATE_VALUES; i++)
        assert_float_equal(s.value[i], want[i], 1e-9);
    assert_string_equal(s.text[PK_STATE_GOVERNOR], "powersave");
    assert_string_equal(s.text[PK_STATE_TURBO], "off");
    assert_string_equal(s.text[PK_STATE_SMT], "on");
    assert_string_equal(s.text[PK_STATE_THP], "madvise");
}

static void a_host_that_says_nothing(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_state_span span = {.n_cpus = 2};
    const char *words[PK_DOUBTS + 1];
    span.before = state_of("empty", &a);
    span.after = span.before;
    span.after.at_ns += PK_NS_PER_S;
    for (int i = 0; i < PK_STATE_VALUES; i++)
        assert_true(isnan(span.before.value[i]));
    assert_string_equal(pk_state_json(&span, &a), "{}");
    assert_int_equal(pk_state_doubts(&span, words), 0);
    assert_null(words[0]);
}

/* A second on two CPUs in which nothing happens. */
static struct pk_state_span quiet(struct pk_arena *a)
{
    struct pk_state_span span = {.n_cpus = 2};
    span.before = state_of("metal-quota", a);
    span.after = span.before;
    span.after.at_ns = span.before.at_ns + PK_NS_PER_S;
    return span;
}

static void doubts_begin_above_their_limits(void **state)
{
    static const struct {
        enum pk_state_value value;
        double still, too_much;
        const char *word;
    } rows[] = {
        {PK_STATE_STEAL_NS, 0.02e9, 0.021e9, "stolen"},
        {PK_STATE_PRESSURE_CPU_NS, 0.049e9, 0.051e9, "crowded"},
        {PK_STATE_PRESSURE_MEMORY_NS, 0.009e9, 0.011e9, "short-of-memory"},
        {PK_STATE_QUOTA_STOPS, 0, 1, "quota"},
        {PK_STATE_THERMAL_STOPS, 0, 1, "throttled"},
        {PK_STATE_FREQUENCY_HZ, -0.099e9, -0.101e9, "clock-fell"},
    };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_state_span same = quiet(&a);
    const char *words[PK_DOUBTS + 1];
    assert_int_equal(pk_state_doubts(&same, words), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_state_span span = same;
        span.after.value[rows[i].value] = span.before.value[rows[i].value] + rows[i].still;
        assert_int_equal(pk_state_doubts(&span, words), 0);
        span.after.value[rows[i].value] = span.before.value[rows[i].value] + rows[i].too_much;
        assert_int_equal(pk_state_doubts(&span, words), 1);
        assert_string_equal(words[0], rows[i].word);
    }
}

static void doubts_of_noise(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_state_span span = quiet(&a);
    const char *words[PK_DOUBTS + 1];
    span.noise_before = (struct pk_noise){.spun_ns = 1000000, .lost_ns = 50000};
    span.noise_after = span.noise_before;
    assert_int_equal(pk_state_doubts(&span, words), 0);
    span.noise_after.lost_ns++;
    assert_int_equal(pk_state_doubts(&span, words), 1);
    assert_string_equal(words[0], "noisy");
}

static void both_ends_as_json(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_state_span span = quiet(&a);
    span.after.text[PK_STATE_GOVERNOR] = "performance";
    span.after.value[PK_STATE_LOAD] = NAN;
    span.noise_after = (struct pk_noise){.spun_ns = 100, .lost_ns = 25, .worst_ns = 20, .gaps = {3}};
    json_t *j = json_loads(pk_state_json(&span, &a), 0, NULL);
    json_t *want = json_loads("{\"governor\": [\"powersave\", \"performance\"], \"load\": [3.25, null],"
                              " \"noise_lost\": [null, 0.25], \"noise_gaps_1us\": [0.0, 3.0]}",
                              0, NULL);
    const char *key;
    json_t *v;
    json_object_foreach(want, key, v) assert_true(json_equal(v, json_object_get(j, key)));
    json_decref(j);
    json_decref(want);
}

static void gaps_by_decade(void **state)
{
    struct pk_noise n = {0}, sum = {0};
    static const uint64_t gaps[] = {0, 999, 1000, 9999, 10000, 100000, 1000000, 10000000, 80000000};
    static const uint64_t want[PK_GAP_CLASSES] = {2, 1, 1, 1, 2};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        pk_noise_gap(&n, gaps[i]);
    assert_memory_equal(n.gaps, want, sizeof want);
    assert_int_equal(n.lost_ns, 1000 + 9999 + 10000 + 100000 + 1000000 + 10000000 + 80000000);
    assert_int_equal(n.worst_ns, 80000000);
    pk_noise_add(&sum, &n);
    pk_noise_add(&sum, &n);
    assert_int_equal(sum.lost_ns, 2 * n.lost_ns);
    assert_int_equal(sum.worst_ns, n.worst_ns);
    assert_int_equal(sum.gaps[4], 4);
}

static void a_spin_lasts_as_long_as_asked(void **state)
{
    struct pk_noise n = {0};
    assert_true(isnan(pk_noise_lost(&n)));
    pk_noise_probe(2 * PK_NS_PER_MS, &n);
    assert_true(n.spun_ns >= 2 * PK_NS_PER_MS && n.lost_ns <= n.spun_ns && n.worst_ns <= n.lost_ns);
    assert_true(pk_noise_lost(&n) >= 0 && pk_noise_lost(&n) <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_a_host_says),
        cmocka_unit_test(a_host_that_says_nothing),
        cmocka_unit_test(doubts_begin_above_their_limits),
        cmocka_unit_test(doubts_of_noise),
        cmocka_unit_test(both_ends_as_json),
        cmocka_unit_test(gaps_by_decade),
        cmocka_unit_test(a_spin_lasts_as_long_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
