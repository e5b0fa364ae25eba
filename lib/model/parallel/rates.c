/* Rates: data sheets, typed values, and what a store has. */
#include "model/parallel/rates.h"

#include "base/text/units.h"
#include "base/text/words.h"
#include "store/table/table.h"

#include <math.h>
#include <string.h>

/* Dense bf16 products. Links: one direction of NVLink, all links of a chip together; the report's sum of both directions of an axis. */
const struct pk_parallel_chip pk_parallel_chips[] = {
    {"h100-sxm", "data sheet of NVIDIA H100 SXM, NVLink 4, ConnectX-7", 989.4e12, 80e9, 450e9, 50e9, 8},
    {"h200-sxm", "data sheet of NVIDIA H200 SXM, NVLink 4, ConnectX-7", 989.4e12, 141e9, 450e9, 50e9, 8},
    {"a100-80gb", "data sheet of NVIDIA A100 80GB SXM, NVLink 3, ConnectX-6", 312e12, 80e9, 300e9, 25e9, 8},
    {"tpu-v5p", "constants of an exercise: 2 x 9e10 bytes/s along an axis", 4.6e14, 95e9, 1.8e11, 1.8e11, 0},
    {0},
};

const struct pk_parallel_rate_row pk_parallel_rate_rows[PK_PARALLEL_RATES] = {
    [PK_RATE_COMPUTE] = {"compute", "FLOP/s", "4.6e14"},
    [PK_RATE_LINK] = {"bandwidth", "bytes/s", "450GB"},
    [PK_RATE_NETWORK] = {"network", "bytes/s", "50GB"},
    [PK_RATE_LAUNCH] = {"launch", "ns", "20us"},
};

static struct pk_parallel_rate exactly(double value, const char *source)
{
    return (struct pk_parallel_rate){value, {value, value}, source};
}

enum pk_code pk_parallel_chip_rates(const char *name, struct pk_parallel_setup *s, struct pk_arena *a,
                                    struct pk_err *err)
{
    const char *names[sizeof pk_parallel_chips / sizeof *pk_parallel_chips];
    size_t n = 0;
    for (const struct pk_parallel_chip *c = pk_parallel_chips; c->name; c++) {
        names[n++] = c->name;
        if (strcmp(c->name, name) != 0)
            continue;
        s->rate[PK_RATE_COMPUTE] = exactly(c->flops_per_s, c->source);
        s->rate[PK_RATE_LINK] = exactly(c->link_bytes_per_s, c->source);
        s->rate[PK_RATE_NETWORK] = exactly(c->network_bytes_per_s, c->source);
        s->rate[PK_RATE_LAUNCH] = exactly(0, "not modelled unless it is given");
        s->memory_bytes = c->memory_bytes;
        s->node = c->node ? c->node : PK_PARALLEL_CHIPS_MAX;
        return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "there is no data sheet of chip '%.100s'", name);
    pk_why(err, "%s", pk_suggest_text(a, name, names, n));
    return pk_fix(err, "--chip h100-sxm, or, without --chip, --compute, --bandwidth, --network and --memory");
}

/* One number of a typed rate. */
static enum pk_code read_number(enum pk_parallel_rate_key key, const char *text, double *out,
                                struct pk_err *err)
{
    int64_t whole = 0;
    if (key == PK_RATE_COMPUTE)
        return pk_parse_real(text, out, err);
    if (key == PK_RATE_LAUNCH ? pk_parse_duration(text, &whole, err) : pk_parse_rate(text, &whole, err))
        return err->code;
    *out = (double)whole;
    return PK_OK;
}

enum pk_code pk_parallel_rate_typed(enum pk_parallel_rate_key key, const char *text,
                                    struct pk_parallel_setup *s, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_parallel_rate_row *row = &pk_parallel_rate_rows[key];
    const double least = key == PK_RATE_LAUNCH ? 0 : 1, most = 1e30;
    double v[3];
    size_t n = 0;
    if (!text)
        return PK_OK;
    for (const char *part; n < 3 && (part = pk_next_part(&text, ',', a)); n++)
        if (read_number(key, part, &v[n], err))
            return pk_within(err, "--%s", row->option);
    if (n == 1)
        v[1] = v[2] = v[0];
    if (!text && n != 2 && v[0] >= least && v[1] >= least && v[1] <= v[0] && v[0] <= v[2] && v[2] <= most) {
        s->rate[key] = (struct pk_parallel_rate){v[0], {v[1], v[2]}, "typed in"};
        return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "--%s: a value, or a value with its lowest and highest, is expected",
            row->option);
    pk_why(err, "%s is from %g to %g %s, and a value lies between its lowest and its highest", row->option,
           least, most, row->unit);
    return pk_fix(err, "--%s %s, or --%s %s,LOWEST,HIGHEST", row->option, row->example, row->option,
                  row->example);
}

enum pk_code pk_parallel_memory_typed(const char *text, struct pk_parallel_setup *s, struct pk_err *err)
{
    int64_t bytes;
    if (!text)
        return PK_OK;
    if (!text[strspn(text, "0123456789. ")]) {
        pk_fail(err, PK_E_USAGE, "--memory %.100s: the unit is missing", text);
        pk_why(err, "the memory of a chip is a size with its unit");
        return pk_fix(err, "--memory 80GB (10^9 bytes) or --memory 80GiB (2^30)");
    }
    if (pk_parse_size(text, &bytes, err))
        return pk_within(err, "--memory");
    s->memory_bytes = (double)bytes;
    return PK_OK;
}

enum pk_code pk_parallel_links_typed(const char *text, struct pk_parallel_setup *s, struct pk_arena *a,
                                     struct pk_err *err)
{
    struct pk_axis_sweep links;
    struct pk_err ignored; /* of all axes, and of -a */
    if (!pk_axis_assign(pk_mesh_axes, text, a, &links, &ignored) && links.axis < PK_MESH_PRODUCT_AXES &&
        links.sweep.n == 1) {
        s->links[links.axis] = links.sweep.v[0].i;
        return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "--links %.100s", text);
    pk_why(err, "an axis of chips (dp, fsdp, tp, cp, pp) has one number of links, from 1 to %d",
           PK_PARALLEL_CHIPS_MAX);
    return pk_fix(err, "--links fsdp=2,tp=1");
}

/* --- from a store --- */

/* True when the run has the rate. */
static enum pk_code query_rate(struct pk_store *store, const char *query, int64_t run_id, struct pk_arena *a,
                               struct pk_parallel_rate *out, bool *found, struct pk_err *err)
{
    enum { VALUE, LOW, HIGH, SOURCE };
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(store, query, &run, 1, a, &r, err))
        return err->code;
    const double value = r.n ? pk_cell_number(&r.cells[VALUE]) : NAN;
    if (!(value >= 0) || !isfinite(value))
        return PK_OK;
    const double low = pk_cell_number(&r.cells[LOW]), high = pk_cell_number(&r.cells[HIGH]);
    *out = (struct pk_parallel_rate){
        value, {fmax(fmin(low, value), 0), fmax(high, value)}, pk_cell_string(&r.cells[SOURCE])};
    *found = true;
    return PK_OK;
}

static enum pk_code no_rate(int64_t run_id, const char *what, const char *fix, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "run %lld has no rate for a plan", (long long)run_id);
    pk_why(err, "%s", what);
    return pk_fix(err, "%s", fix);
}

enum pk_code pk_parallel_rates_of_run(struct pk_store *store, int64_t run_id, struct pk_parallel_setup *s,
                                      struct pk_arena *a, struct pk_err *err)
{
    bool found = false, link = false;
    if (query_rate(store, "plan_launch", run_id, a, &s->rate[PK_RATE_LAUNCH], &found, err) ||
        query_rate(store, "plan_link", run_id, a, &s->rate[PK_RATE_LINK], &link, err) ||
        query_rate(store, "plan_step_flops", run_id, a, &s->rate[PK_RATE_COMPUTE], &found, err))
        return err->code;
    if (link)
        s->rate[PK_RATE_NETWORK] = s->rate[PK_RATE_LINK];
    return found || link
               ? PK_OK
               : no_rate(run_id,
                         "rates are the fit of ddp-bucket's variant bucket (launch, link), or steps of "
                         "mixed-precision (compute)",
                         "perfkit run mixed-precision --mode step", err);
}

enum pk_code pk_parallel_rates_of_machine(struct pk_store *store, int64_t run_id, struct pk_parallel_setup *s,
                                          struct pk_arena *a, struct pk_err *err)
{
    bool found = false;
    if (query_rate(store, "plan_ceiling", run_id, a, &s->rate[PK_RATE_COMPUTE], &found, err))
        return err->code;
    return found ? PK_OK
                 : no_rate(run_id, "no ceiling of products was measured on its machine",
                           "perfkit doctor --ceilings", err);
}
