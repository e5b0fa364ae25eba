/* GPU environment: asking NVML, and what becomes of the answers. */
#include "bench/worker/environment.h"

#include "json/json.h"

#include <string.h>

/* Is there somebody to ask? */
static bool open_once(struct pk_gpu_environment *s, struct pk_device *dev)
{
    struct pk_err why;
    if (!s->asked && dev->kind == PK_DEVICE_CUDA) {
        s->asked = true;
        if (pk_nvml_open(s->env ? s->env : &pk_counter_host, &s->arena, &s->nvml, &why))
            s->nvml = NULL;
        else if (pk_nvml_device_of(s->nvml, dev, &s->gpu, &why))
            pk_gpu_environment_end(s);
    }
    return s->nvml;
}

void pk_gpu_environment_end(struct pk_gpu_environment *s)
{
    if (s->nvml)
        pk_nvml_close(s->nvml);
    s->nvml = NULL;
    pk_arena_free(&s->arena);
}

void pk_gpu_environment_before(struct pk_gpu_environment *s, struct pk_device *dev)
{
    if (open_once(s, dev))
        pk_gpu_state_read(s->nvml, s->gpu, &s->before);
}

static json_t *pair(double before, double after)
{
    return json_pack("[o, o]", pk_json_real(before), pk_json_real(after));
}

static const char *state_json(const struct pk_gpu_state *b, const struct pk_gpu_state *f, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:[s, s], s:o}", "sm_clock_hz", pair(b->sm_hz, f->sm_hz),
        "memory_clock_hz", pair(b->memory_hz, f->memory_hz), "power_w", pair(b->watts, f->watts),
        "temperature_c", pair(b->celsius, f->celsius), "energy_j", pair(b->joules, f->joules), "held_back",
        pk_gpu_held_back_words(b->held_back, a), pk_gpu_held_back_words(f->held_back, a), "other_processes",
        json_pack("[o, o]", b->others_known ? json_integer(b->others) : json_null(),
                  f->others_known ? json_integer(f->others) : json_null()));
    for (size_t i = 0; i < PK_GPU_HELDS; i++)
        if (!isnan(b->held_ns[i]) && !isnan(f->held_ns[i]))
            json_object_set_new(j, pk_printf(a, "held_by_%s", pk_gpu_helds[i].name),
                                pair(b->held_ns[i], f->held_ns[i]));
    return pk_json_text(a, j, PK_JSON_COMPACT);
}

/* Phrases that go on with "N cases ...". */
static const char *doubts_json(const struct pk_gpu_state *b, const struct pk_gpu_state *f, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *doubts = json_array();
    const unsigned long long held = pk_gpu_held_back_doubtful(b->held_back | f->held_back);
    const char *between = pk_gpu_held_between(b, f, a); /* bits are of two moments at which it idles */
    const char *words = pk_gpu_held_back_words(held, a);
    if (held || *between)
        json_array_append_new(
            doubts, json_string(pk_printf(a, "were measured while the GPU's clocks were reduced (%s%s%s)",
                                          between, *between && held ? "; " : "", words)));
    if (b->others || f->others)
        json_array_append_new(doubts, json_string("were measured while other processes used the GPU"));
    return json_array_size(doubts) ? pk_json_text(a, doubts, PK_JSON_COMPACT) : NULL;
}

void pk_gpu_environment_after(struct pk_gpu_environment *s, struct pk_device *dev, struct pk_arena *a,
                              struct pk_slice *slice)
{
    struct pk_gpu_state after;
    if (!s->nvml || slice->status != PK_ST_OK || pk_device_broken(dev))
        return;
    pk_gpu_state_read(s->nvml, s->gpu, &after);
    const char *doubts = doubts_json(&s->before, &after, a);
    struct pk_note *notes = pk_new_n(a, struct pk_note, slice->n_notes + 2);
    if (slice->n_notes)
        memcpy(notes, slice->notes, slice->n_notes * sizeof *notes);
    notes[slice->n_notes++] = (struct pk_note){"state:gpu", state_json(&s->before, &after, a)};
    if (doubts)
        notes[slice->n_notes++] = (struct pk_note){"doubts:gpu", doubts};
    slice->notes = notes;
}
