/* Link cost: the fit of table `link`, over the settings of a run. */
#include "bench/link_cost.h"

#include "stats/trend.h"
#include "store/figures.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

enum { FEWEST_SIZES = 3 };

static int64_t ranks_of(const struct pk_fit_group *g)
{
    json_t *axes = json_loads(g->fixed, 0, NULL);
    const int64_t ranks = pk_json_int(axes, "ranks", 0);
    json_decref(axes);
    return ranks;
}

/* False where a setting does not tell: too few sizes, or a line that comes from below 0. */
static bool cost_of(const struct pk_fit_group *time, const struct pk_fit_group *bytes, double *launch_ns,
                    double *bus_bytes_per_s)
{
    const int64_t ranks = ranks_of(time);
    if (strcmp(time->variant, "bucket") != 0 || time->n < FEWEST_SIZES || ranks < 2)
        return false;
    const struct pk_trend t = pk_theil_sen(time->x, time->y, time->n, 0.95);
    if (!(t.intercept > 0))
        return false;
    *launch_ns = fmax(t.slope, 0);
    *bus_bytes_per_s = bytes->y[0] * 1e9 / t.intercept * 2 * ((double)ranks - 1) / (double)ranks;
    return true;
}

static enum pk_code nothing(int64_t run_id, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "run %lld does not tell what an all-reduce costs", (long long)run_id);
    pk_why(err, "that takes the variant bucket of ddp-bucket, measured with three bucket sizes or more");
    return pk_fix(err, "perfkit run ddp-bucket --variant bucket --bucket-bytes 64KiB:64MiB:*4");
}

enum pk_code pk_link_cost_of_run(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 struct pk_link_cost *out, struct pk_err *err)
{
    static const char sizes[] = "bucket_bytes first_bucket_bytes";
    struct pk_fit_group *times, *bytes;
    size_t n, n_bytes, told = 0;
    if (pk_store_fit_groups(s, run_id, "comm_ns", "all_reduces", sizes, a, &times, &n, err) ||
        pk_store_fit_groups(s, run_id, "gradient_bytes", "all_reduces", sizes, a, &bytes, &n_bytes, err))
        return err->code;
    double *launch_ns = pk_new_n(a, double, n), *bus = pk_new_n(a, double, n);
    for (size_t i = 0; n == n_bytes && i < n; i++)
        told += cost_of(&times[i], &bytes[i], &launch_ns[told], &bus[told]);
    if (!told)
        return nothing(run_id, err);
    *out = (struct pk_link_cost){pk_summarize(launch_ns, told).median, pk_summarize(bus, told).median, told};
    return PK_OK;
}
