/* Session, its ranks: cases that several processes measure together have a worker that is as many. */
#include "bench/session/parts.h"

#include "base/text/words.h"
#include "bench/worker/launch.h"

/* The native program as that many ranks: one more to those that a launcher has started, or their start. */
static const struct pk_provider *provider_of(const struct pk_provider *native, unsigned ranks,
                                             const struct pk_rank_heartbeats *roll, struct pk_arena *a)
{
    enum { WORDS = 7 };
    const char **argv = pk_new_n(a, const char *, WORDS), *path = pk_rank_heartbeats_path(roll, a);
    size_t n = 0;
    struct pk_provider *p = pk_new(a, struct pk_provider);
    argv[n++] = native->argv[0];
    argv[n++] = "worker";
    argv[n++] = pk_launched().by ? "--join" : "--start";
    if (!pk_launched().by)
        argv[n++] = pk_printf(a, "%u", ranks);
    if (path) {
        argv[n++] = "--roll";
        argv[n++] = path;
    }
    *p = (struct pk_provider){.name = pk_plural(ranks, "rank", a), .argv = argv};
    if (pk_launched().by)
        p->once = pk_printf(a, "%s starts ranks once", pk_launched().by);
    return p;
}

static void open_link(struct session *s, const struct pk_provider *provider,
                      const struct pk_metric_decl *metrics, size_t n_metrics)
{
    struct pk_worker_client *l = &s->links[s->n_links++];
    pk_worker_client_init(l, provider);
    pk_worker_client_know(l, metrics, n_metrics);
}

static void open_ranks(struct session *s, unsigned ranks, const struct pk_provider *native,
                       const struct pk_metric_decl *metrics, size_t n_metrics)
{
    struct pk_rank_heartbeats roll;
    struct pk_worker_client *l = &s->links[s->n_links];
    pk_rank_heartbeats_make(&roll, ranks);
    s->ranks_of[s->n_links] = ranks;
    open_link(s, provider_of(native, ranks, &roll, &s->arena), metrics, n_metrics);
    l->roll = roll;
}

static struct pk_worker_client *find_ranks(struct session *s, unsigned ranks)
{
    for (size_t k = s->n_providers; k < s->n_links; k++)
        if (s->ranks_of[k] == ranks)
            return &s->links[k];
    return NULL;
}

void pk_session_open_links(struct session *s, const struct pk_provider *providers, size_t n)
{
    struct pk_metric_decl *metrics;
    const size_t n_metrics = pk_probe_metrics(s->plan->probe, &s->arena, &metrics);
    s->links = pk_new_n(&s->arena, struct pk_worker_client, n + s->plan->n);
    s->ranks_of = pk_new_n(&s->arena, unsigned, n + s->plan->n);
    for (size_t p = 0; p < n; p++)
        open_link(s, &providers[p], metrics, n_metrics);
    s->n_providers = n;
    for (size_t i = 0; i < s->plan->n; i++) {
        const unsigned ranks = s->plan->v[i].ranks;
        if (ranks && !find_ranks(s, ranks))
            open_ranks(s, ranks, &providers[0], metrics, n_metrics);
    }
}

struct pk_worker_client *pk_session_link(struct session *s, size_t i)
{
    const struct pk_planned *p = &s->plan->v[i];
    return p->ranks ? find_ranks(s, p->ranks) : &s->links[p->provider];
}

void pk_session_quit_workers(struct session *s, bool all)
{
    const size_t n = all || !pk_launched().by ? s->n_links : s->n_providers;
    for (size_t k = 0; k < n && !pk_session_stopped(s); k++)
        pk_worker_client_quit(&s->links[k]);
}
