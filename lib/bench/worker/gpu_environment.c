/* GPU environment: reads the state of a GPU by NVML and records it in notes. */
#include "bench/worker/environment.h"

#include "json/json.h"

/* True if NVML can be used. */
static bool open_once(struct pk_gpu_environment *s, struct pk_device *dev)
{
    struct pk_err why;
    if (!s->tried && dev->kind == PK_DEVICE_CUDA) {
        s->tried = true;
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
    PK_JSON_CLEANUP json_t *j = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:[s, s], s:o}", "sm_clock_hz", pair(s->before.sm_hz, after.sm_hz),
        "memory_clock_hz", pair(s->before.memory_hz, after.memory_hz), "power_w",
        pair(s->before.watts, after.watts), "temperature_c", pair(s->before.celsius, after.celsius),
        "energy_j", pair(s->before.joules, after.joules), "held_back",
        pk_gpu_held_back_words(s->before.held_back, a), pk_gpu_held_back_words(after.held_back, a),
        "other_processes",
        json_pack("[o, o]", s->before.others_known ? json_integer(s->before.others) : json_null(),
                  after.others_known ? json_integer(after.others) : json_null()));
    for (size_t i = 0; i < PK_GPU_HELDS; i++)
        if (!isnan(s->before.held_ns[i]) && !isnan(after.held_ns[i]))
            json_object_set_new(j, pk_printf(a, "held_by_%s", pk_gpu_helds[i].name),
                                pair(s->before.held_ns[i], after.held_ns[i]));
    pk_slice_add_note(slice, "state:gpu", pk_json_text(a, j, PK_JSON_COMPACT), a);
    if (doubts)
        pk_slice_add_note(slice, "doubts:gpu", doubts, a);
}
