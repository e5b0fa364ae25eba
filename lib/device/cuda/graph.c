/* Graph: captured work as a CUDA graph. */
#include "device/lane.h"

#include "base/err.h"
#include "device/cuda/parts.h"

static enum pk_code begin(struct pk_device *dev, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    pk_assert(!c->capturing);
    enum pk_code rc = pk_cuda_check(
        dev, c->api->cudaStreamBeginCapture(c->stream[PK_LANE_COMPUTE], cudaStreamCaptureModeThreadLocal),
        "starting a capture", err);
    c->capturing = rc == PK_OK;
    c->capture_rc = cudaSuccess;
    return rc;
}

static enum pk_code instantiate(struct pk_device *dev, cudaGraph_t graph, void **out, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    cudaGraphExec_t exec = NULL;
    enum pk_code rc =
        pk_cuda_check(dev, c->api->cudaGraphInstantiate(&exec, graph, 0), "instantiating a graph", err);
    if (!rc)
        rc = pk_cuda_check(dev, c->api->cudaGraphUpload(exec, c->stream[PK_LANE_COMPUTE]),
                           "uploading a graph", err);
    if (rc && exec)
        c->api->cudaGraphExecDestroy(exec);
    if (!rc)
        *out = exec;
    return rc;
}

/* The capture has to be ended even if the work failed, or the stream stays unusable. */
static enum pk_code end(struct pk_device *dev, enum pk_code work, void **out, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    cudaGraph_t graph = NULL;
    pk_assert(c->capturing);
    c->capturing = false;
    cudaError_t ended = c->api->cudaStreamEndCapture(c->stream[PK_LANE_COMPUTE], &graph);
    if (c->capture_rc && !pk_cuda_is_sticky(ended)) /* the cause; or a graph without one of its marks */
        ended = c->capture_rc;
    if (work)
        c->api->cudaGetLastError(); /* keep the work's own error */
    enum pk_code rc = work ? work : pk_cuda_check(dev, ended, "ending a capture", err);
    if (!rc)
        rc = instantiate(dev, graph, out, err);
    if (graph)
        c->api->cudaGraphDestroy(graph);
    return rc;
}

static enum pk_code replay(struct pk_device *dev, void *exec, struct pk_err *err)
{
    struct pk_cuda *c = pk_cuda_of(dev);
    return pk_cuda_check(dev, c->api->cudaGraphLaunch(exec, c->stream[PK_LANE_COMPUTE]), "launching a graph",
                         err);
}

static void drop(struct pk_device *dev, void *exec)
{
    pk_cuda_of(dev)->api->cudaGraphExecDestroy(exec);
}

const struct pk_graph_ops pk_cuda_graphs = {begin, end, replay, drop};
