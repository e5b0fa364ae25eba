/* Run, record: what is stored before measuring, for a new run or a resumed one. */
#include "base/text/words.h"
#include "bench/own/descriptor_setting.h"
#include "bench/own/program.h"
#include "bench/run/run.h"

#include "bench/plan/declared_work.h"
#include "store/record/resume.h"

#include <string.h>

/* Axes as they were written, files with their digests: who goes on with the run must find them as they were. */
static json_t *axes_json(const struct pk_run *r)
{
    json_t *array = json_array();
    for (size_t i = 0; i < r->plan.n_sweeps; i++) {
        const struct pk_axis_sweep *s = &r->plan.sweeps[i];
        const struct pk_axis *x = &r->probe->axes[s->axis];
        const char *values = x->type == PK_AXIS_FILE ? pk_sweep_text(x, &s->sweep, r->arena) : NULL;
        json_array_append_new(array, values ? json_sprintf("%s=%s", x->name, values) : json_string(s->text));
    }
    return array;
}

/* What a later run must repeat to measure the same: recorded with the run, read back by --resume. */
const char *pk_run_settings(const struct pk_run *r)
{
    const struct pk_run_options *o = r->o;
    PK_JSON_CLEANUP json_t *s = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:s?, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:o, s:I, "
        "s:b, s:s}",
        "preset", r->plan.preset->name, "device", r->device, "axes", axes_json(r), "variants",
        pk_json_texts(o->variants.v, o->variants.n), "peers", pk_json_texts(o->peers.v, o->peers.n), "filter",
        o->filter, "invocations", o->invocations, "min_samples", o->min_samples, "max_samples",
        o->max_samples, "min_time_ns", o->min_time_ns, "max_time_ns", o->max_time_ns, "max_noise",
        o->max_noise, "warmup", o->warmup, "budget_ns", o->budget_ns, "timeout_ns", o->timeout_ns, "threads",
        o->threads, "limit_bytes", o->limit_bytes, "bind",
        !strcmp(o->bind, "cores") || !strcmp(o->bind, "none") ? json_boolean(!strcmp(o->bind, "cores"))
                                                              : json_string(o->bind),
        "seed", o->seed, "check", !o->no_check, "ceilings_of", r->ceilings_key);
    if (o->peers.n || r->probe->own)
        json_object_set_new(s, "peer_startup_ns", json_integer(o->peer_startup_ns));
    if (o->cold)
        json_object_set_new(s, "cold", json_true());
    if (r->gate)
        json_object_set_new(s, "gate", json_loads(r->gate, 0, NULL));
    if (o->breakdown)
        json_object_set_new(s, "breakdown", json_true());
    if (o->allocations)
        json_object_set_new(s, "allocations", json_true());
    if (o->counters)
        json_object_set_new(s, "counters", json_string(o->counters));
    return pk_json_text(r->arena, s, PK_JSON_CANON);
}

static void describe_cases(struct pk_run *r)
{
    struct pk_arena *a = r->arena;
    r->cases = pk_new_n(a, struct pk_case_info, r->plan.n);
    r->case_ids = pk_new_n(a, int64_t, r->plan.n);
    for (size_t i = 0; i < r->plan.n; i++)
        r->cases[i] = pk_planned_case_info(&r->plan, i, a);
}

/* Warnings of the experiment about its cases, as one setting of the run: a line each. */
static enum pk_code record_warnings(struct pk_run *r, struct pk_err *err)
{
    const struct pk_texts *w = &r->plan.warnings;
    const struct pk_setting setting = {0, "plan_warning", pk_list(w->v, w->n, "\n", r->arena)};
    return *setting.value ? pk_store_settings(r->store, r->run_id, &setting, 1, err) : PK_OK;
}

/* A program of another author is timed, and its samples can be counted when it described the experiment. */
static enum pk_code record_unavailable_passes(struct pk_run *r, const char *name, const char *what,
                                              struct pk_err *err)
{
    const bool wanted[] = {r->o->counters && !pk_own_counted(r->probe, r->plan.kind), r->o->breakdown,
                           r->o->allocations};
    static const char *const words[] = {"counted", "traced", "followed by its allocations"}, *const keys[] = {
                                                                                                 "counted",
                                                                                                 "traced",
                                                                                                 "followed"};
    enum pk_code rc = PK_OK;
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted && !rc; k++) {
        if (!wanted[k])
            continue;
        pk_run_warn(r, "%s is not %s: it is %s, and that takes a process of perfkit's own", name, words[k],
                    what);
        const struct pk_setting s = {0, pk_printf(r->arena, "not_%s.%s", keys[k], name),
                                     pk_printf(r->arena, "it is %s", what)};
        rc = pk_store_settings(r->store, r->run_id, &s, 1, err);
    }
    return rc;
}

static enum pk_code record_others(struct pk_run *r, struct pk_err *err)
{
    enum pk_code rc =
        r->probe->own ? record_unavailable_passes(r, r->probe->name, "measured by its program", err) : PK_OK;
    for (size_t i = 0; i < r->o->peers.n && !rc; i++)
        rc = record_unavailable_passes(r, r->o->peers.v[i], "a peer", err);
    return rc;
}

static enum pk_code record_plan(struct pk_run *r, struct pk_err *err)
{
    enum pk_code rc = pk_store_run_begin(r->store, &r->info, &r->run_id, err);
    if (!rc)
        rc = pk_store_cases(r->store, r->run_id, r->cases, r->plan.n, r->case_ids, err);
    if (!rc)
        rc = pk_own_record(r->store, r->run_id, r->probe, err);
    if (!rc)
        rc = record_warnings(r, err);
    if (!rc)
        rc = pk_run_record_unavailable(r->store, r->run_id, &r->counters, r->arena, err);
    if (!rc)
        rc = record_others(r, err);
    for (size_t i = 0; !rc && i < r->plan.n; i++) {
        struct pk_case_work *works;
        size_t n = pk_case_declared_work(&r->plan.v[i], r->case_ids[i], r->arena, &works);
        rc = pk_store_works(r->store, works, n, err);
    }
    return rc;
}

/* A run without its cases could not be resumed: they are recorded together, so that no kill comes between. */
enum pk_code pk_run_begin(struct pk_run *r, struct pk_err *err)
{
    r->info.experiment = r->probe->name;
    r->info.label = r->o->label;
    r->info.settings = pk_run_settings(r);
    describe_cases(r);
    pk_own_stop_process(r->probe->own); /* it was asked, and what measures is another process */
    if (pk_store_together(r->store, err))
        return err->code;
    return pk_store_together_end(r->store, record_plan(r, err), err);
}

/* Settings of the interrupted run take the place of what was not typed now; what was typed must not contradict them, which
 * pk_store_resume_cases finds out. */
static void take_texts(struct pk_texts *t, const json_t *settings, const char *key, struct pk_arena *a)
{
    const json_t *array = json_object_get(settings, key);
    if (t->n || !json_is_array(array))
        return;
    t->n = json_array_size(array);
    t->v = pk_new_n(a, const char *, t->n + 1);
    for (size_t i = 0; i < t->n; i++)
        t->v[i] = pk_strdup(a, json_string_value(json_array_get(array, i)));
}

/* How long and on what: options by the key they were recorded under. */
static const struct {
    const char *key, *option, *unit;
    bool zero_is_none; /* the option takes no zero */
} numbers[] = {
    {"invocations", "invocations", ""},
    {"min_samples", "min-samples", ""},
    {"max_samples", "max-samples", ""},
    {"min_time_ns", "min-time", "ns"},
    {"max_time_ns", "max-time", "ns"},
    {"warmup", "warmup", ""},
    {"timeout_ns", "timeout", "ns"},
    {"peer_startup_ns", "peer-startup", "ns"},
    {"threads", "threads", ""},
    {"limit_bytes", "memory-limit", "B", true},
    {"seed", "seed", ""},
};

static enum pk_code take_settings(struct pk_run *r, const json_t *s, struct pk_err *err)
{
    struct pk_run_options *o = r->o;
    struct pk_arena *a = r->arena;
    take_texts(&o->axes, s, "axes", a);
    take_texts(&o->variants, s, "variants", a);
    take_texts(&o->peers, s, "peers", a);
    const struct {
        const char *key, **option;
    } texts[] = {
        {"preset", &o->preset}, {"device", &o->device}, {"filter", &o->filter}, {"counters", &o->counters}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!*texts[i].option && pk_json_str(s, texts[i].key, NULL))
            *texts[i].option = pk_strdup(a, pk_json_str(s, texts[i].key, NULL));
    o->breakdown |= pk_json_bool(s, "breakdown", false);
    o->allocations |= pk_json_bool(s, "allocations", false);
    struct pk_opt_table *table = r->table;
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < sizeof numbers / sizeof *numbers; i++)
        if (json_is_integer(json_object_get(s, numbers[i].key)) &&
            (pk_json_int(s, numbers[i].key, 0) || !numbers[i].zero_is_none))
            rc = pk_opt_resume(table,
                               pk_printf(a, "%s=%lld%s", numbers[i].option,
                                         (long long)pk_json_int(s, numbers[i].key, 0), numbers[i].unit),
                               a, err);
    if (!rc && json_is_number(json_object_get(s, "max_noise")))
        rc = pk_opt_resume(table, pk_printf(a, "max-noise=%.15f", pk_json_num(s, "max_noise", 0)), a, err);
    const json_t *bind = json_object_get(s, "bind");
    if (!rc)
        rc = pk_opt_resume(table,
                           pk_printf(a, "bind=%s",
                                     json_is_string(bind)  ? json_string_value(bind)
                                     : json_is_false(bind) ? "none"
                                                           : "cores"),
                           a, err);
    if (!rc)
        rc = pk_opt_resume(table, pk_json_bool(s, "cold", false) ? "cold=true" : "cold=false", a, err);
    if (!rc)
        rc =
            pk_opt_resume(table, pk_json_bool(s, "check", true) ? "no-check=false" : "no-check=true", a, err);
    return rc;
}

enum pk_code pk_run_find_resumable(struct pk_run *r, struct pk_err *err)
{
    struct pk_resumable found;
    enum pk_code rc = pk_store_resumable(r->store, r->probe->name, r->o->label, r->arena, &found, err);
    if (rc)
        return rc;
    if (!found.run_id) {
        pk_fail(err, PK_E_USAGE, "there is no interrupted run of %s to resume", r->probe->name);
        pk_why(err, "its newest run in %s is complete, or there is none", r->store_path);
        return pk_fix(err, "omit --resume to start a new run");
    }
    PK_JSON_CLEANUP json_t *s = json_loads(found.settings, 0, NULL);
    r->run_id = found.run_id;
    return take_settings(r, s, err);
}

enum pk_code pk_run_resume(struct pk_run *r, struct pk_err *err)
{
    describe_cases(r);
    pk_own_stop_process(r->probe->own);
    r->done = pk_new_n(r->arena, struct pk_case_progress, r->plan.n);
    enum pk_code rc =
        pk_store_resume_cases(r->store, r->run_id, r->cases, r->plan.n, r->arena, r->case_ids, r->done, err);
    if (!rc)
        rc = pk_store_resume_run(r->store, r->run_id, r->info.machine, err);
    if (!rc)
        pk_run_note(r, "resuming run %lld", (long long)r->run_id);
    return rc;
}
