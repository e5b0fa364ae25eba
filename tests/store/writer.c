/* Writer: records runs of made-up samples, for tests of the store from outside.
 *
 *     store-writer FILE RUNS CASES SLICES SAMPLES [WORD=N ...]
 *
 * Each slice that was committed is acknowledged by a line "case invocation" on standard output at once, so that a test that kills
 * this process knows what must be there. Words: patience=MS; run=ID records into the cases of that run instead (RUNS is 0);
 * end=0 leaves runs running; first=N is the first invocation; time=1 prints samples per second and milliseconds per slice. */
#include "base/clock.h"
#include "bench/record/record.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct pk_store *s;
    const char *path;
    long runs, cases, slices, samples, patience, run, end, first, time;
    struct pk_slice slice;
    uint64_t recorded, slices_done, spent_ns;
};

static const struct pk_metric_decl metric = {"forward_ns", "ns", "lower", "time", "median", "max", "region"};

static void read_words(struct job *j, int n, char **words)
{
    const struct {
        const char *name;
        long *value;
    } known[] = {{"patience", &j->patience},
                 {"run", &j->run},
                 {"end", &j->end},
                 {"first", &j->first},
                 {"time", &j->time}};
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            size_t len = strlen(known[k].name);
            if (strncmp(words[i], known[k].name, len) == 0 && words[i][len] == '=')
                *known[k].value = atol(words[i] + len + 1);
        }
}

static void make_slice(struct job *j, struct pk_arena *a)
{
    size_t n = (size_t)j->samples;
    int64_t *ordinal = pk_new_n(a, int64_t, n + 1), *value = pk_new_n(a, int64_t, n + 1);
    for (size_t i = 0; i < n; i++) {
        ordinal[i] = (int64_t)i;
        value[i] = 1000000 + (int64_t)(i * 7919 % 1000);
    }
    struct pk_series *e = pk_new(a, struct pk_series);
    *e =
        (struct pk_series){.phase = PK_PHASE_STEADY, .reps = 1, .n = n, .ordinal = ordinal, .integer = value};
    static const struct pk_note note = {"stop", "\"max-samples\""};
    j->slice = (struct pk_slice){.message = "",
                                 .elapsed_ns = 1,
                                 .n_metrics = 1,
                                 .metrics = &metric,
                                 .n_series = 1,
                                 .series = e,
                                 .n_notes = 1,
                                 .notes = &note};
}

static enum pk_code record(struct job *j, int64_t run, const struct pk_case_info *info, const int64_t *ids,
                           struct pk_err *err)
{
    struct pk_recorder *r = pk_recorder_new(j->s, run, j->path);
    enum pk_code code = PK_OK;
    for (long l = 0; l < j->slices && !code; l++)
        for (long c = 0; c < j->cases && !code; c++) {
            j->slice.invocation = (int)(j->first + l);
            j->slice.started_wall_ns = pk_wall_ns();
            if (l + c == 0)
                code = pk_record_setting(r, j->slice.invocation, "threads", "2", err);
            uint64_t t = pk_clock_ns();
            code = code ? code : pk_record_slice(r, ids[c], &info[c], &j->slice, err);
            j->spent_ns += pk_clock_ns() - t;
            j->recorded += (uint64_t)j->samples;
            j->slices_done++;
            if (!code && !pk_recorder_spool(r))
                printf("%" PRId64 " %d\n", ids[c], j->slice.invocation), fflush(stdout);
        }
    code = code ? code : pk_recorder_finish(r, "complete", err);
    pk_recorder_free(r);
    return code;
}

static enum pk_code new_run(struct job *j, const struct pk_case_info *info, struct pk_arena *a,
                            struct pk_err *err)
{
    const struct pk_run_info run = {.experiment = "demo",
                                    .command_line = "store-writer",
                                    .settings = "{}",
                                    .tags = "{}",
                                    .machine = "{\"cpu\":\"made up\"}",
                                    .git_dirty = -1,
                                    .version = "0"};
    int64_t id, *ids = pk_new_n(a, int64_t, (size_t)j->cases);
    if (pk_store_run_begin(j->s, &run, &id, err) ||
        pk_store_cases(j->s, id, info, (size_t)j->cases, ids, err) || record(j, id, info, ids, err))
        return err->code;
    return j->end ? pk_store_run_end(j->s, id, "complete", err) : PK_OK;
}

static enum pk_code old_run(struct job *j, const struct pk_case_info *info, struct pk_arena *a,
                            struct pk_err *err)
{
    struct pk_rows rows;
    const struct pk_param run = pk_param_int(":run", j->run);
    if (pk_store_query(j->s, "SELECT case_id FROM v_case WHERE run_id = :run ORDER BY ordinal", &run, 1, a,
                       &rows, err))
        return err->code;
    int64_t *ids = pk_new_n(a, int64_t, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++)
        ids[i] = rows.cells[i].i;
    return record(j, j->run, info, ids, err);
}

static enum pk_code work(struct job *j, struct pk_arena *a, struct pk_err *err)
{
    struct pk_case_info *info = pk_new_n(a, struct pk_case_info, (size_t)j->cases + 1);
    for (long c = 0; c < j->cases; c++)
        info[c] = (struct pk_case_info){.experiment = "demo",
                                        .revision = 1,
                                        .variant = "plain",
                                        .device = "cpu",
                                        .axes = pk_printf(a, "{\"n\":%ld}", c),
                                        .identity = "{}",
                                        .predicted_bytes = -1};
    if (pk_store_open(j->path, PK_STORE_WRITE, NULL, &j->s, err))
        return err->code;
    if (j->patience)
        pk_store_set_timeout(j->s, j->patience);
    make_slice(j, a);
    if (j->run)
        return old_run(j, info, a, err);
    for (long r = 0; r < j->runs; r++)
        if (new_run(j, info, a, err))
            return err->code;
    return PK_OK;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    struct job j = {.path = argv[1],
                    .runs = atol(argv[2]),
                    .cases = atol(argv[3]),
                    .slices = atol(argv[4]),
                    .samples = atol(argv[5]),
                    .end = 1,
                    .first = 1};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    read_words(&j, argc - 6, argv + 6);
    signal(SIGXFSZ, SIG_IGN);
    enum pk_code code = work(&j, &a, &err);
    pk_store_close(j.s);
    if (code)
        fprintf(stderr, "%s\n%s\n%s\n", err.what, err.why, err.fix);
    if (j.time && j.spent_ns)
        printf("samples_per_s %.0f ms_per_slice %.4f\n", (double)j.recorded * 1e9 / (double)j.spent_ns,
               (double)j.spent_ns / 1e6 / (double)j.slices_done);
    pk_arena_free(&a);
    return code != PK_OK;
}
