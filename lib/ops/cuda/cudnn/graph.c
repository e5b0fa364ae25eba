/* Graph: descriptors of tensors and operations, made one after the other until one fails. */
#include "ops/cuda/cudnn/graph.h"

#include "base/err.h"

void pk_cudnn_graph_begin(struct pk_cudnn_graph *g, const struct pk_cudnn *lib, size_t batch,
                          struct pk_err *err)
{
    *g = (struct pk_cudnn_graph){
        .lib = lib, .err = err, .batch = batch, .next_virtual = PK_CUDNN_FIRST_VIRTUAL};
}

static void keep(struct pk_cudnn_graph *g, cudnnStatus_t status, const char *what)
{
    if (!g->rc)
        g->rc = pk_cudnn_check(g->lib, status, what, g->err);
}

static cudnnBackendDescriptor_t make(struct pk_cudnn_graph *g, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    if (g->rc)
        return NULL;
    pk_assert(g->n_parts < PK_CUDNN_PARTS_MAX);
    keep(g, g->lib->cudnnBackendCreateDescriptor(type, &d), "describing attention");
    if (!g->rc)
        g->parts[g->n_parts++] = d;
    return d;
}

static void set(struct pk_cudnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
    if (!g->rc)
        keep(g, g->lib->cudnnBackendSetAttribute(d, name, type, n, value), "describing attention");
}

static void set_part(struct pk_cudnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     cudnnBackendDescriptor_t part)
{
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part);
}

static void finish(struct pk_cudnn_graph *g, cudnnBackendDescriptor_t d, const char *what)
{
    if (!g->rc)
        keep(g, g->lib->cudnnBackendFinalize(d), what);
}

/* --- tensors --- */

struct tensor {
    int64_t id;
    cudnnDataType_t type;
    int64_t dims[4], strides[4];
    bool is_virtual, by_value;
};

static pk_cudnn_tensor make_tensor(struct pk_cudnn_graph *g, const struct tensor *t)
{
    const int64_t align = 16; /* bytes; the pool gives PK_POOL_ALIGN */
    cudnnBackendDescriptor_t d = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &t->type);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, t->dims);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, t->strides);
    set(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &t->id);
    set(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
    set(g, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &t->is_virtual);
    set(g, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &t->by_value);
    finish(g, d, "describing an array of attention");
    return d;
}

static struct tensor matrix(const struct pk_cudnn_graph *g, int64_t id, cudnnDataType_t type, size_t rows,
                            size_t columns, enum pk_cudnn_layout layout)
{
    const int64_t b = (int64_t)g->batch, m = (int64_t)rows, n = (int64_t)columns;
    const bool t = layout == PK_CUDNN_TRANSPOSED;
    return (struct tensor){
        .id = id, .type = type, .dims = {b, 1, m, n}, .strides = {m * n, m * n, t ? 1 : n, t ? m : 1}};
}

pk_cudnn_tensor pk_cudnn_array(struct pk_cudnn_graph *g, int64_t id, cudnnDataType_t type, size_t rows,
                               size_t columns, enum pk_cudnn_layout layout)
{
    pk_assert(id < PK_CUDNN_FIRST_VIRTUAL);
    const struct tensor t = matrix(g, id, type, rows, columns, layout);
    return make_tensor(g, &t);
}

pk_cudnn_tensor pk_cudnn_number(struct pk_cudnn_graph *g, int64_t id)
{
    const struct tensor t = {id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, .by_value = true};
    return make_tensor(g, &t);
}

pk_cudnn_tensor pk_cudnn_virtual(struct pk_cudnn_graph *g, cudnnDataType_t type, size_t rows, size_t columns,
                                 enum pk_cudnn_layout layout)
{
    struct tensor t = matrix(g, g->next_virtual++, type, rows, columns, layout);
    t.is_virtual = true;
    return make_tensor(g, &t);
}

/* --- operations --- */

/* Closed: the operation has all its parts. */
static pk_cudnn_tensor add(struct pk_cudnn_graph *g, cudnnBackendDescriptor_t op, pk_cudnn_tensor y)
{
    finish(g, op, "describing an operation of attention");
    pk_assert(g->n_operations < PK_CUDNN_OPERATIONS_MAX);
    g->operations[g->n_operations++] = op;
    return y;
}

static void compute_in(struct pk_cudnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                       cudnnDataType_t type)
{
    set(g, d, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}

pk_cudnn_tensor pk_cudnn_matmul(struct pk_cudnn_graph *g, pk_cudnn_tensor a, pk_cudnn_tensor b,
                                pk_cudnn_tensor y)
{
    cudnnBackendDescriptor_t how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    compute_in(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    finish(g, how, "describing a product");
    cudnnBackendDescriptor_t op = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_part(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_part(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_part(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_part(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, y);
    return add(g, op, y);
}

static cudnnBackendDescriptor_t pointwise_of(struct pk_cudnn_graph *g, cudnnPointwiseMode_t mode,
                                             const int64_t *axis)
{
    const cudnnDataType_t type = mode == CUDNN_POINTWISE_GEN_INDEX ? CUDNN_DATA_INT32
                                 : mode == CUDNN_POINTWISE_CMP_GE  ? CUDNN_DATA_BOOLEAN
                                                                   : CUDNN_DATA_FLOAT;
    cudnnBackendDescriptor_t how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    compute_in(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, type);
    if (axis)
        set(g, how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, axis);
    finish(g, how, "describing arithmetic");
    cudnnBackendDescriptor_t op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    return op;
}

pk_cudnn_tensor pk_cudnn_pointwise(struct pk_cudnn_graph *g, cudnnPointwiseMode_t mode, pk_cudnn_tensor x,
                                   pk_cudnn_tensor b, pk_cudnn_tensor y)
{
    cudnnBackendDescriptor_t op = pointwise_of(g, mode, NULL);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return add(g, op, y);
}

pk_cudnn_tensor pk_cudnn_index(struct pk_cudnn_graph *g, int64_t axis, pk_cudnn_tensor x, pk_cudnn_tensor y)
{
    cudnnBackendDescriptor_t op = pointwise_of(g, CUDNN_POINTWISE_GEN_INDEX, &axis);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return add(g, op, y);
}

pk_cudnn_tensor pk_cudnn_select(struct pk_cudnn_graph *g, pk_cudnn_tensor where, pk_cudnn_tensor x,
                                pk_cudnn_tensor b, pk_cudnn_tensor y)
{
    cudnnBackendDescriptor_t op = pointwise_of(g, CUDNN_POINTWISE_BINARY_SELECT, NULL);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, where);
    set_part(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return add(g, op, y);
}

pk_cudnn_tensor pk_cudnn_reduce(struct pk_cudnn_graph *g, cudnnReduceTensorOp_t op, pk_cudnn_tensor x,
                                pk_cudnn_tensor y)
{
    cudnnBackendDescriptor_t how = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
    compute_in(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    finish(g, how, "describing a reduction");
    cudnnBackendDescriptor_t d = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    set_part(g, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_part(g, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    return add(g, d, y);
}

pk_cudnn_tensor pk_cudnn_reshape(struct pk_cudnn_graph *g, pk_cudnn_tensor x, pk_cudnn_tensor y)
{
    cudnnBackendDescriptor_t op = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_part(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_part(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    return add(g, op, y);
}

/* --- the whole --- */

enum pk_code pk_cudnn_graph_finish(struct pk_cudnn_graph *g)
{
    cudnnBackendDescriptor_t d = make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(g, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, (int64_t)g->n_operations,
        g->operations);
    if (g->lib->handle)
        set(g, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->lib->handle);
    finish(g, d, "describing the graph of attention");
    g->finished = d;
    return g->rc;
}

void pk_cudnn_graph_drop(struct pk_cudnn_graph *g)
{
    while (g->n_parts)
        g->lib->cudnnBackendDestroyDescriptor(g->parts[--g->n_parts]);
}
