/* Link cost: the fit of table `link`. */
#include "bench/link_cost.h"

#include "store/table.h"

static enum pk_code nothing(int64_t run_id, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "run %lld does not contain the cost of an all-reduce", (long long)run_id);
    pk_why(err, "this needs the variant bucket of ddp-bucket, with all-reduces of three or more sizes "
                "between the smallest and the largest bucket_bytes");
    return pk_fix(err, "%s", PK_LINK_COST_COMMAND);
}

enum pk_code pk_link_cost_of_run(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 struct pk_link_cost *out, struct pk_err *err)
{
    enum { LAUNCH, BUS, SIZES, SETTING };
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(s, "link_cost", &run, 1, a, &r, err))
        return err->code;
    if (!r.n)
        return nothing(run_id, err);
    *out = (struct pk_link_cost){.launch_ns = r.cells[LAUNCH].f,
                                 .bus_bytes_per_s = r.cells[BUS].f,
                                 .sizes = r.cells[SIZES].i,
                                 .setting = r.cells[SETTING].s,
                                 .settings = r.n};
    return PK_OK;
}
