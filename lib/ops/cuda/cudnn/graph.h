/* Graph: an operation graph of cuDNN while it is being written down. Private to lib/ops/cuda/cudnn.
 *
 * Tensors are [batch, heads = 1, rows, columns]. Every function adds something and returns its tensor; the first that the library
 * refuses stops all later ones, and pk_cudnn_graph_finish answers with that error: a graph is written without a check per line. */
#pragma once

#include "ops/cuda/cudnn/cudnn.h"

enum { PK_CUDNN_OPERATIONS_MOST = 24, PK_CUDNN_PARTS_MOST = 120 };

typedef cudnnBackendDescriptor_t pk_cudnn_tensor;

struct pk_cudnn_graph {
    const struct pk_cudnn *lib;
    struct pk_err *err;
    enum pk_code rc;
    size_t batch;
    int64_t next_virtual;                                /* the unique id of the next intermediate result */
    cudnnBackendDescriptor_t parts[PK_CUDNN_PARTS_MOST]; /* all that pk_cudnn_graph_drop ends */
    size_t n_parts;
    cudnnBackendDescriptor_t operations[PK_CUDNN_OPERATIONS_MOST];
    size_t n_operations;
    cudnnBackendDescriptor_t finished;
};

/* Intermediate results have ids from here on; those of arrays in memory are below. */
enum { PK_CUDNN_FIRST_VIRTUAL = 100 };

void pk_cudnn_graph_begin(struct pk_cudnn_graph *g, const struct pk_cudnn *lib, size_t batch,
                          struct pk_err *err);

/* How an array [rows, columns] lies in memory: dense, or as the transpose of a dense one. */
enum pk_cudnn_layout { PK_CUDNN_DENSE, PK_CUDNN_TRANSPOSED };

/* An array in memory, a number given by value when the graph is executed, an intermediate result that is never stored. */
pk_cudnn_tensor pk_cudnn_array(struct pk_cudnn_graph *g, int64_t id, cudnnDataType_t type, size_t rows,
                               size_t columns, enum pk_cudnn_layout layout);
pk_cudnn_tensor pk_cudnn_number(struct pk_cudnn_graph *g, int64_t id);
pk_cudnn_tensor pk_cudnn_virtual(struct pk_cudnn_graph *g, cudnnDataType_t type, size_t rows, size_t columns,
                                 enum pk_cudnn_layout layout);

/* Operations; each writes `y` and returns it. Computed in fp32, but for indices and what compares them. */
pk_cudnn_tensor pk_cudnn_matmul(struct pk_cudnn_graph *g, pk_cudnn_tensor a, pk_cudnn_tensor b,
                                pk_cudnn_tensor y);
/* b: NULL where the mode has one operand. */
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

/* g->finished is the graph. Whatever came of it, pk_cudnn_graph_drop comes after the plan that is made of it. */
enum pk_code pk_cudnn_graph_finish(struct pk_cudnn_graph *g) PK_MUST_CHECK;
void pk_cudnn_graph_drop(struct pk_cudnn_graph *g);

/* A finished graph turned into a kernel by an engine of cuDNN. */
enum { PK_CUDNN_ENGINES_MOST = 16 };

/* What the library proposes, best first: engines that support the graph on the device, with their settings. */
struct pk_cudnn_engines {
    cudnnBackendDescriptor_t v[PK_CUDNN_ENGINES_MOST];
    int64_t n;
};

/* PK_E_UNAVAILABLE when there is none. pk_cudnn_engines_drop comes after it, whatever the answer. */
enum pk_code pk_cudnn_engines_find(const struct pk_cudnn_graph *g, struct pk_cudnn_engines *out,
                                   struct pk_err *err) PK_MUST_CHECK;
void pk_cudnn_engines_drop(const struct pk_cudnn *lib, struct pk_cudnn_engines *e);

struct pk_cudnn_plan {
    cudnnBackendDescriptor_t plan; /* executable with lib->handle */
    int64_t workspace_bytes;
};

/* By the first engine that can: generating and compiling code takes 0.3 to 0.7 s. PK_E_UNAVAILABLE when there is no engine; when each of
 * them fails, what the first said. The plan outlives the graph. */
enum pk_code pk_cudnn_plan_make(const struct pk_cudnn_graph *g, struct pk_cudnn_plan *out,
                                struct pk_err *err) PK_MUST_CHECK;
void pk_cudnn_plan_end(const struct pk_cudnn *lib, struct pk_cudnn_plan *p);
