/* Overlap: which launches may begin before the kernel in front of them has ended (programmatic dependent launch). */
#include "device/cuda/parts.h"

static const struct pk_cuda_api *overlapping; /* NULL: no launch may */

bool pk_cuda_overlap(struct pk_device *dev, bool on)
{
    enum { WAITS_SINCE = 90 }; /* compiled for less, a kernel has no instruction to wait with */
    const struct pk_cuda *c = pk_cuda_of(dev);
    overlapping = on && pk_k_compiled_for() >= WAITS_SINCE ? c->api : NULL;
    return overlapping != NULL;
}

/* In a capture the launch has to follow a kernel directly: the programming guide describes such graph edges only between two kernels,
 * and does not define the capture of a launch that follows the recording of an event. */
bool pk_cuda_may_overlap(struct CUstream_st *stream)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t *before = NULL;
    const cudaGraphEdgeData *edges = NULL; /* required: without it, edges with data are not returned */
    size_t n = 0;
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    const struct pk_cuda_api *api = overlapping;
    if (!api)
        return false;
    cudaError_t rc = api->cudaStreamGetCaptureInfo(stream, &capture, NULL, NULL, &before, &edges, &n);
    if (!rc && n == 1)
        rc = api->cudaGraphNodeGetType(before[0], &type);
    if (rc)
        api->cudaGetLastError(); /* the launch itself reports what is wrong */
    return !rc && (capture == cudaStreamCaptureStatusNone || type == cudaGraphNodeTypeKernel);
}
