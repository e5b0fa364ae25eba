/* Graph: builds an operation graph of cuDNN. Private to lib/ops/cuda/cudnn.
 *
 * Tensors are [batch, heads = 1, rows, columns]. Every function adds an element and returns its tensor. After the first error of the
 * library the other functions do nothing, and pk_cudnn_graph_finish returns that error, so that no call needs a check. */
#pragma once

#include "ops/cuda/cudnn/cudnn.h"

enum { PK_CUDNN_OPERATIONS_MAX = 24, PK_CUDNN_PARTS_MAX = 120 };

typedef cudnnBackendDescriptor_t pk_cudnn_tensor;

struct pk_cudnn_graph {
    const struct pk_cudnn *lib;
    struct pk_err *err;
    enum pk_code rc;
    size_t batch;
    int64_t next_virtual;                               /* the unique id of the next intermediate result */
    cudnnBackendDescriptor_t parts[PK_CUDNN_PARTS_MAX]; /* everything that pk_cudnn_graph_drop frees */
    size_t n_parts;
    cudnnBackendDescriptor_t operations[PK_CUDNN_OPERATIONS_MAX];
    size_t n_operations;
    cudnnBackendDescriptor_t finished;
};

/* The first id of intermediate results; arrays in memory have smaller ids. */
enum { PK_CUDNN_FIRST_VIRTUAL = 100 };

void pk_cudnn_graph_begin(struct pk_cudnn_graph *g, const struct pk_cudnn *lib, size_t batch,
                          struct pk_err *err);

/* The layout of an array [rows, columns]: dense, or the transpose of a dense one. */
enum pk_cudnn_layout { PK_CUDNN_DENSE, PK_CUDNN_TRANSPOSED };

/* An array in memory; a number that is passed by value at execution; an intermediate result that is not stored. */
pk_cudnn_tensor pk_cudnn_array(struct pk_cudnn_graph *g, int64_t id, cudnnDataType_t type, size_t rows,
                               size_t columns, enum pk_cudnn_layout layout);
pk_cudnn_tensor pk_cudnn_number(struct pk_cudnn_graph *g, int64_t id);
pk_cudnn_tensor pk_cudnn_virtual(struct pk_cudnn_graph *g, cudnnDataType_t type, size_t rows, size_t columns,
                                 enum pk_cudnn_layout layout);

/* Operations; each writes `y` and returns it. Computed in fp32, except indices and their comparisons. */
pk_cudnn_tensor pk_cudnn_matmul(struct pk_cudnn_graph *g, pk_cudnn_tensor a, pk_cudnn_tensor b,
                                pk_cudnn_tensor y);
/* b: NULL if the mode has one operand. */
pk_cudnn_tensor pk_cudnn_pointwise(struct pk_cudnn_graph *g, cudnnPointwiseMode_t mode, pk_cudnn_tensor x,
                                   pk_cudnn_tensor b, pk_cudnn_tensor y);
pk_cudnn_tensor pk_cudnn_index(struct pk_cudnn_graph *g, int64_t axis, pk_cudnn_tensor x, pk_cudnn_tensor y);
/* y = where ? x : b */
pk_cudnn_tensor pk_cudnn_select(struct pk_cudnn_graph *g, pk_cudnn_tensor where, pk_cudnn_tensor x,
                                pk_cudnn_tensor b, pk_cudnn_tensor y);
/* Along the axes in which y has one element. */
pk_cudnn_tensor pk_cudnn_reduce(struct pk_cudnn_graph *g, cudnnReduceTensorOp_t op, pk_cudnn_tensor x,
                                pk_cudnn_tensor y);
pk_cudnn_tensor pk_cudnn_reshape(struct pk_cudnn_graph *g, pk_cudnn_tensor x, pk_cudnn_tensor y);

/* g->finished is the graph. Call pk_cudnn_graph_drop in any case, after making a plan from it. */
enum pk_code pk_cudnn_graph_finish(struct pk_cudnn_graph *g) PK_MUST_CHECK;
void pk_cudnn_graph_drop(struct pk_cudnn_graph *g);

/* A plan: a finished graph compiled to a kernel by an engine of cuDNN. */
enum { PK_CUDNN_ENGINES_MAX = 16 };

/* The library's proposals, best first: engines that support the graph on the device, with their settings. */
struct pk_cudnn_engines {
    cudnnBackendDescriptor_t v[PK_CUDNN_ENGINES_MAX];
    int64_t n;
};

/* PK_E_UNAVAILABLE when there is none. Call pk_cudnn_engines_drop afterwards in any case. */
enum pk_code pk_cudnn_engines_find(const struct pk_cudnn_graph *g, struct pk_cudnn_engines *out,
                                   struct pk_err *err) PK_MUST_CHECK;
void pk_cudnn_engines_drop(const struct pk_cudnn *lib, struct pk_cudnn_engines *e);

struct pk_cudnn_plan {
    cudnnBackendDescriptor_t plan; /* executable with lib->handle */
    int64_t workspace_bytes;
};

/* Makes a plan with the first engine that succeeds; generating and compiling code takes 0.3 to 0.7 s. PK_E_UNAVAILABLE when there is no
 * engine; when all fail, the error of the first. The plan outlives the graph. */
enum pk_code pk_cudnn_plan_make(const struct pk_cudnn_graph *g, struct pk_cudnn_plan *out,
                                struct pk_err *err) PK_MUST_CHECK;
void pk_cudnn_plan_end(const struct pk_cudnn *lib, struct pk_cudnn_plan *p);
