/* Filter: which cases of a plan are wanted, "seq_len>=1024,d_model=64,variant=flash|fused". */
#include "base/text/words.h"
#include "opt/axis.h"

#include <string.h>

enum comparison { EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST };

/* Longer spellings first: the first that matches is taken. */
static const struct {
    const char *text;
    enum comparison op;
} operators[] = {{"!=", DIFFERENT}, {"<=", AT_MOST}, {">=", AT_LEAST},
                 {"=", EQUAL},      {"<", LESS},     {">", MORE}};

enum { VARIANT = -1 };

/* One comma part. The value is any of the alternatives. */
struct filter_part {
    int axis; /* index, or VARIANT */
    enum comparison op;
    size_t n, cap;
    union pk_value *values; /* of an axis */
    const char **names;     /* of variants */
};

struct pk_filter {
    struct filter_part *parts;
    size_t n, cap;
};

/* How people write operators that they know from elsewhere; longer ones first. */
static const struct {
    const char *wrong, *right;
} foreign[] = {{"===", "="}, {"!==", "!="}, {"==", "="}, {"=<", "<="}, {"=>", ">="},
               {"<>", "!="}, {"<<", "<"},   {">>", ">"}, {"~=", "="}};

static const char operators_text[] = "a part is NAME, one of = != < <= > >=, and a value";

static enum pk_code refuse(const struct pk_axis *axes, const char *text, const char *why, struct pk_err *err)
{
    const struct pk_axis *x = axes;
    while (x->name && !pk_axis_ordered(x))
        x++;
    pk_fail(err, PK_E_USAGE, "'%.200s' is not a filter", text);
    pk_why(err, "%s", why);
    return x->name ? pk_fix(err, "write for example --filter '%s>=%.*s'", x->name, (int)strcspn(x->def, ",:"),
                            x->def)
                   : pk_fix(err, "write for example --filter 'variant=NAME'");
}

/* A usage error when the operator at text + at is another language's. */
static enum pk_code refuse_foreign(const char *text, size_t at, struct pk_err *err)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        size_t n = strlen(foreign[i].wrong);
        if (strncmp(text + at, foreign[i].wrong, n))
            continue;
        pk_fail(err, PK_E_USAGE, "'%.200s' is not a filter: there is no operator %s", text, foreign[i].wrong);
        pk_why(err, "%s", operators_text);
        return pk_fix(err, "--filter '%.*s%s%.200s'", (int)at, text, foreign[i].right, text + at + n);
    }
    return PK_OK;
}

/* Splits "name op values" at the operator; false when there is no operator. */
static bool split_operator(const char *text, struct pk_arena *a, const char **name, enum comparison *op,
                           const char **values)
{
    size_t at = strcspn(text, "!<>=");
    const char *rest = pk_strndup(a, text, at);
    *name = pk_next_part(&rest, '\0', a);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (!strncmp(text + at, operators[i].text, strlen(operators[i].text))) {
            *op = operators[i].op;
            *values = text + at + strlen(operators[i].text);
            return true;
        }
    return false;
}

static enum pk_code resolve_name(const struct pk_axis *axes, const char *name, int *axis, struct pk_err *err)
{
    size_t i;
    static const char *const variant[] = {"variant"};
    *axis = VARIANT;
    if (!strcmp(name, *variant))
        return PK_OK;
    if (!pk_axis_find(axes, name, &i, err)) {
        *axis = (int)i;
        return PK_OK;
    }
    return pk_suggest(name, variant, 1) ? pk_fix(err, "did you mean 'variant'?") : err->code;
}

static bool ordered(enum comparison op)
{
    return op != EQUAL && op != DIFFERENT;
}

/* pk_axis_value suggests a sweep, which is not possible here. */
static enum pk_code advise(const struct pk_axis *x, const char *text, struct pk_err *err)
{
    size_t n = 0;
    if (!strstr(err->fix, "-a "))
        return err->code;
    while (x->type == PK_AXIS_ENUM && x->choices[n])
        n++;
    const char *near = n ? pk_suggest(text, x->choices, n) : NULL;
    if (near)
        return pk_fix(err, "did you mean --filter %s=%s?", x->name, near);
    return pk_fix(err, "write for example --filter %s=%.*s", x->name, (int)strcspn(x->def, ",:"), x->def);
}

static enum pk_code add_value(const struct pk_axis *axes, struct filter_part *p, const char *text,
                              struct pk_arena *a, struct pk_err *err)
{
    union pk_value v;
    if (p->axis == VARIANT) {
        p->names = pk_grow(a, p->names, sizeof *p->names, p->n, &p->cap);
        p->names[p->n++] = text;
        return PK_OK;
    }
    if (pk_axis_value(&axes[p->axis], text, a, &v, err))
        return advise(&axes[p->axis], text, err);
    p->values = pk_grow(a, p->values, sizeof *p->values, p->n, &p->cap);
    p->values[p->n++] = v;
    return PK_OK;
}

static enum pk_code parse_part(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                               struct filter_part *p, struct pk_err *err)
{
    const char *name, *values;
    if (refuse_foreign(text, strcspn(text, "!<>=~"), err))
        return err->code;
    if (!split_operator(text, a, &name, &p->op, &values))
        return refuse(axes, text, operators_text, err);
    if (resolve_name(axes, name, &p->axis, err))
        return err->code;
    bool number = p->axis != VARIANT && pk_axis_ordered(&axes[p->axis]);
    if (ordered(p->op) && !number)
        return refuse(
            axes, text,
            "< <= > >= compare numbers; this name has words, which can only be compared with = and !=", err);
    for (const char *rest = values, *one; (one = pk_next_part(&rest, '|', a));) {
        if (!*one)
            return refuse(axes, text, "a value is missing", err);
        if (add_value(axes, p, one, a, err))
            return err->code;
    }
    return ordered(p->op) && p->n > 1
               ? refuse(axes, text, "alternatives with | are allowed only with = and !=", err)
               : PK_OK;
}

enum pk_code pk_filter_parse(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                             struct pk_filter **out, struct pk_err *err)
{
    struct pk_filter *f = pk_new(a, struct pk_filter);
    for (const char *rest = text, *one; (one = pk_next_part(&rest, ',', a));) {
        struct filter_part p = {0};
        if (parse_part(axes, one, a, &p, err))
            return err->code;
        f->parts = pk_grow(a, f->parts, sizeof *f->parts, f->n, &f->cap);
        f->parts[f->n++] = p;
    }
    *out = f;
    return PK_OK;
}

static bool part_matches(const struct filter_part *p, const struct pk_point *at, const char *variant)
{
    bool any = false; /* equal to an alternative */
    if (p->axis == VARIANT) {
        for (size_t i = 0; i < p->n; i++)
            any |= !strcmp(p->names[i], variant);
        return any == (p->op == EQUAL);
    }
    const struct pk_axis *x = &at->axes[p->axis];
    if (at->absent[p->axis])
        return p->op == DIFFERENT;
    const union pk_value v = at->v[p->axis], limit = p->values[0];
    const bool less = x->type == PK_AXIS_FLOAT ? v.f < limit.f : v.i < limit.i;
    const bool more = x->type == PK_AXIS_FLOAT ? v.f > limit.f : v.i > limit.i;
    if (ordered(p->op))
        return p->op == LESS ? less : p->op == AT_MOST ? !more : p->op == MORE ? more : !less;
    for (size_t i = 0; i < p->n; i++)
        any |= pk_axis_same(x, at->v[p->axis], p->values[i]);
    return any == (p->op == EQUAL);
}

bool pk_filter_match(const struct pk_filter *f, const struct pk_point *p, const char *variant)
{
    for (size_t i = 0; i < f->n; i++)
        if (!part_matches(&f->parts[i], p, variant))
            return false;
    return true;
}
