/* Reported: sorting what a command says into its cases. */
#include "bench/command/reported.h"

#include <string.h>

enum { CASES_MAX = 4096 };

static struct pk_reported *add(struct pk_reported_set *r, const struct pk_case_info *info)
{
    r->v = pk_grow(r->arena, r->v, sizeof *r->v, r->n, &r->cap);
    r->v[r->n] = (struct pk_reported){.info = *info, .collector = pk_collector_new()};
    return &r->v[r->n++];
}

void pk_reported_init(struct pk_reported_set *r, const struct pk_case_info *own, struct pk_arena *a)
{
    *r = (struct pk_reported_set){.arena = a, .own_message = ""};
    add(r, own);
}

void pk_reported_free(struct pk_reported_set *r)
{
    for (size_t i = 0; i < r->n; i++)
        pk_collector_free(r->v[i].collector);
}

void pk_reported_clear(struct pk_reported_set *r)
{
    for (size_t i = 0; i < r->n; i++) {
        pk_collector_reset(r->v[i].collector);
        r->v[i].heard = r->v[i].complete = false;
    }
    r->current = 0;
    r->own_status = PK_ST_OK;
    r->own_message = "";
}

static bool same_case(const struct pk_case_info *a, const struct pk_case_info *b)
{
    return !strcmp(a->experiment, b->experiment) && !strcmp(a->variant, b->variant) &&
           !strcmp(a->device, b->device) && !strcmp(a->axes, b->axes);
}

/* The texts are the message's; what is left out is as in the command's own case. */
static struct pk_case_info info_of(const struct pk_reported_set *r, const json_t *j, struct pk_arena *a)
{
    const struct pk_case_info *own = &r->v[0].info;
    const json_t *axes = json_object_get(j, "axes");
    const char *text = axes ? pk_json_text(a, axes, PK_JSON_CANON) : "{}";
    return (struct pk_case_info){
        .experiment = pk_json_str(j, "experiment", own->experiment),
        .revision = 1,
        .variant = pk_json_str(j, "variant", own->variant),
        .device = pk_json_str(j, "device", own->device),
        .axes = text,
        .identity = text,
        .predicted_bytes = -1,
    };
}

static struct pk_case_info copied_case(const struct pk_case_info *c, struct pk_arena *a)
{
    struct pk_case_info k = *c;
    k.experiment = pk_strdup(a, c->experiment);
    k.variant = pk_strdup(a, c->variant);
    k.device = pk_strdup(a, c->device);
    k.axes = k.identity = pk_strdup(a, c->axes);
    return k;
}

static const char *begin_case(struct pk_reported_set *r, const json_t *j)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_case_info info = info_of(r, j, &a);
    size_t i = 0;
    while (i < r->n && !same_case(&r->v[i].info, &info))
        i++;
    if (i == CASES_MAX)
        return "more than 4096 cases";
    if (i < r->n && r->v[i].complete)
        return pk_printf(r->arena, "the case %s %s a second time, after its status", info.variant, info.axes);
    if (i == r->n) {
        struct pk_case_info k = copied_case(&info, r->arena);
        add(r, &k);
    }
    r->current = i;
    return NULL;
}

static const char *collect(struct pk_reported_set *r, const struct pk_wire_msg *msg)
{
    struct pk_reported *c = &r->v[r->current];
    const char *problem;
    c->heard = true;
    if (msg->type == PK_WIRE_STATUS && r->current == 0) { /* the parent knows more: how the process ended */
        r->own_status = msg->status;
        r->own_message = pk_strdup(r->arena, msg->text);
        return NULL;
    }
    c->complete |= pk_collect(c->collector, msg, &problem);
    return problem;
}

const char *pk_reported_take(struct pk_reported_set *r, const struct pk_wire_msg *msg)
{
    switch (msg->type) {
    case PK_WIRE_HELLO:
        return pk_json_int(msg->json, "version", 0) == PK_WIRE_VERSION
                   ? NULL
                   : pk_printf(r->arena, "it uses version %lld of the wire protocol, this perfkit version %d",
                               (long long)pk_json_int(msg->json, "version", 0), PK_WIRE_VERSION);
    case PK_WIRE_GARBAGE:
        return pk_strdup(r->arena, msg->problem);
    case PK_WIRE_CASE:
        return begin_case(r, msg->json);
    case PK_WIRE_METRIC:
    case PK_WIRE_SAMPLES:
    case PK_WIRE_NOTE:
    case PK_WIRE_FIT:
    case PK_WIRE_STATUS:
        return collect(r, msg);
    default:
        return NULL;
    }
}
