/* Shape: the sizes of a model from which `plan parallel` computes parameters, memory and time.
 *
 * A model is named in one of four ways:
 *   a preset           "llama-3-8b", by its published sizes
 *   ffn:DxFxN          N blocks of two matrices, D x F and F x D, and nothing else: the model of the reports
 *   transformer:...    "transformer:layers=32,width=4096,ff=14336,heads=32,kv_heads=8,vocab=128256": every field below by its name
 *   a config.json      of Hugging Face transformers (shape_config.c)
 *
 * Parameters of a block: attention 2 width heads head_dim + 2 width kv_heads head_dim, feed-forward ff_matrices width ff, and vectors
 * (norms and biases). Parameters of the ends: an embedding and, unless tied, a head of vocab x width each, learned positions, the last norm. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

/* The fields, a row each: name, name in a config.json, another name there, least, most, default (-1: required; -2: see the field's meaning), meaning. */
#define PK_SHAPE_FIELDS(row)                                                                                 \
    row(layers, "num_hidden_layers", "n_layer", 1, 100000, -1,                                               \
        "blocks") row(width, "hidden_size", "n_embd", 1, 1 << 20, -1,                                        \
                      "features of the residual stream") row(ff, "intermediate_size", "n_inner", 1, 1 << 24, \
                                                             -1, "features inside the feed-forward part")    \
        row(heads, "num_attention_heads", "n_head", 0, 65536, -1,                                            \
            "heads of the queries; 0: no attention") row(kv_heads, "num_key_value_heads", "", 0, 65536, -2,  \
                                                         "heads of keys and values; default heads")          \
            row(head_dim, "head_dim", "", 1, 65536, -2, "features of a head; default width / heads") row(    \
                vocab, "vocab_size", "", 0, 1 << 24, -1, "rows of the embedding and of the head; 0: none")   \
                row(positions, "n_positions", "", 0, 1 << 24, 0, "learned positions; 0: rotary")             \
                    row(ff_matrices, "", "", 2, 3, 3, "matrices of the feed-forward part: 3 gated, 2 not")   \
                        row(ff_kept, "", "", 1, 3, 2, "arrays of ff features that the backward pass needs")  \
                            row(tied, "tie_word_embeddings", "", 0, 1, 0,                                    \
                                "1: the head uses the embedding's matrix")                                   \
                                row(block_vectors, "", "", 0, INT64_C(1) << 32, -2,                          \
                                    "norms and biases of a block; default 2 width")                          \
                                    row(end_vectors, "", "", 0, INT64_C(1) << 32, -2,                        \
                                        "of the last norm; default width, 0 without vocab")

struct pk_model_shape {
    const char *name; /* as it was written */
#define PK_SHAPE_FIELD(name, ...) int64_t name;
    PK_SHAPE_FIELDS(PK_SHAPE_FIELD)
};

/* The fields as rows, for the readers of texts and files. */
struct pk_model_shape_field {
    const char *name, *config, *config_also;
    int64_t least, most, def;
    const char *meaning;
    size_t offset;
};
enum { PK_SHAPE_REQUIRED = -1, PK_SHAPE_DERIVED = -2 };
extern const struct pk_model_shape_field pk_model_shape_fields[]; /* ends where name is NULL */

static inline int64_t *pk_model_shape_value(struct pk_model_shape *s, const struct pk_model_shape_field *f)
{
    return (int64_t *)((char *)s + f->offset);
}

/* Presets: name and source, ends where name is NULL. */
struct pk_model_shape_preset {
    const char *name, *sizes, *source;
};
extern const struct pk_model_shape_preset pk_model_shape_presets[];

/* The model of a text (all but a config.json). Texts live in `a`. PK_E_USAGE names the preset that is near, the field and its range. */
enum pk_code pk_model_shape_parse(const char *text, struct pk_arena *a, struct pk_model_shape *out,
                                  struct pk_err *err) PK_MUST_CHECK;

/* The same from a config.json of at most 1 MiB: model types llama, mistral, qwen2, qwen3, gpt2. Anything with experts is refused, and sizes
 * of 0: these are of models that only a text describes (ffn:). */
enum pk_code pk_model_shape_read(const char *path, struct pk_arena *a, struct pk_model_shape *out,
                                 struct pk_err *err) PK_MUST_CHECK;

/* Fills fields that are PK_SHAPE_DERIVED, and checks what fields must be to each other. */
enum pk_code pk_model_shape_complete(struct pk_model_shape *s, struct pk_err *err) PK_MUST_CHECK;

/* Parameters, exact below 2^63 (pk_model_shape_complete refuses larger models). */
int64_t pk_model_shape_parameters(const struct pk_model_shape *s);
