/* Gate, record: one run per side, tied by an id, and how each is measured. */
#include "cmd/gate/gate.h"

#include "base/clock.h"
#include "base/rng.h"
#include "bench/record/fits.h"

#include <string.h>
#include <unistd.h>

/* --- experiments ---------------------------------------------------------------------------------------------------- */

static void make_experiment_runner(const struct gate *g, struct gate_entry *e, int i,
                                   struct pk_side_runner *runner)
{
    struct gate_side *s = &e->side[i];
    const struct pk_run_options *o = &e->o->run;
    s->experiment = (struct pk_experiment_runner){
        .run = &s->run,
        .first = s->experiment.first,
        .session = {.stop = pk_run_stop_rule(o),
                    .timeout_ns = o->timeout_ns,
                    .seed = (uint64_t)o->seed,
                    .order_seed = g->order_seed,
                    .check = !o->no_check,
                    .device = s->run.device_options},
        .provider = {.name = s->option, .argv = s->argv, .own = e->probe->own != NULL},
        .other = &e->side[PK_SIDES - 1 - i].experiment,
        .events = s->experiment.events,
    };
    pk_side_runner_experiment(runner, &s->experiment);
}

/* --- commands --------------------------------------------------------------------------------------------------------- */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Both sides record their case under one name, so that later runs can be compared with either. */
static const char *shared_name(const struct gate_entry *e)
{
    const char *base = file_of(e->side[PK_BASE].argv[0]), *new_ = file_of(e->side[PK_NEW].argv[0]);
    if (e->o->name)
        return e->o->name;
    return strcmp(base, new_) ? pk_printf(e->app->arena, "%s vs %s", base, new_) : new_;
}

json_t *pk_gate_command_words(const struct gate_side *s)
{
    json_t *words = json_array();
    for (const char *const *w = s->argv; *w; w++)
        json_array_append_new(words, json_string(*w));
    return words;
}

static enum pk_code begin_command(struct gate_entry *e, struct gate_side *s, struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *settings =
        json_pack("{s:o, s:I, s:i, s:s?, s:o}", "command", pk_gate_command_words(s), "timeout_ns",
                  (json_int_t)e->o->run.timeout_ns, "warmup", PK_GATE_WARMUP, "prepare", e->o->prepare,
                  "gate", pk_gate_mark_json(&s->mark));
    s->run.info.experiment = "exec";
    s->run.info.label = s->run.o->label;
    s->run.info.settings = pk_json_text(e->app->arena, settings, PK_JSON_CANON);
    return pk_store_run_begin(s->run.store, &s->run.info, &s->run.run_id, err);
}

static void make_command_runner(struct gate_entry *e, int i, struct pk_side_runner *runner)
{
    struct gate_side *s = &e->side[i];
    s->command = (struct pk_command_runner){
        .options = {.argv = s->argv,
                    .name = shared_name(e),
                    .prepare = e->o->prepare,
                    .timeout_ns = e->o->run.timeout_ns},
        .recorder = s->run.recorder,
        .arena = e->app->arena,
    };
    pk_side_runner_command(runner, &s->command);
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

static enum pk_code begin_side(const struct gate *g, struct gate_entry *e, int i, const char *id,
                               struct pk_err *err)
{
    struct pk_app *app = e->app;
    struct gate_side *s = &e->side[i];
    struct pk_run *r = &s->run;
    s->mark = (struct pk_gate_mark){.id = id,
                                    .side = i == PK_BASE ? "base" : "new",
                                    .text = s->text,
                                    .rule = pk_gate_rule(e->o),
                                    .criteria = pk_gate_criteria(g, e),
                                    .metrics = e->o->verdict.metrics,
                                    .all_metrics = e->o->verdict.all_metrics,
                                    .equal = e->equal,
                                    .calibration = e->o->pairs > 0};
    PK_JSON_CLEANUP json_t *mark = pk_gate_mark_json(&s->mark);
    r->gate = pk_json_text(app->arena, mark, PK_JSON_CANON);
    if (e->o->run.label) /* "before" names two runs: before-a and before-b */
        r->o->label = pk_printf(app->arena, "%s-%s", e->o->run.label, s->option);
    r->o->invocations = (int64_t)pk_rule_default.screen_pairs;
    if (pk_run_info_fill(&r->info, app->argc, app->argv, app->arena, err) ||
        pk_tags_json(e->o->run.tags.v, e->o->run.tags.n, app->arena, &r->info.tags, err))
        return err->code;
    r->store_path = pk_store_file(r->store);
    if (e->probe ? pk_run_begin(r, err) : begin_command(e, s, err))
        return err->code;
    r->recorder = pk_recorder_new(r->store, r->run_id, r->store_path);
    return PK_OK;
}

static void make_part(struct gate *g, size_t part)
{
    struct gate_entry *e = &g->entries[part];
    struct pk_gate_part *p = &g->parts[part];
    *p = (struct pk_gate_part){
        .name = e->of->name,
        .what = pk_verdict_what(&e->o->verdict),
        .criteria = pk_gate_criteria(g, e),
        .commands = !e->probe,
    };
    for (int i = 0; i < PK_SIDES; i++) {
        p->runners[i] = (struct pk_side_runner){.samples = &g->samples,
                                                .part = part,
                                                .side = i,
                                                .stop_flag = &pk_stop_flag,
                                                .option = e->side[i].option,
                                                .text = e->side[i].text};
        if (e->probe)
            make_experiment_runner(g, e, i, &p->runners[i]);
        else
            make_command_runner(e, i, &p->runners[i]);
    }
    if (pk_entry_gives(e->of,
                       "max-pairs")) /* in its own section; what all entries have in common is the gate's */
        p->max_pairs = (size_t)e->o->max_pairs;
    if (pk_entry_gives(e->of, "budget"))
        p->budget_ns = e->o->run.budget_ns;
    if (e->equal)
        p->max_pairs = e->o->pairs ? 0 : pk_rule_default.screen_pairs;
}

enum pk_code pk_gate_begin(struct gate *g, struct pk_err *err)
{
    for (size_t part = 0; part < g->n_entries; part++) {
        struct pk_rng rng = {pk_wall_ns() ^ (uint64_t)getpid() << 32};
        const char *id = pk_printf(g->app->arena, "%016llx", (unsigned long long)pk_rng_next(&rng));
        for (int i = 0; i < PK_SIDES; i++)
            if (begin_side(g, &g->entries[part], i, id, err))
                return err->code;
    }
    const struct pk_run *first = &g->entries[0].side[PK_BASE].run;
    g->order_seed = pk_run_order_seed(first->store, first->table, first->o->seed);
    for (size_t i = 0; i < PK_SIDES * g->n_entries; i++)
        if (pk_run_record_order_seed(g->entries[i / PK_SIDES].side[i % PK_SIDES].run.recorder, g->order_seed,
                                     g->app->arena, err))
            return err->code;
    g->parts = pk_new_n(g->app->arena, struct pk_gate_part, g->n_entries);
    for (size_t part = 0; part < g->n_entries; part++)
        make_part(g, part);
    return PK_OK;
}

/* Where the screening ended is recorded with both: `compare` judges them again as the gate did. */
static enum pk_code end_side(const struct gate *g, const struct gate_entry *e, int i, const char *status,
                             struct pk_err *err)
{
    const struct pk_run *r = &e->side[i].run;
    const struct pk_setting screened = {0, "gate_screened",
                                        pk_printf(g->app->arena, "%lld", (long long)g->result.screened)};
    enum pk_code rc = pk_store_settings(r->store, r->run_id, &screened, 1, err);
    if (!rc && e->probe)
        rc = pk_record_fits(r->store, r->run_id, e->probe, g->app->arena, err);
    if (!rc)
        rc = pk_recorder_end_run(r->recorder, status, err);
    if (!rc || pk_recorder_spool(r->recorder))
        rc = pk_recorder_finish(r->recorder, status, err);
    return rc;
}

enum pk_code pk_gate_end(struct gate *g, bool failed, struct pk_err *err)
{
    const char *status = failed ? "failed" : g->result.interrupted ? "interrupted" : "complete";
    enum pk_code rc = PK_OK;
    struct pk_err next;
    for (size_t part = 0; part < g->n_entries; part++)
        for (int i = 0; i < PK_SIDES; i++)
            if (end_side(g, &g->entries[part], i, status, &next))
                rc = pk_another_error(rc, &next, err);
    return rc;
}
