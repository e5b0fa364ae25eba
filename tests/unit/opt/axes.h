/* A table with every type of axis, a composite and one that does not always apply: what the tests of lib/opt
 * sweep. */
#pragma once

#include "opt/axis.h"

enum { MODEL, SEQ_LEN, D_MODEL, DTYPE, CAUSAL, BUCKET, WINDOW, ALPHA, TREE, N_AXES };

static const char *const models[] = {"none", "small", "large", NULL};
static const char *const model_sets[] = {"", "d_model=32 seq_len=8", "d_model=128"};
static const char *const dtypes[] = {"fp32", "tf32", "bf16", NULL};

static bool only_causal(const struct pk_point *p)
{
    return p->v[CAUSAL].i;
}

static const struct pk_axis axes[] = {
    {.name = "model",
     .type = PK_AXIS_ENUM,
     .choices = models,
     .def = "none",
     .born = "none",
     .help = "A shape.",
     .sets = model_sets},
    {.name = "seq_len",
     .type = PK_AXIS_INT,
     .unit = "tokens",
     .min = 1,
     .max = 65536,
     .def = "256,1024",
     .born = "256",
     .help = "Tokens."},
    {.name = "d_model",
     .type = PK_AXIS_INT,
     .min = 1,
     .max = 1024,
     .def = "64",
     .born = "64",
     .help = "Width."},
    {.name = "dtype",
     .type = PK_AXIS_ENUM,
     .choices = dtypes,
     .def = "fp32",
     .born = "fp32",
     .help = "Type."},
    {.name = "causal", .type = PK_AXIS_BOOL, .def = "off", .born = "off", .help = "Mask."},
    {.name = "bucket_bytes",
     .type = PK_AXIS_SIZE,
     .unit = "bytes",
     .min = 1,
     .max = 1e9,
     .def = "25MB",
     .born = "25MB",
     .help = "Bucket."},
    {.name = "window",
     .type = PK_AXIS_INT,
     .min = 0,
     .max = 100,
     .def = "0",
     .born = "0",
     .help = "Window.",
     .applies = only_causal},
    {.name = "alpha",
     .type = PK_AXIS_FLOAT,
     .min = -1,
     .max = 1e300,
     .def = "0.5",
     .born = "0.5",
     .help = "A number."},
    {.name = "tree", .type = PK_AXIS_FILE, .def = "bert", .born = "bert", .help = "A model."},
    {0},
};
