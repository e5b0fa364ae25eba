/* Sdpa graph: scaled dot-product attention as graphs that cuDNN's fused engines know. Private to lib/ops/cuda/cudnn.
 *
 * The engines match patterns: the order of operations, their types and which results are stored are theirs, not a choice of ours. */
#pragma once

#include "ops/cuda/cudnn/graph.h"
#include "ops/cuda/cudnn/sdpa.h"

/* Writes the shape's direction down, between pk_cudnn_graph_begin and pk_cudnn_graph_finish. */
void pk_cudnn_sdpa_graph(struct pk_cudnn_graph *g, const struct pk_cudnn_shape *s);
