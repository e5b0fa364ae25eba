/* Op checks, cuDNN: attention in bf16 on the open device against the float64 reference of the same rounded inputs. */
#pragma once

#include "op_checks.h"
#include "ops/cuda/cudnn/sdpa.h"

/* One step: inputs on the device, outputs poisoned; arrays are the trial's, as is the host memory of `wide`, the inputs in fp32. */
struct cudnn_step {
    struct pk_cudnn_shape s;
    void *arrays[PK_CUDNN_ARRAYS];
    struct pk_attention wide;
};
void make_cudnn_step(struct trial *t, size_t batch, size_t seq, size_t dim, bool causal,
                     struct cudnn_step *out);
size_t cudnn_tokens(const struct cudnn_step *step);
enum pk_code prepare_cudnn(struct trial *t, struct cudnn_step *step, bool backward);
enum pk_code run_cudnn(struct trial *t, struct cudnn_step *step, bool backward);

/* Both directions, each element of each result. Skips without the library. */
void check_cudnn_shape(struct trial *t, size_t batch, size_t seq, size_t dim, bool causal);
void check_cudnn(struct trial *t, enum op_size upto);
