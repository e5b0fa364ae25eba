/* Case set: sorting what a command says into its cases. */
#include "bench/command/case_set.h"

#include <string.h>

/* Of all runs of a command, whose cases stay: the text has room for 8 KiB of each case. */
enum { CASES_MAX = 4096, TEXT_MAX = 32 << 20 };

static void add(struct pk_case_set *r, const struct pk_case_info *info)
{
    r->v = pk_grow(r->arena, r->v, sizeof *r->v, r->n, &r->cap);
    r->v[r->n] = (struct pk_command_case){.info = *info, .collector = pk_collector_new()};
    pk_collector_join(r->v[r->n].collector, r->v[0].collector);
    r->n++;
}

void pk_case_set_init(struct pk_case_set *r, const struct pk_case_info *own, struct pk_arena *a)
{
    *r = (struct pk_case_set){.arena = a, .own_message = ""};
    add(r, own);
}

void pk_case_set_free(struct pk_case_set *r)
{
    for (size_t i = 0; i < r->n; i++)
        pk_collector_free(r->v[i].collector);
}

void pk_case_set_clear(struct pk_case_set *r)
{
    for (size_t i = 0; i < r->n; i++) {
        pk_collector_reset(r->v[i].collector);
        r->v[i].reported = r->v[i].complete = false;
    }
    r->current = 0;
    r->own_status = PK_ST_OK;
    r->own_message = "";
}

static const char too_much_text[] = "more than 32 MiB of axes and messages of its cases";

static bool has_room(struct pk_case_set *r, const char *text)
{
    const size_t n = strlen(text);
    const bool room = n <= TEXT_MAX - r->text_bytes;
    r->text_bytes += room ? n : 0;
    return room;
}

/* Where several commands are measured, cases that two of them name alike differ in the axis `command`. */
static const char *axes_of(const struct pk_case_set *r, const json_t *j, struct pk_arena *a)
{
    const json_t *said = json_object_get(j, "axes");
    PK_JSON_CLEANUP json_t *axes = said ? json_deep_copy(said) : json_object();
    if (r->command && !json_object_get(axes, "command"))
        json_object_set_new(axes, "command", json_string(r->command));
    return pk_json_text(a, axes, PK_JSON_CANON);
}

/* What is left out is as in the command's own case. */
static const char *begin_case(struct pk_case_set *r, const json_t *j)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_case_info *own = &r->v[0].info;
    const char *experiment = pk_json_str(j, "experiment", own->experiment);
    const char *variant = pk_json_str(j, "variant", own->variant),
               *device = pk_json_str(j, "device", own->device);
    const char *axes = axes_of(r, j, &a);
    size_t at = 0;
    for (; at < r->n; at++) {
        const struct pk_case_info *c = &r->v[at].info;
        if (!strcmp(c->experiment, experiment) && !strcmp(c->variant, variant) &&
            !strcmp(c->device, device) && !strcmp(c->axes, axes))
            break;
    }
    if (at == CASES_MAX)
        return "more than 4096 cases";
    if (at == r->n && !has_room(r, axes))
        return too_much_text;
    if (at < r->n && r->v[at].complete)
        return pk_printf(r->arena, "the case %s %s a second time, after its status", variant, axes);
    if (at == r->n)
        add(r, &(struct pk_case_info){.experiment = pk_strdup(r->arena, experiment),
                                      .revision = 1,
                                      .variant = pk_strdup(r->arena, variant),
                                      .device = pk_strdup(r->arena, device),
                                      .axes = pk_strdup(r->arena, axes),
                                      .identity = pk_strdup(r->arena, axes),
                                      .predicted_bytes = -1});
    r->current = at;
    return NULL;
}

const char *pk_case_set_take(struct pk_case_set *r, const struct pk_wire_msg *msg)
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
    case PK_WIRE_SETTING: /* the caller keeps it; it counts for the limits of the reply */
    case PK_WIRE_METRIC:
    case PK_WIRE_SAMPLES:
    case PK_WIRE_NOTE:
    case PK_WIRE_FIT:
    case PK_WIRE_STATUS: {
        struct pk_command_case *c = &r->v[r->current];
        const char *problem;
        c->reported |= msg->type != PK_WIRE_SETTING;
        /* the parent knows more: how the process ended */
        if (msg->type == PK_WIRE_STATUS && r->current == 0) {
            r->own_status = msg->status;
            r->own_message = *msg->text ? pk_strdup(r->arena, msg->text) : "";
            return has_room(r, msg->text) ? NULL : too_much_text;
        }
        c->complete |= pk_collect(c->collector, msg, &problem);
        return problem;
    }
    default:
        return NULL;
    }
}
