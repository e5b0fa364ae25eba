/* Program: asks a process what it measures, and what each case will take. */
#include "bench/own/program.h"

#include "base/clock.h"
#include "base/index.h"
#include "base/text/words.h"
#include "bench/own/descriptor.h"
#include "store/table/table.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPLY_NS      (5 * PK_NS_PER_S)   /* for what needs no measuring */
#define IDLE_NS       (5 * PK_NS_PER_S)   /* before its hello: a process that does nothing */
#define HELLO_MOST_NS (300 * PK_NS_PER_S) /* and one that works, as when it imports a framework */
#define PLANS_NS      (60 * PK_NS_PER_S)  /* for the plans of all cases together */
#define LOOK_NS       (500 * PK_NS_PER_MS)
#define GRACE_NS      (500 * PK_NS_PER_MS)

enum { LINES_MOST = 4096 }; /* of one reply */

/* What a case will take. */
struct case_prediction {
    const char *key; /* "eager {...}" */
    const char *skip;
    struct pk_work *work; /* of each region */
    int64_t *predicted;   /* of each metric; -1 = not known */
    int64_t peak_bytes;
};

struct pk_own_plans {
    struct pk_arena *arena;
    const volatile int *stop_flag;
    struct pk_process process;
    struct pk_wire_reader *reader;
    int64_t last_id;
    struct pk_index index;
    struct case_prediction **v;
    size_t n, cap;
    uint64_t reply_ns;                  /* what the replies took */
    const struct case_prediction *last; /* the one that was asked for last, by its case */
    struct pk_case last_case;
    struct pk_err err; /* the first; nothing is asked after it */
};

/* --- errors ---------------------------------------------------------------------------------------------------------------- */

/* It is named by what the user typed. */
static enum pk_code refuse(const struct pk_own *own, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%.200s describes no experiment", own->call);
    pk_why(err, "%s", why);
    return pk_fix(
        err,
        "`perfkit help own-experiments` shows what such a program answers; `perfkit exec -- %.100s` "
        "times any program",
        own->call);
}

static enum pk_code no_reply(const struct pk_own *own, enum pk_process_event how, const char *expected,
                             struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_own_plans *p = own->plans;
    if (how == PK_PROCESS_STOP) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted while %.200s was asked for its %s", own->call, expected);
        pk_why(err, "a signal stopped perfkit");
        return pk_fix(err, "nothing was measured");
    }
    pk_process_ended(&p->process, how == PK_PROCESS_END ? pk_clock_ns() + GRACE_NS : 0);
    const char *words = pk_strdup(&a, pk_process_output_tail(&p->process, &a));
    pk_process_end(&p->process, 0);
    if (how == PK_PROCESS_END) {
        refuse(own,
               pk_printf(&a, "it ended before its %s: %s", expected, pk_process_exit_text(&p->process, &a)),
               err);
        if (p->process.program.status == 0 && strcmp(expected, "hello") == 0)
            pk_fix(err,
                   "end it with perfkit.main() (Python) or perfkit_main(e, argc, argv) (C); `perfkit exec -- "
                   "%.100s` "
                   "times any program",
                   own->call);
        return err->code;
    }
    return refuse(
        own, pk_printf(&a, "no %s came within 5 s%s%s", expected, *words ? "; last output: " : "", words),
        err);
}

/* --- messages -------------------------------------------------------------------------------------------------------------- */

/* Takes one message of a reply. NULL, or what is wrong with it. */
typedef const char *message_fn(struct pk_own *own, const struct pk_wire_msg *m, void *user);

static bool is_type(const struct pk_wire_msg *m, const char *type)
{
    return m->type == PK_WIRE_UNKNOWN && strcmp(pk_json_str(m->json, "type", ""), type) == 0;
}

/* Of a process: the ticks of its CPU time, its children's that ended included. */
static long cpu_ticks(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *name_end = strrchr(text, ')');
    long v[4] = {0};
    if (!name_end || sscanf(name_end + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld %ld %ld",
                            &v[0], &v[1], &v[2], &v[3]) != 4)
        return 0;
    return v[0] + v[1] + v[2] + v[3];
}

/* The next message, until the deadline. */
static enum pk_process_event next_message(struct pk_own_plans *p, uint64_t deadline_ns, struct pk_wire_msg *m)
{
    char buf[16 << 10];
    while (!pk_wire_next(p->reader, m)) {
        size_t n = 0;
        const enum pk_process_event event =
            pk_process_wait(&p->process, deadline_ns, p->stop_flag, buf, sizeof buf, &n);
        if (event == PK_PROCESS_REPLY && pk_clock_ns() < deadline_ns)
            continue; /* it wrote to its stdin */
        if (event != PK_PROCESS_BYTES)
            return event;
        pk_wire_feed(p->reader, buf, n);
    }
    return PK_PROCESS_BYTES;
}

static enum pk_code violated(const struct pk_own *own, const char *problem, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *why = pk_printf(&a, "it violated the protocol: %s", problem);
    pk_process_end(&own->plans->process, 0);
    return refuse(own, why, err);
}

/* Importing a framework takes long, and a CPU; a program that waits for something is not one that speaks the protocol. */
static enum pk_code await_hello(struct pk_own *own, struct pk_err *err)
{
    struct pk_own_plans *p = own->plans;
    struct pk_wire_msg m;
    const uint64_t most_ns = pk_clock_ns() + HELLO_MOST_NS;
    uint64_t worked_ns = pk_clock_ns();
    long ticks = 0;
    for (;;) {
        const enum pk_process_event event = next_message(p, pk_clock_ns() + LOOK_NS, &m);
        const uint64_t now = pk_clock_ns();
        const long used = cpu_ticks(p->process.program.pid);
        if (event == PK_PROCESS_BYTES)
            break;
        if (event != PK_PROCESS_DEADLINE)
            return no_reply(own, event, "hello", err);
        if (used > ticks + sysconf(_SC_CLK_TCK) / 20) {
            ticks = used;
            worked_ns = now;
        }
        if (now > most_ns || now > worked_ns + IDLE_NS)
            return no_reply(own, event, "hello", err);
    }
    if (m.type == PK_WIRE_GARBAGE)
        return violated(own, m.problem, err);
    if (m.type != PK_WIRE_HELLO)
        return violated(own, "its first message is not hello", err);
    if (pk_json_int(m.json, "version", 0) != PK_WIRE_VERSION)
        return violated(own, "its hello has another version than 1", err);
    if (pk_json_bool(m.json, "describes", false))
        return PK_OK;
    pk_process_end(&p->process, 0);
    refuse(own, "it speaks the protocol, but its hello has no \"describes\": true", err);
    return pk_fix(err, "add it, or measure the program as a peer: perfkit run EXPERIMENT --peer %.100s",
                  own->call);
}

static enum pk_code start(struct pk_own *own, struct pk_err *err)
{
    struct pk_own_plans *p = own->plans;
    if (p->process.program.pid)
        return PK_OK;
    pk_wire_reader_free(p->reader);
    p->reader = NULL;
    if (pk_process_start(&p->process, own->provider.argv, err))
        return err->code;
    p->reader = pk_wire_reader_new();
    return await_hello(own, err);
}

/* Sends a request and hands every message of the reply to `take`, up to its status, which is in *status. */
static enum pk_code ask(struct pk_own *own, json_t *request_stolen, message_fn *take, void *user,
                        enum pk_status *status, const char **message, struct pk_err *err)
{
    struct pk_own_plans *p = own->plans;
    const char *const type = pk_strdup(p->arena, pk_json_str(request_stolen, "type", ""));
    const uint64_t deadline_ns = pk_clock_ns() + REPLY_NS;
    const int64_t id = ++p->last_id;
    struct pk_wire_msg m;
    json_object_set_new(request_stolen, "id", json_integer(id));
    enum pk_process_event event = pk_process_send(&p->process, request_stolen, deadline_ns, p->stop_flag);
    for (size_t lines = 0; event == PK_PROCESS_SENT || event == PK_PROCESS_BYTES; lines++) {
        event = next_message(p, deadline_ns, &m);
        if (event != PK_PROCESS_BYTES)
            break;
        if (m.type == PK_WIRE_GARBAGE)
            return violated(own, m.problem, err);
        if (lines > LINES_MOST || pk_clock_ns() > deadline_ns)
            return violated(own, "its reply has no end", err);
        if (m.type == PK_WIRE_STATUS && pk_json_int(m.json, "id", -1) != id)
            return violated(own, "its status answers another request", err);
        if (m.type == PK_WIRE_STATUS) {
            *status = m.status;
            *message = pk_strdup(p->arena, m.text);
            return PK_OK;
        }
        const char *wrong = m.type == PK_WIRE_SETTING ? NULL
                            : m.type != PK_WIRE_UNKNOWN
                                ? "its reply has a message that belongs to a measurement"
                                : take(own, &m, user);
        if (wrong)
            return violated(own, wrong, err);
    }
    return no_reply(own, event, pk_printf(p->arena, "reply to `%s`", type), err);
}

void pk_own_stop_process(struct pk_own *own)
{
    struct pk_own_plans *p = own ? own->plans : NULL;
    if (!p)
        return;
    const uint64_t deadline_ns = pk_clock_ns() + GRACE_NS;
    if (p->process.program.pid && pk_process_send(&p->process, json_pack("{s:s}", "type", "quit"),
                                                  deadline_ns, NULL) == PK_PROCESS_SENT)
        pk_process_ended(&p->process, deadline_ns);
    pk_process_end(&p->process, 0);
    pk_wire_reader_free(p->reader);
    p->reader = NULL;
}

/* --- describe --------------------------------------------------------------------------------------------------------------- */

static const char *take_experiment(struct pk_own *own, const struct pk_wire_msg *m, void *user)
{
    json_t **found = user;
    if (!is_type(m, "experiment"))
        return NULL;
    if (*found)
        return "it describes two experiments";
    *found = json_incref(m->json);
    return NULL;
}

static enum pk_code describe(struct pk_own *program, json_t **found, struct pk_err *err)
{
    enum pk_status status;
    const char *message;
    if (start(program, err) ||
        ask(program, json_pack("{s:s}", "type", "describe"), take_experiment, found, &status, &message, err))
        return err->code;
    if (status != PK_ST_OK)
        return refuse(program, *message ? message : "it answered `describe` without ok", err);
    if (!*found)
        return refuse(program, "its reply to `describe` has no message `experiment`", err);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    return strlen(pk_json_text(&a, *found, PK_JSON_COMPACT)) > PK_OWN_BYTES_MAX
               ? refuse(program, "the message `experiment` has more than 1 MiB", err)
               : PK_OK;
}

/* Its SQL is prepared over an empty store, so that an error of it is known before anything is measured. */
static enum pk_code check_sql(const struct pk_own *own, struct pk_err *err)
{
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    if (!own->has_sql)
        return PK_OK;
    if (pk_store_open(":memory:", PK_STORE_WRITE, NULL, &s, err))
        return err->code;
    return pk_limited_check(s, own->probe.sql, err) ? pk_within(err, "%.200s", own->call) : PK_OK;
}

/* --- plan --------------------------------------------------------------------------------------------------------------------- */

static int region_index(const struct pk_probe *p, const char *metric)
{
    for (int r = 0; p->regions[r].name; r++) {
        const size_t n = strlen(p->regions[r].name);
        if (strncmp(metric, p->regions[r].name, n) == 0 && strcmp(metric + n, "_ns") == 0)
            return r;
    }
    return -1;
}

static const char *take_work(struct pk_own *own, const struct pk_wire_msg *m, struct case_prediction *plan)
{
    const int r = region_index(&own->probe, pk_json_str(m->json, "metric", ""));
    const double flops = pk_json_num(m->json, "flops", NAN), bytes = pk_json_num(m->json, "bytes", NAN);
    if (r < 0)
        return "a work message whose \"metric\" is not a time of the experiment";
    if (flops < 0 || bytes < 0 || isinf(flops) || isinf(bytes))
        return "a work message with a negative or endless number";
    plan->work[r] = (struct pk_work){.flops = flops, .bytes = bytes};
    return NULL;
}

static const char *take_prediction(struct pk_own *own, const struct pk_wire_msg *m,
                                   struct case_prediction *plan)
{
    const char *name = pk_json_str(m->json, "metric", "");
    const double value = pk_json_num(m->json, "value", -1);
    if (!(value >= 0 && value < 0x1p62))
        return "a predict message whose \"value\" is not a number from 0 to 2^62";
    if (strcmp(name, pk_peak_metric.name) == 0) {
        plan->peak_bytes = (int64_t)value;
        return NULL;
    }
    for (const struct pk_metric *of = own->probe.metrics; of && of->name; of++)
        if (strcmp(of->name, name) == 0 && (of->class == PK_CLASS_EXACT || of->class == PK_CLASS_MEMORY)) {
            plan->predicted[of->gauge] = (int64_t)value;
            return NULL;
        }
    return "a predict message whose \"metric\" is not of class exact or memory";
}

static const char *take_plan(struct pk_own *own, const struct pk_wire_msg *m, void *user)
{
    return is_type(m, "work")      ? take_work(own, m, user)
           : is_type(m, "predict") ? take_prediction(own, m, user)
                                   : NULL;
}

/* Nothing is known yet. */
static struct case_prediction *new_plan(const struct pk_own *own, const char *key)
{
    struct pk_arena *a = own->plans->arena;
    size_t n_regions = 0, n_metrics = 0;
    while (own->probe.regions[n_regions].name)
        n_regions++;
    while (own->probe.metrics[n_metrics].name)
        n_metrics++;
    struct case_prediction *plan = pk_new(a, struct case_prediction);
    *plan = (struct case_prediction){.key = key,
                                     .work = pk_new_n(a, struct pk_work, n_regions + 1),
                                     .predicted = pk_new_n(a, int64_t, n_metrics + 1),
                                     .peak_bytes = -1};
    for (size_t i = 0; i < n_regions; i++)
        plan->work[i] = (struct pk_work){.flops = NAN, .bytes = NAN};
    for (size_t i = 0; i < n_metrics; i++)
        plan->predicted[i] = -1;
    return plan;
}

/* Of a case; `why` may be of the error that it replaces. */
static void refuse_plan(const struct pk_own *own, const struct pk_case *c, const char *why)
{
    struct pk_own_plans *p = own->plans;
    const char *reason = pk_strdup(p->arena, why);
    pk_fail(&p->err, PK_E_USAGE, "%.200s cannot plan %s %s", own->call, own->probe.variants[c->variant].name,
            pk_point_json(&c->at, p->arena));
    pk_why(&p->err, "%s", reason);
    pk_fix(&p->err, "correct the program: `perfkit help own-experiments` shows what it answers");
}

static void refuse_slow_plans(const struct pk_own *own)
{
    struct pk_own_plans *p = own->plans;
    pk_fail(&p->err, PK_E_USAGE, "%.200s takes too long to plan its cases", own->call);
    pk_why(&p->err, "its replies to `plan` may take 60 s together, which %s took",
           pk_plural(p->n, "case", p->arena));
    pk_fix(&p->err,
           "answer `plan` from the axes alone, without making inputs; or choose fewer cases (-a, --filter)");
}

/* Asks for one case. What is wrong ends the planning: validate reports it. */
static void ask_plan(struct pk_own *own, const struct pk_case *c, enum pk_device_kind kind,
                     struct case_prediction *plan)
{
    struct pk_own_plans *p = own->plans;
    enum pk_status status = PK_ST_OK;
    const char *message = "";
    if (p->err.code)
        return;
    json_t *axes = json_loads(pk_point_json(&c->at, p->arena), 0, NULL);
    json_t *request =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "type", "plan", "experiment", own->probe.name, "variant",
                  own->probe.variants[c->variant].name, "device", pk_device_kinds[kind]->kind, "axes", axes);
    if (start(own, &p->err)) {
        json_decref(request);
        return;
    }
    const uint64_t began_ns = pk_clock_ns();
    const enum pk_code rc = ask(own, request, take_plan, plan, &status, &message, &p->err);
    p->reply_ns += pk_clock_ns() - began_ns;
    if (rc == PK_E_USAGE)
        refuse_plan(own, c, p->err.why);
    if (rc)
        return;
    if (p->reply_ns > PLANS_NS) {
        pk_process_end(&p->process, 0);
        refuse_slow_plans(own);
        return;
    }
    if (status == PK_ST_SKIPPED)
        plan->skip = *message ? message : "its program leaves it out";
    else if (status != PK_ST_OK)
        refuse_plan(own, c,
                    pk_printf(p->arena, "it answered `plan` with %s: %s", pk_status_name(status), message));
}

struct plan_key {
    const struct pk_own_plans *plans;
    const char *key;
};

static bool same_key(const void *wanted, uint32_t row)
{
    const struct plan_key *w = wanted;
    return strcmp(w->plans->v[row]->key, w->key) == 0;
}

static bool same_case(const struct pk_case *x, const struct pk_case *y)
{
    const struct pk_point *both[] = {&x->at, &y->at};
    bool differ[PK_AXES_MAX] = {false};
    if (x->variant != y->variant || x->at.n != y->at.n)
        return false;
    pk_points_differ(both, 2, differ);
    for (size_t i = 0; i < x->at.n; i++)
        if (differ[i])
            return false;
    return true;
}

/* Asked once for each case; the hooks ask for one case after the other. */
static const struct case_prediction *plan_of(const struct pk_case *c, enum pk_device_kind kind)
{
    struct pk_own *own = c->probe->own;
    struct pk_own_plans *p = own->plans;
    if (p->last && (!own->has_plan || same_case(&p->last_case, c)))
        return p->last;
    if (!own->has_plan)
        return p->last = new_plan(own, "");
    const char *key = pk_printf(p->arena, "%u %s", c->variant, pk_point_json(&c->at, p->arena));
    const struct plan_key wanted = {p, key};
    p->index.arena = p->arena;
    const uint32_t row =
        pk_index_row(&p->index, pk_hash_bytes(0, key, strlen(key)), same_key, &wanted, (uint32_t)p->n);
    if (row == p->n) {
        p->v = pk_grow(p->arena, p->v, sizeof *p->v, p->n, &p->cap);
        p->v[p->n++] = new_plan(own, key);
        ask_plan(own, c, kind, p->v[row]);
    }
    p->last_case = *c;
    return p->last = p->v[row];
}

/* --- hooks -------------------------------------------------------------------------------------------------------------------- */

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    const struct pk_own *own = c->probe->own;
    if (!pk_own_runs_on(own, kind))
        return pk_printf(own->plans->arena, "%s does not run on %s", own->probe.name,
                         pk_device_kinds[kind]->kind);
    return plan_of(c, kind)->skip;
}

static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    const struct case_prediction *p = plan_of(c, kind);
    return gauge == PK_PEAK_BYTES ? p->peak_bytes : p->predicted[gauge];
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    return plan_of(c, PK_DEVICE_CPU)->work[region];
}

static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    if (c->probe->own->plans->err.code)
        *err = c->probe->own->plans->err;
    return c->probe->own->plans->err.code;
}

/* --- opening -------------------------------------------------------------------------------------------------------------------- */

bool pk_is_program(const char *name)
{
    return strchr(name, '/') || pk_is_python(name);
}

static enum pk_code read_descriptor(struct pk_own *program, struct pk_arena *a, struct pk_own **out,
                                    struct pk_err *err)
{
    json_t *found = NULL;
    enum pk_code rc = describe(program, &found, err);
    if (!rc)
        rc = pk_descriptor_read(found, program->call, a, out, err);
    json_decref(found);
    return rc;
}

enum pk_code pk_own_open(const char *call, const char *python, const volatile int *stop_flag,
                         struct pk_arena *a, struct pk_own **out, struct pk_err *err)
{
    struct pk_own_plans *p = pk_new(a, struct pk_own_plans);
    struct pk_own program = {.call = call, .plans = p}, *own = NULL;
    *p = (struct pk_own_plans){.arena = a, .stop_flag = stop_flag};
    if (pk_program_provider(call, python, a, &program.provider, err))
        return err->code;
    if (read_descriptor(&program, a, &own, err)) {
        pk_own_stop_process(&program);
        return err->code;
    }
    own->call = call;
    own->provider = program.provider;
    own->plans = p;
    own->probe.skip = skip;
    own->probe.predict = predict;
    own->probe.work = work;
    own->probe.validate = validate;
    *out = own;
    const enum pk_code rc = check_sql(own, err);
    if (rc || !own->has_plan)
        pk_own_stop_process(own);
    return rc;
}
