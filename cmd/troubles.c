/* Troubles: as a table, and as problems of a report. */
#include "cmd/troubles.h"

static const struct pk_column columns[] = {
    {.key = "side", .heading = "Side", .left = true},
    {.key = "entry", .heading = "Entry", .left = true, .optional = 1},
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .heading = "Case", .left = true, .json = true},
    {.key = "metric", .heading = "Metric", .left = true, .optional = 1},
    {.key = "status", .heading = "Status", .left = true},
    {.key = "message", .heading = "Message", .left = true},
};

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = s && *s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

void pk_troubles_print(const struct pk_trouble *v, size_t n, struct pk_out *out)
{
    if (n)
        pk_out_table(out, "not_compared", "Not compared", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++)
        pk_out_row(out,
                   (struct pk_cell[]){text(v[i].side), text(v[i].entry), text(v[i].variant), text(v[i].axes),
                                      text(v[i].metric), text(v[i].status), text(v[i].message)});
}

/* "[entry] made_up_ns of flash n=2" */
static const char *what(const struct pk_trouble *t, struct pk_arena *a)
{
    const char *entry = t->entry ? pk_printf(a, "[%s] ", t->entry) : "";
    return pk_printf(a, "%s%s%s%s", entry, t->metric ? t->metric : "", t->metric ? " of " : "",
                     t->variant ? pk_report_case(t->variant, t->axes, a) : "all");
}

const struct pk_report_problem *pk_troubles_report(const struct pk_trouble *v, size_t n, struct pk_arena *a)
{
    struct pk_report_problem *p = pk_new_n(a, struct pk_report_problem, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] =
            (struct pk_report_problem){.side = v[i].side,
                                       .what = what(&v[i], a),
                                       .status = v[i].status,
                                       .message = v[i].message,
                                       .of = v[i].variant ? v[i].entry ? v[i].entry : v[i].experiment : NULL,
                                       .variant = v[i].variant,
                                       .axes = v[i].axes,
                                       .metric = v[i].metric};
    return p;
}
