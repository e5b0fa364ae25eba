/* Weights: every leaf has a place in one block and a rule for its numbers; slices and checks follow from it. */
#include "model/tree/weights.h"

#include "base/rng.h"

enum { ALIGN = 256 };

/* Calls `visit` for every leaf with how its parameter is divided; a bare leaf is whole. */
static void each_leaf(const struct pk_node *n, enum pk_sharding how,
                      void (*visit)(void *arg, uint32_t leaf, enum pk_sharding how), void *arg)
{
    if (n->type->kind == PK_NODE_LEAF)
        visit(arg, n->value, how);
    for (uint32_t i = 0; i < n->arity; i++)
        each_leaf(n->child[i], n->type->kind == PK_NODE_PARAMETER ? (enum pk_sharding)n->value : PK_WHOLE,
                  visit, arg);
}

struct layout {
    const struct pk_tree *t;
    size_t tp;
    enum pk_weights_part part;
    enum pk_dtype type;
    struct pk_fill *fill;
};

static size_t divided(size_t n, size_t tp)
{
    pk_assert(n % tp == 0);
    return n / tp;
}

/* The piece of a leaf as rows and columns: one row when it has no more than one dimension. */
static void lay_out(void *arg, uint32_t leaf, enum pk_sharding how)
{
    const struct layout *l = arg;
    const struct pk_shape *s = &l->t->shapes[leaf];
    if (l->part == (how == PK_WHOLE ? PK_WEIGHTS_DIVIDED : PK_WEIGHTS_SHARED))
        return;
    size_t elements = (size_t)pk_shape_elements(s), rows = s->rank < 2 ? 1 : (size_t)s->dim[0];
    struct pk_fill f = {.rows = rows, .cols = elements / rows, .columns = elements / rows, .dtype = l->type};
    pk_assert(how != PK_SHARD_DIM1 || s->rank == 2);
    if (how == PK_SHARD_DIM0 && s->rank > 1)
        f.rows = divided(f.rows, l->tp);
    else if (how != PK_WHOLE)
        f.cols = divided(f.cols, l->tp);
    l->fill[leaf] = f;
}

struct pk_fill *pk_weights_layout(const struct pk_tree *t, int64_t tp, enum pk_weights_part part,
                                  enum pk_dtype type, struct pk_arena *a)
{
    pk_assert(tp >= 1);
    struct layout l = {t, (size_t)tp, part, type, pk_new_n(a, struct pk_fill, t->n_leaves)};
    each_leaf(t->root, PK_WHOLE, lay_out, &l);
    return l.fill;
}

size_t pk_weights_room(const struct pk_fill *f)
{
    return (f->rows * f->cols * pk_dtype_bytes(f->dtype) + ALIGN - 1) / ALIGN * ALIGN;
}

struct pk_weights_size pk_weights_size(const struct pk_tree *t, int64_t tp, enum pk_weights_part part,
                                       enum pk_dtype type)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_fill *f = pk_weights_layout(t, tp, part, type, &a);
    struct pk_weights_size s = {0};
    for (size_t i = 0; i < t->n_leaves; i++) {
        s.bytes += (int64_t)pk_weights_room(&f[i]);
        s.elements += (int64_t)(f[i].rows * f[i].cols);
        s.leaves += f[i].rows > 0;
    }
    return s;
}

enum pk_code pk_weights_new(struct pk_device *dev, const struct pk_tree *t, int64_t tp,
                            enum pk_weights_part part, enum pk_dtype type, uint64_t seed, struct pk_arena *a,
                            struct pk_weights *out, struct pk_err *err)
{
    *out = (struct pk_weights){.n_leaves = t->n_leaves,
                               .leaf = pk_new_n(a, void *, t->n_leaves),
                               .fill = pk_weights_layout(t, tp, part, type, a),
                               .bytes = pk_weights_size(t, tp, part, type).bytes};
    out->block = pk_device_alloc(dev, (size_t)out->bytes, PK_TAG_PARAMETERS);
    if (!out->block)
        return pk_device_oom(dev, err);
    unsigned char *next = out->block;
    for (size_t i = 0; i < out->n_leaves; i++) {
        struct pk_fill *f = &out->fill[i];
        f->seed = seed + i;
        if (f->rows)
            out->leaf[i] = f->dst = next;
        next += pk_weights_room(f);
    }
    return PK_OK;
}

void pk_weights_free(struct pk_device *dev, struct pk_weights *w)
{
    pk_device_free(dev, w->block);
    *w = (struct pk_weights){0};
}

enum pk_code pk_weights_fill(struct pk_device *dev, const struct pk_weights *w, struct pk_err *err)
{
    return pk_op_fill(dev, w->fill, w->n_leaves, err);
}

size_t pk_weights_slices(const struct pk_weights *whole, const struct pk_weights *pieces, struct pk_arena *a,
                         struct pk_copy2d **out)
{
    size_t n = 0;
    *out = pk_new_n(a, struct pk_copy2d, pieces->n_leaves);
    for (size_t i = 0; i < pieces->n_leaves; i++) {
        const struct pk_fill *f = &pieces->fill[i];
        bool contiguous = f->cols == f->columns;
        size_t size = pk_dtype_bytes(f->dtype), row = f->cols * size;
        if (f->rows)
            (*out)[n++] = (struct pk_copy2d){.src = whole->leaf[i],
                                             .dst = pieces->leaf[i],
                                             .rows = contiguous ? 1 : f->rows,
                                             .row_bytes = contiguous ? f->rows * row : row,
                                             .src_stride = contiguous ? f->rows * row : f->columns * size,
                                             .dst_stride = contiguous ? f->rows * row : row};
    }
    return n;
}

static enum pk_code one_by_one(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (pk_op_copy2d(dev, &v[i], 1, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_slices_make(struct pk_device *dev, enum pk_slicing how, const struct pk_copy2d *v, size_t n,
                            struct pk_slices *out, struct pk_err *err)
{
    *out = (struct pk_slices){.how = how, .copies = {.v = v, .n = n}};
    if (how == PK_SLICE_BATCHED)
        return pk_copies_make(dev, v, n, &out->copies, err);
    if (how != PK_SLICE_GRAPH)
        return PK_OK;
    enum pk_code rc = pk_graph_begin(dev, err);
    return rc ? rc : pk_graph_end(dev, one_by_one(dev, v, n, err), &out->graph, err);
}

enum pk_code pk_slices_cut(struct pk_device *dev, const struct pk_slices *s, struct pk_err *err)
{
    if (s->how == PK_SLICE_BATCHED)
        return pk_op_copies(dev, &s->copies, err);
    return s->how == PK_SLICE_GRAPH ? pk_graph_replay(dev, s->graph, err)
                                    : one_by_one(dev, s->copies.v, s->copies.n, err);
}

void pk_slices_free(struct pk_device *dev, struct pk_slices *s)
{
    pk_graph_free(dev, s->graph);
    pk_copies_free(dev, &s->copies);
    *s = (struct pk_slices){0};
}

enum { STRETCH = 1 << 16 }; /* elements */

struct weights_check {
    struct pk_device *dev;
    const struct pk_tree *t;
    struct pk_arena *a;
    struct pk_err *err;
    float *got; /* [STRETCH] */
};

/* Finds leaf `leaf` and appends its steps after the first `depth` ones. Returns the number of steps, or 0. */
static uint32_t find_leaf(const struct pk_node *n, uint32_t leaf, uint32_t *step, uint32_t depth)
{
    if (n->type->kind == PK_NODE_LEAF)
        return n->value == leaf ? depth : 0;
    for (uint32_t i = 0, found; i < n->arity; i++) {
        step[depth] = i;
        if ((found = find_leaf(n->child[i], leaf, step, depth + 1)))
            return found;
    }
    return 0;
}

/* Elements `at` to `at + n` of a leaf's piece, n <= STRETCH. */
static enum pk_code check_stretch(const struct weights_check *c, size_t leaf, const struct pk_fill *f,
                                  size_t at, size_t n)
{
    const size_t size = pk_dtype_bytes(f->dtype);
    if (pk_device_copy_now(c->dev, PK_COPY_DEVICE_TO_HOST, c->got, (char *)f->dst + at * size, n * size,
                           c->err))
        return c->err->code;
    if (f->dtype == PK_BF16)
        pk_bf16_widen(c->got, n);
    for (size_t i = 0; i < n; i++) {
        size_t row = (at + i) / f->cols, col = (at + i) % f->cols;
        float want = pk_fill_value(f->seed, row * f->columns + col);
        want = f->dtype == PK_BF16 ? pk_bf16_to_float(pk_bf16_of_float(want)) : want;
        if (!(c->got[i] == want)) {
            uint32_t step[PK_TREE_DEPTH_MAX], depth = find_leaf(c->t->root, (uint32_t)leaf, step, 0);
            pk_fail(c->err, PK_E_CHECK, "%s[%zu][%zu] is %.9g, not %.9g",
                    pk_tree_path(c->t, step, depth, c->a), row, col, (double)c->got[i], (double)want);
            pk_why(c->err, "every element follows from its place in the whole array");
            return pk_fix(
                c->err, "weights are written or copied wrongly here: please report it with `perfkit doctor`");
        }
    }
    return PK_OK;
}

/* All elements of a leaf's piece; or the first, the last and `samples` others. */
static enum pk_code check_leaf(const struct weights_check *c, size_t leaf, const struct pk_fill *f, bool full,
                               size_t samples, struct pk_rng *rng)
{
    const size_t elements = f->rows * f->cols;
    for (size_t at = 0; full && at < elements; at += STRETCH)
        if (check_stretch(c, leaf, f, at, elements - at < STRETCH ? elements - at : STRETCH))
            return c->err->code;
    for (size_t s = 0; !full && s < samples + 2; s++) {
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
    struct weights_check c = {dev, t, a, err, pk_new_n(a, float, STRETCH)};
    struct pk_rng rng = {seed};
    for (size_t i = 0; i < w->n_leaves; i++)
        if (w->fill[i].rows && check_leaf(&c, i, &w->fill[i], full, samples, &rng))
            return err->code;
    return PK_OK;
}
