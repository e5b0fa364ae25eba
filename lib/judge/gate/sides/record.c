/* Gate sides, record: one run per side, tied by an id, the runners that measure into them, and the verdicts of their rows. */
#include "judge/gate/sides/sides.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "bench/record/fits.h"
#include "bench/record/runinfo.h"

#include <string.h>
#include <unistd.h>

/* --- experiments ---------------------------------------------------------------------------------------------------- */

static void make_experiment_runner(struct pk_gate_sides *of, int i, const struct pk_session_events *events,
                                   uint64_t order_seed, struct pk_side_runner *runner)
{
    struct pk_gate_side *s = &of->side[i];
    const struct pk_run_options *o = of->options;
    s->experiment = (struct pk_experiment_runner){
        .run = &s->run,
        .first = s->experiment.first,
        .session = {.stop = pk_run_stop_rule(o),
                    .timeout_ns = o->timeout_ns,
                    .seed = (uint64_t)o->seed,
                    .order_seed = order_seed,
                    .check = !o->no_check,
                    .device = s->run.device_options},
        .provider = {.name = s->option, .argv = s->argv, .own = of->probe->own != NULL},
        .other = &of->side[PK_SIDES - 1 - i].experiment,
        .events = events,
    };
    pk_side_runner_experiment(runner, &s->experiment);
}

/* --- commands --------------------------------------------------------------------------------------------------------- */

/* Both sides record their case under one name, so that later runs can be compared with either. */
static const char *shared_name(const struct pk_gate_sides *s)
{
    const char *base = pk_path_name(s->side[PK_BASE].argv[0]), *new_ = pk_path_name(s->side[PK_NEW].argv[0]);
    if (s->case_name)
        return s->case_name;
    return strcmp(base, new_) ? pk_printf(s->arena, "%s vs %s", base, new_) : new_;
}

static enum pk_code begin_command(const struct pk_gate_sides *of, struct pk_gate_side *s, struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *settings =
        json_pack("{s:o, s:I, s:i, s:s?, s:o}", "command", pk_json_texts(s->argv, SIZE_MAX), "timeout_ns",
                  (json_int_t)of->options->timeout_ns, "warmup", PK_GATE_WARMUP, "prepare", of->prepare,
                  "gate", pk_gate_mark_json(&s->mark));
    s->run.info.experiment = "exec";
    s->run.info.label = s->run.o->label;
    s->run.info.settings = pk_json_text(of->arena, settings, PK_JSON_CANON);
    return pk_store_run_begin(s->run.store, &s->run.info, &s->run.run_id, err);
}

static void make_command_runner(struct pk_gate_sides *of, int i, struct pk_side_runner *runner)
{
    struct pk_gate_side *s = &of->side[i];
    s->command = (struct pk_command_runner){
        .options = {.argv = s->argv,
                    .name = shared_name(of),
                    .prepare = of->prepare,
                    .timeout_ns = of->options->timeout_ns},
        .recorder = s->run.recorder,
        .arena = of->arena,
    };
    pk_side_runner_command(runner, &s->command);
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

static enum pk_code begin_side(struct pk_gate_sides *of, int i, const char *id, struct pk_err *err)
{
    struct pk_gate_side *s = &of->side[i];
    struct pk_run *r = &s->run;
    s->mark = (struct pk_gate_mark){.id = id,
                                    .side = i == PK_BASE ? "base" : "new",
                                    .text = s->text,
                                    .rule = of->rule,
                                    .criteria = of->criteria,
                                    .metrics = of->what->metrics,
                                    .all_metrics = of->what->all_metrics,
                                    .equal = of->equal,
                                    .calibration = of->calibration};
    PK_JSON_CLEANUP json_t *mark = pk_gate_mark_json(&s->mark);
    r->gate = pk_json_text(of->arena, mark, PK_JSON_CANON);
    if (of->options->label) /* "before" names two runs: before-a and before-b */
        r->o->label = pk_printf(of->arena, "%s-%s", of->options->label, s->option);
    r->o->invocations = (int64_t)pk_rule_default.screen_pairs;
    if (pk_run_info_fill(&r->info, r->argc, r->argv, of->arena, err) ||
        pk_tags_json(of->options->tags.v, of->options->tags.n, of->arena, &r->info.tags, err))
        return err->code;
    r->store_path = pk_store_file(r->store);
    if (of->probe ? pk_run_begin(r, err) : begin_command(of, s, err))
        return err->code;
    r->recorder = pk_recorder_new(r->store, r->run_id, r->store_path);
    return PK_OK;
}

static void make_part(struct pk_gate_sides *s, size_t part, struct pk_gate_samples *l,
                      const struct pk_session_events *events, uint64_t order_seed, struct pk_gate_part *p)
{
    *p = (struct pk_gate_part){
        .name = s->name,
        .what = pk_verdict_what(s->what),
        .criteria = s->criteria,
        .commands = !s->probe,
        .max_pairs = !s->equal        ? s->max_pairs
                     : s->calibration ? 0
                                      : pk_rule_default.screen_pairs,
        .budget_ns = s->budget_ns,
    };
    for (int i = 0; i < PK_SIDES; i++) {
        p->runners[i] = (struct pk_side_runner){.samples = l,
                                                .part = part,
                                                .side = i,
                                                .stop_flag = s->side[i].run.stop_flag,
                                                .option = s->side[i].option,
                                                .text = s->side[i].text};
        if (s->probe)
            make_experiment_runner(s, i, events, order_seed, &p->runners[i]);
        else
            make_command_runner(s, i, &p->runners[i]);
    }
}

enum pk_code pk_gate_sides_begin(struct pk_gate_sides *v, size_t n, struct pk_gate_samples *l,
                                 const struct pk_session_events *events, struct pk_gate_part *parts,
                                 uint64_t *order_seed, struct pk_err *err)
{
    for (size_t part = 0; part < n; part++) {
        struct pk_rng rng = {pk_wall_ns() ^ (uint64_t)getpid() << 32};
        const char *id = pk_printf(v[part].arena, "%016llx", (unsigned long long)pk_rng_next(&rng));
        for (int i = 0; i < PK_SIDES; i++)
            if (begin_side(&v[part], i, id, err))
                return err->code;
    }
    const struct pk_run *first = &v[0].side[PK_BASE].run;
    *order_seed = pk_run_order_seed(first->store, first->table, first->o->seed);
    for (size_t i = 0; i < PK_SIDES * n; i++)
        if (pk_run_record_order_seed(v[i / PK_SIDES].side[i % PK_SIDES].run.recorder, *order_seed, l->arena,
                                     err))
            return err->code;
    for (size_t part = 0; part < n; part++)
        make_part(&v[part], part, l, events, *order_seed, &parts[part]);
    return PK_OK;
}

/* Where the screening ended is recorded with both: `compare` judges them again as the gate did. */
static enum pk_code end_run(const struct pk_run *r, const struct pk_probe *probe, int64_t last_screened,
                            const char *status, struct pk_err *err)
{
    const struct pk_setting screened = {0, "gate_screened",
                                        pk_printf(r->arena, "%lld", (long long)last_screened)};
    enum pk_code rc = pk_store_settings(r->store, r->run_id, &screened, 1, err);
    if (!rc && probe)
        rc = pk_record_fits(r->store, r->run_id, probe, r->arena, err);
    if (!rc)
        rc = pk_recorder_end_run(r->recorder, status, err);
    if (!rc || pk_recorder_spool(r->recorder))
        rc = pk_recorder_finish(r->recorder, status, err);
    return rc;
}

void pk_gate_sides_end(struct pk_gate_sides *v, size_t n, const struct pk_gate_result *result, bool failed,
                       struct pk_errs *wrong)
{
    const char *status = failed ? "failed" : result->interrupted ? "interrupted" : "complete";
    struct pk_err err;
    for (size_t i = 0; i < PK_SIDES * n; i++) {
        const struct pk_gate_sides *s = &v[i / PK_SIDES];
        if (end_run(&s->side[i % PK_SIDES].run, s->probe, result->screened, status, &err))
            pk_errs_add(wrong, &err);
    }
}

enum pk_code pk_gate_sides_verdicts(const struct pk_gate_sides *s, size_t part, const struct pk_comparison *c,
                                    const struct pk_gate_samples *l, struct pk_err *err)
{
    const struct pk_run *base = &s->side[PK_BASE].run, *new_ = &s->side[PK_NEW].run;
    const struct pk_case_plan *const plans[PK_SIDES] = {s->probe ? &base->plan : NULL,
                                                        s->probe ? &new_->plan : NULL};
    struct pk_verdict_row *rows;
    const size_t n =
        pk_gate_verdicts(c, l, part, plans, s->side[PK_BASE].experiment.first, &s->rule, s->arena, &rows);
    if (!n || pk_recorder_spool(base->recorder) || pk_recorder_spool(new_->recorder))
        return PK_OK;
    return pk_store_verdicts(new_->store, base->run_id, new_->run_id, rows, n, err);
}
