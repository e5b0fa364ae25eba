/* Weights: what a transformer begins with when somebody brings it: the tensors of a safetensors file, under the names of layout.h.
 *
 * A file fits when it has every parameter, each of its shape ([cols] of a norm), and nothing else. Elements may be fp32, bf16 or
 * fp16; the master weights are fp32 whatever they were. */
#pragma once

#include "model/safetensors.h"
#include "model/transformer/layout.h"

/* PK_E_USAGE names the first tensor that is missing, superfluous, or of another shape or type, and the sizes that the file's
 * shapes speak of, or what else to do where those are c's. */
enum pk_code pk_weights_fit(const struct pk_safetensors *f, const struct pk_transformer_config *c,
                            struct pk_err *err) PK_MUST_CHECK;
