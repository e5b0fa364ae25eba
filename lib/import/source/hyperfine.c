/* hyperfine: `hyperfine --export-json FILE`. A result is a command; each of its times is of a process of its own, in seconds. */
#include "import/reader.h"

#include <math.h>

#define S_TO_NS 1e9

static const struct pk_metric_decl wall = PK_IMPORT_TIME("wall_ns", "median"),
                                   user = PK_IMPORT_TIME("user_ns", "mean"),
                                   system_ = PK_IMPORT_TIME("system_ns", "mean"),
                                   peak = {"peak_bytes", "bytes",  "lower",   "memory",
                                           "median",     "median", "reported"};

/* Of the CPU times it has the means alone. */
static void take_mean(struct pk_import_reader *r, struct pk_imported_case *c,
                      const struct pk_metric_decl *decl, const json_t *j, const char *key, size_t n)
{
    const double mean = pk_field_time_or_nan(r, j, key, S_TO_NS);
    if (isnan(mean) || r->failed)
        return;
    struct pk_imported_metric *m = pk_import_metric(r, c, decl);
    if (m)
        m->summary.n = n, m->summary.mean = mean;
}

/* Runs that failed and were measured nevertheless (--ignore-failure). */
static json_t *failures(const json_t *codes)
{
    size_t i;
    json_int_t n = 0;
    json_t *v;
    json_array_foreach((json_t *)codes, i, v)
    {
        n += !json_is_integer(v) || json_integer_value(v) != 0;
    }
    return n ? json_integer(n) : NULL;
}

static void result(struct pk_import_reader *r, const json_t *j)
{
    const char *command = pk_field_text(r, j, "command");
    const json_t *parameters = pk_field_object(r, j, "parameters", false),
                 *times = pk_field_array(r, j, "times", true),
                 *memory = pk_field_array(r, j, "memory_usage_byte", false),
                 *codes = pk_field_array(r, j, "exit_codes", false);
    struct pk_imported_case *c = r->failed ? NULL : pk_import_new_case(r, command, "cpu", parameters);
    if (!c)
        return;
    const size_t n = json_array_size(times);
    c->process_each = true;
    if (!n)
        pk_import_problem(r, "'times' is empty");
    pk_import_samples(r, pk_import_metric(r, c, &wall), times, S_TO_NS);
    if (memory && json_array_size(memory) != n)
        pk_import_problem(r, "'memory_usage_byte' has %zu values, 'times' %zu", json_array_size(memory), n);
    if (json_array_size(memory))
        pk_import_samples(r, pk_import_metric(r, c, &peak), memory, 1);
    take_mean(r, c, &user, j, "user", n);
    take_mean(r, c, &system_, j, "system", n);
    pk_import_note(r, c, "runs_that_failed", failures(codes));
}

const struct pk_import_source pk_import_hyperfine = {
    .name = "hyperfine",
    .files = "hyperfine --export-json FILE",
    .keys = {"results"},
    .list = "results",
    .element = result,
};
