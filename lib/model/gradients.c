/* Gradients: of a transformer, or of a list. */
#include "model/gradients.h"

#include "base/file.h"
#include "base/text/words.h"
#include "model/transformer/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 16 << 20 };
#define ELEMENTS_MAX ((size_t)1 << 40) /* of all tensors */

struct gradient_list {
    struct pk_gradient *v;
    size_t n, cap, elements;
    double shares; /* not yet divided by their sum */
};

static void add(struct gradient_list *l, struct pk_arena *a, const char *name, size_t elements, double share)
{
    l->v = pk_grow(a, l->v, sizeof *l->v, l->n, &l->cap);
    l->v[l->n++] = (struct pk_gradient){name, elements, share};
    l->elements += elements;
    l->shares += share;
}

static void finish(struct gradient_list *l, struct pk_gradients *out)
{
    for (size_t i = 0; i < l->n; i++)
        l->v[i].share /= l->shares;
    *out = (struct pk_gradients){l->n, l->elements, l->v};
}

void pk_gradients_of_transformer(const struct pk_transformer_config *c, struct pk_arena *a,
                                 struct pk_gradients *out)
{
    struct pk_layout layout;
    struct gradient_list l = {0};
    pk_layout_make(&layout, c, a);
    for (size_t i = layout.n; i-- > 0;) {
        const struct pk_parameter *p = &layout.v[i];
        const bool product = p->rows > 1 && p != pk_layout_embedding(&layout);
        add(&l, a, p->name, p->rows * p->cols, product ? (double)(p->rows * p->cols) : 0);
    }
    finish(&l, out);
}

/* Matrices take time, vectors none; norms and biases of a block are two tensors. */
enum pk_code pk_gradients_of_shape(const struct pk_model_shape *s, struct pk_arena *a,
                                   struct pk_gradients *out, struct pk_err *err)
{
    const int64_t q = s->heads * s->head_dim * s->width, kv = s->kv_heads * s->head_dim * s->width;
    const int64_t inner = s->ff * s->width, first = s->block_vectors / 2;
    const struct {
        const char *name;
        int64_t elements;
        bool matrix;
    } block[] = {{"down", inner, true},
                 {"up", inner, true},
                 {"gate", s->ff_matrices > 2 ? inner : 0, true},
                 {"vectors2", s->block_vectors - first, false},
                 {"o", q, true},
                 {"v", kv, true},
                 {"k", kv, true},
                 {"q", q, true},
                 {"vectors1", first, false}};
    struct gradient_list l = {0};
    const int64_t table = s->vocab * s->width, embedding = table + s->positions * s->width;
    if (pk_model_shape_parameters(s) > (int64_t)ELEMENTS_MAX || s->layers > PK_GRADIENTS_MAX / 9) {
        pk_fail(err, PK_E_USAGE, "%.300s: %lld parameters in %lld blocks", s->name,
                (long long)pk_model_shape_parameters(s), (long long)s->layers);
        pk_why(err, "a plan of buckets takes at most %zu parameters, and %d tensors", ELEMENTS_MAX,
               PK_GRADIENTS_MAX);
        return pk_fix(err, "choose a smaller model");
    }
    if (table && !s->tied)
        add(&l, a, "head", (size_t)table, (double)table);
    if (s->end_vectors)
        add(&l, a, "norm", (size_t)s->end_vectors, 0);
    for (int64_t layer = s->layers; layer-- > 0;)
        for (size_t i = 0; i < sizeof block / sizeof *block; i++)
            if (block[i].elements)
                add(&l, a, block[i].name, (size_t)block[i].elements,
                    block[i].matrix ? (double)block[i].elements : 0);
    if (embedding)
        add(&l, a, "embedding", (size_t)embedding, s->tied ? (double)table : 0);
    finish(&l, out);
    return PK_OK;
}

static enum pk_code bad_line(const char *path, int line, const char *text, const char *why,
                             struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s:%d: '%.60s'", path, line, text);
    pk_why(err, "%s", why);
    return pk_fix(err, "a line is a name and a number of elements: layers.0.query 589824");
}

/* "NAME ELEMENTS", or NULL and what is wrong. */
static const char *read_line(struct gradient_list *l, const char *text, struct pk_arena *a)
{
    const size_t name = strcspn(text, " \t"), gap = strspn(text + name, " \t");
    const char *digits = text + name + gap;
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(digits, &end, 10);
    if (!gap || !strspn(digits, "0123456789") || *end)
        return "it is not a name and an integer";
    if (errno || n < 1 || n > ELEMENTS_MAX - l->elements)
        return "a tensor has at least one element, and all of them together at most 2^40";
    if (l->n == PK_GRADIENTS_MAX)
        return "there are more than 100000 tensors";
    add(l, a, pk_strndup(a, text, name), n, (double)n);
    return NULL;
}

enum pk_code pk_gradients_read(const char *path, struct pk_arena *a, struct pk_gradients *out,
                               struct pk_err *err)
{
    struct gradient_list l = {0};
    char *text;
    size_t bytes;
    int number = 0;
    if (pk_slurp(path, FILE_BYTES_MAX, a, &text, &bytes, err))
        return err->code;
    const char *rest = text;
    for (char *line; (line = pk_next_part(&rest, '\n', a));) {
        number++;
        line[strcspn(line, "#\r")] = 0;
        for (size_t n = strlen(line); n && strchr(" \t", line[n - 1]); n--)
            line[n - 1] = 0;
        const char *why = *line ? read_line(&l, line, a) : NULL;
        if (why)
            return bad_line(path, number, line, why, err);
    }
    if (!l.n)
        return bad_line(path, number, "", "it names no tensor", err);
    for (size_t i = 0; i < l.n / 2; i++) {
        const struct pk_gradient x = l.v[i];
        l.v[i] = l.v[l.n - 1 - i];
        l.v[l.n - 1 - i] = x;
    }
    finish(&l, out);
    return PK_OK;
}
