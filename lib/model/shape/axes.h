/* Shape axes: rows of the axes that say which transformer an experiment runs, the same names, limits and synonyms in each.
 *
 * value: default, and the value of cases recorded before the axis was there; a text, as `text`, which is the help. */
#pragma once

#include "opt/axis.h"

#define PK_AXIS_LAYERS(value, text)                                                                          \
    {                                                                                                        \
        "layers", .type = PK_AXIS_INT, .unit = "layers", .min = 1, .max = 1024,                              \
                  .also = "depth n_layer n_layers num_layers num_hidden_layers", .def = value,               \
                  .born = value, .help = text                                                                \
    }
#define PK_AXIS_D_MODEL(value, text)                                                                         \
    {                                                                                                        \
        "d_model", .type = PK_AXIS_INT, .unit = "features", .min = 8, .max = 65536,                          \
                   .also = "width hidden hidden_size embed_dim n_embd", .def = value, .born = value,         \
                   .help = text                                                                              \
    }
#define PK_AXIS_HEADS(value)                                                                                 \
    {                                                                                                        \
        "heads", .type = PK_AXIS_INT, .unit = "heads", .min = 1, .max = 1024,                                \
                 .also = "n_head n_heads num_heads num_attention_heads", .def = value, .born = value,        \
                 .help = "number of attention heads; must divide d_model"                                    \
    }
#define PK_AXIS_D_FF(value)                                                                                  \
    {                                                                                                        \
        "d_ff", .type = PK_AXIS_INT, .unit = "features", .min = 8, .max = 262144,                            \
                .also = "ff ffn ff_dim d_ffn intermediate intermediate_size", .def = value, .born = value,   \
                .help = "width inside the gated unit, a multiple of 8"                                       \
    }
#define PK_AXIS_VOCAB(value, text)                                                                           \
    {                                                                                                        \
        "vocab", .type = PK_AXIS_INT, .unit = "tokens", .min = 2, .max = 1048576,                            \
                 .also = "vocabulary vocab_size", .def = value, .born = value, .help = text                  \
    }
