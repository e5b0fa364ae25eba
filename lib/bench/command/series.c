/* Series: runs of one command, or of several in turns, until there are enough. */
#include "bench/command/command.h"

#include "base/clock.h"
#include "base/rng.h"
#include "bench/command/counter_passes.h"
#include "stats/verdict/verdict.h"

#include <unistd.h>

struct series {
    const struct pk_command_options *o; /* of each command; what says how long is that of the first */
    struct pk_command **c;
    struct pk_command_result *out;
    size_t n, *order, round;
    struct pk_rng rng;
    bool interrupted;
};

/* How many runs of each it will still be, by those so far; 0 = enough. */
static int64_t still_to_come(const struct pk_command_options *o, int64_t done, int64_t spent_ns)
{
    int64_t want = o->runs ? o->runs : o->min_runs;
    if (!o->runs && done && spent_ns < o->min_time_ns) {
        int64_t by_time = (int64_t)((double)o->min_time_ns / (double)spent_ns * (double)done) + 1;
        want = by_time > want ? by_time : want;
    }
    if (!o->runs && want > o->max_runs)
        want = o->max_runs;
    return want > done ? want - done : 0;
}

static bool goes_on(const struct series *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n; i++)
        any |= s->out[i].last == PK_ST_OK;
    return any && !s->interrupted;
}

/* A run of each command that has not failed. */
static enum pk_code measure_round(struct series *s, const struct pk_command_turn *turn, struct pk_err *err)
{
    pk_turn_order(&s->rng, s->round++, s->order, s->n);
    for (size_t i = 0; i < s->n && !s->interrupted; i++) {
        struct pk_command_result *out = &s->out[s->order[i]];
        if (out->last != PK_ST_OK)
            continue;
        if (pk_command_run(s->c[s->order[i]], turn, out, err))
            return err->code;
        s->interrupted = out->interrupted;
        out->runs += !turn->warmup && !s->interrupted;
    }
    return PK_OK;
}

static enum pk_code measure_times(struct series *s, const struct pk_command_events *ev, struct pk_err *err)
{
    struct pk_command_turn turn = {.pass = PK_PASS_TIMING, .invocation = 1, .warmup = true};
    for (int64_t i = 0; i < s->o->warmup && goes_on(s); i++)
        if (measure_round(s, &turn, err))
            return err->code;
    turn.warmup = false;
    s->round = 0;
    const uint64_t began = pk_clock_ns();
    for (int64_t done = 0, more = still_to_come(s->o, 0, 0); more && goes_on(s); turn.invocation++) {
        if (measure_round(s, &turn, err))
            return err->code;
        if (s->interrupted)
            break;
        const int64_t spent = (int64_t)(pk_clock_ns() - began);
        more = still_to_come(s->o, ++done, spent / (int64_t)s->n);
        if (ev && ev->ran)
            ev->ran(ev->user, done, done + more, spent / done * more);
    }
    return PK_OK;
}

/* Changes nothing of what was measured. */
static enum pk_code count(struct series *s, size_t i, struct pk_err *err)
{
    const size_t rounds =
        s->o->counters && s->out[i].last == PK_ST_OK ? pk_counter_pass_count(s->o->counters) : 0;
    struct pk_command_result counted = {.message = "", .last = PK_ST_OK};
    struct pk_command_turn turn = {.pass = PK_PASS_COUNTER, .invocation = (int)s->out[i].runs + 1};
    for (; turn.round < rounds && !s->interrupted &&
           (counted.last == PK_ST_OK || counted.last == PK_ST_SKIPPED);
         turn.round++, turn.invocation++) {
        if (pk_command_run(s->c[i], &turn, &counted, err))
            return err->code;
        s->interrupted = counted.interrupted;
    }
    s->out[i].why_not_counted = counted.message;
    return PK_OK;
}

static enum pk_code measure(struct series *s, const struct pk_command_events *ev, struct pk_err *err)
{
    for (size_t i = 0; i < s->n; i++) /* as cases in the order in which they were given */
        if (pk_command_record(s->c[i], err))
            return err->code;
    if (measure_times(s, ev, err))
        return err->code;
    for (size_t i = 0; i < s->n; i++)
        if (count(s, i, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_commands_measure(const struct pk_command_options *o, size_t n, struct pk_recorder *rec,
                                 const struct pk_command_events *ev, const volatile int *stop_flag,
                                 struct pk_arena *a, struct pk_command_result *out, struct pk_err *err)
{
    struct series s = {.o = o,
                       .c = pk_new_n(a, struct pk_command *, n),
                       .out = out,
                       .n = n,
                       .order = pk_new_n(a, size_t, n),
                       .rng = {o->order_seed}};
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct pk_command_result){.message = "", .why_not_counted = ""};
        s.c[i] = pk_command_open(&o[i], rec, ev, stop_flag, a);
    }
    const enum pk_code rc = measure(&s, ev, err);
    for (size_t i = 0; i < n; i++) {
        out[i].interrupted = s.interrupted;
        out[i].cases = pk_command_cases(s.c[i]);
        pk_command_close(s.c[i]);
    }
    return rc;
}
