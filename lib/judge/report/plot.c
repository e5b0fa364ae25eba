/* Plot: a comparison as points with intervals, drawn with characters: the largest slowdown first, as in its table. */
#include "judge/report/report.h"

#include "base/text/buf.h"
#include "plot/plot.h"

#include <math.h>
#include <string.h>

enum { NAME, RATIO, LOW, HIGH, VERDICT, COLUMNS };

static const struct pk_column columns[COLUMNS] = {
    [NAME] = {.key = "name", .heading = "Case", .left = true},
    [RATIO] = {.key = "ratio", .heading = "New / base", .decimals = 3},
    [LOW] = {.key = "ratio_low", .heading = "95 % interval", .decimals = 3},
    [HIGH] = {.key = "ratio_high", .heading = "to", .decimals = 3},
    [VERDICT] = {.key = "verdict", .heading = "Verdict", .left = true},
};

static void put_row(struct pk_cell *to, const struct pk_compared *r, struct pk_arena *a)
{
    struct pk_buf name = {.arena = a};
    pk_buf_printf(&name, "%s of %s", r->new_->metric, r->new_->variant);
    pk_buf_printf(&name, "%s%s", *r->place ? " " : "", r->place);
    if (r->value && strcmp(r->value, r->new_->variant) != 0)
        pk_buf_printf(&name, ", %s", r->value);
    to[NAME] = pk_cell_text(pk_buf_text(&name));
    to[RATIO] = pk_cell_real(r->ratio.ratio);
    to[LOW] = pk_cell_real(r->ratio.ci.lo);
    to[HIGH] = pk_cell_real(r->ratio.ci.hi);
    to[VERDICT] = pk_cell_text(r->judged ? pk_verdict_name(r->decision.verdict) : "not judged");
}

static bool is_drawn(const struct pk_compared *r)
{
    return !r->hidden && isfinite(r->ratio.ratio);
}

enum pk_code pk_compare_chart(const struct pk_comparison *c, size_t most, struct pk_arena *a,
                              struct pk_chart *chart, struct pk_err *err)
{
    static const char *const names[] = {"name", "ratio", "ratio_low", "ratio_high", "verdict"};
    struct pk_cell *cells = pk_new_n(a, struct pk_cell, c->n * COLUMNS + 1);
    size_t n = 0, place = 0;
    *chart = (struct pk_chart){.name = "comparison",
                               .title = "New against base",
                               .encoding = {.mark = PK_MARK_RANGE,
                                            .key = {[PK_CHANNEL_X] = "ratio",
                                                    [PK_CHANNEL_Y] = "name",
                                                    [PK_CHANNEL_LOW] = "ratio_low",
                                                    [PK_CHANNEL_HIGH] = "ratio_high",
                                                    [PK_CHANNEL_COLOR] = "verdict"},
                                            .scale = {[PK_CHANNEL_X] = PK_SCALE_LOG},
                                            .guide = 1},
                               .columns = columns,
                               .rows = {0, COLUMNS, names, cells},
                               .notes = pk_new(a, const char *)};
    for (size_t i = 0; i < c->n; i++)
        n += is_drawn(&c->v[i]);
    for (size_t i = 0; i < c->n; i++) { /* of too many both ends: they are the largest changes */
        const bool in_middle = place >= most - most / 2 && place + most / 2 < n;
        if (is_drawn(&c->v[i]) && (place++, n <= most || !in_middle))
            put_row(&cells[chart->rows.n++ * COLUMNS], &c->v[i], a);
    }
    if (n > most)
        chart->notes[chart->n_notes++] =
            pk_printf(a, "Of %zu rows the %zu slowest and the %zu fastest.", n, most - most / 2, most / 2);
    return pk_chart_columns(chart, err);
}

enum pk_code pk_compare_plot(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a,
                             struct pk_err *err)
{
    struct pk_chart chart;
    if (!pk_out_plots(out))
        return PK_OK;
    return pk_compare_chart(c, SIZE_MAX, a, &chart, err) ? err->code : pk_plot_print(&chart, out, err);
}
