/* OpenMetrics: a gauge per metric; its samples are the median of each case and the ends of its interval. */
#include "base/text/buf.h"
#include "export/medians.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Base units; the last one is for all others, whose unit is part of HELP. */
static const struct base_unit {
    const char *unit, *ending, *name;
    double scale;
} base_units[] = {{"ns", "_ns", "seconds", 1e-9}, {"bytes", "_bytes", "bytes", 1}, {NULL, "", NULL, 1}};

struct family {
    const char *name; /* "perfkit_forward_seconds" */
    const struct base_unit *unit;
    const struct pk_median_row *row;
    size_t place;
};

static const struct base_unit *unit_of(const struct pk_median_row *row)
{
    const struct base_unit *u = base_units;
    while (u->unit && strcmp(u->unit, row->unit) != 0)
        u++;
    return u;
}

static const char *family_name(const struct pk_median_row *row, const struct base_unit *u, struct pk_arena *a)
{
    const size_t n = strlen(row->metric), end = strlen(u->ending);
    const bool cut = end && n > end && strcmp(row->metric + n - end, u->ending) == 0;
    char *name = pk_printf(a, "perfkit_%.*s%s%s", (int)(cut ? n - end : n), row->metric, u->name ? "_" : "",
                           u->name ? u->name : "");
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p > 127)
            *p = '_';
    return name;
}

static int by_name(const void *x, const void *y)
{
    const struct family *a = x, *b = y;
    const int c = strcmp(a->name, b->name);
    return c ? c : (a->place > b->place) - (a->place < b->place);
}

static void escape(struct pk_buf *b, const char *text)
{
    for (; *text; text++)
        if (*text == '\\' || *text == '"')
            pk_buf_printf(b, "\\%c", *text);
        else if (*text == '\n')
            pk_buf_str(b, "\\n");
        else
            pk_buf_char(b, *text);
}

static void label(struct pk_buf *b, const char *name, const char *value)
{
    pk_buf_printf(b, "%s=\"", name);
    escape(b, value);
    pk_buf_str(b, "\",");
}

static void sample(struct pk_buf *b, const struct family *f, const char *figure, double value)
{
    if (!isfinite(value))
        return;
    pk_buf_printf(b, "%s{", f->name);
    label(b, "experiment", f->row->experiment);
    label(b, "variant", f->row->variant);
    label(b, "device", f->row->device);
    label(b, "axes", f->row->axes);
    pk_buf_printf(b, "run=\"%" PRId64 "\",figure=\"%s\"} %.17g\n", f->row->run, figure,
                  value * f->unit->scale);
}

static void begin(struct pk_buf *b, const struct family *f)
{
    pk_buf_printf(b, "# TYPE %s gauge\n", f->name);
    if (f->unit->name)
        pk_buf_printf(b, "# UNIT %s %s\n", f->name, f->unit->name);
    pk_buf_printf(b, "# HELP %s ", f->name);
    escape(b, f->row->metric);
    pk_buf_str(b, " in ");
    escape(b, f->unit->name ? f->unit->name : *f->row->unit ? f->row->unit : "its own unit");
    pk_buf_str(b, ": median of processes and the ends of its interval\n");
}

const char *pk_export_openmetrics(const struct pk_median_rows *rows, struct pk_arena *a)
{
    struct family *f = pk_new_n(a, struct family, rows->n + 1);
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < rows->n; i++) {
        const struct base_unit *u = unit_of(&rows->v[i]);
        f[i] = (struct family){family_name(&rows->v[i], u, a), u, &rows->v[i], i};
    }
    qsort(f, rows->n, sizeof *f, by_name);
    for (size_t i = 0; i < rows->n; i++) {
        if (!i || strcmp(f[i].name, f[i - 1].name) != 0)
            begin(&b, &f[i]);
        sample(&b, &f[i], "median", f[i].row->median);
        sample(&b, &f[i], "ci_low", f[i].row->ci_low);
        sample(&b, &f[i], "ci_high", f[i].row->ci_high);
    }
    pk_buf_str(&b, "# EOF\n");
    return pk_buf_text(&b);
}
