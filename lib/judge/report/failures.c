/* Failures: what could not be compared, as a table. */
#include "judge/report/report.h"

static const struct pk_column columns[] = {
    {.key = "side", .heading = "Side", .left = true},
    {.key = "entry", .heading = "Entry", .left = true, .optional = 1},
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .heading = "Case", .left = true, .json = true},
    {.key = "metric", .heading = "Metric", .left = true, .optional = 2},
    {.key = "status", .heading = "Status", .left = true, .state = true},
    {.key = "message", .heading = "Message", .left = true},
};

void pk_failures_print(const struct pk_failure *v, size_t n, struct pk_out *out)
{
    pk_out_detail(out, false);
    if (n)
        pk_out_table(out, "not_compared", "Not compared", PK_COLUMNS(columns));
    pk_out_fit(out);
    for (size_t i = 0; i < n; i++) {
        struct pk_row *row = pk_row_begin(out);
        pk_put_nonempty(row, "side", v[i].side);
        pk_put_nonempty(row, "entry", v[i].entry);
        pk_put_nonempty(row, "variant", v[i].variant);
        pk_put_nonempty(row, "axes", v[i].axes);
        pk_put_nonempty(row, "metric", v[i].metric);
        pk_put_nonempty(row, "status", v[i].status);
        pk_put_nonempty(row, "message", v[i].message);
        pk_row_end(row);
    }
}
