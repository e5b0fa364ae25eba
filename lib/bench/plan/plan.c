/* Plan: a preset, overrides and names become the list of cases. */
#include "bench/plan/plan.h"

#include "base/index.h"
#include "base/rng.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/own/own.h"
#include "bench/worker/start_ranks.h"
#include "machine/bind.h"
#include "machine/machine.h"

#include <math.h>
#include <string.h>

/* What a plan is made from, once names are known. */
struct planner {
    const struct pk_case_plan_request *r;
    const struct pk_probe *probe;
    struct pk_arena *arena;
    enum pk_device_kind kind;
    unsigned threads; /* of a CPU: looked up once, for every forecast of memory needs it */
    struct pk_sweep overrides[PK_AXES_MAX];
    struct pk_texts variants; /* names */
    size_t n_variants;
    const bool *wanted;   /* by variant */
    struct pk_index seen; /* cases that lack an axis, by their other axes */
    const char **seen_text;
    uint32_t n_seen;
    size_t seen_cap;
    struct pk_filter *filter;
    struct pk_err *err;
};

/* The place of a name in a list. */
static enum pk_code find_name(struct planner *p, const char *what, const char *name,
                              const struct pk_texts *names, size_t *out)
{
    for (*out = 0; *out < names->n; ++*out)
        if (strcmp(names->v[*out], name) == 0)
            return PK_OK;
    pk_fail(p->err, PK_E_USAGE, "%s has no %s '%s'", p->probe->name, what, name);
    pk_why(p->err, "%s", pk_suggest_text(p->arena, name, names->v, names->n));
    return pk_fix(p->err, "`perfkit list experiments %s` explains each", pk_probe_call(p->probe));
}

static enum pk_code choose_variants(struct planner *p)
{
    for (; p->probe->variants[p->n_variants].name; p->n_variants++)
        pk_texts_add(&p->variants, p->probe->variants[p->n_variants].name, p->arena);
    bool *wanted = pk_new_n(p->arena, bool, p->n_variants);
    p->wanted = wanted;
    for (size_t i = 0; i < p->n_variants; i++)
        wanted[i] = p->r->n_variants == 0;
    for (size_t i = 0; i < p->r->n_variants; i++)
        for (const char *at = p->r->variants[i]; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            size_t v;
            if (find_name(p, "variant", pk_strndup(p->arena, at, strcspn(at, ",")), &p->variants, &v))
                return p->err->code;
            wanted[v] = true;
        }
    return PK_OK;
}

static enum pk_code check_peers(struct planner *p)
{
    for (size_t i = 0; i < p->r->n_peers; i++)
        if (pk_texts_has(&p->variants, p->r->peers[i])) {
            pk_fail(p->err, PK_E_USAGE, "peer '%s' has the name of a variant of %s", p->r->peers[i],
                    p->probe->name);
            pk_why(p->err, "a peer is a variant, and its name identifies its results");
            return pk_fix(p->err, "give the peer's file another name");
        }
    return PK_OK;
}

static enum pk_code parse_overrides(struct planner *p, struct pk_case_plan *out)
{
    const struct pk_axis *axes = p->probe->axes;
    out->sweeps = pk_new_n(p->arena, struct pk_axis_sweep, p->r->n_axes);
    for (size_t i = 0; i < p->r->n_axes; i++) {
        struct pk_axis_sweep *s = &out->sweeps[out->n_sweeps++];
        if (pk_axis_assign(axes, p->r->axes[i], p->arena, s, p->err) ||
            pk_sweeps_add(axes, s, p->overrides, p->err))
            return p->err->code;
    }
    for (size_t i = pk_axes_count(axes); i-- > 0;) { /* what these axes imply for others */
        struct pk_axis_sweep implied;
        if (!p->overrides[i].n || !axes[i].implies)
            continue;
        if (pk_axis_assign(axes, axes[i].implies, p->arena, &implied, p->err))
            return p->err->code;
        if (p->overrides[implied.axis].n)
            continue;
        p->overrides[implied.axis] = implied.sweep;
        pk_texts_add(&out->implied, implied.text, p->arena);
    }
    return PK_OK;
}

static enum pk_code expand(struct planner *p, const struct pk_preset *preset, struct pk_point **points,
                           size_t *n)
{
    const struct pk_axis *axes = p->probe->axes;
    size_t n_axes = pk_axes_count(axes), n_blocks = 0;
    while (preset->blocks[n_blocks])
        n_blocks++;
    struct pk_sweep(*sweeps)[PK_AXES_MAX] = pk_alloc_n(p->arena, n_blocks, sizeof *sweeps);
    for (size_t b = 0; b < n_blocks; b++) {
        enum pk_code rc = pk_sweeps_assign_all(axes, preset->blocks[b], p->arena, sweeps[b], p->err);
        if (rc)
            return rc;
        for (size_t i = 0; i < n_axes; i++)
            if (p->overrides[i].n)
                sweeps[b][i] = p->overrides[i];
    }
    const struct pk_grid grid = {.axes = axes, .n_axes = n_axes, .n_blocks = n_blocks, .sweeps = sweeps};
    return pk_grid_expand(&grid, p->arena, points, n, p->err);
}

static unsigned ranks_of(const struct pk_case *c, int provider)
{
    return provider == 0 && c->probe->ranks ? c->probe->ranks(c) : 0;
}

static const char *reason_to_skip(const struct planner *p, const struct pk_case *c, int provider)
{
    const struct pk_variant *v = &p->probe->variants[c->variant];
    const char *reason = provider == 0 && v->unavailable ? v->unavailable(p->kind) : NULL;
    if (!reason && p->probe->skip)
        reason = p->probe->skip(c, p->kind);
    const unsigned ranks = ranks_of(c, provider);
    return !reason && ranks ? pk_launch_refused(ranks, p->arena) : reason;
}

static bool same_text(const void *wanted, uint32_t row)
{
    const struct planner *p = wanted;
    return strcmp(p->seen_text[row], p->seen_text[p->n_seen]) == 0;
}

/* Is there a case of this variant already that differs in nothing else than axes which mean nothing to it? */
static bool is_duplicate(struct planner *p, unsigned variant, const struct pk_point *at)
{
    const char *text = pk_printf(p->arena, "%u %s", variant, pk_point_json(at, p->arena));
    p->seen.arena = p->arena;
    p->seen_text = pk_grow(p->arena, p->seen_text, sizeof *p->seen_text, p->n_seen, &p->seen_cap);
    p->seen_text[p->n_seen] = text;
    if (pk_index_row(&p->seen, pk_hash_bytes(0, text, strlen(text)), same_text, p, p->n_seen) != p->n_seen)
        return true;
    p->n_seen++;
    return false;
}

/* The point without the axes that mean nothing to the variant; how many those are. */
static size_t leave_out_axes(const struct planner *p, unsigned variant, struct pk_point *at)
{
    size_t n = 0;
    for (const char *rest = p->probe->variants[variant].ignores, *name;
         rest && (name = pk_next_part(&rest, ' ', p->arena));) {
        bool *absent = &at->absent[pk_axis_index(p->probe->axes, name)];
        n += !*absent;
        *absent = true;
    }
    return n;
}

/* Without a limit only what cannot be counted is too large. "predicted to take 21.0 MiB, more than the device's limit; not tried; batch=140
 * would fit within 16.0 MiB": the limit stands once. */
static void find_too_large(const struct planner *p, struct pk_planned_case *v)
{
    const int64_t bytes = p->r->limit_bytes;
    const char *shrink = p->probe->shrink;
    char limit[32], size[32];
    struct pk_buf b = {.arena = p->arena};
    if (v->predicted_bytes <= (bytes > 0 ? bytes : PK_BYTES_BEYOND - 1))
        return;
    pk_format_bytes(bytes, limit, sizeof limit);
    if (bytes > 0 && shrink) {
        v->largest = pk_probe_largest(&v->c, p->kind, bytes);
        v->would_fit =
            v->largest < p->probe->axes[pk_axis_index(p->probe->axes, shrink)].min
                ? pk_printf(p->arena, "no %s would fit within %s", shrink, limit)
                : pk_printf(p->arena, "%s=%lld would fit within %s", shrink, (long long)v->largest, limit);
    }
    pk_buf_printf(&b, "predicted to take %s, more than the device's limit",
                  pk_format_bytes(v->predicted_bytes, size, sizeof size));
    if (bytes > 0 && !v->would_fit)
        pk_buf_printf(&b, " of %s", limit);
    pk_buf_str(&b, "; not tried");
    if (v->would_fit)
        pk_buf_printf(&b, "; %s", v->would_fit);
    v->too_large = pk_buf_text(&b);
}

/* Which axes mean something to a peer and how much memory it takes is not known; its combination is skipped where the reference variant's is. */
static void add_case(struct planner *p, struct pk_case_plan *out, const struct pk_point *at, unsigned variant,
                     const char *name, int provider)
{
    struct pk_point left = *at;
    const bool lacks = provider == 0 && leave_out_axes(p, variant, &left);
    if (p->filter && !pk_filter_match(p->filter, &left, name))
        return;
    if (lacks && is_duplicate(p, variant, &left))
        return;
    struct pk_planned_case *v = &out->v[out->n++];
    *v = (struct pk_planned_case){
        .c = {.probe = p->probe, .variant = variant, .at = left, .threads = p->threads},
        .variant = name,
        .provider = provider,
        .predicted_bytes = -1,
        .floor_ns = NAN,
        .least_ns = NAN};
    v->ranks = ranks_of(&v->c, provider);
    v->skip = reason_to_skip(p, &v->c, provider);
    if (v->skip)
        return;
    if (provider == 0) {
        v->predicted_bytes = pk_probe_peak_bytes(&v->c, p->kind);
        find_too_large(p, v);
    }
}

static bool is_case_of(const struct pk_planned_case *p, unsigned variant)
{
    return p->provider == 0 && p->c.variant == variant;
}

/* Does a variant that is here have nothing to be measured? */
static bool has_no_case(const struct pk_case_plan *plan, unsigned variant)
{
    for (size_t i = 0; i < plan->n; i++)
        if (is_case_of(&plan->v[i], variant) && !plan->v[i].skip)
            return false;
    return true;
}

/* Those that nobody named and that have no case here, of which nothing is known after the run that was not before. The plain
 * reference stays: what it skips, peers skip. Where it has no case either, it is what was asked for that cannot be, of no variant: all
 * say why. */
static void leave_out_idle_variants(const struct planner *p, struct pk_case_plan *out)
{
    if (p->r->n_variants || has_no_case(out, 0))
        return;
    for (unsigned v = 1; v < p->n_variants; v++)
        if (has_no_case(out, v)) {
            size_t kept = 0;
            for (size_t i = 0; i < out->n; i++)
                if (!is_case_of(&out->v[i], v))
                    out->v[kept++] = out->v[i];
            out->n = kept;
        }
}

/* Those that were named, else those of the preset. */
static bool has_variant(const struct planner *p, const struct pk_preset *preset, unsigned variant)
{
    const char *name = p->probe->variants[variant].name;
    if (p->r->n_variants || !preset->variants)
        return p->wanted[variant];
    for (const char *const *v = preset->variants; *v; v++)
        if (strcmp(*v, name) == 0)
            return true;
    return false;
}

static enum pk_code list_cases(struct planner *p, const struct pk_preset *preset, struct pk_case_plan *out)
{
    struct pk_point *points;
    size_t n;
    enum pk_code rc = expand(p, preset, &points, &n);
    if (rc)
        return rc;
    const size_t of_each = p->n_variants + p->r->n_peers, most = p->probe->own ? PK_POINTS_MAX : PK_CASES_MAX;
    if (n * of_each > most) {
        pk_fail(p->err, PK_E_USAGE, "%zu points with %zu variants are more than %zu cases", n, of_each, most);
        pk_why(p->err, "a run measures every variant at every combination of the values of all axes");
        return pk_fix(p->err, "sweep fewer values with -a, or name a --variant");
    }
    out->preset = preset;
    out->n = 0;
    p->seen = (struct pk_index){0};
    p->n_seen = 0;
    out->v = pk_new_n(p->arena, struct pk_planned_case, n * of_each);
    for (size_t i = 0; i < n; i++) {
        for (unsigned v = 0; v < p->n_variants; v++)
            if (has_variant(p, preset, v))
                add_case(p, out, &points[i], v, p->probe->variants[v].name, 0);
        for (size_t k = 0; k < p->r->n_peers; k++)
            add_case(p, out, &points[i], 0, p->r->peers[k], (int)k + 1);
    }
    leave_out_idle_variants(p, out);
    return PK_OK;
}

struct warning_list {
    struct pk_texts *texts;
    struct pk_arena *arena;
};

static void keep_warning(void *user, const char *text)
{
    struct warning_list *h = user;
    if (!pk_texts_has(h->texts, text))
        pk_texts_add(h->texts, pk_strdup(h->arena, text), h->arena);
}

/* Peers know best what they can do. */
static enum pk_code validate(const struct planner *p, struct pk_case_plan *out, struct pk_err *err)
{
    struct warning_list list = {&out->warnings, p->arena};
    for (size_t i = 0; i < out->n; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_planned_case *v = &out->v[i];
        const char *doubt =
            v->ranks && !v->skip ? pk_launch_doubt(v->ranks, p->r->threads, p->r->cpus, &a) : NULL;
        if (doubt)
            keep_warning(&list, doubt);
        if (v->provider == 0 && !v->skip && p->probe->validate &&
            p->probe->validate(&v->c, &a, keep_warning, &list, err))
            return err->code;
    }
    return PK_OK;
}

/* The requested preset, or the first; if that does not fit, the next one that fits and has valid cases. If there is none, the first,
 * whose cases then have the reason. */
static enum pk_code choose_preset(struct planner *p, struct pk_case_plan *out)
{
    const struct pk_preset *first = pk_probe_presets(p->probe);
    if (p->r->preset) {
        struct pk_texts names = {0};
        size_t i;
        for (const struct pk_preset *preset = first; preset->name; preset++)
            pk_texts_add(&names, preset->name, p->arena);
        return find_name(p, "preset", p->r->preset, &names, &i) ? p->err->code
                                                                : list_cases(p, &first[i], out);
    }
    for (const struct pk_preset *preset = first; preset->name; preset++) {
        enum pk_code rc = list_cases(p, preset, out);
        struct pk_case_plan tried = *out;
        struct pk_err ignored; /* a later preset was not chosen by the user: its invalid cases are no error */
        bool fits = true;
        for (size_t i = 0; i < out->n; i++)
            fits = fits && !out->v[i].too_large;
        if (rc || (fits && (preset == first || !validate(p, &tried, &ignored))))
            return rc;
    }
    return list_cases(p, first, out);
}

enum pk_code pk_case_plan_make(const struct pk_case_plan_request *r, struct pk_arena *a,
                               struct pk_case_plan *out, struct pk_err *err)
{
    struct planner p = {.r = r, .probe = r->probe, .arena = a, .err = err};
    unsigned ordinal, cpus[PK_CPUS_MAX];
    *out = (struct pk_case_plan){.probe = r->probe, .device = r->device, .limit_bytes = r->limit_bytes};
    enum pk_code rc = pk_device_parse(r->device, &p.kind, &ordinal, err);
    p.threads =
        !rc && p.kind == PK_DEVICE_CPU && !r->threads ? pk_machine_cpus(cpus, PK_CPUS_MAX) : r->threads;
    if (!rc)
        rc = choose_variants(&p);
    if (!rc)
        rc = check_peers(&p);
    if (!rc)
        rc = parse_overrides(&p, out);
    if (!rc && r->filter)
        rc = pk_filter_parse(r->probe->axes, r->filter, a, &p.filter, err);
    if (!rc)
        rc = choose_preset(&p, out);
    if (!rc)
        rc = validate(&p, out, err);
    out->kind = p.kind;
    const struct pk_point **points = pk_new_n(a, const struct pk_point *, out->n);
    for (size_t i = 0; i < out->n; i++)
        points[i] = &out->v[i].c.at;
    pk_points_differ(points, out->n, out->differ);
    if (rc || out->n)
        return rc;
    pk_fail(err, PK_E_NOTHING, "the filter '%s' matches no case", r->filter ? r->filter : "");
    pk_why(err, "no case of preset %s of %s matches all parts of it", out->preset->name, r->probe->name);
    return pk_fix(err, "see the cases with --dry-run and without --filter");
}

size_t pk_case_plan_to_try(const struct pk_case_plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n; i++)
        n += !plan->v[i].skip && !plan->v[i].too_large;
    return n;
}

const char *pk_case_plan_case_text(const struct pk_case_plan *plan, size_t i, struct pk_arena *a)
{
    return pk_point_text(&plan->v[i].c.at, plan->differ, a);
}

const char *pk_case_plan_common_text(const struct pk_case_plan *plan, struct pk_arena *a)
{
    bool agree[PK_AXES_MAX];
    for (size_t i = 0; i < PK_AXES_MAX; i++)
        agree[i] = !plan->differ[i];
    return pk_point_text(&plan->v[0].c.at, agree, a);
}

const size_t *pk_case_plan_order(size_t n, uint64_t seed, int invocation, struct pk_arena *a)
{
    size_t *v = pk_new_n(a, size_t, n);
    for (size_t i = 0; i < n; i++)
        v[i] = i;
    struct pk_rng mix = {seed};
    struct pk_rng rng = {pk_rng_next(&mix) + (uint64_t)invocation};
    pk_rng_shuffle(&rng, v, n);
    return v;
}
