/* Spans: the note of made-up iterations of a GPU and of a CPU. */
#include "timeline/spans.h"

#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { STEP, FORWARD, BACKWARD };

static struct pk_arena arena;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static const char *name(const void *user, int region)
{
    return ((const char *const *)user)[region];
}

static const char *note(const struct pk_trace *t, struct pk_mark *m, size_t n)
{
    static const char *const names[] = {"step", "forward", "backward"};
    const struct pk_marks marks = {.v = m, .n = n};
    struct pk_spans s;
    pk_spans_keep(&s, t, &marks, &arena);
    memset(m, 0, n * sizeof *m); /* the next iteration overwrites them */
    PK_JSON_CLEANUP json_t *j = pk_spans_json(&s, name, names, &arena);
    return pk_json_text(&arena, j, PK_JSON_COMPACT);
}

static struct pk_mark mark(uint16_t region, uint8_t lane, uint64_t begin, uint64_t end)
{
    return (struct pk_mark){.region = region, .lane = lane, .begin_host_ns = begin, .end_host_ns = end};
}

/* Launches are on the host; a region ran from its first piece to its last, and the one around it from the first of all. */
static void launched(void **state)
{
    struct pk_mark m[] = {mark(STEP, 0, 1000, 1900), mark(FORWARD, 0, 1010, 1500),
                          mark(BACKWARD, 0, 1600, 1800)};
    struct pk_kernel v[] = {
        {"gemm", PK_FAMILY_GEMM, FORWARD, 1, 7, .launched_ns = 1020, .begin_ns = 1300, .end_ns = 1700},
        {"copy", PK_FAMILY_COPY, PK_NO_REGION, 0, 8, .begin_ns = 3000, .end_ns = 3010},
        {"gemm", PK_FAMILY_GEMM, BACKWARD, 2, 7, .launched_ns = 1650, .begin_ns = 1700, .end_ns = 2000}};
    struct pk_kernel o[] = {{"matmul", PK_FAMILY_GEMM, FORWARD, 1, 0, .begin_ns = 1015, .end_ns = 1050}};
    const struct pk_trace ops = {.v = o, .n = 1}, t = {.v = v, .n = 3, .ops = &ops};
    assert_string_equal(
        note(&t, m, 3),
        "{\"names\":[\"step\",\"host\",\"forward\",\"backward\",\"gemm\",\"stream 7\",\"copy\","
        "\"stream 8\",\"matmul\"],"
        "\"regions\":[[0,1,0,900,300,700],[2,1,10,490,300,400],[3,1,600,200,700,300]],"
        "\"pieces\":[[4,5,4,2,300,400,20],[6,7,6,-1,2000,10],[4,5,4,3,700,300,650]],"
        "\"ops\":[[8,1,4,2,15,35]]}");
}

/* The marks of a replayed graph have the time of its launch: none of them is around another. */
static void replayed(void **state)
{
    struct pk_mark m[] = {mark(FORWARD, 0, 100, 200), mark(BACKWARD, 0, 100, 200)};
    struct pk_kernel v[] = {
        {"a", PK_FAMILY_OTHER, FORWARD, 0, 7, .launched_ns = 150, .begin_ns = 300, .end_ns = 400},
        {"b", PK_FAMILY_OTHER, BACKWARD, 1, 7, .launched_ns = 150, .begin_ns = 400, .end_ns = 450}};
    const struct pk_trace ops = {0}, t = {.v = v, .n = 2, .ops = &ops};
    assert_non_null(strstr(note(&t, m, 2), "\"regions\":[[0,1,0,100,200,100],[2,1,0,100,300,50]]"));
}

/* What computes on the calling thread is in the lanes of its regions. */
static void computed(void **state)
{
    struct pk_mark m[] = {mark(FORWARD, PK_LANE_COMPUTE, 100, 200), mark(BACKWARD, PK_LANE_COMM, 150, 250)};
    struct pk_kernel v[] = {{"gemm", PK_FAMILY_GEMM, FORWARD, 0, PK_LANE_COMPUTE, .launched_ns = 110,
                             .begin_ns = 110, .end_ns = 120}};
    const struct pk_trace t = {.v = v, .n = 1};
    assert_string_equal(note(&t, m, 2), "{\"names\":[\"forward\",\"compute\",\"backward\",\"comm\",\"gemm\"],"
                                        "\"regions\":[[0,1,0,100],[2,3,50,100]],"
                                        "\"pieces\":[[4,1,4,0,10,10]],\"ops\":[]}");
    v[0].name = "\xff";
    assert_non_null(strstr(note(&t, m, 0), "\"?\""));
    assert_string_equal(note(NULL, m, 0), "{\"names\":[],\"regions\":[],\"pieces\":[],\"ops\":[]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(launched, free_arena),
        cmocka_unit_test_teardown(replayed, free_arena),
        cmocka_unit_test_teardown(computed, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
