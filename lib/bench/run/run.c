/* Run: from options to a planned session, its end, and the outcome. */
#include "bench/run/run.h"

#include "base/text/words.h"
#include "bench/record/counters.h"
#include "bench/record/fits.h"
#include "bench/tables/tables.h"

#include <string.h>

/* --- ranks that a launcher has started --------------------------------------------------------------------------------- */

/* All that there are, unless a number is given. */
void pk_run_take_ranks(struct pk_run *r)
{
    bool given = false;
    for (size_t i = 0; i < r->o->axes.n; i++)
        given |= !strncmp(r->o->axes.v[i], "ranks=", strlen("ranks="));
    if (r->launcher.by && r->probe->ranks && pk_axis_index(r->probe->axes, "ranks") >= 0 && !given)
        pk_texts_add(&r->o->axes, pk_printf(r->arena, "ranks=%u", r->launcher.size), r->arena);
}

bool pk_run_has_ranks(const struct pk_run *r)
{
    for (size_t i = 0; i < r->plan.n; i++)
        if (r->plan.v[i].ranks && !r->plan.v[i].skip)
            return true;
    return false;
}

/* A rank cannot be started again: MPI ends with it. */
static void bound_invocations(struct pk_run *r)
{
    if (!r->launcher.by || !pk_run_has_ranks(r) || r->o->invocations == 1)
        return;
    r->o->invocations = 1;
    pk_run_note(r,
                "%s has started the ranks once: one process each. Intervals need several processes: start it "
                "without %s, or several times",
                r->launcher.by, r->launcher.by);
}

/* --- before measuring ---------------------------------------------------------------------------------------------------- */

/* Reports counters that are unavailable here; the others are counted. */
static enum pk_code select_counters(struct pk_run *r, struct pk_err *err)
{
    const char *const text = r->o->counters;
    struct pk_counters *c = &r->counters;
    struct pk_counter_env env = pk_counter_host;
    env.gpu = r->ordinal;
    if (!text)
        return PK_OK;
    if (pk_counters_select(&env, text, r->probe->own != NULL, r->arena, c, err))
        return err->code;
    const struct pk_texts unavailable = pk_run_unavailable(c, r->arena);
    for (size_t i = 0; i < unavailable.n; i++)
        pk_run_warn(r, "%s", unavailable.v[i]);
    return PK_OK;
}

static enum pk_code find_providers(struct pk_run *r, struct pk_err *err)
{
    struct pk_arena *a = r->arena;
    struct pk_texts *peers = &r->o->peers;
    const struct pk_texts given = *peers;
    /* --peer takes a list, and may be given again: one name each, and each once */
    *peers = (struct pk_texts){0};
    for (size_t i = 0; i < given.n; i++)
        for (const char *rest = given.v[i], *name; (name = pk_next_part(&rest, ',', a));)
            if (!pk_texts_has(peers, name))
                pk_texts_add(peers, name, a);
    r->n_providers = peers->n + 1;
    r->providers = pk_new_n(r->arena, struct pk_provider, r->n_providers);
    r->providers[0] = *pk_probe_provider(r->probe);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < peers->n; i++)
        rc = pk_peer_provider(peers->v[i], r->o->python, r->arena, &r->providers[i + 1], err);
    return rc;
}

enum pk_code pk_run_prepare(struct pk_run *r, struct pk_err *err)
{
    struct pk_arena *a = r->arena;
    r->store_path = pk_store_file(r->store);
    enum pk_code rc = pk_run_info_fill(&r->info, r->argc, r->argv, a, err);
    if (!rc && r->o->resume)
        rc = pk_run_find_resumable(r, err);
    if (!rc)
        rc = find_providers(r, err);
    if (!rc)
        rc = pk_run_choose_device(r, err);
    if (!rc)
        rc = select_counters(r, err);
    if (!rc)
        rc = pk_run_stored_ceilings(r, err);
    if (!rc)
        rc = pk_run_make_plan(r, err);
    if (!rc)
        bound_invocations(r);
    return rc;
}

/* --- measuring ----------------------------------------------------------------------------------------------------------- */

static const char order_seed[] = "order_seed"; /* as it is recorded: a setting of the run */

uint64_t pk_run_order_seed(struct pk_store *s, const struct pk_opt_table *table, int64_t seed)
{
    const char *uuid = pk_store_begun(s);
    char bits[9];
    if (pk_opt_source_of(table, "seed") != PK_OPT_DEFAULT || !*uuid)
        return (uint64_t)seed;
    snprintf(bits, sizeof bits, "%s", uuid);
    return strtoul(bits, NULL, 16) >> 1;
}

enum pk_code pk_run_record_order_seed(struct pk_recorder *rec, uint64_t seed, struct pk_arena *a,
                                      struct pk_err *err)
{
    return pk_record_setting(rec, 0, order_seed, pk_printf(a, "%llu", (unsigned long long)seed), err);
}

/* That of a run that is resumed is the recorded one. */
static enum pk_code take_order_seed(const struct pk_run *r, uint64_t *seed, struct pk_err *err)
{
    struct pk_setting *recorded;
    size_t n;
    if (pk_recorded_settings(r->recorder, order_seed, r->arena, &recorded, &n, err))
        return err->code;
    *seed = n ? strtoull(recorded->value, NULL, 10) : pk_run_order_seed(r->store, r->table, r->o->seed);
    return n ? PK_OK : pk_run_record_order_seed(r->recorder, *seed, r->arena, err);
}

enum pk_code pk_run_session(struct pk_run *r, const struct pk_session_events *events, struct pk_err *err)
{
    const struct pk_run_options *o = r->o;
    uint64_t orders = 0;
    if (take_order_seed(r, &orders, err))
        return err->code;
    const struct pk_session_options so = {
        .stop = pk_run_stop_rule(o),
        .invocations = (int)o->invocations,
        .budget_ns = o->budget_ns,
        .timeout_ns = o->timeout_ns,
        .peer_startup_ns = o->peer_startup_ns,
        .seed = (uint64_t)o->seed,
        .order_seed = orders,
        .check = !o->no_check,
        .device = r->device_options,
        .expected_ns = r->duration.case_ns,
        .counters = o->counters ? &r->counters : NULL,
        .breakdown = o->breakdown,
        .memory = o->allocations,
    };
    return pk_session_run(&r->plan, &so, r->providers, r->n_providers, r->recorder, r->run_id, r->case_ids,
                          r->done, events, r->stop_flag, &r->result, err);
}

const char *pk_run_status(const struct pk_run *r)
{
    return r->result.interrupted ? "interrupted" : "complete";
}

/* Fits are rows; the tables read them from the store like everything else. */
enum pk_code pk_run_finish(struct pk_run *r, struct pk_err *err)
{
    const char *status = pk_run_status(r);
    const struct pk_setting unavailable = {0, "uncounted", r->result.counters_unavailable};
    enum pk_code rc = pk_record_fits(r->store, r->run_id, r->probe, r->arena, err);
    if (!rc && *r->result.counters_unavailable)
        rc = pk_store_settings(r->store, r->run_id, &unavailable, 1, err);
    if (!rc)
        rc = pk_record_counters(r->store, r->run_id, &r->plan, r->case_ids, &r->counters, &r->ceilings.top,
                                r->arena, err);
    return rc ? rc : pk_recorder_end_run(r->recorder, status, err);
}

enum pk_code pk_run_outcome(const struct pk_run *r, struct pk_err *err)
{
    const struct pk_session_result *s = &r->result;
    if (pk_recorder_finish(r->recorder, pk_run_status(r), err))
        return err->code;
    if (s->interrupted) {
        if (s->unfinished)
            pk_fail(err, PK_E_INTERRUPTED, "interrupted: %zu of %s not finished", s->unfinished,
                    pk_plural(r->plan.n, "case", r->arena));
        else
            pk_fail(err, PK_E_INTERRUPTED,
                    "interrupted: every case was timed, but not every case was counted");
        if (r->o->no_save) {
            pk_why(err, "a signal stopped perfkit; with --no-save nothing is stored");
            return pk_fix(err, "run it again; without --no-save, --resume could continue it");
        }
        pk_why(err, "a signal stopped perfkit; what was measured is saved as run %lld", (long long)r->run_id);
        return pk_fix(err, "`perfkit run %s --resume` continues it", pk_probe_call(r->probe));
    }
    if (s->failed) {
        pk_fail(err, PK_E_CHECK, "%zu of %s failed", s->failed, pk_plural(r->plan.n, "case", r->arena));
        pk_why(err, "%s", pk_failed_text(r->store, r->run_id, r->arena));
        return r->o->no_save ? pk_fix(err, "run it without --no-save to store them")
                             : pk_fix(err, "`perfkit show %lld` prints them again", (long long)r->run_id);
    }
    return s->ok ? PK_OK : pk_run_nothing_measured(r, err);
}
