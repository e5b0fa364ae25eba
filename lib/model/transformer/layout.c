/* Layout: parameters one after the other, groups aligned. */
#include "model/transformer/layout.h"

struct maker {
    struct pk_parameter *v;
    size_t n, end;
};

static void put(struct maker *m, const char *name, size_t rows, size_t cols, bool starts_group)
{
    if (starts_group)
        m->end = (m->end + PK_LAYOUT_STEP - 1) / PK_LAYOUT_STEP * PK_LAYOUT_STEP;
    m->v[m->n++] = (struct pk_parameter){name, rows, cols, m->end};
    m->end += rows * cols;
}

static void put_block(struct maker *m, const struct pk_transformer_config *c, size_t layer,
                      struct pk_arena *a)
{
    const size_t d = c->width, f = c->ff;
    const struct {
        const char *name;
        size_t rows, cols;
        bool starts_group;
    } rows[PK_BLOCK_PARAMETERS] = {
        [PK_NORM1] = {"ln1.weight", 1, d, true},          [PK_Q] = {"attn.q_proj.weight", d, d, true},
        [PK_K] = {"attn.k_proj.weight", d, d, false},     [PK_V] = {"attn.v_proj.weight", d, d, false},
        [PK_O] = {"attn.output_proj.weight", d, d, true}, [PK_NORM2] = {"ln2.weight", 1, d, true},
        [PK_GATE] = {"ffn.w1.weight", f, d, true},        [PK_UP] = {"ffn.w3.weight", f, d, false},
        [PK_DOWN] = {"ffn.w2.weight", d, f, true},
    };
    for (size_t i = 0; i < PK_BLOCK_PARAMETERS; i++)
        put(m, pk_printf(a, "layers.%zu.%s", layer, rows[i].name), rows[i].rows, rows[i].cols,
            rows[i].starts_group);
}

void pk_layout_make(struct pk_layout *l, const struct pk_transformer_config *c, struct pk_arena *a)
{
    l->n = 3 + c->layers * PK_BLOCK_PARAMETERS;
    struct maker m = {.v = pk_new_n(a, struct pk_parameter, l->n)};
    put(&m, "token_embeddings.weight", c->vocab, c->width, true);
    for (size_t i = 0; i < c->layers; i++)
        put_block(&m, c, i, a);
    put(&m, "ln_final.weight", 1, c->width, true);
    put(&m, "lm_head.weight", c->vocab, c->width, true);
    l->v = m.v;
    l->elements = (m.end + PK_LAYOUT_STEP - 1) / PK_LAYOUT_STEP * PK_LAYOUT_STEP;
}
