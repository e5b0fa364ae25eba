/* Session, its facts: what workers say of how they measure, recorded and, where it is a warning, said once. */
#include "bench/session/parts.h"

#include "device/choices.h"

#include <string.h>

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

/* A fact whose key ends in "_warning" is said once per run. */
static void warn_of_fact(struct session *s, const char *key, const char *value)
{
    size_t n = strlen(key), suffix = strlen("_warning");
    if (n >= suffix && !strcmp(key + n - suffix, "_warning"))
        pk_session_warn_once(s, value);
}

/* Peers' facts carry the peer's name, because a key is kept once per invocation. */
static const char *key_of(struct session *s, const struct pk_worker_client *l, const char *key)
{
    return l == s->links ? key : pk_printf(&s->arena, "%s.%s", l->provider->name, key);
}

enum pk_code pk_session_record_facts(struct session *s, const struct pk_worker_client *l, struct pk_err *err)
{
    for (size_t i = 0; i < l->n_facts; i++) {
        const struct pk_fact *f = &l->facts[i];
        const char *key = key_of(s, l, f->key);
        if (pk_record_setting(s->rec, s->invocation, key, f->value, err))
            return err->code;
        warn_of_fact(s, key, f->value);
    }
    return PK_OK;
}

enum pk_code pk_session_load_choices(struct session *s, struct pk_err *err)
{
    for (size_t p = 0; p < s->n_links; p++) {
        const char *prefix = key_of(s, &s->links[p], PK_CHOICE_PREFIX);
        struct pk_setting *chosen;
        size_t n;
        if (pk_recorded_settings(s->rec, prefix, &s->arena, &chosen, &n, err))
            return err->code;
        for (size_t i = 0; i < n; i++)
            pk_worker_client_choice(&s->links[p], chosen[i].key + strlen(prefix), chosen[i].value);
    }
    return PK_OK;
}
