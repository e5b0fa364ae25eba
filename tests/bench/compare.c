/* Compare benchmark: how long `perfkit compare` takes, and how much memory, where two runs have very many cases.
 *
 *     bench-compare PERFKIT [cases [invocations [samples]]]     100000, 1 and 30
 *     bench-compare write FILE cases invocations samples
 *
 * Two runs are written, where there is a file system in memory there; then PERFKIT compares them, and the quickest of a few times
 * is printed. `write` leaves FILE for test_compare_cost.py, which counts what one more case costs. */
#include "base/clock.h"
#include "base/rng.h"
#include "bench/record/record.h"
#include "store/table/table.h"

#include "timed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORDED = 100, TIMES = 3, MOST = 1000 };

/* --- two runs --------------------------------------------------------------------------------------------------------- */

struct size {
    long cases, invocations, samples;
};

static const struct pk_metric_decl metrics[] = {
    {"forward_ns", "ns", "lower", "time", "median", "max", "region"},
    {"forward_host_ns", "ns", "lower", "time", "median", "max", "region"},
};

/* What a worker says of a slice, about as much of it. */
static const struct pk_note notes[] = {
    {"calibration_runs", "1"},
    {"warmup_cut", "0"},
    {"warmup_rule", "\"mser5\""},
    {"noise", "3.4942693981869731e-5"},
    {"outlier_ordinals", "[33,34,41,72,73,90,91,129,130,143,144,164,182]"},
    {"drift", "-9.9836268519627809e-5"},
    {"drift_p", "0.21633569350757959"},
    {"autocorrelation", "-0.023006238819038214"},
    {"disturbed", "0"},
    {"class", "\"flat\""},
    {"stop", "\"noise\""},
    {"check", "\"passed\""},
    {"state",
     "{\"load\":[1.58,1.58],\"noise_gaps_100us\":[0,0],\"noise_gaps_10ms\":[2,2],\"noise_gaps_10us\":[0,1],"
     "\"noise_gaps_1ms\":[0,0],\"noise_gaps_1us\":[6,4],\"noise_lost\":[0.93450407881682318,0."
     "92682757362878454],"
     "\"noise_worst_ns\":[56020030.0,40024319.0],\"pressure_cpu_ns\":[21975080974000.0,21975329408000.0],"
     "\"pressure_io_ns\":[573482929000.0,573483115000.0],\"pressure_memory_ns\":[0,0],\"quota_stopped_ns\":["
     "0,0],"
     "\"quota_stops\":[0,0],\"smt\":[\"off\",\"off\"],\"steal_ns\":[704670000000.0,704670000000.0],"
     "\"thp\":[\"madvise\",\"madvise\"]}"},
    {"doubts", "[\"crowded\",\"noisy\"]"},
};

static void record_case(struct pk_store *s, int64_t id, const struct size *z, struct pk_rng *r)
{
    enum { METRICS = sizeof metrics / sizeof *metrics };
    static int64_t ordinal[MOST], value[METRICS][MOST];
    struct pk_summary_row of_slice[METRICS], per_case[METRICS], by_invocation[METRICS][MOST];
    double scratch[MOST], level = 1e6 * (1 + (double)(id % RECORDED));
    struct pk_series series[METRICS];
    for (size_t m = 0; m < METRICS; m++)
        series[m] = (struct pk_series){.metric = m,
                                       .phase = PK_PHASE_STEADY,
                                       .reps = 1,
                                       .n = (size_t)z->samples,
                                       .ordinal = ordinal,
                                       .integer = value[m]};
    for (int k = 0; k < z->invocations; k++) {
        for (long i = 0; i < z->samples; i++) {
            ordinal[i] = i;
            value[0][i] = (int64_t)(level * (1 + 0.01 * pk_rng_normal(r)));
            value[1][i] = value[0][i] + 5000;
        }
        const struct pk_slice l = {.pass = PK_PASS_TIMING,
                                   .invocation = k + 1,
                                   .message = "",
                                   .n_metrics = METRICS,
                                   .n_series = METRICS,
                                   .n_notes = sizeof notes / sizeof *notes,
                                   .metrics = metrics,
                                   .series = series,
                                   .notes = notes};
        const size_t n = pk_summarize_slice(&l, of_slice);
        for (size_t m = 0; m < n; m++) {
            by_invocation[m][k] = of_slice[m];
            per_case[m] = pk_summarize_case(by_invocation[m], (size_t)k + 1, scratch);
        }
        must(pk_store_slice(s, id, &l, of_slice, n, per_case, n, &err));
    }
}

static void record_cases(struct pk_store *s, int64_t run, const struct size *z, struct pk_rng *r)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_case_info *c = pk_new_n(&a, struct pk_case_info, RECORDED);
    int64_t *ids = pk_new_n(&a, int64_t, RECORDED);
    for (long k = 0; k < RECORDED; k++) {
        c[k] = (struct pk_case_info){.experiment = "attention-scaling",
                                     .revision = 1,
                                     .variant = k % 2 ? "flash" : "vanilla",
                                     .device = "cpu",
                                     .predicted_bytes = -1};
        c[k].axes = pk_printf(
            &a,
            "{\"batch\":8,\"causal\":false,\"d_model\":%ld,\"dtype\":\"fp32\",\"heads\":1,\"seq_len\":%ld}",
            16 * (1 + k / 2 % 100), 256 + k / 200);
        c[k].identity =
            pk_printf(&a, "{\"d_model\":%ld,\"seq_len\":%ld}", 16 * (1 + k / 2 % 100), 256 + k / 200);
    }
    must(pk_store_cases(s, run, c, RECORDED, ids, &err));
    for (long i = 0; i < RECORDED; i++)
        record_case(s, ids[i], z, r);
}

/* The highest ids so far. */
struct ids {
    int64_t cases, slices, series;
};

static struct ids newest(struct pk_store *s)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    must(pk_store_query(s,
                        "SELECT (SELECT coalesce(max(id), 0) FROM main.run_case), (SELECT coalesce(max(id), "
                        "0) FROM main.slice), "
                        "(SELECT coalesce(max(id), 0) FROM main.series)",
                        NULL, 0, &a, &rows, &err));
    return (struct ids){rows.cells[0].i, rows.cells[1].i, rows.cells[2].i};
}

#define COPIES                                                                                               \
    "FROM (WITH RECURSIVE n(k) AS (VALUES(1) UNION ALL SELECT k + 1 FROM n WHERE k + 1 < :copies) SELECT k " \
    "FROM n) "

/* Everything of the newest run again, with other axes, so that it has `copies` times its cases. */
static void multiply(struct pk_store *s, const struct ids *old, int64_t copies)
{
    static const char *const statements[] = {
        "INSERT INTO main.run_case SELECT c.id + k * :cases, c.run_id, c.ordinal + k * :cases, c.experiment, "
        "c.revision, "
        "c.variant, c.device, json_set(c.axes, '$.batch', k), json_set(c.identity, '$.batch', k), "
        "NULL " COPIES "CROSS JOIN main.run_case c WHERE c.id > :old_cases",
        "INSERT INTO main.summary SELECT y.case_id + k * :cases, y.metric_id, y.n, y.invocations, y.median, "
        "y.ci_low, "
        "y.ci_high, y.mean, y.sd, y.min, y.max, y.cv, y.ci_level " COPIES
        "CROSS JOIN main.summary y WHERE y.case_id > :old_cases",
        "INSERT INTO main.slice SELECT l.id + k * :slices, l.case_id + k * :cases, l.invocation, l.pass, "
        "l.status, "
        "l.message, l.started_ns, l.elapsed_ns, l.notes " COPIES
        "CROSS JOIN main.slice l WHERE l.id > :old_slices",
        "INSERT INTO main.slice_summary SELECT y.slice_id + k * :slices, y.metric_id, y.n, y.figure, "
        "y.median, y.mean, "
        "y.sd, y.min, y.max, y.p90, y.p99 " COPIES
        "CROSS JOIN main.slice_summary y WHERE y.slice_id > :old_slices",
        "INSERT INTO main.series SELECT e.id + k * :series, e.slice_id + k * :slices, e.metric_id, e.rank, "
        "e.instance, "
        "e.phase, e.reps " COPIES "CROSS JOIN main.series e WHERE e.slice_id > :old_slices",
        "INSERT INTO main.sample SELECT v.series_id + k * :series, v.ordinal, v.value " COPIES
        "CROSS JOIN main.sample v WHERE v.series_id > :old_series",
    };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct ids now = newest(s);
    const struct pk_param params[] = {
        pk_param_int(":copies", copies),          pk_param_int(":cases", now.cases - old->cases),
        pk_param_int(":old_cases", old->cases),   pk_param_int(":slices", now.slices - old->slices),
        pk_param_int(":old_slices", old->slices), pk_param_int(":series", now.series - old->series),
        pk_param_int(":old_series", old->series)};
    struct pk_rows none;
    for (size_t i = 0; copies > 1 && i < sizeof statements / sizeof *statements; i++)
        must(pk_store_query(s, statements[i], params, sizeof params / sizeof *params, &a, &none, &err));
}

/* Its first cases as a recorder does; the others follow in a few statements. */
static void record_run(struct pk_store *s, const struct size *z, struct pk_rng *r)
{
    const struct pk_run_info info = {.experiment = "attention-scaling",
                                     .command_line = "perfkit run attention-scaling",
                                     .settings = "{}",
                                     .tags = "{}",
                                     .machine = "{}",
                                     .git_dirty = -1,
                                     .version = "0"};
    const struct ids old = newest(s);
    int64_t run;
    must(pk_store_run_begin(s, &info, &run, &err));
    record_cases(s, run, z, r);
    multiply(s, &old, z->cases / RECORDED);
    must(pk_store_run_end(s, run, "complete", &err));
}

static void record(const char *path, const struct size *z)
{
    struct pk_store *s;
    struct pk_rng r = {1};
    must(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    record_run(s, z, &r);
    record_run(s, z, &r);
    pk_store_close(s);
}

/* --- comparing them ----------------------------------------------------------------------------------------------------- */

struct cost {
    double wall_s, cpu_s, bytes;
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static struct cost compare(const char *perfkit, const char *path)
{
    struct rusage used;
    int status;
    const uint64_t began = pk_clock_ns();
    const pid_t child = fork();
    if (child == 0) {
        const int out = open("/dev/null", O_WRONLY);
        dup2(out, 1);
        execl(perfkit, perfkit, "compare", "1", "2", "--db", path, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child || status) {
        fprintf(stderr, "%s compare failed\n", perfkit);
        exit(1);
    }
    return (struct cost){(double)(pk_clock_ns() - began) / 1e9,
                         seconds(used.ru_utime) + seconds(used.ru_stime), 1024.0 * (double)used.ru_maxrss};
}

static struct cost quickest(const char *perfkit, const char *path)
{
    struct cost best = compare(perfkit, path);
    for (int i = 1; i < TIMES; i++) {
        const struct cost c = compare(perfkit, path);
        best = c.cpu_s < best.cpu_s ? c : best;
    }
    return best;
}

static const char *folder(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static struct size read_size(char **argv, int n)
{
    struct size z = {100000, 1, 30};
    long *const given[] = {&z.cases, &z.invocations, &z.samples};
    for (int i = 0; i < n && i < 3; i++)
        *given[i] = strtol(argv[i], NULL, 10);
    if (z.cases >= RECORDED && z.invocations > 0 && z.invocations <= MOST && z.samples > 0 &&
        z.samples <= MOST)
        return z;
    fprintf(stderr, "at least %d cases, up to %d invocations and samples\n", RECORDED, MOST);
    exit(2);
}

int main(int argc, char **argv)
{
    char path[64];
    if (argc == 6 && strcmp(argv[1], "write") == 0) {
        const struct size z = read_size(argv + 3, 3);
        record(argv[2], &z);
        return 0;
    }
    if (argc < 2)
        return 2;
    const struct size z = read_size(argv + 2, argc - 2);
    snprintf(path, sizeof path, "%s/bench-compare-%ld.db", folder(), (long)getpid());
    record(path, &z);
    const struct cost c = quickest(argv[1], path);
    unlink(path);
    printf("two runs of %ld cases, %ld x %ld samples: compared in %.2f s, %.2f s of CPU, %.0f MB; of 100000 "
           "x 30 it should be less "
           "than 2 s and 330 MB\n",
           z.cases, z.invocations, z.samples, c.wall_s, c.cpu_s, c.bytes / 1e6);
    return 0;
}
