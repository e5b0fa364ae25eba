/* Plan: a finished graph turned into a kernel by an engine of cuDNN. Private to lib/ops/cuda/cudnn. */
#pragma once

#include "ops/cuda/cudnn/graph.h"

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
