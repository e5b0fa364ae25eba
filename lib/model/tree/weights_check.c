/* Weights check: what is in device memory against the numbers that belong there, a stretch at a time. */
#include "base/rng.h"
#include "model/tree/weights.h"

enum { STRETCH = 1 << 16 }; /* floats */

struct checker {
    struct pk_device *dev;
    const struct pk_tree *t;
    struct pk_arena *a;
    struct pk_err *err;
    float *got; /* [STRETCH] */
};

/* Finds leaf `leaf`, its steps behind `depth` others; the steps' number, or 0. */
static uint32_t find(const struct pk_node *n, uint32_t leaf, uint32_t *step, uint32_t depth)
{
    if (n->type->kind == PK_NODE_LEAF)
        return n->value == leaf ? depth : 0;
    for (uint32_t i = 0, found; i < n->arity; i++) {
        step[depth] = i;
        if ((found = find(n->child[i], leaf, step, depth + 1)))
            return found;
    }
    return 0;
}

static enum pk_code differs(const struct checker *c, size_t leaf, size_t row, size_t col, float got,
                            float want)
{
    uint32_t step[PK_TREE_DEPTH_MAX], depth = find(c->t->root, (uint32_t)leaf, step, 0);
    pk_fail(c->err, PK_E_CHECK, "%s[%zu][%zu] is %.9g, not %.9g", pk_tree_path(c->t, step, depth, c->a), row,
            col, (double)got, (double)want);
    pk_why(c->err, "every element is known from its place in the whole array");
    return pk_fix(c->err,
                  "weights are written or copied wrongly here: please report it with `perfkit doctor`");
}

/* Elements `at` to `at + n` of a leaf's piece, n <= STRETCH. */
static enum pk_code check_stretch(const struct checker *c, size_t leaf, const struct pk_fill *f, size_t at,
                                  size_t n)
{
    if (pk_device_copy(c->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, c->got, f->dst + at,
                       n * sizeof *c->got, c->err) ||
        pk_device_sync(c->dev, c->err))
        return c->err->code;
    for (size_t i = 0; i < n; i++) {
        size_t row = (at + i) / f->cols, col = (at + i) % f->cols;
        float want = pk_fill_value(f->seed, row * f->columns + col);
        if (!(c->got[i] == want))
            return differs(c, leaf, row, col, c->got[i], want);
    }
    return PK_OK;
}

static enum pk_code check_all(const struct checker *c, size_t leaf, const struct pk_fill *f)
{
    size_t elements = f->rows * f->cols;
    for (size_t at = 0; at < elements; at += STRETCH)
        if (check_stretch(c, leaf, f, at, elements - at < STRETCH ? elements - at : STRETCH))
            return c->err->code;
    return PK_OK;
}

static enum pk_code check_samples(const struct checker *c, size_t leaf, const struct pk_fill *f,
                                  size_t samples, struct pk_rng *rng)
{
    size_t elements = f->rows * f->cols;
    for (size_t s = 0; s < samples + 2; s++) {
        size_t at = s == 0 ? 0 : s == 1 ? elements - 1 : (size_t)pk_rng_below(rng, elements);
        if (check_stretch(c, leaf, f, at, 1))
            return c->err->code;
    }
    return PK_OK;
}

enum pk_code pk_weights_check(struct pk_device *dev, const struct pk_tree *t, const struct pk_weights *w,
                              bool full, size_t samples, uint64_t seed, struct pk_arena *a,
                              struct pk_err *err)
{
    struct checker c = {dev, t, a, err, pk_new_n(a, float, STRETCH)};
    struct pk_rng rng = {seed};
    for (size_t i = 0; i < w->n_leaves; i++) {
        const struct pk_fill *f = &w->fill[i];
        if (f->rows && (full ? check_all(&c, i, f) : check_samples(&c, i, f, samples, &rng)))
            return err->code;
    }
    return PK_OK;
}
