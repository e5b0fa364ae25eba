/* Series: runs of a command, one after the other, until there are enough. */
#include "bench/command/command.h"

#include "base/clock.h"
#include "bench/command/counter_passes.h"

/* How many runs it will be in all, by the runs so far; 0 = enough. */
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

static bool goes_on(const struct pk_command_result *r)
{
    return !r->interrupted && r->last == PK_ST_OK;
}

enum pk_code pk_command_measure(const struct pk_command_options *o, struct pk_recorder *rec,
                                const struct pk_command_events *ev, const volatile int *stop_flag,
                                struct pk_arena *a, struct pk_command_result *out, struct pk_err *err)
{
    *out = (struct pk_command_result){.message = "", .why_not_counted = ""};
    struct pk_command *c = pk_command_open(o, rec, ev, stop_flag, a);
    struct pk_command_turn turn = {.pass = PK_PASS_TIMING, .invocation = 1, .warmup = true};
    enum pk_code rc = PK_OK;
    for (int64_t i = 0; !rc && i < o->warmup && goes_on(out); i++)
        rc = pk_command_run(c, &turn, out, err);
    turn.warmup = false;
    uint64_t began = pk_clock_ns();
    int64_t more = still_to_come(o, 0, 0), spent;
    for (; !rc && more && goes_on(out); turn.invocation++) {
        rc = pk_command_run(c, &turn, out, err);
        if (rc || out->interrupted)
            break;
        out->runs++;
        spent = (int64_t)(pk_clock_ns() - began);
        more = still_to_come(o, out->runs, spent);
        if (ev && ev->ran)
            ev->ran(ev->user, out->runs, out->runs + more, spent / out->runs * more);
    }
    const size_t rounds = o->counters && goes_on(out) ? pk_counted_rounds(o->counters) : 0;
    struct pk_command_result counted = {.message = "", .last = PK_ST_OK, .interrupted = out->interrupted};
    turn = (struct pk_command_turn){.pass = PK_PASS_COUNTER, .invocation = (int)out->runs + 1};
    for (; !rc && turn.round < rounds && !counted.interrupted &&
           (counted.last == PK_ST_OK || counted.last == PK_ST_SKIPPED);
         turn.round++, turn.invocation++)
        rc = pk_command_run(c, &turn, &counted, err); /* changes nothing of what was measured */
    out->interrupted = counted.interrupted;
    out->why_not_counted = counted.message;
    out->cases = pk_command_cases(c);
    pk_command_close(c);
    return rc;
}
