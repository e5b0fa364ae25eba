/* Probe invalid: one function per table of the descriptor. */
#include "probe_invalid.h"

#include "base/text/words.h"
#include "bench/measure/measure.h"

#include <string.h>

/* Words that a column or a filter uses for something else. */
static const char *const reserved[] = {"variant", "device", "experiment", "metric", "status", NULL};

static bool is_word(const char *s, char separator)
{
    size_t n = strlen(s);
    if (!n || s[0] < 'a' || s[0] > 'z')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != separator)
            return false;
    return true;
}

static bool is_sentence(const char *s)
{
    return s && s[0];
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static const char *bad_head(const struct pk_probe *p, struct pk_arena *a)
{
    if (!p->name || !is_word(p->name, '-'))
        return "the name must be lower-case words joined by '-'";
    if (!is_sentence(p->summary))
        return "there is no summary";
    if (!p->revision)
        return "revisions count from 1";
    if (!p->axes || !p->variants || !p->regions)
        return "axes, variants and regions are required";
    if (!p->work || !p->setup || !p->run)
        return "work, setup and run are required";
    const int shrink = p->shrink ? pk_axis_index(p->axes, p->shrink) : -1;
    if (p->shrink && (shrink < 0 || p->axes[shrink].type != PK_AXIS_INT))
        return "shrink must name an axis of integers";
    if (p->shrink && !p->predict)
        return "shrink needs predict";
    return NULL;
}

/* "axis=value" of another axis. */
static const char *bad_implication(const struct pk_probe *p, size_t i, struct pk_arena *a)
{
    struct pk_axis_sweep other;
    struct pk_err err;
    if (!p->axes[i].implies)
        return NULL;
    if (pk_axis_assign(p->axes, p->axes[i].implies, a, &other, &err))
        return pk_printf(a, "implies: %s", err.what);
    return other.axis == i || other.sweep.n != 1 ? "implies must be one value of another axis" : NULL;
}

/* Is there one text for each choice, no more and no less? */
static bool one_each(const struct pk_axis *x, const char *const *texts)
{
    size_t n = 0;
    if (!texts)
        return true;
    while (x->choices && x->choices[n] && texts[n])
        n++;
    return x->choices && !x->choices[n] && !texts[n];
}

static const char *bad_axis(const struct pk_probe *p, size_t i, struct pk_arena *a)
{
    const struct pk_axis *x = &p->axes[i];
    struct pk_sweep sweep;
    struct pk_err err;
    if (!is_word(x->name, '_'))
        return "the name must be lower-case words joined by '_'";
    for (const char *const *r = reserved; *r; r++)
        if (strcmp(x->name, *r) == 0)
            return "the name is reserved";
    if (pk_axis_index(p->axes, x->name) != (int)i)
        return "the name is taken";
    if (!is_sentence(x->help) || !x->def || !x->born)
        return "help, def and born are required";
    if (x->type == PK_AXIS_FILE && !(is_word(x->def, '-') && is_word(x->born, '-')))
        return "def and born of a file must be words";
    if (!one_each(x, x->sets) || !one_each(x, x->choices_also))
        return "sets and choices_also have one text for each choice";
    if (pk_sweep_parse(x, x->def, a, &sweep, &err))
        return pk_printf(a, "def: %s", err.what);
    if (pk_sweep_parse(x, x->born, a, &sweep, &err))
        return pk_printf(a, "born: %s", err.what);
    return sweep.n == 1 ? bad_implication(p, i, a) : "born must be one value";
}

static const char *bad_axes(const struct pk_probe *p, struct pk_arena *a)
{
    for (size_t i = 0; p->axes[i].name; i++) {
        const char *bad = bad_axis(p, i, a);
        if (bad)
            return pk_printf(a, "axis '%s': %s", p->axes[i].name, bad);
    }
    return NULL;
}

static const char *bad_variants(const struct pk_probe *p, struct pk_arena *a)
{
    const struct pk_variant *v = p->variants;
    if (!v[0].name)
        return "there is no variant";
    for (size_t i = 0; v[i].name; i++) {
        if (!is_word(v[i].name, '-'))
            return pk_printf(a, "variant '%s': the name must be lower-case words joined by '-'", v[i].name);
        if (!is_sentence(v[i].summary))
            return pk_printf(a, "variant '%s' has no summary", v[i].name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(v[k].name, v[i].name) == 0)
                return pk_printf(a, "variant '%s' is there twice", v[i].name);
        for (const char *rest = v[i].ignores, *name; rest && (name = pk_next_part(&rest, ' ', a));)
            if (pk_axis_index(p->axes, name) < 0)
                return pk_printf(a, "variant '%s' ignores '%s', which is no axis", v[i].name, name);
    }
    return NULL;
}

/* From a region outwards: the chain must end. */
static const char *bad_inside(const struct pk_region *rows, size_t n, size_t at)
{
    for (size_t steps = 0; rows[at].inside; steps++) {
        size_t outer = 0;
        while (outer < n && strcmp(rows[outer].name, rows[at].inside) != 0)
            outer++;
        if (outer == n)
            return "is inside one that does not exist";
        if (steps == n)
            return "is inside itself";
        at = outer;
    }
    return NULL;
}

static const char *bad_regions(const struct pk_probe *p, struct pk_arena *a)
{
    size_t n = 0;
    for (; p->regions[n].name; n++) {
        if (!is_word(p->regions[n].name, '_'))
            return pk_printf(a, "region '%s': the name must be lower-case words joined by '_'",
                             p->regions[n].name);
        if (!is_sentence(p->regions[n].summary))
            return pk_printf(a, "region '%s' has no summary", p->regions[n].name);
    }
    for (size_t i = 0; i < n; i++) {
        const char *bad = bad_inside(p->regions, n, i);
        if (bad)
            return pk_printf(a, "region '%s' %s", p->regions[i].name, bad);
    }
    return n && n <= PK_REGIONS_MAX ? NULL : pk_printf(a, "there must be 1 to %d regions", PK_REGIONS_MAX);
}

/* Two metrics of one gauge would say one number twice. */
static const char *bad_gauges(const struct pk_probe *p, struct pk_arena *a)
{
    const char *owner[PK_GAUGES_MAX] = {0};
    for (const struct pk_metric *m = p->metrics; m && m->name; m++) {
        if (m->gauge >= PK_GAUGES_MAX)
            return pk_printf(a, "metric '%s': gauges count from 0 to %d", m->name, PK_GAUGES_MAX - 1);
        if (owner[m->gauge])
            return pk_printf(a, "metrics '%s' and '%s' are one gauge", owner[m->gauge], m->name);
        if (m->planned && (m->class != PK_CLASS_EXACT || !p->predict))
            return pk_printf(a, "metric '%s' is not known beforehand", m->name);
        owner[m->gauge] = m->name;
    }
    return NULL;
}

static const char *bad_metrics(const struct pk_probe *p, struct pk_arena *a)
{
    struct pk_metric_decl *v;
    size_t n = pk_probe_metrics(p, a, &v);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(v[k].name, v[i].name) == 0)
                return pk_printf(a, "metric '%s' is there twice", v[i].name);
    for (const struct pk_metric *m = p->metrics; m && m->name; m++) {
        if (!is_sentence(m->summary) || !is_sentence(m->unit))
            return pk_printf(a, "metric '%s' needs a unit and a summary", m->name);
        if (strcmp(m->unit, "1") != 0 && !ends_with(m->name, pk_printf(a, "_%s", m->unit)))
            return pk_printf(a, "metric '%s' must end in its unit, _%s", m->name, m->unit);
    }
    return bad_gauges(p, a);
}

static const char *bad_blocks(const struct pk_probe *p, const char *const *texts, struct pk_arena *a)
{
    for (; texts && *texts; texts++) {
        struct pk_sweep sweeps[PK_AXES_MAX] = {0};
        struct pk_err err;
        if (pk_sweeps_assign_all(p->axes, *texts, a, sweeps, &err))
            return pk_printf(a, "'%s': %s", *texts, err.what);
    }
    return NULL;
}

static const char *bad_presets(const struct pk_probe *p, struct pk_arena *a)
{
    const struct pk_preset *presets = pk_probe_presets(p);
    if (!presets[0].name)
        return "there is no preset";
    for (const struct pk_preset *s = presets; s->name; s++) {
        if (!is_sentence(s->summary) || !s->blocks || !s->blocks[0])
            return pk_printf(a, "preset '%s' needs a summary and a block", s->name);
        const char *bad = bad_blocks(p, s->blocks, a);
        if (bad)
            return pk_printf(a, "preset '%s': %s", s->name, bad);
        for (const char *const *set = s->settings; set && *set; set++)
            if (!strchr(*set, '='))
                return pk_printf(a, "preset '%s': setting '%s' has no '='", s->name, *set);
    }
    return bad_blocks(p, p->check_points, a);
}

static const struct pk_metric_decl *find_metric(const struct pk_metric_decl *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

static const char *bad_x(const struct pk_probe *p, const struct pk_metric_decl *metric, const char *x)
{
    int axis = pk_axis_index(p->axes, x);
    if (axis < 0 && !metric)
        return "x is an axis or a metric that does not exist";
    if (axis < 0)
        return strcmp(metric->class, "exact") == 0 ? NULL : "x is a metric that is not exact";
    if (metric)
        return "x is an axis and a metric";
    return pk_axis_ordered(&p->axes[axis]) ? NULL : "x is an axis that is not a number";
}

static const char *bad_fits(const struct pk_probe *p, struct pk_arena *a)
{
    struct pk_metric_decl *v;
    size_t n = pk_probe_metrics(p, a, &v);
    for (const struct pk_fit_row *f = p->fits; f && f->name; f++) {
        const char *bad = bad_x(p, find_metric(v, n, f->axis), f->axis);
        if (bad)
            return pk_printf(a, "fit '%s': %s", f->name, bad);
        if (!find_metric(v, n, f->metric))
            return pk_printf(a, "fit '%s' is of a metric that does not exist", f->name);
        for (const char *rest = f->ignore, *name; rest && (name = pk_next_part(&rest, ' ', a));)
            if (pk_axis_index(p->axes, name) < 0 || strcmp(name, f->axis) == 0)
                return pk_printf(a, "fit '%s' ignores '%s', which is no other axis", f->name, name);
    }
    return NULL;
}

const char *probe_invalid(const struct pk_probe *p, struct pk_arena *a)
{
    static const char *(*const rules[])(const struct pk_probe *, struct pk_arena *) = {
        bad_head, bad_axes, bad_variants, bad_regions, bad_metrics, bad_presets, bad_fits};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *bad = rules[i](p, a);
        if (bad)
            return pk_printf(a, "%s: %s", p->name ? p->name : "?", bad);
    }
    return NULL;
}
