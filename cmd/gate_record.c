/* gate, its record: a run of each side, tied by an id; and the arms that measure for them. */
#include "cmd/gate.h"

#include "base/clock.h"
#include "base/rng.h"
#include "bench/record/fits.h"
#include "cmd/progress.h"

#include <string.h>
#include <unistd.h>

static const char *gate_id(struct pk_arena *a)
{
    struct pk_rng rng = {pk_wall_ns() ^ (uint64_t)getpid() << 32};
    return pk_printf(a, "%016llx", (unsigned long long)pk_rng_next(&rng));
}

/* "before" names two runs: before-a and before-b. */
static const char *label_of(const struct gate *g, const struct gate_side *s)
{
    const char *label = g->o->run.label;
    return label ? pk_printf(g->app->arena, "%s-%s", label, s->option) : NULL;
}

/* --- experiments ---------------------------------------------------------------------------------------------------- */

static enum pk_code begin_experiment(struct gate *g, struct gate_side *s, struct pk_err *err)
{
    struct run *r = &s->run;
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, g->app->arena);
    return pk_run_begin(r, err);
}

static void make_experiment_arm(struct gate *g, int i)
{
    struct gate_side *s = &g->side[i];
    const struct run_options *o = &g->o->run;
    s->experiment = (struct pk_experiment_arm){
        .plan = &s->run.plan,
        .session = {.stop = pk_run_stop_rule(o),
                    .timeout_ns = o->timeout_ns,
                    .seed = (uint64_t)o->seed,
                    .check = !o->no_check,
                    .device = s->run.device_options},
        .provider = {.name = s->option, .argv = s->argv},
        .store = s->run.store,
        .recorder = s->run.recorder,
        .run_id = s->run.run_id,
        .case_ids = s->run.case_ids,
        .other = &g->side[PK_SIDES - 1 - i].experiment,
    };
    pk_arm_experiment(&g->arms[i], &s->experiment);
}

/* --- commands --------------------------------------------------------------------------------------------------------- */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Both sides record their case under one name, so that later runs can be compared with either. */
static const char *shared_name(const struct gate *g)
{
    const char *base = file_of(g->side[PK_BASE].argv[0]), *new_ = file_of(g->side[PK_NEW].argv[0]);
    if (g->o->name)
        return g->o->name;
    return strcmp(base, new_) ? pk_printf(g->app->arena, "%s vs %s", base, new_) : new_;
}

static const char *command_settings(const struct gate *g, const struct gate_side *s)
{
    const struct run_options *o = &g->o->run;
    json_t *words = json_array();
    for (const char *const *w = s->argv; *w; w++)
        json_array_append_new(words, json_string(*w));
    PK_JSON_CLEANUP json_t *j =
        json_pack("{s:o, s:I, s:s?, s:o}", "command", words, "timeout_ns", (json_int_t)o->timeout_ns,
                  "prepare", g->o->prepare, "gate", pk_gate_mark_json(&s->run.mark));
    return pk_json_text(g->app->arena, j, PK_JSON_CANON);
}

static enum pk_code begin_command(struct gate *g, struct gate_side *s, struct pk_err *err)
{
    s->run.info.experiment = "exec";
    s->run.info.label = s->run.o->label;
    s->run.info.settings = command_settings(g, s);
    return pk_store_run_begin(s->run.store, &s->run.info, &s->run.run_id, err);
}

static void make_command_arm(struct gate *g, int i)
{
    struct gate_side *s = &g->side[i];
    s->command = (struct pk_command_arm){
        .options = {.argv = s->argv,
                    .name = shared_name(g),
                    .prepare = g->o->prepare,
                    .timeout_ns = g->o->run.timeout_ns},
        .recorder = s->run.recorder,
        .arena = g->app->arena,
    };
    pk_arm_command(&g->arms[i], &s->command);
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

static enum pk_code begin_side(struct gate *g, int i, const char *id, struct pk_err *err)
{
    struct pk_app *app = g->app;
    struct gate_side *s = &g->side[i];
    struct run *r = &s->run;
    r->mark = (struct pk_gate_mark){id, i == PK_BASE ? "base" : "new", s->text, pk_gate_rule(g->o)};
    r->o->label = label_of(g, s);
    r->o->invocations = (int64_t)pk_rule_default.screen_pairs;
    if (pk_run_info_fill(&r->info, app->argc, app->argv, app->arena, err) ||
        pk_tags_json(g->o->run.tags.v, g->o->run.tags.n, app->arena, &r->info.tags, err))
        return err->code;
    r->store_path = pk_store_file(r->store);
    if (g->probe ? begin_experiment(g, s, err) : begin_command(g, s, err))
        return err->code;
    r->recorder = pk_recorder_new(r->store, r->run_id, r->store_path);
    return PK_OK;
}

enum pk_code pk_gate_begin(struct gate *g, struct pk_err *err)
{
    const char *id = gate_id(g->app->arena);
    for (int i = 0; i < PK_SIDES; i++)
        if (begin_side(g, i, id, err))
            return err->code;
    for (int i = 0; i < PK_SIDES; i++) {
        g->arms[i] = (struct pk_arm){.ledger = &g->ledger, .side = i, .stop_flag = &pk_stop_flag};
        if (g->probe)
            make_experiment_arm(g, i);
        else
            make_command_arm(g, i);
    }
    return PK_OK;
}

/* Where the screening ended is recorded with both: `compare` judges them again as the gate did. */
static enum pk_code end_side(struct gate *g, struct gate_side *s, const char *status, struct pk_err *err)
{
    struct run *r = &s->run;
    const struct pk_setting screened = {0, "gate_screened",
                                        pk_printf(g->app->arena, "%lld", (long long)g->result.screened)};
    enum pk_code rc = pk_store_settings(r->store, r->run_id, &screened, 1, err);
    if (!rc && g->probe)
        rc = pk_record_fits(r->store, r->run_id, g->probe, g->app->arena, err);
    if (!rc)
        rc = pk_store_run_end(r->store, r->run_id, status, err);
    if (!rc || pk_recorder_spool(r->recorder))
        rc = pk_recorder_finish(r->recorder, err);
    return rc;
}

enum pk_code pk_gate_end(struct gate *g, bool failed, struct pk_err *err)
{
    const char *status = failed ? "failed" : g->result.interrupted ? "interrupted" : "complete";
    for (int i = 0; i < PK_SIDES; i++)
        if (end_side(g, &g->side[i], status, err))
            return err->code;
    return PK_OK;
}
