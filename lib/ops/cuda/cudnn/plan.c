/* Plan: which engines the library proposes, and the first of them that works. */
#include "ops/cuda/cudnn/graph.h"

static cudnnStatus_t set_part(const struct pk_cudnn *lib, cudnnBackendDescriptor_t d,
                              cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t part)
{
    return lib->cudnnBackendSetAttribute(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part);
}

static void drop(const struct pk_cudnn *lib, cudnnBackendDescriptor_t d)
{
    if (d)
        lib->cudnnBackendDestroyDescriptor(d);
}

/* Results are written into descriptors that the caller makes. */
static cudnnStatus_t read_engines(const struct pk_cudnn *lib, cudnnBackendDescriptor_t heuristic,
                                  struct pk_cudnn_engines *out)
{
    cudnnStatus_t rc = CUDNN_STATUS_SUCCESS;
    for (size_t i = 0; !rc && i < PK_CUDNN_ENGINES_MAX; i++)
        rc = lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &out->v[i]);
    if (!rc)
        rc = lib->cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                           CUDNN_TYPE_BACKEND_DESCRIPTOR, PK_CUDNN_ENGINES_MAX, &out->n,
                                           out->v);
    if (out->n > PK_CUDNN_ENGINES_MAX) /* it may count those that it had no room for */
        out->n = PK_CUDNN_ENGINES_MAX;
    return rc;
}

static cudnnStatus_t propose(const struct pk_cudnn_graph *g, struct pk_cudnn_engines *out)
{
    const struct pk_cudnn *lib = g->lib;
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    cudnnBackendDescriptor_t h = NULL;
    cudnnStatus_t rc = lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &h);
    if (!rc)
        rc = set_part(lib, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->finished);
    if (!rc)
        rc = lib->cudnnBackendSetAttribute(h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (!rc && lib->device)
        rc = set_part(lib, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, lib->device);
    if (!rc)
        rc = lib->cudnnBackendFinalize(h);
    if (!rc)
        rc = read_engines(lib, h, out);
    drop(lib, h);
    return rc;
}

enum pk_code pk_cudnn_engines_find(const struct pk_cudnn_graph *g, struct pk_cudnn_engines *out,
                                   struct pk_err *err)
{
    *out = (struct pk_cudnn_engines){0};
    const cudnnStatus_t rc = propose(g, out);
    /* the library has a status for each reason why it does not support something */
    const bool supported = rc / 1000 != CUDNN_STATUS_NOT_SUPPORTED / 1000;
    if (rc ? supported : out->n > 0)
        return pk_cudnn_check(g->lib, rc, "searching for engines", err);
    pk_fail(err, PK_E_UNAVAILABLE, "cuDNN %s has no attention for this shape", g->lib->library.version);
    pk_why(err, "none of its engines supports the graph on this GPU");
    return pk_fix(
        err,
        "use a head dimension that is a multiple of 8 and at most 256, on compute capability 8.0 or later");
}

void pk_cudnn_engines_drop(const struct pk_cudnn *lib, struct pk_cudnn_engines *e)
{
    for (size_t i = 0; i < PK_CUDNN_ENGINES_MAX; i++)
        drop(lib, e->v[i]);
}

static cudnnStatus_t try_engine(const struct pk_cudnn *lib, cudnnBackendDescriptor_t engine,
                                struct pk_cudnn_plan *out)
{
    int64_t n = 0;
    cudnnStatus_t rc = lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &out->plan);
    if (!rc && lib->handle)
        rc = lib->cudnnBackendSetAttribute(out->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                           &lib->handle);
    if (!rc && lib->device)
        rc = set_part(lib, out->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, lib->device);
    if (!rc)
        rc = set_part(lib, out->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
    if (!rc)
        rc = lib->cudnnBackendFinalize(out->plan);
    if (!rc)
        rc = lib->cudnnBackendGetAttribute(out->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                           CUDNN_TYPE_INT64, 1, &n, &out->workspace_bytes);
    if (rc)
        pk_cudnn_plan_end(lib, out);
    return rc;
}

void pk_cudnn_plan_end(const struct pk_cudnn *lib, struct pk_cudnn_plan *p)
{
    drop(lib, p->plan);
    *p = (struct pk_cudnn_plan){0};
}

enum pk_code pk_cudnn_plan_make(const struct pk_cudnn_graph *g, struct pk_cudnn_plan *out, struct pk_err *err)
{
    struct pk_cudnn_engines e;
    *out = (struct pk_cudnn_plan){0};
    enum pk_code rc = pk_cudnn_engines_find(g, &e, err);
    for (int64_t i = 0; i < e.n && !out->plan; i++) {
        const cudnnStatus_t tried = try_engine(g->lib, e.v[i], out);
        if (!tried)
            rc = PK_OK;
        else if (i == 0)
            rc = pk_cudnn_check(g->lib, tried, "making a plan of attention", err);
    }
    pk_cudnn_engines_drop(g->lib, &e);
    return rc;
}
