/* Fake CUDA: see the header. */
#include "fake_cuda.h"

#include "base/err.h"
#include "device/cuda/parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256, NODES_MAX = 4096, ARGS_MAX = 64, STREAMS_MAX = 8 };

struct node {
    enum { NODE_COPY, NODE_SET, NODE_EVENT, NODE_WORK, NODE_LAUNCH } what;
    void *dst;
    const void *src;
    size_t bytes;
    int value;
    cudaEvent_t event;
    uint64_t ns;
    void (*kernel)(const void *args);
    unsigned char args[ARGS_MAX];
};

struct CUevent_st {
    uint64_t at_ns, gpu_ns; /* by the host's clock, by the GPU's */
    int gpu;
    bool recorded;
};
struct CUgraph_st {
    struct node v[NODES_MAX];
    size_t n;
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};
struct CUstream_st {
    struct CUgraph_st *capture;
    bool invalid; /* the capture: its stream refuses everything until it is ended */
    uint64_t at_ns;
    int index, gpu;
};

struct fake_cuda fake_cuda;
static struct CUstream_st *streams[STREAMS_MAX];

void fake_cuda_reset(void)
{
    fake_cuda = (struct fake_cuda){.driver_version = CUDART_VERSION,
                                   .devices = 1,
                                   .memory_bytes = 1 << 20,
                                   .compiled_for = 90,
                                   .drift_ppm = 50,
                                   .fail_with = cudaErrorUnknown};
}

static cudaError_t failed(cudaError_t rc)
{
    fake_cuda.last = rc;
    return rc;
}

static bool of_a_capture(cudaError_t rc)
{
    return rc >= cudaErrorStreamCaptureUnsupported && rc <= cudaErrorStreamCaptureWrongThread;
}

/* What a call answers before it does anything. */
static cudaError_t enter(void)
{
    fake_cuda.calls++;
    if (fake_cuda.fail_at && --fake_cuda.fail_at == 0) {
        const cudaError_t rc = fake_cuda.fail_with;
        if (rc != cudaErrorMemoryAllocation && rc != cudaErrorInvalidValue && !of_a_capture(rc))
            fake_cuda.broken = rc;
        return failed(rc);
    }
    return fake_cuda.broken ? failed(fake_cuda.broken) : cudaSuccess;
}

/* The same of a call on a stream: one whose capture is invalid takes nothing. */
static cudaError_t enter_stream(cudaStream_t s)
{
    const cudaError_t rc = enter();
    return rc || !s->invalid ? rc : failed(cudaErrorStreamCaptureInvalidated);
}

/* The same of a call that a capture forbids, to take or give back memory and to wait: it does nothing, and the capture is invalid. */
static cudaError_t enter_outside_captures(void)
{
    cudaError_t rc = enter();
    for (int i = 0; i < STREAMS_MAX; i++)
        if (streams[i] && streams[i]->capture) {
            streams[i]->invalid = true;
            rc = failed(cudaErrorStreamCaptureUnsupported);
        }
    return rc;
}

#define ENTER_BY(check)                                                                                      \
    do {                                                                                                     \
        const cudaError_t entered = check;                                                                   \
        if (entered)                                                                                         \
            return entered;                                                                                  \
    } while (0)
#define ENTER()         ENTER_BY(enter())
#define ENTER_STREAM(s) ENTER_BY(enter_stream(s))
#define ENTER_OUTSIDE() ENTER_BY(enter_outside_captures())

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void say(char what, cudaStream_t s)
{
    const size_t n = strlen(fake_cuda.said);
    snprintf(fake_cuda.said + n, sizeof fake_cuda.said - n, "%c%d ", what, s->index);
}

/* What an event of this stream reads now: each GPU's clock began at another time. */
static uint64_t gpu_clock_ns(const struct CUstream_st *s)
{
    static const uint64_t ahead_ns = 86400000000137;
    const int64_t drift_ns = llround((double)s->at_ns * fake_cuda.drift_ppm * 1e-6);
    const uint64_t ns = (uint64_t)(s->gpu + 1) * ahead_ns + s->at_ns + (uint64_t)drift_ns;
    return ns / FAKE_EVENT_NS * FAKE_EVENT_NS;
}

bool fake_cuda_agrees(uint64_t event_ns, uint64_t host_ns, size_t spans)
{
    const double apart = fabs((double)(int64_t)(event_ns - host_ns));
    return apart < 1 + (double)spans * FAKE_EVENT_NS +
                       (double)host_ns * (fabs(fake_cuda.drift_ppm) * 1e-6 + FLT_EPSILON);
}

static void run(const struct node *k, cudaStream_t s)
{
    s->at_ns = later(s->at_ns, fake_cuda.parallel ? fake_cuda.host_ns : fake_cuda.now_ns) + k->ns;
    fake_cuda.now_ns = later(fake_cuda.now_ns, s->at_ns);
    fake_cuda.recorded += fake_cuda.recording && k->what != NODE_EVENT;
    if (k->what == NODE_COPY)
        memcpy(k->dst, k->src, k->bytes);
    else if (k->what == NODE_SET)
        memset(k->dst, k->value, k->bytes);
    else if (k->what == NODE_EVENT)
        *k->event = (struct CUevent_st){s->at_ns, gpu_clock_ns(s), s->gpu, true};
    else if (k->what == NODE_LAUNCH)
        k->kernel(k->args);
}

static void put(cudaStream_t s, struct node k)
{
    static const char letters[] = {
        [NODE_COPY] = 'c', [NODE_SET] = 's', [NODE_EVENT] = 'r', [NODE_WORK] = 'k', [NODE_LAUNCH] = 'k'};
    if (!s->capture) {
        say(letters[k.what], s);
        run(&k, s);
        return;
    }
    if (s->invalid) {
        failed(cudaErrorStreamCaptureInvalidated);
        return;
    }
    pk_assert(s->capture->n < NODES_MAX);
    s->capture->v[s->capture->n++] = k;
}

void fake_cuda_work(struct CUstream_st *stream, uint64_t ns)
{
    put(stream, (struct node){.what = NODE_WORK, .ns = ns});
}

void fake_cuda_release(void)
{
    for (int i = 0; i < STREAMS_MAX; i++)
        if (streams[i])
            streams[i]->at_ns = fake_cuda.host_ns;
    fake_cuda.now_ns = fake_cuda.host_ns;
}

/* The device's own kernel. */
int pk_k_delay(struct CUstream_st *stream, uint64_t ns)
{
    fake_cuda_work(stream, ns);
    return (int)fake_cuda.broken;
}

int pk_k_compiled_for(void)
{
    return fake_cuda.compiled_for;
}

void fake_cuda_launch(struct CUstream_st *stream, void (*kernel)(const void *args), const void *args,
                      size_t bytes)
{
    struct node k = {.what = NODE_LAUNCH, .kernel = kernel, .ns = FAKE_LAUNCH_NS};
    pk_assert(bytes <= sizeof k.args);
    memcpy(k.args, args, bytes);
    fake_cuda.launches++;
    put(stream, k);
}

/* --- the device --- */

static cudaError_t fake_cudaDriverGetVersion(int *v)
{
    *v = fake_cuda.driver_version;
    return cudaSuccess;
}

static cudaError_t fake_cudaRuntimeGetVersion(int *v)
{
    *v = CUDART_VERSION;
    return cudaSuccess;
}

static cudaError_t fake_cudaGetDeviceCount(int *n)
{
    ENTER();
    *n = fake_cuda.devices;
    return fake_cuda.count_rc ? failed(fake_cuda.count_rc) : cudaSuccess;
}

static cudaError_t fake_cudaSetDevice(int device)
{
    ENTER();
    fake_cuda.device_set = device;
    return device < fake_cuda.devices ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

static cudaError_t fake_cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    ENTER();
    *p = (struct cudaDeviceProp){.major = 9,
                                 .multiProcessorCount = 132,
                                 .warpSize = 32, /* all of it an H100's but the memory */
                                 .maxThreadsPerBlock = 1024,
                                 .maxThreadsPerMultiProcessor = 2048,
                                 .regsPerBlock = 65536,
                                 .regsPerMultiprocessor = 65536,
                                 .sharedMemPerBlock = 49152,
                                 .sharedMemPerMultiprocessor = 233472,
                                 .reservedSharedMemPerBlock = 1024,
                                 .sharedMemPerBlockOptin = 232448,
                                 .l2CacheSize = 4096,
                                 .totalGlobalMem = fake_cuda.memory_bytes};
    snprintf(p->name, sizeof p->name, "Fake GPU");
    return cudaSuccess;
}

static cudaError_t fake_cudaDeviceSynchronize(void)
{
    fake_cuda.host_waits++;
    fake_cuda.host_ns = later(fake_cuda.host_ns, fake_cuda.now_ns);
    return enter_outside_captures();
}

static cudaError_t fake_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    ENTER();
    *free_bytes = fake_cuda.memory_bytes - fake_cuda.used_bytes;
    *total = fake_cuda.memory_bytes;
    return cudaSuccess;
}

/* --- memory: a block begins with its size --- */

static cudaError_t fake_cudaMalloc(void **p, size_t bytes)
{
    ENTER_OUTSIDE();
    if (bytes > fake_cuda.memory_bytes - fake_cuda.used_bytes)
        return failed(cudaErrorMemoryAllocation);
    char *block = aligned_alloc(ALIGN, ALIGN + (bytes + ALIGN - 1) / ALIGN * ALIGN);
    pk_assert(block);
    *(size_t *)(void *)block = bytes;
    memset(block + ALIGN, 0xA5, bytes); /* nobody may count on zeros */
    fake_cuda.used_bytes += bytes;
    fake_cuda.live_blocks++;
    *p = block + ALIGN;
    return cudaSuccess;
}

/* In a capture nothing is freed. Otherwise it is, whatever is answered. */
static cudaError_t fake_cudaFree(void *p)
{
    const cudaError_t rc = enter_outside_captures();
    if (p && !of_a_capture(rc)) {
        char *block = (char *)p - ALIGN;
        fake_cuda.used_bytes -= *(size_t *)(void *)block;
        fake_cuda.live_blocks--;
        free(block);
    }
    return rc;
}

static cudaError_t fake_cudaMallocHost(void **p, size_t bytes)
{
    ENTER_OUTSIDE();
    *p = malloc(bytes);
    pk_assert(*p);
    fake_cuda.live_pinned++;
    return cudaSuccess;
}

static cudaError_t fake_cudaFreeHost(void *p)
{
    const cudaError_t rc = enter_outside_captures();
    if (!of_a_capture(rc)) {
        fake_cuda.live_pinned--;
        free(p);
    }
    return rc;
}

static cudaError_t fake_cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                                        cudaStream_t s)
{
    ENTER_STREAM(s);
    put(s, (struct node){.what = NODE_COPY, .dst = dst, .src = src, .bytes = bytes, .ns = FAKE_COPY_NS});
    return cudaSuccess;
}

static cudaError_t fake_cudaMemsetAsync(void *dst, int value, size_t bytes, cudaStream_t s)
{
    ENTER_STREAM(s);
    fake_cuda.set_bytes = bytes;
    put(s, (struct node){.what = NODE_SET, .dst = dst, .value = value, .bytes = bytes, .ns = FAKE_SET_NS});
    return cudaSuccess;
}

/* --- streams and events --- */

static cudaError_t fake_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER();
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

static cudaError_t fake_cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
    ENTER();
    *s = calloc(1, sizeof **s);
    pk_assert(*s);
    while ((*s)->index < STREAMS_MAX - 1 && streams[(*s)->index])
        (*s)->index++;
    (*s)->gpu = fake_cuda.device_set;
    streams[(*s)->index] = *s;
    fake_cuda.live_streams++;
    fake_cuda.greatest_priority_streams += priority == -5;
    return cudaSuccess;
}

static cudaError_t fake_cudaStreamDestroy(cudaStream_t s)
{
    streams[s->index] = NULL;
    fake_cuda.live_streams--;
    fake_cuda.live_graphs -= s->capture != NULL;
    free(s->capture);
    free(s);
    return enter();
}

static cudaError_t fake_cudaStreamSynchronize(cudaStream_t s)
{
    ENTER_STREAM(s);
    fake_cuda.host_waits++;
    fake_cuda.host_ns = later(fake_cuda.host_ns, s->at_ns);
    s->invalid = s->capture != NULL;
    return s->capture ? failed(cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

static cudaError_t fake_cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
    ENTER_STREAM(s);
    say('w', s);
    s->at_ns = later(s->at_ns, event->at_ns);
    return cudaSuccess;
}

/* Runs at once; what it is for takes no time of the stream's. */
static cudaError_t fake_cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *user)
{
    ENTER_STREAM(s);
    say('h', s);
    fn(user);
    return cudaSuccess;
}

static cudaError_t fake_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    ENTER();
    *event = calloc(1, sizeof **event);
    pk_assert(*event);
    fake_cuda.live_events++;
    return cudaSuccess;
}

static cudaError_t fake_cudaEventDestroy(cudaEvent_t event)
{
    fake_cuda.live_events--;
    free(event);
    return enter();
}

/* Without cudaEventRecordExternal an event in a capture is an edge of the graph, and has no time. */
static cudaError_t fake_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t s, unsigned flags)
{
    ENTER_STREAM(s);
    if (!s->capture && flags == cudaEventRecordExternal)
        return failed(cudaErrorIllegalState);
    if (s->capture && flags != cudaEventRecordExternal)
        event->recorded = false;
    else
        put(s, (struct node){.what = NODE_EVENT, .event = event});
    return cudaSuccess;
}

/* Time passes from one look to the next. */
static cudaError_t fake_cudaEventQuery(cudaEvent_t event)
{
    ENTER();
    const bool passed = !fake_cuda.parallel || event->at_ns <= fake_cuda.host_ns;
    fake_cuda.host_ns += FAKE_LOOK_NS;
    return passed ? cudaSuccess : failed(cudaErrorNotReady);
}

static cudaError_t fake_cudaEventSynchronize(cudaEvent_t event)
{
    fake_cuda.host_waits++;
    return enter();
}

static cudaError_t fake_cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    ENTER();
    if (!from->recorded || !to->recorded || from->gpu != to->gpu)
        return failed(cudaErrorInvalidResourceHandle);
    *ms = (float)((double)(int64_t)(to->gpu_ns - from->gpu_ns) * 1e-6); /* negative where `to` came first */
    return cudaSuccess;
}

/* --- graphs --- */

static cudaError_t fake_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    ENTER();
    if (s->capture)
        return failed(cudaErrorIllegalState);
    s->capture = calloc(1, sizeof *s->capture);
    pk_assert(s->capture);
    fake_cuda.live_graphs++;
    return cudaSuccess;
}

/* A graph without branches: each node follows the last. */
static cudaError_t fake_cudaStreamGetCaptureInfo(cudaStream_t s, enum cudaStreamCaptureStatus *status,
                                                 unsigned long long *id, cudaGraph_t *graph,
                                                 const cudaGraphNode_t **before,
                                                 const cudaGraphEdgeData **edges, size_t *n)
{
    static cudaGraphNode_t last;
    ENTER();
    *status = !s->capture  ? cudaStreamCaptureStatusNone
              : s->invalid ? cudaStreamCaptureStatusInvalidated
                           : cudaStreamCaptureStatusActive;
    *n = *status == cudaStreamCaptureStatusActive && s->capture->n;
    last = *n ? (cudaGraphNode_t)&s->capture->v[s->capture->n - 1] : NULL;
    *before = &last;
    return cudaSuccess;
}

static cudaError_t fake_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    static const enum cudaGraphNodeType types[] = {[NODE_COPY] = cudaGraphNodeTypeMemcpy,
                                                   [NODE_SET] = cudaGraphNodeTypeMemset,
                                                   [NODE_EVENT] = cudaGraphNodeTypeEventRecord,
                                                   [NODE_WORK] = cudaGraphNodeTypeKernel,
                                                   [NODE_LAUNCH] = cudaGraphNodeTypeKernel};
    ENTER();
    *type = types[((const struct node *)(const void *)node)->what];
    return cudaSuccess;
}

static cudaError_t fake_cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    const cudaError_t rc = enter_stream(s);
    s->invalid = false;
    if (rc) { /* an invalidated capture is ended, and there is no graph */
        fake_cuda.live_graphs -= s->capture != NULL;
        free(s->capture);
        s->capture = NULL;
        return rc;
    }
    *graph = s->capture;
    s->capture = NULL;
    return cudaSuccess;
}

static cudaError_t fake_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                             unsigned long long flags)
{
    ENTER();
    *exec = calloc(1, sizeof **exec);
    pk_assert(*exec);
    (*exec)->graph = *graph;
    fake_cuda.live_execs++;
    return cudaSuccess;
}

static cudaError_t fake_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s)
{
    return enter();
}

static cudaError_t fake_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    ENTER();
    fake_cuda.replays++;
    for (size_t i = 0; i < exec->graph.n; i++)
        run(&exec->graph.v[i], s);
    return cudaSuccess;
}

static cudaError_t fake_cudaGraphDestroy(cudaGraph_t graph)
{
    fake_cuda.live_graphs--;
    free(graph);
    return enter();
}

static cudaError_t fake_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    fake_cuda.live_execs--;
    free(exec);
    return enter();
}

/* --- a profiler outside --- */

static cudaError_t fake_cudaProfilerStart(void)
{
    ENTER();
    fake_cuda.ranges += !fake_cuda.recording;
    fake_cuda.recording = true;
    return cudaSuccess;
}

static cudaError_t fake_cudaProfilerStop(void)
{
    ENTER();
    fake_cuda.recording = false;
    return cudaSuccess;
}

/* --- errors --- */

static cudaError_t fake_cudaGetLastError(void)
{
    const cudaError_t rc = fake_cuda.last;
    fake_cuda.last = fake_cuda.broken;
    return rc;
}

static const char *fake_cudaGetErrorName(cudaError_t rc)
{
    static char text[32];
    snprintf(text, sizeof text, "cudaErrorFake %d", rc);
    return rc == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : text;
}

static const char *fake_cudaGetErrorString(cudaError_t rc)
{
    return rc == cudaErrorMemoryAllocation ? "out of memory" : "as the test asked for";
}

#define ENTRY(name) .name = fake_##name,
const struct pk_cuda_api fake_cuda_api = {PK_CUDA_CALLS(ENTRY)};
