/* Plan: options that all plans share, and the plans, a file each. A plan has rows of options of its own; those of another plan are refused. */
#pragma once

#include "cmd/cmd.h"
#include "model/bucket/bucket_advice.h"
#include "model/parallel/options.h"
#include "out/output/output.h"

struct pk_cmd_plan_options {
    const char *model, *config, *launch, *bandwidth;
    struct pk_texts from, tables;
    bool explain;
    struct pk_bucket_options bucket;
    struct pk_parallel_options parallel;
};

/* The model of --model or --config. */
enum pk_code pk_cmd_plan_shape(const struct pk_cmd_plan_options *o, struct pk_arena *a,
                               struct pk_model_shape *out, struct pk_err *err) PK_MUST_CHECK;

enum pk_code pk_cmd_plan_bucket(struct pk_app *app, struct pk_err *err);
enum pk_code pk_cmd_plan_parallel(struct pk_app *app, struct pk_err *err);
