/* Session, its workers: who measures a case, what workers say of how they measure, and the state of the machine around what peers measure. */
#include "bench/session/parts.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "bench/worker/replies.h"
#include "bench/worker/start_ranks.h"
#include "device/choices.h"

#include <string.h>
#include <unistd.h>

#define FACTS_TIMEOUT_NS (60 * (int64_t)PK_NS_PER_S) /* the first time it may have to open a GPU */

/* The native program as that many ranks: one more to those that a launcher has started, or their start. */
static const struct pk_provider *provider_of(const struct pk_provider *native, unsigned ranks,
                                             const struct pk_rank_heartbeats *heartbeats, struct pk_arena *a)
{
    enum { WORDS = 7 };
    const char **argv = pk_new_n(a, const char *, WORDS), *path = pk_rank_heartbeats_path(heartbeats, a);
    size_t n = 0;
    struct pk_provider *p = pk_new(a, struct pk_provider);
    argv[n++] = native->argv[0];
    argv[n++] = "worker";
    argv[n++] = pk_launcher_of_process().by ? "--join" : "--start";
    if (!pk_launcher_of_process().by)
        argv[n++] = pk_printf(a, "%u", ranks);
    if (path) {
        argv[n++] = "--heartbeats";
        argv[n++] = path;
    }
    *p = (struct pk_provider){.name = pk_plural(ranks, "rank", a), .argv = argv};
    if (pk_launcher_of_process().by)
        p->once = pk_printf(a, "%s starts ranks once", pk_launcher_of_process().by);
    return p;
}

static void open_client(struct session *s, const struct pk_provider *provider,
                        const struct pk_metric_decl *metrics, size_t n_metrics)
{
    struct pk_worker_client *l = &s->clients[s->n_clients++];
    pk_worker_client_init(l, provider);
    pk_worker_client_set_metrics(l, metrics, n_metrics);
}

static struct pk_worker_client *find_ranks(struct session *s, unsigned ranks)
{
    for (size_t k = s->n_providers; k < s->n_clients; k++)
        if (s->ranks_of[k] == ranks)
            return &s->clients[k];
    return NULL;
}

void pk_session_open_clients(struct session *s, const struct pk_provider *providers, size_t n)
{
    struct pk_metric_decl *metrics;
    const size_t n_metrics = pk_probe_metrics(s->plan->probe, &s->arena, &metrics);
    s->clients = pk_new_n(&s->arena, struct pk_worker_client, n + 1 + s->plan->n);
    s->ranks_of = pk_new_n(&s->arena, unsigned, n + 1 + s->plan->n);
    for (size_t p = 0; p < n; p++)
        open_client(s, &providers[p], metrics, n_metrics);
    s->n_providers = n;
    if (providers[0].own) /* the state of the machine is for perfkit's own worker to read */
        open_client(s, &pk_native_provider, metrics, n_metrics);
    s->environment = providers[0].own ? n : 0;
    for (size_t i = 0; i < s->plan->n; i++) {
        const unsigned ranks = s->plan->v[i].ranks;
        if (ranks && !find_ranks(s, ranks)) {
            struct pk_rank_heartbeats heartbeats;
            struct pk_worker_client *l = &s->clients[s->n_clients];
            pk_rank_heartbeats_make(&heartbeats, ranks, pk_launcher_of_process().by ? (int)getpid() : 0,
                                    pk_heartbeat_timeout(s->opt->timeout_ns));
            s->ranks_of[s->n_clients] = ranks;
            open_client(s, provider_of(&providers[0], ranks, &heartbeats, &s->arena), metrics, n_metrics);
            l->heartbeats = heartbeats;
        }
    }
}

struct pk_worker_client *pk_session_client(struct session *s, size_t i)
{
    const struct pk_planned_case *p = &s->plan->v[i];
    return p->ranks ? find_ranks(s, p->ranks) : &s->clients[p->provider];
}

void pk_session_quit_workers(struct session *s, bool all)
{
    const size_t n = all || !pk_launcher_of_process().by ? s->n_clients : s->n_providers;
    for (size_t k = 0; k < n && !pk_session_stopped(s); k++)
        pk_worker_client_quit(&s->clients[k]);
}

void pk_session_warn_once(struct session *s, const char *value)
{
    for (size_t i = 0; i < s->n_warned; i++)
        if (!strcmp(s->warned[i], value))
            return;
    s->warned = pk_grow(&s->arena, s->warned, sizeof *s->warned, s->n_warned, &s->warned_cap);
    s->warned[s->n_warned++] = pk_strdup(&s->arena, value);
    if (s->ev && s->ev->warning)
        s->ev->warning(s->ev->user, value);
}

/* Peers' facts carry the peer's name, because a key is kept once per invocation. */
static const char *key_of(struct session *s, const struct pk_worker_client *l, const char *key)
{
    return l == s->clients || l == &s->clients[s->environment]
               ? key
               : pk_printf(&s->arena, "%s.%s", l->provider->name, key);
}

enum pk_code pk_session_record_facts(struct session *s, const struct pk_worker_client *l, struct pk_err *err)
{
    for (size_t i = 0; i < l->n_facts; i++) {
        const struct pk_fact *f = &l->facts[i];
        const char *key = key_of(s, l, f->key);
        if (pk_record_setting(s->rec, s->invocation, key, f->value, err))
            return err->code;
        /* A fact whose key ends in "_warning" is shown once per run. */
        size_t n = strlen(key), suffix = strlen("_warning");
        if (n >= suffix && !strcmp(key + n - suffix, "_warning"))
            pk_session_warn_once(s, f->value);
    }
    return PK_OK;
}

enum pk_code pk_session_load_choices(struct session *s, struct pk_err *err)
{
    for (size_t p = 0; p < s->n_clients; p++) {
        const char *prefix = key_of(s, &s->clients[p], PK_CHOICE_PREFIX);
        struct pk_setting *chosen;
        size_t n;
        if (pk_recorded_settings(s->rec, prefix, &s->arena, &chosen, &n, err))
            return err->code;
        for (size_t i = 0; i < n; i++)
            pk_worker_client_choice(&s->clients[p], chosen[i].key + strlen(prefix), chosen[i].value);
    }
    return PK_OK;
}

/* How our own worker computes says nothing of another program; which GPU there is does. */
static enum pk_code record_environment_facts(struct session *s, const struct pk_worker_client *own,
                                             struct pk_err *err)
{
    return s->plan->probe->own && s->plan->kind != PK_DEVICE_CUDA ? PK_OK
                                                                  : pk_session_record_facts(s, own, err);
}

/* The reply of our own worker; NULL when there is none. */
static const struct pk_slice *read_environment(struct session *s, size_t i, const char *when)
{
    struct pk_slice *slice;
    struct pk_err err;
    struct pk_worker_client *own = &s->clients[s->environment];
    if (!pk_session_is_of_other_author(s, i) || s->plan->kind == PK_DEVICE_NULL)
        return NULL;
    const int64_t limit_ns = s->opt->timeout_ns < FACTS_TIMEOUT_NS ? s->opt->timeout_ns : FACTS_TIMEOUT_NS;
    if (pk_worker_client_request_other(own, PK_REQUEST_ENVIRONMENT, when, s->plan->device, &s->opt->device,
                                       pk_clock_ns() + (uint64_t)limit_ns, s->stop_flag,
                                       &slice) != PK_REPLY_SLICE ||
        slice->status != PK_ST_OK || record_environment_facts(s, own, &err))
        return NULL;
    return slice;
}

void pk_session_before_peer(struct session *s, size_t i)
{
    read_environment(s, i, "before");
}

void pk_session_after_peer(struct session *s, size_t i, struct pk_slice *slice)
{
    const struct pk_slice *own = slice->status == PK_ST_OK ? read_environment(s, i, "after") : NULL;
    if (own && own->n_notes)
        pk_slice_add_notes(slice, own->notes, own->n_notes, &s->clients[s->environment].arena);
}
