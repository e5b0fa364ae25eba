/* Stored: a small store as perfkit writes it, for the targets that read and change one, and the file it is in. */
#pragma once

#include "bench/record/record.h"
#include "store/store.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char pk_fuzz_path[64];

static void pk_fuzz_remove(void)
{
    unlink(pk_fuzz_path);
}

/* A file that is removed at the end; in memory where there is such a place. */
static inline FILE *pk_fuzz_file(void)
{
    snprintf(pk_fuzz_path, sizeof pk_fuzz_path, "%s/perfkit-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    const int fd = mkstemp(pk_fuzz_path);
    pk_assert(fd >= 0);
    atexit(pk_fuzz_remove);
    return fdopen(fd, "w+");
}

/* A run of two cases in three processes, with a time and a count. */
static inline void pk_fuzz_record(struct pk_store *s)
{
    static const struct pk_metric_decl metrics[] = {
        {"forward_ns", "ns", "lower", "time", "median", "max", "region"},
        {"peak_bytes", "bytes", "lower", "memory", "max", "max", "region"}};
    static const int64_t ordinal[] = {0, 1, 2}, value[] = {1000, 1001, 1007};
    static const struct pk_series series[] = {
        {.phase = PK_PHASE_STEADY, .reps = 1, .n = 3, .ordinal = ordinal, .integer = value},
        {.metric = 1, .phase = PK_PHASE_STEADY, .reps = 1, .n = 3, .ordinal = ordinal, .integer = value}};
    static const struct pk_note note = {"stop", "\"max-samples\""};
    static const struct pk_case_info info[] = {{"demo", 1, "plain", "cpu", "{\"n\":1}", "{}", 4096},
                                               {"demo", 1, "plain", "cpu", "{\"n\":2}", "{\"n\":2}", -1}};
    static const struct pk_run_info run = {.experiment = "demo",
                                           .label = "base",
                                           .command_line = "fuzz",
                                           .settings = "{}",
                                           .tags = "{}",
                                           .machine = "{\"cpu\":\"made up\"}",
                                           .git_dirty = -1,
                                           .version = "0"};
    struct pk_err err = {0};
    int64_t id, ids[2];
    enum pk_code code = pk_store_run_begin(s, &run, &id, &err);
    if (!code)
        code = pk_store_cases(s, id, info, 2, ids, &err);
    struct pk_recorder *r = pk_recorder_new(s, id, pk_fuzz_path);
    for (int i = 0; i < 6 && !code; i++) {
        const struct pk_slice slice = {.message = "",
                                       .invocation = i / 2 + 1,
                                       .elapsed_ns = 1,
                                       .n_metrics = 2,
                                       .metrics = metrics,
                                       .n_series = 2,
                                       .series = series,
                                       .n_notes = 1,
                                       .notes = &note};
        code = pk_record_slice(r, ids[i % 2], &info[i % 2], &slice, &err);
    }
    if (!code)
        code = pk_recorder_finish(r, "complete", &err);
    pk_recorder_free(r);
    if (!code)
        code = pk_store_run_end(s, id, "complete", &err);
    pk_assert(!code);
}
