/* Tables of an own experiment: templates of sections, filled in with the names of its axes and metrics. */
#include "bench/own/own.h"

#include "base/build.h"
#include "base/text/buf.h"
#include "store/table/table.h"

#include <string.h>

/* templates.sql, embedded: lib/bench/own/meson.build. */
extern const struct pk_embedded pk_own_templates[];

/* A piece without what is around it. */
static const char *template_text(const char *name, struct pk_arena *a)
{
    const char *mark = pk_printf(a, "-- piece: %s\n", name), *at = strstr(pk_own_templates->text, mark);
    pk_assert(at);
    at += strlen(mark);
    const char *end = strstr(at, "\n\n");
    return end ? pk_strndup(a, at, (size_t)(end - at) + 1) : at;
}

/* --- filling ----------------------------------------------------------------------------------------------------------------- */

struct filling {
    const char *name, *value; /* "{axis}" */
};

static void add_filled(struct pk_buf *b, const char *text, const struct filling *v, size_t n)
{
    while (*text) {
        size_t i = 0;
        while (i < n && strncmp(text, v[i].name, strlen(v[i].name)) != 0)
            i++;
        if (i == n)
            pk_buf_char(b, *text++);
        else
            pk_buf_str(b, v[i].value), text += strlen(v[i].name);
    }
}

/* A short piece, for the middle of a line. */
static void add_words(struct pk_buf *b, const char *name, const struct filling *v, size_t n)
{
    const char *text = template_text(name, b->arena);
    add_filled(b, pk_strndup(b->arena, text, strlen(text) - 1), v, n);
}

/* The ceiling of products: that of the axis dtype, where it is one of these, else fp32, than which none of a processor's is faster but those
 * of narrower types. */
static const char *rate_of(const struct pk_own *own, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    if (pk_axis_index(own->probe.axes, "dtype") < 0)
        return "'fp32_flops_per_s'";
    add_words(&b, "dtype_rate", NULL, 0);
    return pk_buf_text(&b);
}

static const char *axis_heading(const struct pk_axis *x, struct pk_arena *a)
{
    return x->unit && *x->unit && !strpbrk(x->unit, "|{}") ? pk_printf(a, "%s (%s)", x->name, x->unit)
                                                           : x->name;
}

static bool is_word(const struct pk_axis *x)
{
    return !pk_axis_ordered(x);
}

/* Columns and values of the axes. */
static void add_axes(const struct pk_own *own, struct pk_buf *columns, struct pk_buf *values)
{
    for (const struct pk_axis *x = own->probe.axes; x->name; x++) {
        pk_buf_printf(columns, "-- column: %s | %s%s\n", x->name, axis_heading(x, columns->arena),
                      is_word(x) ? " | text | hide" : " | | hide");
        const struct filling v = {"{axis}", x->name};
        add_words(values, x->type == PK_AXIS_BOOL ? "switch_value" : "axis_value", &v, 1);
    }
}

/* The same of the metrics but the headline's. */
static void add_metrics(const struct pk_own *own, struct pk_buf *columns, struct pk_buf *values)
{
    struct pk_metric_decl *v;
    const size_t n = pk_probe_metrics(&own->probe, columns->arena, &v);
    for (size_t i = 0; i < n; i++) {
        const bool ns = strcmp(v[i].unit, "ns") == 0, bytes = strcmp(v[i].unit, "bytes") == 0;
        const char *unit = v[i].unit;
        if (strcmp(v[i].name, own->headline) == 0 || strcmp(v[i].name, pk_peak_metric.name) == 0)
            continue;
        if (ns)
            pk_buf_printf(columns, "-- column: %s | %.*s (ms) | ns>ms | 3 hide\n", v[i].name,
                          (int)(strlen(v[i].name) - strlen("_ns")), v[i].name);
        else if (bytes)
            pk_buf_printf(columns, "-- column: %s | %s (MB) | bytes>MB | 3 hide\n", v[i].name, v[i].name);
        else
            pk_buf_printf(
                columns, "-- column: %s | %s%s | | hide\n", v[i].name, v[i].name,
                strcmp(unit, "1") && !strpbrk(unit, "|{}") ? pk_printf(columns->arena, " (%s)", unit) : "");
        const struct filling other = {"{other}", v[i].name};
        add_words(values, "metric_value", &other, 1);
    }
}

static void add_lines(struct pk_buf *b, const struct pk_axis *x, const struct filling *common, size_t n)
{
    for (int factors = 1; factors >= 0; factors--) {
        struct filling v[16];
        memcpy(v, common, n * sizeof *v);
        size_t k = n;
        v[k++] = (struct filling){"{axis}", x->name};
        v[k++] = (struct filling){"{heading}", axis_heading(x, b->arena)};
        v[k++] = (struct filling){"{end}", factors ? "" : "_in_steps"};
        v[k++] = (struct filling){"{xscale}", factors ? "log2" : "linear"};
        v[k++] = (struct filling){"{yscale}", factors ? "log" : "linear"};
        v[k++] = (struct filling){"{factors}", factors ? "1" : "0"};
        add_filled(b, template_text("lines", b->arena), v, k);
    }
}

static void add_bars(struct pk_buf *b, const char *axis, const char *value, const char *flat,
                     const struct filling *common, size_t n)
{
    struct filling v[16];
    memcpy(v, common, n * sizeof *v);
    size_t k = n;
    v[k++] = (struct filling){"{axis}", axis};
    v[k++] = (struct filling){"{value}", value};
    v[k++] = (struct filling){"{flat}", flat};
    add_filled(b, template_text("bars", b->arena), v, k);
}

/* Axes of numbers first: `--plot` draws the first chart that has rows. */
static void add_charts(struct pk_buf *b, const struct pk_own *own, const struct filling *common, size_t n)
{
    struct pk_buf flat = {.arena = b->arena};
    for (const struct pk_axis *x = own->probe.axes; x->name; x++) {
        if (is_word(x))
            continue;
        add_lines(b, x, common, n);
        const struct filling v = {"{axis}", x->name};
        add_words(&flat, "one_value", &v, 1);
    }
    for (const struct pk_axis *x = own->probe.axes; x->name; x++) {
        struct pk_buf when = {.arena = b->arena}, value = {.arena = b->arena};
        const struct filling v = {"{axis}", x->name};
        if (!is_word(x))
            continue;
        pk_buf_str(&when, pk_buf_text(&flat));
        add_words(&when, "several_values", &v, 1);
        add_words(&value, x->type == PK_AXIS_BOOL ? "word_of_switch" : "word_value", &v, 1);
        add_bars(b, x->name, pk_buf_text(&value), pk_buf_text(&when), common, n);
    }
    struct pk_buf alone = {.arena = b->arena};
    add_words(&alone, "one_point", NULL, 0);
    add_bars(b, "variants", "variant", pk_buf_text(&alone), common, n);
}

const char *pk_own_limited(const char *sql, struct pk_arena *a)
{
    return pk_printf(a, "%s%s", PK_TEXT_LIMITED, sql);
}

const char *pk_own_tables(const struct pk_own *own, struct pk_arena *a)
{
    const char *metric = own->headline;
    struct pk_buf b = {.arena = a}, columns = {.arena = a}, values = {.arena = a}, more = {.arena = a},
                  figures = {.arena = a};
    if (!own->probe.regions[0].name)
        return ""; /* without a time the built-in tables show what there is */
    add_axes(own, &columns, &values);
    add_metrics(own, &more, &figures);
    const struct filling v[] = {
        {"{metric}", metric},
        {"{base}", own->probe.regions[0].name},
        {"{yardstick}", own->yardstick},
        {"{rate}", rate_of(own, a)},
        {"{name}", own->probe.name},
        {"{columns}", pk_buf_text(&columns)},
        {"{values}", pk_buf_text(&values)},
        {"{more}", pk_buf_text(&more)},
        {"{figures}", pk_buf_text(&figures)},
    };
    const size_t n = sizeof v / sizeof *v;
    add_filled(&b, template_text("views", a), v, n);
    add_filled(&b, template_text("findings", a), v, n);
    add_filled(&b, template_text("results", a), v, n);
    add_charts(&b, own, v, 5);
    return pk_own_limited(pk_buf_text(&b), a);
}
