/* gate, its sides: programs, builds of perfkit, or settings of an experiment; and the cases that both have. */
#include "cmd/gate.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/plural.h"
#include "base/split.h"
#include "bench/record/works.h"
#include "opt/words.h"

#include <string.h>
#include <sys/stat.h>

/* --- reading ------------------------------------------------------------------------------------------------------ */

static enum pk_code within_side(struct pk_err *err, const struct gate_side *s)
{
    return pk_within(err, "--%s", s->option);
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A perfkit, or the folder of a build that holds one. */
static enum pk_code read_build(struct gate_side *s, struct pk_arena *a, struct pk_err *err)
{
    const char *program = is_folder(s->text) ? pk_printf(a, "%s/perfkit", s->text) : s->text;
    const char **argv = pk_new_n(a, const char *, 3);
    argv[0] = program;
    argv[1] = "worker";
    s->argv = argv;
    const char *const alone[] = {program, NULL};
    if (pk_program_find(alone, err)) {
        within_side(err, s);
        return pk_fix(
            err, "with an experiment, --%s is a build of perfkit (build/perfkit) or settings (dtype=bf16)",
            s->option);
    }
    return PK_OK;
}

/* One value for each axis; `variant=NAME` is one more. */
static enum pk_code read_setting(struct gate_entry *e, struct gate_side *s, const char *text,
                                 struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct run_options *own = s->run.o;
    struct pk_sweep sweep = {.n = 1};
    size_t axis;
    bool variant = strncmp(text, "variant=", 8) == 0;
    if (variant)
        own->variants = (struct pk_texts){0};
    if (variant)
        pk_texts_add(&own->variants, text + 8, a);
    else if (pk_axis_assign(e->probe->axes, text, a, &axis, &sweep, err))
        return within_side(err, s);
    else
        pk_texts_add(&own->axes, text, a);
    if (sweep.n == 1 && !(variant && strchr(text, ',')))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--%s %s has several values", s->option, text);
    pk_why(err, "a side of a gate is one setting");
    return pk_fix(err, "give one value here; what both sides sweep goes to -a");
}

static void copy_texts(struct pk_texts *to, const struct pk_texts *from, struct pk_arena *a)
{
    *to = (struct pk_texts){0};
    for (size_t i = 0; i < from->n; i++)
        pk_texts_add(to, from->v[i], a);
}

static enum pk_code read_settings(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    s->is_settings = true;
    s->argv = pk_native_provider.argv;
    for (const char *rest = s->text, *part; (part = pk_next_part(&rest, ' ', a));)
        if (*part && read_setting(e, s, part, err))
            return err->code;
    return PK_OK;
}

static enum pk_code read_side(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    s->run = (struct run){.app = e->app, .o = pk_new(a, struct run_options), .probe = e->probe};
    *s->run.o = e->o->run;
    copy_texts(&s->run.o->axes, &e->o->run.axes, a);
    if (!e->probe)
        return pk_words_split(s->option, s->text, a, &s->argv, err) ? err->code
               : pk_program_find(s->argv, err)                      ? within_side(err, s)
                                                                    : PK_OK;
    return strchr(s->text, '=') && !exists(s->text) ? read_settings(e, s, err) : read_build(s, a, err);
}

static enum pk_code check_text(const struct gate_side *s, struct pk_err *err)
{
    if (s->text && *s->text)
        return pk_text_check(s->option, s->text, err);
    pk_fail(err, PK_E_USAGE, "--%s is missing", s->option);
    pk_why(err, "a gate measures two sides: --a is the base, --b is what is judged");
    return pk_fix(err,
                  "perfkit gate --a './old input' --b './new input', or perfkit gate attention-scaling --a "
                  "build-main --b build");
}

enum pk_code pk_gate_read_sides(struct gate_entry *e, struct pk_err *err)
{
    e->side[PK_BASE].option = "a";
    e->side[PK_BASE].text = e->o->a;
    e->side[PK_NEW].option = "b";
    e->side[PK_NEW].text = e->o->b;
    for (int i = 0; i < PK_SIDES; i++)
        if (check_text(&e->side[i], err) || read_side(e, &e->side[i], err))
            return err->code;
    if (e->side[PK_BASE].is_settings == e->side[PK_NEW].is_settings)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--a %s and --b %s are not of one kind", e->o->a, e->o->b);
    pk_why(err, "one is settings of %s, the other a program", e->probe->name);
    return pk_fix(err, "give two builds of perfkit, or two settings");
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

/* "seq_len=256 ..." of what both sides have in common: without the axes that a side sets. */
static const char *shared_axes(const struct gate_entry *e, const char *axes, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    for (int i = 0; i < PK_SIDES && e->side[i].is_settings; i++)
        for (const char *rest = e->side[i].text, *part; (part = pk_next_part(&rest, ' ', a));)
            json_object_del(j, pk_strndup(a, part, strcspn(part, "=")));
    return pk_json_text(a, j, PK_JSON_CANON);
}

static bool sets_variant(const struct gate_entry *e)
{
    return e->side[PK_BASE].is_settings &&
           (strstr(e->side[PK_BASE].text, "variant=") || strstr(e->side[PK_NEW].text, "variant="));
}

/* What a case is called on both sides. */
static struct pk_case_info shown(const struct gate_entry *e, size_t i, struct pk_arena *a)
{
    struct pk_case_info b = pk_planned_info(&e->side[PK_BASE].run.plan, i, a),
                        info = pk_planned_info(&e->side[PK_NEW].run.plan, i, a);
    if (strcmp(b.variant, info.variant) != 0)
        info.variant = pk_printf(a, "%s -> %s", b.variant, info.variant);
    info.axes = shared_axes(e, info.axes, a);
    return info;
}

/* The i-th case of a variant is the i-th of the same variant on the other side: both grids are made the same way. */
static const struct pk_planned *counterpart(const struct gate_entry *e, const struct pk_plan *plan, size_t i,
                                            const struct pk_plan *other)
{
    size_t before = 0;
    for (size_t k = 0; k < i; k++)
        before += sets_variant(e) || strcmp(plan->v[k].variant, plan->v[i].variant) == 0;
    for (size_t k = 0; k < other->n; k++)
        if ((sets_variant(e) || strcmp(other->v[k].variant, plan->v[i].variant) == 0) && before-- == 0)
            return &other->v[k];
    return NULL;
}

static const char *variants_of(const struct pk_plan *p, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < p->n; i++)
        if (!i || strcmp(p->v[i].variant, p->v[i - 1].variant) != 0)
            if (!strstr(pk_buf_text(&b), p->v[i].variant))
                pk_buf_printf(&b, "%s%s", b.n ? ", " : "", p->v[i].variant);
    return pk_printf(a, "%s of %s", pk_plural(p->n, "case", a), pk_buf_text(&b));
}

/* Leaves the cases that both sides have, in one order. */
static enum pk_code match(struct gate_entry *e, struct pk_err *err)
{
    struct pk_arena *a = e->app->arena;
    struct pk_plan *base = &e->side[PK_BASE].run.plan, *new_ = &e->side[PK_NEW].run.plan;
    struct pk_planned *b = pk_new_n(a, struct pk_planned, base->n + 1),
                      *w = pk_new_n(a, struct pk_planned, base->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < base->n; i++) {
        const struct pk_planned *other = counterpart(e, base, i, new_);
        if (!other)
            continue;
        b[n] = base->v[i];
        w[n++] = *other;
    }
    if (!n) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "the two sides have no case in common");
        pk_why(err, "a has %s; b has %s", variants_of(base, a), variants_of(new_, a));
        return pk_fix(err, "name the variants that both have with --variant");
    }
    if (n < base->n || n < new_->n)
        pk_warn(e->app, "of a's %zu and b's %zu cases, %zu are on both sides and are compared", base->n,
                new_->n, n);
    base->v = b;
    new_->v = w;
    base->n = new_->n = n;
    return PK_OK;
}

static enum pk_code plan_side(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    struct run *r = &s->run;
    enum pk_code rc = pk_run_choose_device(r, err);
    if (!rc)
        rc = pk_run_make_plan(r, err);
    if (rc)
        return rc;
    struct pk_texts axes = r->o->axes, variants = r->o->variants;
    *r->o = e->o->run; /* with what the preset says */
    r->o->axes = axes;
    r->o->variants = variants;
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, e->app->arena);
    return PK_OK;
}

enum pk_code pk_gate_plan(struct gate *g, size_t part, struct pk_err *err)
{
    struct gate_entry *e = &g->entries[part];
    e->side[PK_NEW].run.said = &e->side[PK_BASE].run.plan;
    for (int i = 0; i < PK_SIDES; i++)
        if (plan_side(e, &e->side[i], err))
            return err->code;
    if (match(e, err))
        return err->code;
    const size_t first = g->ledger.n_cases;
    for (size_t i = 0; i < e->side[PK_BASE].run.plan.n; i++) {
        const struct pk_case_info info = shown(e, i, g->app->arena);
        size_t at = pk_ledger_case(&g->ledger, part, &info);
        pk_assert(at == first + i); /* what a side sets has one value, so cases differ in other axes */
    }
    for (int i = 0; i < PK_SIDES; i++)
        e->side[i].experiment.first = first;
    return PK_OK;
}
