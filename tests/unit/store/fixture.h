/* Fixture: a store in a directory of its own, a run with cases, and slices to record. */
#pragma once

#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OK(call)                                                                                             \
    do {                                                                                                     \
        if (call)                                                                                            \
            fail_msg("%s: %s; %s; %s", #call, err.what, err.why, err.fix);                                   \
    } while (0)

static struct pk_err err;
static char dir[64], path[128];

static inline int make_dir(void **state)
{
    strcpy(dir, "/tmp/perfkit-store-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s.db", dir);
    return 0;
}

static inline int remove_dir(void **state)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "chmod -R u+w %s; rm -r %s", dir, dir);
    return system(cmd);
}

static inline int64_t begin_run(struct pk_store *s, const char *label)
{
    const struct pk_run_info r = {.experiment = "demo",
                                  .label = label,
                                  .command_line = "perfkit run demo",
                                  .settings = "{}",
                                  .tags = "{}",
                                  .machine = "{\"cpu\":\"x\"}",
                                  .git_dirty = -1,
                                  .version = "0.1.0"};
    int64_t id = 0;
    OK(pk_store_run_begin(s, &r, &id, &err));
    return id;
}

static inline int64_t add_case(struct pk_store *s, int64_t run, const char *axes)
{
    const struct pk_case_info c = {.experiment = "demo",
                                   .revision = 1,
                                   .variant = "plain",
                                   .device = "cpu",
                                   .axes = axes,
                                   .identity = axes,
                                   .predicted_bytes = -1};
    int64_t id = 0;
    OK(pk_store_cases(s, run, &c, 1, &id, &err));
    return id;
}

static const struct pk_metric_decl forward_ns = {"forward_ns", "ns",  "lower", "time",
                                                 "median",     "max", "region"};

enum { FIXTURE_MAX = 20000 };

/* A slice of n steady samples 1000, 1001, ... of forward_ns. One at a time: arrays are static. */
static inline struct pk_slice steady_slice(int invocation, size_t n)
{
    static int64_t ordinal[FIXTURE_MAX], value[FIXTURE_MAX];
    static struct pk_series series;
    for (size_t i = 0; i < n; i++) {
        ordinal[i] = (int64_t)i;
        value[i] = 1000 + (int64_t)i;
    }
    series =
        (struct pk_series){.phase = PK_PHASE_STEADY, .reps = 1, .n = n, .ordinal = ordinal, .integer = value};
    return (struct pk_slice){.invocation = invocation,
                             .message = "",
                             .started_wall_ns = 1,
                             .elapsed_ns = 2,
                             .n_metrics = 1,
                             .n_series = 1,
                             .metrics = &forward_ns,
                             .series = &series};
}

static inline int64_t query_int(struct pk_store *s, const char *sql)
{
    struct pk_arena a = {0};
    struct pk_rows rows;
    OK(pk_store_query(s, sql, NULL, 0, &a, &rows, &err));
    assert_int_equal(rows.n, 1);
    int64_t v = rows.cells[0].type == PK_CELL_INT ? rows.cells[0].i : INT64_MIN;
    pk_arena_free(&a);
    return v;
}

static inline void query_text(struct pk_store *s, const char *sql, const char *expected)
{
    struct pk_arena a = {0};
    struct pk_rows rows;
    OK(pk_store_query(s, sql, NULL, 0, &a, &rows, &err));
    assert_int_equal(rows.n, 1);
    if (!expected)
        assert_int_equal(rows.cells[0].type, PK_CELL_NULL);
    else
        assert_string_equal(rows.cells[0].s, expected);
    pk_arena_free(&a);
}
