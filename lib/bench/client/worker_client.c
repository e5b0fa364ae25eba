/* Worker client: sends requests to a worker and validates its replies. */
#include "bench/client/worker_client.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "device/choices.h"
#include "machine/machine.h"

#include <string.h>
#include <unistd.h>

#define QUIT_GRACE_NS (2 * PK_NS_PER_S)
#define KILL_GRACE_NS (500 * PK_NS_PER_MS)

/* How often the ranks are looked at while they measure: this part of the time that they may be silent. */
enum { LOOKS = 6 };

void pk_worker_client_init(struct pk_worker_client *l, const struct pk_provider *provider)
{
    *l = (struct pk_worker_client){
        .provider = provider, .collector = pk_collector_new(), .timeout_ns = PK_HEARTBEAT_TIMEOUT_NS};
}

void pk_worker_client_set_metrics(struct pk_worker_client *l, const struct pk_metric_decl *metrics, size_t n)
{
    l->metrics = metrics;
    l->n_metrics = n;
}

static void drop_worker(struct pk_worker_client *l, uint64_t grace_ns)
{
    pk_process_end(&l->process, grace_ns);
    pk_wire_reader_free(l->reader);
    l->reader = NULL;
    l->hello_received = l->bye_received = false;
}

static enum pk_code need_worker(struct pk_worker_client *l, struct pk_err *err)
{
    if (l->process.program.pid && pk_process_ended(&l->process, 0))
        drop_worker(l, 0); /* it ended between requests: not this case's fault */
    if (l->process.program.pid)
        return PK_OK;
    if (l->started && l->provider->once) {
        pk_fail(err, PK_E_UNAVAILABLE, "the worker (%s) ended in an earlier case", l->provider->name);
        pk_why(err, "%s", l->provider->once);
        return pk_fix(err, "run the remaining cases again");
    }
    pk_rank_heartbeats_clear(&l->heartbeats);
    if (pk_process_start(&l->process, l->provider->argv, err))
        return err->code;
    l->started = true;
    l->reader = pk_wire_reader_new();
    return PK_OK;
}

void pk_worker_client_choice(struct pk_worker_client *l, const char *key, const char *value)
{
    if (!l->choices)
        l->choices = json_object();
    const bool room = json_object_get(l->choices, key) || json_object_size(l->choices) < PK_CHOICES_MAX;
    if (room && strlen(value) <= PK_CHOICE_VALUE_MAX)
        json_object_set_new(l->choices, key, json_string(value));
}

static const char *check_status(struct pk_worker_client *l, const struct pk_wire_msg *m,
                                const struct pk_request *r)
{
    int64_t id = pk_json_int(m->json, "id", -1);
    if (id != r->id)
        return pk_printf(&l->arena, "it answered request %lld instead of %lld", (long long)id,
                         (long long)r->id);
    return m->status == PK_ST_OK && !pk_collected(l->collector)->n_series ? "it reported ok without a sample"
                                                                          : NULL;
}

/* The experiment's own row of a metric; NULL = it has none of this name. */
static const struct pk_metric_decl *metric_of(const struct pk_worker_client *l, const char *name)
{
    size_t i = 0;
    while (i < l->n_metrics && strcmp(l->metrics[i].name, name) != 0)
        i++;
    return i < l->n_metrics ? &l->metrics[i] : NULL;
}

static const char *check_metric(struct pk_worker_client *l, const struct pk_metric_decl *metric)
{
    const struct pk_metric_decl *own = metric_of(l, metric->name);
    if (own && strcmp(own->unit, metric->unit) != 0)
        return pk_printf(&l->arena, "it reports the metric \"%s\" in \"%s\", which has the unit \"%s\"",
                         metric->name, metric->unit, own->unit);
    return NULL;
}

/* What a program said of a metric when it described the experiment counts; peak_bytes is of whoever reports it. */
static bool collect(struct pk_worker_client *l, const struct pk_wire_msg *m, const char **problem)
{
    const struct pk_metric_decl *own =
        m->type == PK_WIRE_METRIC && l->provider->own ? metric_of(l, m->metric.name) : NULL;
    if (!own)
        return pk_collect(l->collector, m, problem);
    struct pk_wire_msg declared = *m;
    declared.metric = *own;
    return pk_collect(l->collector, &declared, problem);
}

/* NULL, or what is wrong with the message. *answered: it was the status that ends the slice. */
static const char *handle_message(struct pk_worker_client *l, const struct pk_wire_msg *m,
                                  const struct pk_request *r, bool *answered)
{
    const char *problem = NULL;
    if (m->type == PK_WIRE_HELLO) {
        int64_t version = pk_json_int(m->json, "version", 0);
        if (version != PK_WIRE_VERSION)
            return pk_printf(&l->arena, "it uses version %lld of the wire protocol, this perfkit version %d",
                             (long long)version, PK_WIRE_VERSION);
        l->hello_received = true;
        const pid_t pid = (pid_t)pk_json_int(m->json, "pid", 0);
        l->pid = pid > 0 && getpgid(pid) == l->process.program.pid ? pid : l->process.program.pid;
        return NULL;
    }
    if (m->type == PK_WIRE_GARBAGE)
        return m->problem;
    if (!l->hello_received)
        return "it sent a message before its hello";
    if (m->type == PK_WIRE_CASE)
        return "it named a case other than the requested one";
    if (m->type == PK_WIRE_BYE)
        l->bye_received = true;
    if (m->type == PK_WIRE_STATUS && (problem = check_status(l, m, r)))
        return problem;
    if (m->type == PK_WIRE_METRIC && (problem = check_metric(l, &m->metric)))
        return problem;
    *answered = collect(l, m, &problem);
    if (m->type == PK_WIRE_SETTING && !problem) {
        const size_t prefix = strlen(PK_CHOICE_PREFIX);
        if (strncmp(m->key, PK_CHOICE_PREFIX, prefix) == 0)
            pk_worker_client_choice(l, m->key + prefix, m->text);
        l->facts = pk_grow(&l->arena, l->facts, sizeof *l->facts, l->n_facts, &l->facts_cap);
        l->facts[l->n_facts++] =
            (struct pk_fact){pk_strdup(&l->arena, m->key), pk_strdup(&l->arena, m->text)};
    }
    return problem;
}

/* A sample of a program that is counted from outside begins or ends. */
static const char *handle_count(struct pk_worker_client *l, const struct pk_wire_msg *m, uint64_t deadline_ns,
                                const volatile int *stop_flag)
{
    const char *problem = pk_external_counts_take(&l->external_counts, l->pid, m->json, &l->arena);
    if (!problem) /* what becomes of a process that does not take it is seen when its next message is awaited */
        pk_process_send(&l->process, json_pack("{s:s}", "type", "go"), deadline_ns, stop_flag);
    return problem;
}

static bool is_count(const struct pk_wire_msg *m)
{
    return m->type == PK_WIRE_UNKNOWN && !strcmp(pk_json_str(m->json, "type", ""), "count");
}

static enum pk_reply failed(struct pk_worker_client *l, const char *message, struct pk_slice **slice)
{
    struct pk_slice *s = pk_new(&l->arena, struct pk_slice);
    s->status = PK_ST_FAILED;
    s->message = message;
    *slice = s;
    return PK_REPLY_SLICE;
}

static enum pk_reply worker_ended(struct pk_worker_client *l, struct pk_slice **slice)
{
    pk_process_ended(&l->process, pk_clock_ns() + KILL_GRACE_NS);
    drop_worker(l, 0);
    return failed(l,
                  pk_printf(&l->arena, "the worker (%s) died: %s", l->provider->name,
                            pk_process_exit_text(&l->process, &l->arena)),
                  slice);
}

/* There is no reply. A stopped process takes no SIGTERM: nothing waits for it. */
static enum pk_reply no_reply(struct pk_worker_client *l, enum pk_process_event how, struct pk_slice **slice)
{
    if (how == PK_PROCESS_END)
        return worker_ended(l, slice);
    const char *stopped =
        how == PK_PROCESS_STOP ? NULL : pk_rank_heartbeats_stopped(&l->heartbeats, &l->arena);
    if (!stopped && how == PK_PROCESS_DEADLINE)
        stopped = pk_machine_family_stop_reason(l->process.program.keeper, &l->arena);
    l->missing = stopped ? stopped : pk_rank_heartbeats_missing(&l->heartbeats, &l->arena);
    if (l->silent && !l->missing)
        l->missing = "a rank did not answer";
    drop_worker(l, stopped ? 0 : KILL_GRACE_NS);
    return how == PK_PROCESS_STOP ? PK_REPLY_STOPPED : PK_REPLY_LATE;
}

/* The ranks while they measure. `since_ns`: at every look since then one of them was stopped or silent. */
struct watch {
    uint64_t calls, since_ns, next_ns;
};

/* Before rank 0 has the request, its launcher may be stopped, too; nothing is measured then. */
static bool is_stuck(struct pk_worker_client *l, const struct watch *w)
{
    return pk_rank_heartbeats_stuck(&l->heartbeats, l->timeout_ns / LOOKS) ||
           (pk_rank_heartbeats_calls(&l->heartbeats) == w->calls &&
            pk_machine_family_stop_reason(l->process.program.keeper, &l->arena));
}

/* A look that comes late does not count: this process was stopped itself. */
static bool is_silent(struct pk_worker_client *l, struct watch *w)
{
    const uint64_t now = pk_clock_ns(), part = l->timeout_ns / LOOKS;
    if (now > w->next_ns + part || !is_stuck(l, w))
        w->since_ns = now;
    w->next_ns = now + part;
    l->silent = now - w->since_ns >= l->timeout_ns + part; /* it may have begun just before the second look */
    return l->silent;
}

static enum pk_reply protocol_violated(struct pk_worker_client *l, const char *problem,
                                       struct pk_slice **slice)
{
    problem = pk_strdup(&l->arena, problem); /* it may be the reader's */
    drop_worker(l, KILL_GRACE_NS);
    return failed(
        l, pk_printf(&l->arena, "the worker (%s) violated the protocol: %s", l->provider->name, problem),
        slice);
}

static enum pk_reply reply_of(struct pk_worker_client *l, struct pk_slice **slice)
{
    struct pk_slice *s = *slice = pk_collected(l->collector);
    if (s->status == PK_ST_FAILED)
        s->n_series = 0;
    if (s->status != PK_ST_OK && !*s->message)
        s->message = "the worker gave no reason";
    if (l->bye_received)
        drop_worker(l, KILL_GRACE_NS);
    return PK_REPLY_SLICE;
}

static enum pk_reply receive_reply(struct pk_worker_client *l, const struct pk_request *r,
                                   uint64_t deadline_ns, const volatile int *stop_flag,
                                   struct pk_slice **slice)
{
    struct pk_wire_msg m;
    char buf[64 << 10];
    struct watch w = {.calls = pk_rank_heartbeats_calls(&l->heartbeats), .since_ns = pk_clock_ns()};
    w.next_ns = l->heartbeats.page ? w.since_ns + l->timeout_ns / LOOKS : UINT64_MAX;
    for (;;) {
        size_t n = 0;
        const uint64_t until_ns = w.next_ns < deadline_ns ? w.next_ns : deadline_ns;
        const enum pk_process_event event =
            pk_process_wait(&l->process, until_ns, stop_flag, buf, sizeof buf, &n);
        if (event == PK_PROCESS_REPLY || /* not expected, but a peer may write to its stdin */
            (event == PK_PROCESS_DEADLINE && until_ns < deadline_ns && !is_silent(l, &w)))
            continue;
        if (event != PK_PROCESS_BYTES)
            return no_reply(l, event, slice);
        bool answered = false;
        const char *problem = NULL;
        pk_wire_feed(l->reader, buf, n);
        while (!problem && !answered && pk_wire_next(l->reader, &m))
            problem = l->hello_received && r->external_counters && is_count(&m)
                          ? handle_count(l, &m, deadline_ns, stop_flag)
                          : handle_message(l, &m, r, &answered);
        if (problem)
            return protocol_violated(l, problem, slice);
        if (answered)
            return reply_of(l, slice);
    }
}

enum pk_reply pk_worker_client_request(struct pk_worker_client *l, const struct pk_request *r,
                                       uint64_t deadline_ns, const volatile int *stop_flag,
                                       struct pk_slice **slice)
{
    struct pk_err err;
    pk_arena_free(&l->arena);
    pk_collector_reset(l->collector);
    l->facts = NULL;
    l->missing = NULL;
    l->silent = false;
    l->n_facts = l->facts_cap = 0;
    if (need_worker(l, &err))
        return failed(l, pk_error_line(&err, &l->arena), slice);
    struct pk_request with_choices = *r;
    with_choices.choices = l->choices;
    const enum pk_process_event event =
        pk_process_send(&l->process, pk_request_json(&with_choices), deadline_ns, stop_flag);
    if (event != PK_PROCESS_SENT)
        return no_reply(l, event, slice);
    l->external_counts = (struct pk_external_counts){.plan = r->external_counters};
    const enum pk_reply reply = receive_reply(l, r, deadline_ns, stop_flag, slice);
    if (r->external_counters)
        pk_external_counts_end(&l->external_counts, &l->arena, reply == PK_REPLY_SLICE ? *slice : NULL);
    return reply;
}

enum pk_reply pk_worker_client_request_other(struct pk_worker_client *l, const char *experiment,
                                             const char *variant, const char *device,
                                             const struct pk_device_options *opt, uint64_t deadline_ns,
                                             const volatile int *stop_flag, struct pk_slice **slice)
{
    PK_JSON_CLEANUP json_t *no_axes = json_object();
    struct pk_request r = {.id = 1,
                           .experiment = experiment,
                           .variant = variant,
                           .device = device,
                           .axes = no_axes,
                           .pass = PK_PASS_OTHER,
                           .invocation = 1};
    if (opt)
        r.device_options = *opt;
    return pk_worker_client_request(l, &r, deadline_ns, stop_flag, slice);
}

void pk_worker_client_quit(struct pk_worker_client *l)
{
    const uint64_t deadline_ns = pk_clock_ns() + QUIT_GRACE_NS;
    if (l->process.program.pid && pk_process_send(&l->process, json_pack("{s:s}", "type", "quit"),
                                                  deadline_ns, NULL) == PK_PROCESS_SENT)
        pk_process_ended(&l->process, deadline_ns);
    drop_worker(l, KILL_GRACE_NS);
}

void pk_worker_client_free(struct pk_worker_client *l)
{
    drop_worker(l, 0);
    pk_rank_heartbeats_close(&l->heartbeats);
    json_decref(l->choices);
    pk_collector_free(l->collector);
    pk_arena_free(&l->arena);
}

void pk_worker_client_close(struct pk_worker_client *l)
{
    pk_worker_client_quit(l);
    pk_worker_client_free(l);
}
