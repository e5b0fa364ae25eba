/* Command: one run of a command, measured and recorded. */
#include "bench/command/command.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/client/process.h"
#include "bench/command/case_set.h"
#include "bench/command/counter_passes.h"
#include "bench/worker/environment.h"
#include "machine/bind.h"
#include "machine/machine.h"

#include <string.h>

#define KILL_GRACE_NS (500 * PK_NS_PER_MS)

struct pk_command {
    const struct pk_command_options *o;
    struct pk_recorder *rec;
    const struct pk_command_events *ev;
    const volatile int *stop_flag;
    struct pk_arena *a; /* as long as the measurement */
    struct pk_process spawner;
    struct pk_cpus cpus;                                    /* where commands run */
    struct pk_wire_reader *command_reader, *spawner_reader; /* of their messages */
    struct pk_case_set cases;
    const struct pk_command_turn *turn;
    const char *problem; /* what is wrong in the messages of this run */
    bool reports_peak;   /* in this run: peak_bytes of its own case */
    struct pk_err setting_err;
    enum pk_code setting_rc;
};

/* --- one run ------------------------------------------------------------------------------------------------------ */

static void drop_spawner(struct pk_command *r, uint64_t grace_ns)
{
    pk_process_end(&r->spawner, grace_ns);
    pk_wire_reader_free(r->command_reader);
    pk_wire_reader_free(r->spawner_reader);
    r->command_reader = r->spawner_reader = NULL;
}

static enum pk_code need_spawner(struct pk_command *r, struct pk_err *err)
{
    static const char *const argv[] = {"/proc/self/exe", "worker", "--spawner", NULL};
    if (r->spawner.program.pid)
        return PK_OK;
    if (r->o->cpus)
        pk_bind_memory(&r->cpus); /* inherited; the parent itself measures nothing */
    if (pk_process_start(&r->spawner, argv, err))
        return err->code;
    if (r->o->cpus && !pk_bind_process(r->spawner.program.pid, &r->cpus)) {
        pk_fail(err, PK_E_IO, "the command cannot be bound to CPUs %s", r->o->cpus);
        pk_why(err, "the kernel refused it");
        return pk_fix(err, "choose other CPUs with --bind");
    }
    r->spawner_reader = pk_wire_reader_new();
    return PK_OK;
}

static bool is_peak(const char *metric)
{
    return strcmp(metric, "peak_bytes") == 0;
}

/* The peak that a command reports of its own case replaces the resident memory, and is marked as another quantity: the two are not
 * comparable. Returns what is wrong with it; NULL = nothing. */
static const char *own_peak(struct pk_command *r, struct pk_wire_msg *m)
{
    if (m->type != PK_WIRE_METRIC || r->cases.current || !is_peak(m->metric.name))
        return NULL;
    r->reports_peak = true;
    m->metric.direction = "lower";
    m->metric.class = "memory";
    m->metric.combine = m->metric.ranks = "max";
    m->metric.source = "program";
    return strcmp(m->metric.unit, "bytes") ? "peak_bytes is in another unit than bytes" : NULL;
}

/* The rest of what it reports is dropped, and so is what was collected. */
static void violated(struct pk_command *r, const char *problem)
{
    if (!r->problem)
        r->problem = pk_printf(r->a, "the command violated the protocol: %s", problem);
    pk_collector_reset(r->cases.v[0].collector);
}

static void read_command(struct pk_command *r, const char *bytes, size_t n)
{
    struct pk_wire_msg m;
    if (r->turn->pass != PK_PASS_TIMING || r->problem)
        return; /* read, so that the command can write, and dropped */
    pk_wire_feed(r->command_reader, bytes, n);
    while (!r->problem && pk_wire_next(r->command_reader, &m)) {
        const char *problem = own_peak(r, &m);
        if (!problem)
            problem = pk_case_set_take(&r->cases, &m);
        if (problem)
            violated(r, problem);
        else if (m.type == PK_WIRE_SETTING && !r->turn->warmup && !r->setting_rc)
            r->setting_rc = pk_record_setting(r->rec, r->turn->invocation, m.key, m.text, &r->setting_err);
    }
}

static bool declared(const struct pk_slice *s, const char *metric)
{
    for (size_t i = 0; i < s->n_metrics; i++)
        if (!strcmp(s->metrics[i].name, metric))
            return true;
    return false;
}

/* Adds the spawner's measurements to the command's own case. True when the reply is complete. */
static bool read_spawner(struct pk_command *r)
{
    struct pk_collector *own = r->cases.v[0].collector;
    struct pk_wire_msg m;
    const char *problem = NULL;
    bool complete = false;
    while (!complete && pk_wire_next(r->spawner_reader, &m)) {
        if (r->reports_peak && ((m.type == PK_WIRE_METRIC && is_peak(m.metric.name)) ||
                                (m.type == PK_WIRE_SAMPLES && is_peak(m.samples_metric))))
            continue;
        if (m.type == PK_WIRE_METRIC && !r->problem && declared(pk_collected(own), m.metric.name))
            r->problem =
                pk_printf(r->a, "the command reports %s, which is perfkit's own metric", m.metric.name);
        complete = pk_collect(own, &m, &problem);
        if (!problem)
            continue;
        /* The reply is full: what the command reported is dropped, and there is room for how it ended. */
        violated(r, problem);
        complete = pk_collect(own, &m, &problem);
    }
    return complete;
}

/* Before the reply: what is still in the pipes. The command has ended, so all its messages are there; what a process that it left behind
 * writes later is not read, and the next run has another pipe. */
static bool read_reply(struct pk_command *r, const char *bytes, size_t n)
{
    char left[32 << 10];
    size_t n_left = 0;
    enum pk_process_event event;
    pk_wire_feed(r->spawner_reader, bytes, n);
    while ((event = pk_process_wait(&r->spawner, 0, NULL, left, sizeof left, &n_left)) == PK_PROCESS_BYTES ||
           event == PK_PROCESS_REPLY) {
        if (event == PK_PROCESS_BYTES)
            read_command(r, left, n_left);
        else
            pk_wire_feed(r->spawner_reader, left, n_left);
    }
    return read_spawner(r);
}

static const char *spawner_died(struct pk_command *r)
{
    drop_spawner(r, 0);
    return pk_printf(r->a, "the process that starts the command died: %s",
                     pk_process_exit_text(&r->spawner, r->a));
}

enum run_end { REPLIED, BROKEN, LATE, STOPPED };

static json_t *request_of(const struct pk_command *r)
{
    json_t *j = json_pack("{s:s, s:i, s:s, s:s, s:s, s:{}, s:s, s:i, s:o, s:s?, s:b}", "type", "measure",
                          "id", r->turn->invocation, "experiment", "exec", "variant", "exec", "device", "cpu",
                          "axes", "pass", pk_pass_name(r->turn->pass), "invocation", r->turn->invocation,
                          "command", pk_json_texts(r->o->argv, SIZE_MAX), "prepare", r->o->prepare,
                          "ignore_failure", (int)r->o->ignore_failure);
    if (r->turn->pass == PK_PASS_COUNTER)
        json_object_set_new(j, "counters", pk_counter_pass_request(r->o->counters, r->turn->round));
    return j;
}

/* No reply. *message: what is known of the reason. */
static enum run_end no_reply(struct pk_command *r, enum pk_process_event how, const char **message)
{
    if (how == PK_PROCESS_END) {
        *message = spawner_died(r);
        return BROKEN;
    }
    const char *stopped =
        how == PK_PROCESS_DEADLINE ? pk_machine_family_stop_reason(r->spawner.program.keeper, r->a) : NULL;
    *message = stopped      ? pk_printf(r->a, ": %s", stopped)
               : r->problem ? pk_printf(r->a, ", and %s", r->problem)
                            : "";
    drop_spawner(r, stopped ? 0 : KILL_GRACE_NS); /* a stopped process takes no SIGTERM */
    return how == PK_PROCESS_DEADLINE ? LATE : STOPPED;
}

/* Starts one run and listens until it is over. BROKEN: *message says how. LATE: *message says why, if it is known. */
static enum run_end run_command(struct pk_command *r, const char **message)
{
    struct pk_err err;
    char buf[32 << 10];
    size_t n = 0;
    if (need_spawner(r, &err)) {
        *message = pk_error_line(&err, r->a);
        return BROKEN;
    }
    const uint64_t deadline = pk_clock_ns() + (uint64_t)r->o->timeout_ns;
    r->spawner.tail_n = 0;
    pk_wire_reader_free(r->command_reader); /* a line that the run before left unfinished goes with it */
    r->command_reader = pk_wire_reader_new();
    if (pk_process_renew_wire(&r->spawner, &err)) {
        *message = pk_printf(r->a, "%s: %s", err.what, err.why);
        return BROKEN;
    }
    enum pk_process_event event = pk_process_send(&r->spawner, request_of(r), deadline, r->stop_flag);
    if (event != PK_PROCESS_SENT)
        return no_reply(r, event, message);
    for (;;) {
        event = pk_process_wait(&r->spawner, deadline, r->stop_flag, buf, sizeof buf, &n);
        if (event == PK_PROCESS_BYTES)
            read_command(r, buf, n);
        else if (event != PK_PROCESS_REPLY)
            return no_reply(r, event, message);
        else if (read_reply(r, buf, n))
            return REPLIED;
    }
}

/* --- recording a run ---------------------------------------------------------------------------------------------- */

static void fail_slice(struct pk_slice *s, enum pk_status status, const char *message)
{
    s->status = status;
    s->message = message;
    s->n_series = 0;
}

/* The command's own slice: the spawner's word, the protocol's, then the command's own. */
static enum pk_code judge_own(struct pk_command *r, struct pk_slice *s)
{
    const char *words = pk_process_output_tail(&r->spawner, r->a);
    if (s->status != PK_ST_OK) {
        fail_slice(s, s->status,
                   *words && s->status == PK_ST_FAILED
                       ? pk_printf(r->a, "%s; last output: %s", s->message, words)
                       : pk_strdup(r->a, s->message));
        return PK_E_NOTHING;
    }
    if (r->problem)
        fail_slice(s, PK_ST_FAILED, r->problem);
    else if (r->cases.own_status != PK_ST_OK)
        fail_slice(s, r->cases.own_status, r->cases.own_message);
    return s->status == PK_ST_OK ? PK_OK : s->status == PK_ST_FAILED ? PK_E_CHECK : PK_E_NOTHING;
}

static enum pk_code record_case(struct pk_command *r, struct pk_command_case *c, struct pk_slice *s,
                                struct pk_err *err)
{
    if (!c->id && pk_record_case(r->rec, &c->info, &c->id, err))
        return err->code;
    s->pass = r->turn->pass;
    s->invocation = r->turn->invocation;
    if (r->turn->as_warmup)
        pk_slice_set_warmup(s, r->a);
    if (pk_record_slice(r->rec, c->id, &c->info, s, err))
        return err->code;
    if (r->ev && r->ev->slice)
        r->ev->slice(r->ev->user, &c->info, s);
    return PK_OK;
}

enum pk_code pk_command_record(struct pk_command *c, struct pk_err *err)
{
    struct pk_command_case *own = &c->cases.v[0];
    return own->id ? PK_OK : pk_record_case(c->rec, &own->info, &own->id, err);
}

/* Thousands of cases take a while: a signal leaves out the rest. */
static enum pk_code record_run(struct pk_command *r, struct pk_slice *own, uint64_t wall_ns,
                               uint64_t elapsed_ns, bool *interrupted, struct pk_err *err)
{
    for (size_t i = 0; i < r->cases.n; i++) {
        struct pk_command_case *c = &r->cases.v[i];
        if (i && (!c->reported || r->problem))
            continue;
        if (i && r->stop_flag && *r->stop_flag) {
            *interrupted = true;
            break;
        }
        struct pk_slice *s = i ? pk_collected(c->collector) : own;
        if (i) {
            /* A case that the command named and did not finish is as good as the command's end. */
            if (!c->complete)
                s->status = own->status;
            if (!c->complete && own->status != PK_ST_OK)
                fail_slice(s, PK_ST_FAILED, "the command failed before it finished this case");
            else if (s->status == PK_ST_OK && !s->n_series)
                fail_slice(s, PK_ST_FAILED, "the command reported ok without a sample");
            else if (s->status == PK_ST_FAILED)
                s->n_series = 0;
        }
        s->started_wall_ns = wall_ns;
        s->elapsed_ns = elapsed_ns;
        if (record_case(r, c, s, err))
            return err->code;
    }
    if (r->setting_rc)
        *err = r->setting_err;
    return r->setting_rc;
}

enum pk_code pk_command_run(struct pk_command *r, const struct pk_command_turn *turn,
                            struct pk_command_result *out, struct pk_err *err)
{
    char limit[32];
    const char *reason = "";
    r->turn = turn;
    pk_case_set_clear(&r->cases);
    r->problem = NULL;
    r->reports_peak = false;
    PK_ARENA_CLEANUP struct pk_arena around = {0};
    struct pk_state_span span = {.n_cpus = r->cpus.n};
    pk_state_read(NULL, r->cpus.v, r->cpus.n, &around, &span.before);
    uint64_t wall = pk_wall_ns(), began = pk_clock_ns();
    enum run_end how = run_command(r, &reason);
    const uint64_t elapsed_ns = pk_clock_ns() - began;
    pk_state_read(NULL, r->cpus.v, r->cpus.n, &around, &span.after);
    struct pk_slice *own = pk_collected(r->cases.v[0].collector);
    if (how == STOPPED) {
        out->interrupted = true;
        return PK_OK;
    }
    out->verdict = how == REPLIED ? judge_own(r, own) : how == BROKEN ? PK_E_INTERNAL : PK_E_NOTHING;
    if (how == BROKEN)
        fail_slice(own, PK_ST_FAILED, reason);
    if (how == LATE)
        fail_slice(own, PK_ST_TIMEOUT,
                   pk_printf(r->a, "no end after %s%s; the command and its processes were ended",
                             pk_format_duration_exact(r->o->timeout_ns, limit, sizeof limit), reason));
    if (own->status == PK_ST_OK)
        pk_environment_note(&span, &around, own);
    out->last = own->status;
    out->message = pk_strdup(r->a, own->message);
    return !turn->warmup || own->status != PK_ST_OK
               ? record_run(r, own, wall, elapsed_ns, &out->interrupted, err)
               : PK_OK;
}

/* --- the command ----------------------------------------------------------------------------------------------------- */

struct pk_command *pk_command_open(const struct pk_command_options *o, struct pk_recorder *rec,
                                   const struct pk_command_events *ev, const volatile int *stop_flag,
                                   struct pk_arena *a)
{
    const char *base = strrchr(o->argv[0], '/');
    PK_JSON_CLEANUP json_t *axes = json_pack("{s:s}", "command", pk_command_name(o, a));
    const char *text = pk_json_text(a, axes, PK_JSON_CANON);
    const struct pk_case_info own = {
        .experiment = "exec",
        .revision = 1,
        .variant = o->name ? o->name
                   : base  ? base + 1
                           : o->argv[0],
        .device = "cpu",
        .axes = text,
        .identity = text,
        .predicted_bytes = -1,
    };
    struct pk_command *c = pk_new(a, struct pk_command);
    *c = (struct pk_command){.o = o, .rec = rec, .ev = ev, .stop_flag = stop_flag, .a = a};
    if (!o->cpus || !pk_cpus_read(o->cpus, &c->cpus))
        c->cpus.n = pk_machine_cpus(c->cpus.v, PK_CPUS_MAX);
    pk_case_set_init(&c->cases, &own, a);
    c->cases.command = o->several ? pk_command_name(o, a) : NULL;
    return c;
}

const struct pk_case_info *pk_command_own(const struct pk_command *c)
{
    return &c->cases.v[0].info;
}

size_t pk_command_cases(const struct pk_command *c)
{
    return c->cases.n;
}

void pk_command_close(struct pk_command *c)
{
    drop_spawner(c, KILL_GRACE_NS);
    pk_case_set_free(&c->cases);
}
