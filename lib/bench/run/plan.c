/* Run, plan: device, preset, cases, and the estimated time. */
#include "bench/run/run.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/own/descriptor_setting.h"
#include "bench/plan/estimate.h"
#include "bench/plan/plan.h"
#include "device/cpu/cpu.h"
#include "machine/bind.h"
#include "machine/machine.h"

#include <math.h>
#include <string.h>

struct pk_stop pk_run_stop_rule(const struct pk_run_options *o)
{
    return (struct pk_stop){
        .min_samples = o->min_samples,
        .max_samples = o->max_samples,
        .min_time_ns = o->min_time_ns,
        .max_time_ns = o->max_time_ns,
        .max_noise = o->max_noise,
        .warmup = o->warmup,
        .profile = o->profile,
    };
}

enum pk_code pk_run_choose_device(struct pk_run *r, struct pk_err *err)
{
    const struct pk_run_options *o = r->o;
    enum pk_device_kind kind;
    const struct pk_own *own = r->probe->own;
    const bool has_cuda =
        !pk_device_unavailable(PK_DEVICE_CUDA) && (!own || pk_own_runs_on(own, PK_DEVICE_CUDA));
    const bool has_cpu = !own || pk_own_runs_on(own, PK_DEVICE_CPU);
    r->device = o->device ? o->device : has_cuda || !has_cpu ? "cuda" : "cpu";
    if (pk_device_parse(r->device, &kind, &r->ordinal, err))
        return err->code;
    if (kind != PK_DEVICE_CUDA)
        r->device = pk_device_kinds[kind]->kind; /* cpu:0 is cpu */
    r->device_unavailable = pk_device_unavailable(kind);
    if (own && !pk_own_runs_on(own, kind)) {
        pk_fail(err, PK_E_USAGE, "%s does not run on %s", r->probe->name, r->device);
        pk_why(err, "its program describes it for %s", has_cpu ? "cpu" : "cuda");
        return pk_fix(err, "omit --device, or describe it with more `devices`");
    }
    if (own) /* its program knows better what it can use */
        r->device_unavailable = NULL;
    if (r->device_unavailable && !o->dry_run && !o->peers.n) {
        pk_fail(err, PK_E_UNAVAILABLE, "device '%s' cannot be used", r->device);
        pk_why(err, "%s", r->device_unavailable);
        return pk_fix(err, "`perfkit list devices` shows what works here");
    }
    r->device_options = (struct pk_device_options){
        .threads = (unsigned)o->threads,
        .cold = o->cold,
        .limit_bytes = o->limit_bytes,
    };
    if (pk_bind_option(o->bind, r->arena, &r->device_options.cpus, &r->device_options.no_bind, err))
        return err->code;
    return kind == PK_DEVICE_CPU ? pk_cpu_threads_check(o->threads, r->device_options.cpus, err) : PK_OK;
}

enum pk_code pk_run_stored_ceilings(struct pk_run *r, struct pk_err *err)
{
    r->ceilings_key = pk_ceilings_key(r->device, &r->device_options, r->arena);
    return pk_ceilings_stored(r->store, r->info.machine, r->ceilings_key, &r->ceilings, err);
}

static enum pk_code measure_or_repeat(struct pk_run *r, struct pk_err *err)
{
    const uint64_t limit_ns = (uint64_t)r->o->timeout_ns;
    struct pk_device_options unlimited = r->device_options;
    unlimited.limit_bytes = 0;
    if (!r->ceilings.found || r->ceilings.evidence == PK_EVIDENCE_ONE_SIZE) {
        pk_run_note(r, "measuring the ceilings of %s: the peak rates for %% of floor", r->ceilings_key);
        return pk_ceilings_refresh(r->store, r->info.machine, r->device, &unlimited, limit_ns, r->stop_flag,
                                   &r->ceilings, err);
    }
    if (pk_ceilings_repeat(r->store, r->info.machine, r->device, &unlimited, limit_ns, r->stop_flag, err))
        return err->code;
    return pk_run_stored_ceilings(r, err);
}

/* Of an own experiment with neither work nor a device of perfkit's there is nothing that ceilings could be compared with. */
static bool needs_ceilings(const struct pk_run *r)
{
    if (!r->probe->own)
        return true;
    for (size_t i = 0; i < r->plan.n && !pk_device_unavailable(r->plan.kind); i++)
        for (unsigned k = 0; !r->plan.v[i].provider && r->probe->regions[k].name; k++) {
            const struct pk_work w = r->probe->work(&r->plan.v[i].c, k);
            if (!isnan(w.flops) || !isnan(w.bytes))
                return true;
        }
    return false;
}

/* Without ceilings a run is poorer, not impossible: its tables then have no "% of floor". */
enum pk_code pk_run_measure_ceilings(struct pk_run *r, struct pk_err *err)
{
    if (!pk_case_plan_to_try(&r->plan) || !needs_ceilings(r) ||
        !pk_ceilings_wanting(&r->ceilings, (int64_t)pk_wall_ns()))
        return PK_OK;
    enum pk_code rc = measure_or_repeat(r, err);
    if (rc == PK_E_INTERRUPTED || rc == PK_E_IO)
        return rc;
    if (rc && !r->ceilings.found)
        pk_run_warn(r, "no %% of floor: %s", err->what);
    else if (rc)
        pk_run_warn(r, "%% of floor uses older ceilings: %s", err->what);
    else if (r->ceilings.late)
        pk_run_warn(r,
                    "not all repetitions of the ceilings of %s ended in time; %% of floor uses those of the "
                    "store",
                    r->ceilings_key);
    else if (*r->ceilings.doubtful)
        pk_run_warn(r,
                    "the ceilings of %s were measured on a busy host (%s: no second repetition confirms the "
                    "best); %% of floor may be too high",
                    r->ceilings_key, r->ceilings.doubtful);
    return PK_OK;
}

/* What cannot end in time is refused here, not after ten minutes. */
static enum pk_code check_bounds(struct pk_run *r, struct pk_err *err)
{
    const struct pk_run_options *o = r->o;
    char least[32], limit[32];
    if (pk_opt_ordered(r->table, "min-samples", "max-samples", err) ||
        pk_opt_ordered(r->table, "min-time", "max-time", err))
        return err->code;
    if (o->min_time_ns < o->timeout_ns)
        return PK_OK;
    pk_format_duration_exact(o->min_time_ns, least, sizeof least);
    pk_format_duration_exact(o->timeout_ns, limit, sizeof limit);
    pk_fail(err, PK_E_USAGE, "--min-time %s cannot be reached within --timeout %s", least, limit);
    pk_why(err, "a case that exceeds the time-out in one process is ended without a result");
    return pk_fix(err, "give a longer --timeout, or a shorter --min-time");
}

enum pk_code pk_run_make_plan(struct pk_run *r, struct pk_err *err)
{
    const struct pk_run_options *o = r->o;
    const struct pk_case_plan_request request = {
        .probe = r->probe,
        .preset = o->preset,
        .axes = o->axes.v,
        .n_axes = o->axes.n,
        .variants = o->variants.v,
        .n_variants = o->variants.n,
        .filter = o->filter,
        .cpus = r->device_options.cpus,
        .threads = r->device_options.threads,
        .device = r->device,
        .peers = o->peers.v,
        .n_peers = o->peers.n,
        .limit_bytes = r->o->limit_bytes          ? r->o->limit_bytes
                       : strcmp(r->device, "cpu") ? 0
                                                  : pk_machine_available_bytes("/") / 10 * 9,
    };
    enum pk_code rc = pk_own_follow_store(r->store, r->probe, r->arena, err);
    if (!rc)
        rc = pk_case_plan_make(&request, r->arena, &r->plan, err);
    const char *const *settings = rc ? NULL : r->plan.preset->settings;
    struct pk_opt_table *table = r->table;
    if (!rc) {
        /* What the request implies, and warnings, unless they were shown for another plan. */
        const struct pk_case_plan none = {0}, *shown = r->shown ? r->shown : &none;
        for (size_t i = 0; i < r->plan.implied.n; i++)
            if (!pk_texts_has(&shown->implied, r->plan.implied.v[i]))
                pk_run_note(r, "%s: implied by the given options", r->plan.implied.v[i]);
        for (size_t i = 0; i < r->plan.warnings.n; i++)
            if (!pk_texts_has(&shown->warnings, r->plan.warnings.v[i]))
                pk_run_warn(r, "%s", r->plan.warnings.v[i]);
    }
    for (size_t i = 0; !rc && settings && settings[i]; i++)
        rc = pk_opt_preset(table, settings[i], r->arena, err);
    if (!rc)
        rc = check_bounds(r, err);
    for (size_t i = 0; !rc && i < r->plan.n_sweeps; i++) {
        const char *unused = pk_case_plan_unused_axis(&r->plan, &r->plan.sweeps[i], r->arena);
        if (unused && !(r->shown && pk_case_plan_unused_axis(r->shown, &r->plan.sweeps[i], r->arena)))
            pk_run_warn(r, "%s", unused);
    }
    return rc;
}

void pk_run_estimate(struct pk_run *r)
{
    const struct pk_run_options *o = r->o;
    const int64_t samples =
        o->budget_ns && o->min_samples > PK_SAMPLES_IN_A_BUDGET ? PK_SAMPLES_IN_A_BUDGET : o->min_samples;
    pk_case_plan_floors(&r->plan, r->ceilings.found ? &r->ceilings.top : NULL);
    pk_case_plan_leave_out_endless(&r->plan, samples, o->timeout_ns, r->arena);
}

void pk_run_warn_of_long_cases(const struct pk_run *r)
{
    enum { LONG_S = 30 };
    const struct pk_planned_case *longest = NULL;
    char each[32];
    for (size_t i = 0; i < r->plan.n; i++) {
        const struct pk_planned_case *p = &r->plan.v[i];
        if (pk_case_plan_time_known(&r->plan, p) && p->least_ns >= LONG_S * 1e9 &&
            (!longest || p->least_ns > longest->least_ns))
            longest = p;
    }
    if (longest)
        pk_run_warn(
            r,
            "one iteration of %s %s takes at least %s (%s); --dry-run shows every case, --budget bounds "
            "the run",
            longest->variant, pk_point_text(&longest->c.at, NULL, r->arena),
            pk_format_ns(longest->least_ns, each, sizeof each), pk_run_extent(r));
}

enum pk_code pk_run_duration(struct pk_run *r, struct pk_err *err)
{
    const struct pk_stop stop = pk_run_stop_rule(r->o);
    const struct pk_duration_request request = {
        .plan = &r->plan,
        .stop = &stop,
        .invocations = r->o->invocations,
        .budget_ns = r->o->budget_ns,
        .check = !r->o->no_check,
        .machine = r->info.machine,
    };
    return pk_case_plan_duration(r->store, &request, r->arena, &r->duration, err);
}

const char *pk_run_extent(const struct pk_run *r)
{
    const struct pk_duration *e = &r->duration;
    struct pk_arena *a = r->arena;
    char about[32];
    if (!pk_case_plan_to_try(&r->plan))
        return "no case can be measured";
    const char *extent = pk_printf(a, "%s x %s", pk_plural(e->stored + e->modelled + e->unknown, "case", a),
                                   pk_plural((size_t)r->o->invocations, "process", a));
    return isnan(e->ns) ? extent
                        : pk_printf(a, "%s, about %s", extent, pk_format_ns(e->ns, about, sizeof about));
}
