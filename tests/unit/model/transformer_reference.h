/* A decoder's loss in float64, as plainly as it can be written: what gradients are compared with. */
#pragma once

#include "model/transformer/layout.h"

/* Mean cross-entropy of targets given tokens, both [batch * seq]. p: parameters as `l` lays them out. */
double reference_loss(const struct pk_transformer_config *c, const struct pk_layout *l, const double *p,
                      const int32_t *tokens, const int32_t *targets);
