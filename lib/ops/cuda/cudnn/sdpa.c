/* Sdpa: a plan per shape, kept beside the device, and its execution. */
#include "ops/cuda/cudnn/sdpa.h"

#include "base/err.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/cudnn/graph.h"

#include <math.h>
#include <string.h>

/* The numbers that a graph is given by value: the library reads them where they are. */
struct graph_scalars {
    float scale, minus_infinity, one;
};

struct pk_cudnn_plans {
    struct pk_cudnn_plans *next;
    struct pk_cudnn_shape shape;
    struct pk_cudnn_plan plan;
    struct graph_scalars numbers;
    cudnnBackendDescriptor_t pack; /* made for `packed`; the pool returns the same addresses repeatedly */
    void *packed[PK_CUDNN_IDS + 1];
};

static bool equal_shapes(const struct pk_cudnn_shape *a, const struct pk_cudnn_shape *b)
{
    return a->batch == b->batch && a->seq == b->seq && a->dim == b->dim && a->causal == b->causal &&
           a->backward == b->backward && a->scale == b->scale;
}

static struct pk_cudnn_plans *find(const struct pk_cudnn *lib, const struct pk_cudnn_shape *s)
{
    struct pk_cudnn_plans *p = lib->plans;
    while (p && !equal_shapes(&p->shape, s))
        p = p->next;
    return p;
}

static void free_plans(struct pk_cudnn *lib)
{
    for (struct pk_cudnn_plans *p = lib->plans; p; p = p->next) {
        if (p->pack)
            lib->cudnnBackendDestroyDescriptor(p->pack);
        pk_cudnn_plan_end(lib, &p->plan);
    }
    lib->plans = NULL;
}

enum pk_code pk_cudnn_prepare(struct pk_device *dev, const struct pk_cudnn_shape *s, struct pk_err *err)
{
    struct pk_cudnn *lib;
    struct pk_cudnn_graph g;
    struct pk_cudnn_plan plan = {0};
    if (pk_cudnn_of_device(dev, &lib, err))
        return err->code;
    if (find(lib, s))
        return PK_OK;
    pk_cudnn_graph_begin(&g, lib, s->batch, err);
    pk_cudnn_sdpa_graph(&g, s);
    enum pk_code rc = pk_cudnn_graph_finish(&g);
    if (!rc)
        rc = pk_cudnn_plan_make(&g, &plan, err);
    pk_cudnn_graph_drop(&g);
    if (rc)
        return rc;
    struct pk_cudnn_plans *p = pk_new(&dev->arena, struct pk_cudnn_plans);
    *p = (struct pk_cudnn_plans){lib->plans, *s, plan, {s->scale, -INFINITY, 1}};
    lib->plans = p;
    lib->free_plans = free_plans;
    return PK_OK;
}

/* Those of the direction, by id. */
static void fill_pointers(struct pk_cudnn_plans *p, void *const arrays[PK_CUDNN_ARRAYS],
                          void *all[PK_CUDNN_IDS])
{
    const bool backward = p->shape.backward;
    const int last = backward ? PK_CUDNN_DV : PK_CUDNN_LSE;
    for (int id = PK_CUDNN_Q; id <= last; id++) {
        pk_assert(arrays[id]);
        all[id] = arrays[id];
    }
    all[PK_CUDNN_SCALE] = &p->numbers.scale;
    all[PK_CUDNN_MINUS_INFINITY] = p->shape.causal ? &p->numbers.minus_infinity : NULL;
    all[PK_CUDNN_ONE] = backward ? &p->numbers.one : NULL;
}

static cudnnStatus_t make_pack(const struct pk_cudnn *lib, void *const all[PK_CUDNN_IDS], void *workspace,
                               cudnnBackendDescriptor_t *pack)
{
    int64_t ids[PK_CUDNN_IDS], n = 0;
    void *pointers[PK_CUDNN_IDS];
    for (int id = PK_CUDNN_Q; id < PK_CUDNN_IDS; id++)
        if (all[id]) {
            ids[n] = id;
            pointers[n++] = all[id];
        }
    cudnnStatus_t rc = lib->cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, pack);
    if (!rc)
        rc = lib->cudnnBackendSetAttribute(*pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n,
                                           ids);
    if (!rc)
        rc = lib->cudnnBackendSetAttribute(*pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                           n, pointers);
    if (!rc)
        rc = lib->cudnnBackendSetAttribute(*pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                           &workspace);
    return rc ? rc : lib->cudnnBackendFinalize(*pack);
}

static enum pk_code execute(const struct pk_cudnn *lib, struct pk_cudnn_plans *p,
                            void *const all[PK_CUDNN_IDS], void *workspace, struct pk_err *err)
{
    void *wanted[PK_CUDNN_IDS + 1];
    memcpy(wanted, all, PK_CUDNN_IDS * sizeof *all);
    wanted[PK_CUDNN_IDS] = workspace;
    cudnnStatus_t rc = CUDNN_STATUS_SUCCESS;
    if (!p->pack || memcmp(wanted, p->packed, sizeof wanted) != 0) {
        if (p->pack)
            lib->cudnnBackendDestroyDescriptor(p->pack);
        p->pack = NULL;
        rc = make_pack(lib, all, workspace, &p->pack);
        memcpy(p->packed, wanted, sizeof wanted);
    }
    if (!rc)
        rc = lib->cudnnBackendExecute(lib->handle, p->plan.plan, p->pack);
    if (rc)
        p->packed[PK_CUDNN_Q] = NULL; /* the pack is incomplete and not used again */
    return pk_cudnn_check(lib, rc, p->shape.backward ? "attention, backward" : "attention, forward", err);
}

/* The library's workspace; all NULL when it needs none. */
struct extra {
    void *delta, *dq_sum, *workspace;
};

static bool allocate_extra(struct pk_device *dev, const struct pk_cudnn_plans *p, struct extra *x)
{
    const struct pk_cudnn_shape *s = &p->shape;
    const size_t rows = s->batch * s->seq;
    bool made = true;
    if (s->backward) {
        x->delta = pk_device_alloc(dev, rows * sizeof(float), PK_TAG_WORKSPACE);
        x->dq_sum = pk_device_alloc(dev, rows * s->dim * sizeof(float), PK_TAG_WORKSPACE);
        made = x->delta && x->dq_sum;
    }
    if (made && p->plan.workspace_bytes)
        made = (x->workspace = pk_device_alloc(dev, (size_t)p->plan.workspace_bytes, PK_TAG_WORKSPACE));
    return made;
}

enum pk_code pk_cudnn_run(struct pk_device *dev, const struct pk_cudnn_shape *s,
                          void *const arrays[PK_CUDNN_ARRAYS], struct pk_err *err)
{
    struct pk_cudnn *lib;
    void *all[PK_CUDNN_IDS] = {0};
    struct extra x = {0};
    if (pk_cudnn_of_device(dev, &lib, err))
        return err->code;
    struct pk_cudnn_plans *p = find(lib, s);
    pk_assert(p);
    fill_pointers(p, arrays, all);
    enum pk_code rc = allocate_extra(dev, p, &x) ? PK_OK : pk_device_oom(dev, err);
    all[PK_CUDNN_DELTA] = x.delta;
    all[PK_CUDNN_DQ_SUM] = x.dq_sum;
    if (!rc)
        rc = execute(lib, p, all, x.workspace, err);
    pk_device_free(dev, x.workspace); /* the lane's next user of each comes after this work */
    pk_device_free(dev, x.dq_sum);
    pk_device_free(dev, x.delta);
    return rc;
}

/* The rows of the table of ops. */
static struct pk_cudnn_shape shape_of(const struct pk_attention *at, bool backward)
{
    return (struct pk_cudnn_shape){at->batch, at->seq, at->dim, at->causal != 0, backward, at->scale};
}

enum pk_code pk_cuda_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    const struct pk_cudnn_shape forward = shape_of(at, false), backward = shape_of(at, true);
    enum pk_code rc = pk_cudnn_prepare(dev, &forward, err);
    return rc ? rc : pk_cudnn_prepare(dev, &backward, err);
}

/* The library's interface has no const: it does not write what the graph reads. */
static enum pk_code run(struct pk_device *dev, const struct pk_attention *at, bool backward,
                        struct pk_err *err)
{
    const struct pk_cudnn_shape s = shape_of(at, backward);
    void *const arrays[PK_CUDNN_ARRAYS] = {
        [PK_CUDNN_Q] = (void *)at->q, [PK_CUDNN_K] = (void *)at->k, [PK_CUDNN_V] = (void *)at->v,
        [PK_CUDNN_O] = at->o,         [PK_CUDNN_LSE] = at->lse,     [PK_CUDNN_D_O] = (void *)at->d_o,
        [PK_CUDNN_DQ] = at->dq,       [PK_CUDNN_DK] = at->dk,       [PK_CUDNN_DV] = at->dv};
    return pk_cudnn_run(dev, &s, arrays, err);
}

enum pk_code pk_cuda_cudnn_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return run(dev, at, false, err);
}

enum pk_code pk_cuda_cudnn_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    return run(dev, at, true, err);
}
