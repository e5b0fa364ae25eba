/* Overhead: what CUPTI and the driver say of their own time during a traced iteration. */
#include "counter/cuda/gpu_trace.h"

#include "counter/cuda/cupti.h"

#include <stdlib.h>

static enum pk_overhead_kind kind_of(CUpti_ActivityOverheadKind kind)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
        return PK_OVERHEAD_INSTRUMENTATION;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
        return PK_OVERHEAD_BUFFERS;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
        return PK_OVERHEAD_RESOURCES;
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
        return PK_OVERHEAD_COMPILER;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
        return PK_OVERHEAD_LOADING;
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
        return PK_OVERHEAD_FULL;
    default:
        return PK_OVERHEAD_OTHER;
    }
}

/* cupti_activity.h: the client frees it. */
void pk_gpu_overhead_free(const void *record)
{
    const CUpti_ActivityOverhead3 *r = record;
    free(r->overheadData);
}

void pk_gpu_overhead_add(struct pk_trace *into, const void *record, uint64_t from_ns, uint64_t to_ns)
{
    const CUpti_ActivityOverhead3 *r = record;
    struct pk_overhead *sum = &into->overhead[kind_of(r->overheadKind)];
    pk_gpu_overhead_free(record);
    if (!r->start || r->end < r->start || r->start < from_ns || r->start > to_ns)
        return;
    sum->n++;
    sum->ns += r->end - r->start;
}
