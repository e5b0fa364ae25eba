/* Sdpa graph: the operations of attention, forward and backward, in the order that cuDNN's engines expect. */
#include "ops/cuda/cudnn/sdpa.h"

#include "ops/cuda/cudnn/graph.h"

/* What is written down in one graph. */
struct sdpa {
    struct pk_cudnn_graph *g;
    const struct pk_cudnn_shape *s;
};

static pk_cudnn_tensor tokens(struct sdpa a, enum pk_cudnn_id id)
{
    return pk_cudnn_array(a.g, id, CUDNN_DATA_BFLOAT16, a.s->seq, a.s->dim, PK_CUDNN_DENSE);
}

/* The same memory read as [dim, seq]. */
static pk_cudnn_tensor tokens_transposed(struct sdpa a, enum pk_cudnn_id id)
{
    return pk_cudnn_array(a.g, id, CUDNN_DATA_BFLOAT16, a.s->dim, a.s->seq, PK_CUDNN_TRANSPOSED);
}

static pk_cudnn_tensor rows(struct sdpa a, enum pk_cudnn_id id)
{
    return pk_cudnn_array(a.g, id, CUDNN_DATA_FLOAT, a.s->seq, 1, PK_CUDNN_DENSE);
}

static pk_cudnn_tensor scores(struct sdpa a, cudnnDataType_t type)
{
    return pk_cudnn_virtual(a.g, type, a.s->seq, a.s->seq, PK_CUDNN_DENSE);
}

/* An operation on scores whose result is scores in fp32. */
static pk_cudnn_tensor on_scores(struct sdpa a, cudnnPointwiseMode_t mode, pk_cudnn_tensor x,
                                 pk_cudnn_tensor b)
{
    return pk_cudnn_pointwise(a.g, mode, x, b, scores(a, CUDNN_DATA_FLOAT));
}

static pk_cudnn_tensor on_rows(struct sdpa a, cudnnPointwiseMode_t mode, pk_cudnn_tensor x, pk_cudnn_tensor b)
{
    return pk_cudnn_pointwise(a.g, mode, x, b,
                              pk_cudnn_virtual(a.g, CUDNN_DATA_FLOAT, a.s->seq, 1, PK_CUDNN_DENSE));
}

/* x where the key is not after the query, minus infinity elsewhere. */
static pk_cudnn_tensor masked(struct sdpa a, pk_cudnn_tensor x)
{
    enum { QUERY = 2, KEY = 3 };
    pk_cudnn_tensor query = pk_cudnn_index(a.g, QUERY, x, scores(a, CUDNN_DATA_INT32));
    pk_cudnn_tensor key = pk_cudnn_index(a.g, KEY, x, scores(a, CUDNN_DATA_INT32));
    pk_cudnn_tensor seen =
        pk_cudnn_pointwise(a.g, CUDNN_POINTWISE_CMP_GE, query, key, scores(a, CUDNN_DATA_BOOLEAN));
    return pk_cudnn_select(a.g, seen, x, pk_cudnn_number(a.g, PK_CUDNN_MINUS_INFINITY),
                           scores(a, CUDNN_DATA_FLOAT));
}

static void forward(struct pk_cudnn_graph *g, const struct pk_cudnn_shape *s)
{
    const struct sdpa a = {g, s};
    pk_cudnn_tensor x = pk_cudnn_matmul(g, tokens(a, PK_CUDNN_Q), tokens_transposed(a, PK_CUDNN_K),
                                        scores(a, CUDNN_DATA_FLOAT));
    x = on_scores(a, CUDNN_POINTWISE_MUL, x, pk_cudnn_number(g, PK_CUDNN_SCALE));
    if (s->causal)
        x = masked(a, x);
    pk_cudnn_tensor most = pk_cudnn_reduce(g, CUDNN_REDUCE_TENSOR_MAX, x,
                                           pk_cudnn_virtual(g, CUDNN_DATA_FLOAT, s->seq, 1, PK_CUDNN_DENSE));
    x = on_scores(a, CUDNN_POINTWISE_SUB, x, most);
    x = on_scores(a, CUDNN_POINTWISE_EXP, x, NULL);
    pk_cudnn_tensor sum = pk_cudnn_reduce(g, CUDNN_REDUCE_TENSOR_ADD, x,
                                          pk_cudnn_virtual(g, CUDNN_DATA_FLOAT, s->seq, 1, PK_CUDNN_DENSE));
    pk_cudnn_pointwise(g, CUDNN_POINTWISE_ADD, most, on_rows(a, CUDNN_POINTWISE_LOG, sum, NULL),
                       rows(a, PK_CUDNN_LSE));
    x = pk_cudnn_pointwise(g, CUDNN_POINTWISE_DIV, x, sum, scores(a, CUDNN_DATA_BFLOAT16));
    pk_cudnn_matmul(g, x, tokens(a, PK_CUDNN_V), tokens(a, PK_CUDNN_O));
}

/* delta = rowsum(d_o * o); the multiplication by one is where engines expect the scale of dropout. */
static pk_cudnn_tensor delta_of(struct sdpa a, pk_cudnn_tensor d_o)
{
    pk_cudnn_tensor x = pk_cudnn_virtual(a.g, CUDNN_DATA_FLOAT, a.s->seq, a.s->dim, PK_CUDNN_DENSE);
    pk_cudnn_tensor sum = pk_cudnn_virtual(a.g, CUDNN_DATA_FLOAT, a.s->seq, 1, PK_CUDNN_DENSE);
    pk_cudnn_pointwise(a.g, CUDNN_POINTWISE_MUL, d_o, tokens(a, PK_CUDNN_O), x);
    pk_cudnn_reduce(a.g, CUDNN_REDUCE_TENSOR_ADD, x, sum);
    return pk_cudnn_pointwise(a.g, CUDNN_POINTWISE_MUL, sum, pk_cudnn_number(a.g, PK_CUDNN_ONE),
                              rows(a, PK_CUDNN_DELTA));
}

/* x read as its transpose, in bf16. */
static pk_cudnn_tensor transposed(struct sdpa a, pk_cudnn_tensor x)
{
    return pk_cudnn_reshape(
        a.g, x, pk_cudnn_virtual(a.g, CUDNN_DATA_BFLOAT16, a.s->seq, a.s->seq, PK_CUDNN_TRANSPOSED));
}

static void backward(struct pk_cudnn_graph *g, const struct pk_cudnn_shape *s)
{
    const struct sdpa a = {g, s};
    pk_cudnn_tensor q = tokens(a, PK_CUDNN_Q), kt = tokens_transposed(a, PK_CUDNN_K),
                    d_o = tokens(a, PK_CUDNN_D_O), scale = pk_cudnn_number(g, PK_CUDNN_SCALE);
    pk_cudnn_tensor delta = delta_of(a, d_o);
    pk_cudnn_tensor p = pk_cudnn_matmul(g, q, kt, scores(a, CUDNN_DATA_FLOAT));
    p = on_scores(a, CUDNN_POINTWISE_MUL, p, scale);
    p = on_scores(a, CUDNN_POINTWISE_SUB, p, rows(a, PK_CUDNN_LSE));
    if (s->causal)
        p = masked(a, p);
    p = on_scores(a, CUDNN_POINTWISE_EXP, p, NULL);
    pk_cudnn_matmul(g, transposed(a, p), d_o, tokens(a, PK_CUDNN_DV));

    pk_cudnn_tensor ds =
        pk_cudnn_matmul(g, d_o, tokens_transposed(a, PK_CUDNN_V), scores(a, CUDNN_DATA_FLOAT));
    ds = on_scores(a, CUDNN_POINTWISE_SUB, ds, delta);
    ds = on_scores(a, CUDNN_POINTWISE_MUL, ds, p);
    ds = pk_cudnn_pointwise(g, CUDNN_POINTWISE_MUL, ds, scale, scores(a, CUDNN_DATA_BFLOAT16));
    pk_cudnn_matmul(g, transposed(a, ds), q, tokens(a, PK_CUDNN_DK));

    pk_cudnn_tensor k =
        pk_cudnn_reshape(g, kt, pk_cudnn_virtual(g, CUDNN_DATA_BFLOAT16, s->seq, s->dim, PK_CUDNN_DENSE));
    pk_cudnn_tensor dq = pk_cudnn_array(g, PK_CUDNN_DQ_SUM, CUDNN_DATA_FLOAT, s->seq, s->dim, PK_CUDNN_DENSE);
    pk_cudnn_matmul(g, ds, k, dq);
    pk_cudnn_pointwise(g, CUDNN_POINTWISE_IDENTITY, dq, NULL, tokens(a, PK_CUDNN_DQ));
}

void pk_cudnn_sdpa_graph(struct pk_cudnn_graph *g, const struct pk_cudnn_shape *s)
{
    (s->backward ? backward : forward)(g, s);
}
