/* BERT: the parameter tree of BertForMaskedLM as the reports' authors build it: 16 * layers + 10 leaves.
 *
 * Fields in order. Linear: weight [out, in], bias [out]; LayerNorm: weight, bias [H]; Dropout: nothing.
 *   bert.embeddings: word_embeddings.weight [V, H], position_embeddings.weight [P, H], token_type_embeddings.weight [T, H],
 *                    LayerNorm, dropout
 *   bert.encoder.layer.N.attention.self: query, value, key (Linear H -> H), sdpa (empty)
 *                        attention.output: dense (Linear H -> H), LayerNorm, dropout
 *                        intermediate: dense (Linear H -> I)
 *                        output: dense (Linear I -> H), LayerNorm, dropout
 *   cls.predictions: transform (dense Linear H -> H, LayerNorm), bias [V], a bare leaf
 * The decoder is tied to the word embeddings and is not a leaf. 33 * layers + 24 internal nodes. Source: carlesoctav/fme,
 * src/models/bert/modeling_bert.py; counts in docs/tree-patch.md. */
#pragma once

#include "model/tree/tree.h"

struct pk_bert {
    int64_t layers, hidden, intermediate, vocab; /* each at least 1 */
    int64_t positions, token_types;              /* 512 and 2 in every configuration of the reports */
};

/* The data that all trees of one configuration share: names, types, shapes. In the arena. */
struct pk_bert_plan;
struct pk_bert_plan *pk_bert_prepare(const struct pk_bert *config, struct pk_arena *a);

/* Bytes of the nodes of one tree: 49 * layers + 34 nodes, each except the root with a slot in its parent. */
size_t pk_bert_bytes(const struct pk_bert_plan *p);

/* Makes the nodes in `b` without other memory, so that it can be timed. `sharded`: parameters that the reports' plan divides are made
 * with their sharding (the variant built-in). */
void pk_bert_make(const struct pk_bert_plan *p, bool sharded, struct pk_bump *b, struct pk_tree *out);
