/* Fake cuDNN: a library that is opened as libcudnn is. It keeps descriptors, knows the two graphs of attention by what is in them, and
 * executes them on the host, where device memory is. Descriptors are used only when they are finalised, as there. */
#include "fake_cudnn.h"

#include <cudnn_graph.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cuda/cudnn/sdpa.h"
#include "ops/dtype.h"

struct fake_cudnn fake_cudnn;

enum { PARTS_MOST = 24, IDS = PK_CUDNN_IDS };

/* What a graph is, as far as executing it needs. */
struct facts {
    int64_t batch, seq, dim;
    bool causal, backward;
};

struct descriptor {
    cudnnBackendDescriptorType_t type;
    bool finished;
    struct descriptor *parts[PARTS_MOST];
    int64_t n_parts;
    int64_t id, dims[4];
    cudnnPointwiseMode_t mode;
    struct facts facts; /* of graphs, and what is made of them */
    int64_t n, ids[IDS];
    void *pointers[IDS], *workspace;
};

static struct descriptor *of(cudnnBackendDescriptor_t d)
{
    return d;
}

size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status ? "CUDNN_STATUS_FAKE" : "CUDNN_STATUS_SUCCESS";
}

void cudnnGetLastErrorString(char *message, size_t most)
{
    snprintf(message, most, "as the test asked for");
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (fake_cudnn.fail_create)
        return CUDNN_STATUS_NOT_INITIALIZED;
    fake_cudnn.live++;
    *handle = malloc(1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    fake_cudnn.live--;
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    fake_cudnn.stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    struct descriptor *d = calloc(1, sizeof *d);
    d->type = type;
    *out = d;
    fake_cudnn.live++;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    fake_cudnn.live--;
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t add_parts(struct descriptor *d, int64_t n, const void *values)
{
    for (int64_t i = 0; i < n; i++) {
        struct descriptor *part = ((struct descriptor *const *)values)[i];
        if (!part || !part->finished || d->n_parts == PARTS_MOST)
            return CUDNN_STATUS_BAD_PARAM;
        d->parts[d->n_parts++] = part;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    struct descriptor *d = of(descriptor);
    if (d->finished || n > IDS + PARTS_MOST)
        return CUDNN_STATUS_BAD_PARAM;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return add_parts(d, n, values);
    if (name == CUDNN_ATTR_TENSOR_UNIQUE_ID)
        memcpy(&d->id, values, sizeof d->id);
    else if (name == CUDNN_ATTR_TENSOR_DIMENSIONS)
        memcpy(d->dims, values, sizeof d->dims);
    else if (name == CUDNN_ATTR_POINTWISE_MODE)
        memcpy(&d->mode, values, sizeof d->mode);
    else if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)
        memcpy(d->ids, values, (size_t)(d->n = n) * sizeof *d->ids);
    else if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
        memcpy(d->pointers, values, (size_t)n * sizeof *d->pointers);
    else if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE)
        memcpy(&d->workspace, values, sizeof d->workspace);
    return CUDNN_STATUS_SUCCESS;
}

/* The arrays and modes below a graph say what it is. */
static void learn(const struct descriptor *d, struct facts *f)
{
    f->causal |= d->type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR && d->mode == CUDNN_POINTWISE_GEN_INDEX;
    f->backward |= d->id == PK_CUDNN_D_O;
    if (d->id == PK_CUDNN_Q) {
        f->batch = d->dims[0];
        f->seq = d->dims[2];
        f->dim = d->dims[3];
    }
    for (int64_t i = 0; i < d->n_parts; i++)
        learn(d->parts[i], f);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    struct descriptor *d = of(descriptor);
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && fake_cudnn.refuse_plans > 0) {
        fake_cudnn.refuse_plans--;
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    fake_cudnn.plans += d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
    fake_cudnn.packs += d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
    if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
        fake_cudnn.operations = (int)d->n_parts;
        learn(d, &d->facts);
    } else if (d->n_parts && d->parts[0]->facts.batch)
        d->facts = d->parts[0]->facts; /* an engine of a graph, a plan of an engine */
    d->finished = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t most, int64_t *n, void *values)
{
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
        *n = 1;
        memcpy(values, &fake_cudnn.workspace_bytes, sizeof fake_cudnn.workspace_bytes);
        return CUDNN_STATUS_SUCCESS;
    }
    if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
        return CUDNN_STATUS_BAD_PARAM;
    for (int64_t i = 0; i < most && i < fake_cudnn.engines; i++) {
        struct descriptor *engine = ((struct descriptor **)values)[i];
        engine->facts = ((const struct descriptor *)descriptor)->facts;
        engine->finished = true;
    }
    *n = fake_cudnn.engines; /* all there are, those without room too */
    return CUDNN_STATUS_SUCCESS;
}

/* --- execution --- */

static float get(const uint16_t *x, int64_t i)
{
    return pk_bf16_to_float(x[i]);
}

/* One problem: what is at each id. */
struct problem {
    struct facts f;
    double scale;
    const uint16_t *q, *k, *v, *d_o;
    uint16_t *o, *dq, *dk, *dv;
    float *lse;
};

static double dot(const uint16_t *a, const uint16_t *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)get(a, i) * (double)get(b, i);
    return sum;
}

static int64_t keys(const struct problem *p, int64_t i)
{
    return p->f.causal ? i + 1 : p->f.seq;
}

static void forward(const struct problem *p)
{
    const int64_t dim = p->f.dim;
    double *s = calloc((size_t)p->f.seq, sizeof *s);
    for (int64_t i = 0; i < p->f.seq; i++) {
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys(p, i); j++)
            most = fmax(most, s[j] = p->scale * dot(p->q + i * dim, p->k + j * dim, dim));
        for (int64_t j = 0; j < keys(p, i); j++)
            sum += exp(s[j] - most);
        p->lse[i] = (float)(most + log(sum));
        for (int64_t c = 0; c < dim; c++) {
            double o = 0;
            for (int64_t j = 0; j < keys(p, i); j++)
                o += exp(s[j] - most) / sum * (double)get(p->v, j * dim + c);
            p->o[i * dim + c] = pk_bf16_of_float((float)o);
        }
    }
    free(s);
}

static void backward(const struct problem *p)
{
    const int64_t dim = p->f.dim, n = p->f.seq * dim;
    double *dq = calloc((size_t)n, sizeof *dq), *dk = calloc((size_t)n, sizeof *dk),
           *dv = calloc((size_t)n, sizeof *dv);
    for (int64_t i = 0; i < p->f.seq; i++)
        for (int64_t j = 0; j < keys(p, i); j++) {
            const uint16_t *d_o = p->d_o + i * dim;
            const double s = exp(p->scale * dot(p->q + i * dim, p->k + j * dim, dim) - (double)p->lse[i]);
            const double ds = p->scale * s * (dot(d_o, p->v + j * dim, dim) - dot(d_o, p->o + i * dim, dim));
            for (int64_t c = 0; c < dim; c++) {
                dv[j * dim + c] += s * (double)get(d_o, c);
                dk[j * dim + c] += ds * (double)get(p->q, i * dim + c);
                dq[i * dim + c] += ds * (double)get(p->k, j * dim + c);
            }
        }
    for (int64_t i = 0; i < n; i++) {
        p->dq[i] = pk_bf16_of_float((float)(dq[i] * (fake_cudnn.wrong != 0 ? fake_cudnn.wrong : 1)));
        p->dk[i] = pk_bf16_of_float((float)dk[i]);
        p->dv[i] = pk_bf16_of_float((float)dv[i]);
    }
    free(dq);
    free(dk);
    free(dv);
}

/* Side buffers are written, as by the library: who counts on their contents is found out. */
static void spoil(const struct facts *f, void *const at[IDS], const struct descriptor *pack)
{
    const size_t rows = (size_t)(f->batch * f->seq);
    if (f->backward) {
        memset(at[PK_CUDNN_DELTA], 0x5A, rows * sizeof(float));
        memset(at[PK_CUDNN_DQ_SUM], 0x5A, rows * (size_t)f->dim * sizeof(float));
    }
    if (fake_cudnn.workspace_bytes)
        memset(pack->workspace, 0x5A, (size_t)fake_cudnn.workspace_bytes);
}

static bool complete(const struct facts *f, void *const at[IDS])
{
    const int last = f->backward ? PK_CUDNN_DQ_SUM : PK_CUDNN_LSE;
    for (int id = PK_CUDNN_Q; id <= last; id++)
        if (!at[id])
            return false;
    return at[PK_CUDNN_SCALE] && (!f->causal || at[PK_CUDNN_MINUS_INFINITY]) &&
           (!f->backward || at[PK_CUDNN_ONE]);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack)
{
    const struct descriptor *pack = of(variant_pack);
    const struct facts f = of(plan)->facts;
    void *at[IDS] = {0};
    for (int64_t i = 0; i < pack->n; i++)
        at[pack->ids[i]] = pack->pointers[i];
    if (!handle || !of(plan)->finished || !pack->finished || !complete(&f, at))
        return CUDNN_STATUS_BAD_PARAM;
    if (fake_cudnn.fail_execute && --fake_cudnn.fail_execute == 0)
        return CUDNN_STATUS_EXECUTION_FAILED;
    spoil(&f, at, pack);
    for (int64_t b = 0; b < f.batch; b++) {
        const int64_t x = b * f.seq * f.dim;
#define AT(id) (at[id] ? (uint16_t *)at[id] + x : NULL)
        const struct problem p = {f,
                                  (double)*(const float *)at[PK_CUDNN_SCALE],
                                  AT(PK_CUDNN_Q),
                                  AT(PK_CUDNN_K),
                                  AT(PK_CUDNN_V),
                                  AT(PK_CUDNN_D_O),
                                  AT(PK_CUDNN_O),
                                  AT(PK_CUDNN_DQ),
                                  AT(PK_CUDNN_DK),
                                  AT(PK_CUDNN_DV),
                                  (float *)at[PK_CUDNN_LSE] + b * f.seq};
#undef AT
        (f.backward ? backward : forward)(&p);
    }
    fake_cudnn.executions++;
    if (fake_cudnn.work)
        fake_cudnn.work(fake_cudnn.ns);
    return CUDNN_STATUS_SUCCESS;
}
