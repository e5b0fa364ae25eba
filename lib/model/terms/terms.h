/* Terms: the memory model and the time model of a training step on a mesh of chips.
 *
 * Every quantity is a row, and its formula is both the code that computes it and the text that --explain prints: inputs, values derived from
 * them, terms, sums of terms by group, totals, in this order. A formula uses names of rows above it only, so that a reader can compute
 * the rows from top to bottom.
 *
 * Who is sharded. A mesh has dp * fsdp * tp * cp * pp chips. Sequences of a batch are divided among dp * fsdp data shards. tp divides the
 * matrices of a block (and, with sequence parallelism, the values between them), cp the tokens of each sequence, pp the blocks. ZeRO divides
 * the optimizer's state (stage 1), gradients (2) and weights (3) among the fsdp * cp chips that hold the same weights. Activations are divided
 * by tp, cp and pp, and by nothing else. The chips of one tp, cp or pp group work on the same sequences: they have no batches of their own.
 *
 * A stage is one of pp; memory is that of a chip of the first or the last stage, whichever needs more, time that of the last stage, which
 * has as many blocks as the fullest, and the head.
 *
 * Sources: Rajbhandari et al. 2020 (ZeRO), Shoeybi et al. 2019 and Korthikanti et al. 2022 (tensor and sequence parallelism, selective
 * recomputation), Narayanan et al. 2021 (1F1B and interleaved schedules), Liu et al. 2023 (ring attention), Austin et al. 2025 (How to scale
 * your model: the form `book`). */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

// clang-format off
/* --- inputs: name, unit, meaning --- */
#define PK_PARALLEL_INPUTS(row)                                                                                  \
    row(layers, "blocks", "blocks of the model")                                                             \
    row(width, "features", "residual stream")                                                                \
    row(ff, "features", "inside the feed-forward part")                                                      \
    row(ff_matrices, "matrices", "of the feed-forward part")                                                 \
    row(ff_kept, "arrays", "of ff features that backward needs")                                             \
    row(heads, "heads", "of queries")                                                                        \
    row(kv_heads, "heads", "of keys and values")                                                             \
    row(head_dim, "features", "of a head")                                                                   \
    row(vocab, "tokens", "rows of the embedding and of the head")                                            \
    row(positions, "tokens", "learned positions")                                                            \
    row(tied, "0 or 1", "1: the head uses the embedding's matrix")                                           \
    row(block_vectors, "parameters", "norms and biases of a block")                                          \
    row(end_vectors, "parameters", "of the last norm")                                                       \
    row(batch, "sequences", "of one step, on all chips together")                                            \
    row(seq, "tokens", "of a sequence")                                                                      \
    row(dp, "replicas", "each has all states; data parallel")                                                \
    row(fsdp, "shards", "data shards that divide the states; ZeRO and FSDP")                                 \
    row(tp, "chips", "that divide each matrix; tensor parallel")                                             \
    row(cp, "chips", "that divide each sequence; context parallel")                                          \
    row(pp, "stages", "that divide the blocks; pipeline parallel")                                           \
    row(micro, "micro-batches", "of a step")                                                                 \
    row(interleave, "parts", "of a stage, which are not adjacent blocks; 1: plain 1F1B")                     \
    row(zero, "stage", "ZeRO: 0 none, 1 optimizer, 2 and gradients, 3 and weights are sharded")              \
    row(sp, "0 or 1", "sequence parallelism: tp divides the activations between matrices")                   \
    row(selective, "0 or 1", "recompute norms and attention scores in backward")                             \
    row(whole_block, "0 or 1", "keep only the input of a block and recompute the rest in backward")          \
    row(scores, "0 or 1", "attention keeps its matrix of scores (not flash)")                                \
    row(weight_bytes, "bytes", "of a weight")                                                                \
    row(gradient_bytes, "bytes", "of a gradient")                                                            \
    row(optimizer_bytes, "bytes", "of the optimizer's state of a parameter")                                 \
    row(value_bytes, "bytes", "of an activation, and of a weight when it is sent")                           \
    row(reduce_bytes, "bytes", "of a gradient when it is sent")                                              \
    row(prefetch, "units", "gathered at once: the one in use, and those fetched ahead")                      \
    row(sharded_share, "share", "of activations that fsdp divides: 0 except in exercises")            \
    row(book, "0 or 1", "1: a chip sends whole arrays (form book), 0: all but its own part (ring)")          \
    row(sum_axes, "0 or 1", "1: transfers of different axes follow each other, 0: they overlap")             \
    row(hidden, "0 or 1", "1: arithmetic hides transfers")                                                   \
    row(flops_per_s, "FLOP/s", "arithmetic of a chip")                                                       \
    row(link_bytes_per_s, "bytes/s", "of one link between chips of a node")                                  \
    row(network_bytes_per_s, "bytes/s", "of a chip to other nodes")                                          \
    row(launch_ns, "ns", "of a collective or message, whatever its size")                                    \
    row(node, "chips", "of a node; axes are placed in the order tp, cp, fsdp, dp, pp")                       \
    row(links_tp, "links", "of a chip along tp")                                                             \
    row(links_cp, "links", "along cp")                                                                       \
    row(links_fsdp, "links", "along fsdp")                                                                   \
    row(links_dp, "links", "along dp")                                                                       \
    row(links_pp, "links", "along pp")                                                                       \
    row(first_stage, "0 or 1", "1: the chip has the embedding")                                              \
    row(last_stage, "0 or 1", "1: the chip has the head")

/* --- derived values: name, unit, meaning, formula --- */
#define PK_PARALLEL_DERIVED(row)                                                                                 \
    row(chips, "chips", "of the mesh", dp * fsdp * tp * cp * pp)                                                 \
    row(shards, "chips", "that divide the states", fsdp * cp)                                                 \
    row(shard_tokens, "tokens", "of a step on a data shard, shared by its tp, cp and pp chips",              \
        batch * seq / (dp * fsdp))                                                                            \
    row(tokens, "tokens", "of a micro-batch on a chip", shard_tokens / (micro * cp))                         \
    row(attention, "0 or 1", "1: a transformer", heads > 0)                                                  \
    row(block_matrices, "parameters", "matrices of a block",                                                 \
        width * (2 * (heads + kv_heads) * head_dim + ff_matrices * ff))                                       \
    row(stage_layers, "blocks", "of the fullest stage", interleave * ceil(layers / (pp * interleave)))        \
    row(vocab_rows, "tokens", "of the embedding and the head on a chip", ceil(vocab / tp))                   \
    row(own_head, "0 or 1", "1: the head has a matrix of its own here", last_stage * (tied ? pp > 1 : 1))     \
    row(stage_parameters, "parameters", "of a stage on a chip, before ZeRO",                                 \
        stage_layers * (block_matrices / tp + block_vectors) +                                                \
            first_stage * (vocab_rows + positions) * width + own_head * vocab_rows * width +                 \
            last_stage * end_vectors)                                                                        \
    row(unit_parameters, "parameters", "of the largest unit that is gathered at once: a block or a table",   \
        fmax(block_matrices / tp + block_vectors,                                                            \
             fmax(first_stage * (vocab_rows + positions), own_head * vocab_rows) * width))                     \
    row(weight_shards, "chips", "that divide the weights", zero >= 3 ? shards : 1)                           \
    row(gradient_shards, "chips", "that divide the gradients", zero >= 2 ? shards : 1)                       \
    row(optimizer_shards, "chips", "that divide the optimizer's state", zero >= 1 ? shards : 1)              \
    row(seq_shards, "chips", "that divide the activations between matrices", sp ? tp : 1)                    \
    row(in_flight, "micro-batches", "whose activations a stage keeps",                                       \
        fmin(micro, first_stage ? pp + (interleave > 1) * (pp - 1) / interleave                              \
                                : (interleave > 1) * pp + (1 - (interleave > 1) * pp) / interleave))         \
    row(spread, "share", "of its activations that a chip keeps",                                             \
        1 - sharded_share + sharded_share / shards)                                                          \
    row(kept_tokens, "tokens", "times blocks, whose input is kept",                                          \
        spread * in_flight * stage_layers * tokens)                                                             \
    row(full_tokens, "tokens", "times blocks, whose products are kept",                                      \
        whole_block ? spread * tokens : kept_tokens)                                                         \
    row(light_tokens, "tokens", "times blocks, whose norms and scores are kept",                             \
        selective ? spread * tokens : full_tokens)                                                           \
    row(visible, "tokens", "that a token attends to, on average (causal)", (seq + 1) / 2)                    \
    row(score_flops, "FLOP", "of attention, for a token and block, forward",                                 \
        attention * 4 * heads * head_dim * visible)                                                          \
    row(block_flops, "FLOP", "of a block, for a token, forward: 2 for each weight of a matrix, and scores",  \
        2 * block_matrices + score_flops)                                                                    \
    row(tp_reduces, "all-reduces", "of tp, for a block, forward: after each half", 1 + attention)            \
    row(sent_fsdp, "share", "of an array that a chip sends among the shards",                                \
        book ? shards > 1 : (shards - 1) / shards)                                                           \
    row(sent_tp, "share", "among the tp chips", book ? tp > 1 : (tp - 1) / tp)                               \
    row(sent_cp, "share", "among the cp chips", book ? cp > 1 : (cp - 1) / cp)                               \
    row(sent_dp, "share", "among the replicas", book ? dp > 1 : (dp - 1) / dp)                               \
    row(bandwidth_tp, "bytes/s", "along tp", tp <= node ? links_tp * link_bytes_per_s : network_bytes_per_s) \
    row(bandwidth_cp, "bytes/s", "along cp",                                                                 \
        tp * cp <= node ? links_cp * link_bytes_per_s : network_bytes_per_s)                                  \
    row(bandwidth_fsdp, "bytes/s", "along fsdp and cp",                                                      \
        tp * shards <= node ? links_fsdp * link_bytes_per_s : network_bytes_per_s)                            \
    row(bandwidth_dp, "bytes/s", "along dp",                                                                 \
        tp * shards * dp <= node ? links_dp * link_bytes_per_s : network_bytes_per_s)                          \
    row(bandwidth_pp, "bytes/s", "along pp", chips <= node ? links_pp * link_bytes_per_s : network_bytes_per_s)

/* --- terms: name, group, pass, assumption, formula. Memory in bytes of a chip, time in ns of a step --- */
#define PK_PARALLEL_TERMS(row)                                                                                   \
    row(weights, WEIGHTS, FORWARD, "sharded by tp, pp; at ZeRO-3 also by fsdp and cp",                       \
        weight_bytes * stage_parameters / weight_shards)                                                      \
    row(gradients, GRADIENTS, FORWARD, "sharded by tp, pp; from ZeRO-2 on also by fsdp and cp",              \
        gradient_bytes * stage_parameters / gradient_shards)                                                  \
    row(optimizer, OPTIMIZER, FORWARD, "sharded by tp, pp; from ZeRO-1 on also by fsdp and cp",              \
        optimizer_bytes * stage_parameters / optimizer_shards)                                                \
    row(block_inputs, ACTIVATIONS, FORWARD, "sharded by cp, pp; by tp with sp",                              \
        value_bytes * kept_tokens * width / seq_shards)                                                        \
    row(norm_outputs, ACTIVATIONS, FORWARD, "two norms; sharded by cp, pp; by tp with sp",                   \
        attention * value_bytes * light_tokens * 2 * width / seq_shards)                                       \
    row(heads_in, ACTIVATIONS, FORWARD, "queries, keys and values; sharded by tp, cp, pp",                   \
        attention * value_bytes * full_tokens * (heads + 2 * kv_heads) * head_dim / tp)                         \
    row(heads_out, ACTIVATIONS, FORWARD, "result of attention; sharded by tp, cp, pp",                       \
        attention * value_bytes * full_tokens * heads * head_dim / tp)                                           \
    row(score_matrix, ACTIVATIONS, FORWARD, "seq probabilities a token and head; sharded by tp, cp, pp",     \
        attention * scores * value_bytes * light_tokens * heads * seq / tp)                                       \
    row(middle, ACTIVATIONS, FORWARD, "residual stream between the halves; sharded by cp, pp; by tp with sp", \
        attention * value_bytes * full_tokens * width / seq_shards)                                             \
    row(statistics, ACTIVATIONS, FORWARD, "fp32: of two norms, and with flash a log-sum-exp a head",         \
        attention * 4 * full_tokens * (2 / seq_shards + (1 - scores) * heads / tp))                          \
    row(ff_inner, ACTIVATIONS, FORWARD, "feed-forward; sharded by tp, cp, pp; a gated product is recomputed", \
        value_bytes * full_tokens * ff_kept * ff / tp)                                                          \
    row(head_input, ACTIVATIONS, FORWARD, "last norm, its input, its statistics; sharded by cp; by tp with sp", \
        (vocab > 0) * last_stage * tokens * (2 * value_bytes * width + 4) / seq_shards)                      \
    row(logits, ACTIVATIONS, FORWARD, "their gradient takes their place; sharded by tp, cp",                 \
        last_stage * value_bytes * tokens * vocab_rows)                                                         \
    row(gathered, GATHERED, FORWARD, "ZeRO-3: whole units beside the shards; sharded by tp, pp",             \
        (weight_shards > 1) * prefetch * value_bytes * unit_parameters)                                      \
    row(math_forward, MATH, FORWARD, "every stage is as full as the fullest",                                \
        1e9 * micro * tokens * stage_layers * block_flops / (tp * flops_per_s))                              \
    row(math_backward, MATH, BACKWARD, "gradients of activations and of weights: twice forward",             \
        2 * math_forward)                                                                                    \
    row(math_recompute, MATH, BACKWARD, "blocks again, or their scores; norms cost no arithmetic",           \
        whole_block ? math_forward                                                                           \
                    : selective * scores * 1e9 * micro * tokens * stage_layers * score_flops /               \
                          (tp * flops_per_s))                                                                \
    row(head_forward, MATH, FORWARD, "logits; every stage waits for the last",                               \
        last_stage * 1e9 * micro * tokens * 2 * width * vocab_rows / flops_per_s)                            \
    row(head_backward, MATH, BACKWARD, "twice forward", 2 * head_forward)                                    \
    row(gather_forward, FSDP, FORWARD, "ZeRO-3: all weights, for each micro-batch",                          \
        (weight_shards > 1) * micro *                                                                        \
            (1e9 * value_bytes * stage_parameters * sent_fsdp / bandwidth_fsdp + stage_layers * launch_ns))  \
    row(gather_backward, FSDP, BACKWARD, "again: they were freed after forward", gather_forward)             \
    row(scatter_gradients, FSDP, BACKWARD, "from ZeRO-2 on: reduce-scatter for each micro-batch",            \
        (gradient_shards > 1) * micro *                                                                      \
            (1e9 * reduce_bytes * stage_parameters * sent_fsdp / bandwidth_fsdp + stage_layers * launch_ns)) \
    row(tp_forward, TP, FORWARD, "all-reduces, or with sp gathers and scatters of the same bytes",           \
        micro * stage_layers * tp_reduces * (1e9 * 2 * value_bytes * tokens * width * sent_tp / bandwidth_tp +  \
                                          (tp > 1) * launch_ns))                                             \
    row(tp_backward, TP, BACKWARD, "as many", tp_forward)                                                    \
    row(tp_recompute, TP, BACKWARD, "blocks again", whole_block * tp_forward)                                 \
    row(tp_embedding, TP, FORWARD, "rows of the embedding are divided",                                      \
        (vocab > 0) * first_stage * micro *                                                                  \
            (1e9 * 2 * value_bytes * tokens * width * sent_tp / bandwidth_tp + (tp > 1) * launch_ns))        \
    row(tp_head, TP, BACKWARD, "rows of the head are divided",                                               \
        (vocab > 0) * last_stage * micro *                                                                   \
            (1e9 * 2 * value_bytes * tokens * width * sent_tp / bandwidth_tp + (tp > 1) * launch_ns))        \
    row(cp_forward, CP, FORWARD, "keys and values once around the ring",                                     \
        attention * micro * stage_layers * (1e9 * 2 * value_bytes * tokens * cp * sent_cp * kv_heads *          \
                                             head_dim / (tp * bandwidth_cp) +                                \
                                         (cp - 1) * launch_ns))                                              \
    row(cp_backward, CP, BACKWARD, "they and their gradients", 2 * cp_forward)                               \
    row(cp_recompute, CP, BACKWARD, "blocks again", whole_block * cp_forward)                                 \
    row(pp_forward, PP, FORWARD, "the residual stream to the next stage, for each part of a stage",          \
        (pp > 1) * micro * interleave *                                                                      \
            (1e9 * value_bytes * tokens * width / (seq_shards * bandwidth_pp) + launch_ns))                  \
    row(pp_backward, PP, BACKWARD, "its gradient to the stage before", pp_forward)                           \
    row(average_gradients, DP, BACKWARD, "ZeRO-0: all-reduce, ZeRO-1: reduce-scatter among the shards, once", \
        (shards > 1) * (zero <= 1) *                                                                         \
            ((zero ? 1e9 : 2e9) * reduce_bytes * stage_parameters * sent_fsdp / bandwidth_fsdp +               \
             stage_layers * launch_ns))                                                                      \
    row(gather_updated, DP, BACKWARD, "ZeRO-1 and 2: weights after the update, once",                        \
        (optimizer_shards > 1) * (zero <= 2) *                                                               \
            (1e9 * value_bytes * stage_parameters * sent_fsdp / bandwidth_fsdp + stage_layers * launch_ns))  \
    row(average_replicas, DP, BACKWARD, "all-reduce of what a shard has, once",                              \
        (dp > 1) * (2e9 * reduce_bytes * stage_parameters * sent_dp / (optimizer_shards * bandwidth_dp) +    \
                    stage_layers * launch_ns))

/* --- sums: name, group, unit, meaning --- */
#define PK_PARALLEL_SUMS(row)                                                                                    \
    row(weights_sum, WEIGHTS, "bytes", "weights")                                                            \
    row(gradients_sum, GRADIENTS, "bytes", "gradients")                                                      \
    row(optimizer_sum, OPTIMIZER, "bytes", "optimizer")                                                      \
    row(activations_sum, ACTIVATIONS, "bytes", "activations")                                                \
    row(gathered_sum, GATHERED, "bytes", "gathered units")                                                   \
    row(math_sum, MATH, "ns", "arithmetic")                                                                  \
    row(fsdp_sum, FSDP, "ns", "transfers of FSDP, for every micro-batch")                                    \
    row(tp_sum, TP, "ns", "transfers of tensor parallelism")                                                 \
    row(cp_sum, CP, "ns", "transfers of context parallelism")                                                \
    row(pp_sum, PP, "ns", "transfers of pipeline parallelism")                                               \
    row(dp_sum, DP, "ns", "transfers once a step")

/* --- totals: name, unit, meaning, formula --- */
#define PK_PARALLEL_TOTALS(row)                                                                                  \
    row(memory_bytes, "bytes", "of a chip",                                                                  \
        weights_sum + gradients_sum + optimizer_sum + activations_sum + gathered_sum)                        \
    row(micro_transfers, "ns", "of all micro-batches",                                                       \
        sum_axes ? fsdp_sum + tp_sum + cp_sum + pp_sum : fmax(fmax(fsdp_sum, tp_sum), fmax(cp_sum, pp_sum))) \
    row(transfers, "ns", "of a step", sum_axes ? micro_transfers + dp_sum : fmax(micro_transfers, dp_sum))   \
    row(busy, "ns", "arithmetic and transfers, without the bubble",                                          \
        hidden ? fmax(math_sum, transfers) : math_sum + transfers)                                           \
    row(bubble, "ns", "a stage waits for the first and the last micro-batch of others",                      \
        (pp - 1) / (interleave * micro) *                                                                    \
            (hidden ? fmax(math_sum, micro_transfers) : math_sum + micro_transfers))                         \
    row(step_ns, "ns", "time of a step", busy + bubble)                                                      \
    row(tokens_per_s, "tokens/s", "of all chips", 1e9 * batch * seq / step_ns)                               \
    row(utilisation, "share", "of the chips' arithmetic that the model itself needs",                        \
        3e9 * batch * seq * (layers * block_flops + 2 * width * vocab) / (chips * flops_per_s * step_ns)) \
    row(tp_most, "chips", "beyond this tp its transfers take longer than arithmetic, whatever the batch",   \
        block_flops * links_tp * link_bytes_per_s / (2 * value_bytes * tp_reduces * width * flops_per_s) +   \
            (1 - book))                                                                                      \
    row(free_tokens, "tokens", "of a chip: the least for arithmetic to hide transfers, were fsdp and tp free (form book)", \
        (sum_axes ? 4 : 1) * value_bytes * block_matrices * 2 * value_bytes * tp_reduces * width *           \
            (flops_per_s / link_bytes_per_s) * (flops_per_s / link_bytes_per_s) /                            \
            (links_fsdp * links_tp * block_flops * block_flops))

// clang-format on

enum pk_parallel_group {
#define PK_PARALLEL_GROUP(name, GROUP, ...) PK_PARALLEL_##GROUP,
    PK_PARALLEL_SUMS(PK_PARALLEL_GROUP) PK_PARALLEL_GROUPS,
    PK_PARALLEL_FIRST_TIME = PK_PARALLEL_MATH
};
enum pk_parallel_pass { PK_PARALLEL_FORWARD, PK_PARALLEL_BACKWARD, PK_PARALLEL_PASSES };

/* The value of every row, by its name. The caller sets the inputs, pk_parallel_evaluate the rest. */
struct pk_parallel_values {
#define PK_PARALLEL_FIELD(name, ...) double name;
    PK_PARALLEL_INPUTS(PK_PARALLEL_FIELD)
    PK_PARALLEL_DERIVED(PK_PARALLEL_FIELD)
    PK_PARALLEL_TERMS(PK_PARALLEL_FIELD)
    PK_PARALLEL_SUMS(PK_PARALLEL_FIELD)
    PK_PARALLEL_TOTALS(PK_PARALLEL_FIELD)
    double forward[PK_PARALLEL_GROUPS]; /* the sums of the terms of forward alone */
};

void pk_parallel_evaluate(struct pk_parallel_values *v);

/* The rows, in the order of evaluation. */
enum pk_parallel_kind {
    PK_PARALLEL_INPUT,
    PK_PARALLEL_DERIVED_VALUE,
    PK_PARALLEL_TERM,
    PK_PARALLEL_SUM,
    PK_PARALLEL_TOTAL
};
struct pk_parallel_row {
    const char *name;
    enum pk_parallel_kind kind;
    enum pk_parallel_group group; /* of terms and sums */
    enum pk_parallel_pass pass;   /* of terms */
    const char *unit, *meaning;   /* of terms the meaning is the assumption */
    const char *formula;          /* as the code has it; NULL for inputs and sums */
    size_t offset;
};
extern const struct pk_parallel_row pk_parallel_rows[]; /* ends where name is NULL */

static inline double pk_parallel_value(const struct pk_parallel_values *v, const struct pk_parallel_row *row)
{
    return *(const double *)((const char *)v + row->offset);
}

/* --- formulas as text: explain.c --- */

/* The formula of a row as text; with v its names are replaced by their values. "" for inputs. In `a`. */
const char *pk_parallel_formula(const struct pk_parallel_row *row, const struct pk_parallel_values *v,
                                struct pk_arena *a);

/* A formula with its names replaced by their values; `find` answers NULL for a word that is not a name (of n characters). In `a`. */
typedef const double *pk_named_value(const void *values, const char *name, size_t n);
const char *pk_formula_numbers(const char *formula, pk_named_value *find, const void *values,
                               struct pk_arena *a);
