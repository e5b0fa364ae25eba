/* Environment: reading, spinning, notes. */
#include "bench/worker/environment.h"

#include "device/cpu/cpu.h"
#include "json/json.h"

#include <string.h>

enum { SPIN_MOST_NS = 10000000, SPIN_LEAST_NS = 2000000, SPIN_PART = 20 };

struct spinning {
    uint64_t ns;
    struct pk_noise *of_task;
};

static void spin(void *arg, size_t task, unsigned thread)
{
    const struct spinning *s = arg;
    (void)thread;
    pk_noise_probe(s->ns, &s->of_task[task]);
}

/* On every thread that measures, at once; of a GPU, on the one that feeds it. */
static struct pk_noise probe(struct pk_device *dev, uint64_t ns, struct pk_arena *a)
{
    const unsigned n = dev->kind == PK_DEVICE_CPU ? pk_cpu_threads(dev) : 1;
    struct spinning s = {ns, pk_new_n(a, struct pk_noise, n)};
    struct pk_noise sum = {0};
    if (dev->kind == PK_DEVICE_CPU)
        pk_cpu_parallel_for(dev, spin, &s, n);
    else
        spin(&s, 0, 0);
    for (unsigned i = 0; i < n; i++)
        pk_noise_add(&sum, &s.of_task[i]);
    return sum;
}

void pk_environment_before(struct pk_environment *s, struct pk_device *dev, int64_t max_time_ns,
                           struct pk_arena *a)
{
    if (dev->kind == PK_DEVICE_NULL)
        return;
    s->span = (struct pk_state_span){.n_cpus = *s->n_cpus};
    const int64_t part_ns = max_time_ns / SPIN_PART;
    s->spin_ns = (uint64_t)(part_ns > SPIN_MOST_NS    ? SPIN_MOST_NS
                            : part_ns > SPIN_LEAST_NS ? part_ns
                                                      : SPIN_LEAST_NS);
    s->span.noise_before = s->last.spun_ns ? s->last : probe(dev, s->spin_ns, a);
    pk_state_read(NULL, s->cpus, *s->n_cpus, a, &s->span.before);
}

void pk_environment_after(struct pk_environment *s, struct pk_device *dev, struct pk_arena *a,
                          struct pk_slice *slice)
{
    if (dev->kind == PK_DEVICE_NULL || pk_device_broken(dev))
        return;
    pk_state_read(NULL, s->cpus, *s->n_cpus, a, &s->span.after);
    s->last = s->span.noise_after = probe(dev, s->spin_ns, a);
    if (slice->status == PK_ST_OK)
        pk_environment_note(&s->span, a, slice);
}

void pk_slice_add_note(struct pk_slice *slice, const char *key, const char *json, struct pk_arena *a)
{
    struct pk_note *notes = pk_new_n(a, struct pk_note, slice->n_notes + 1);
    if (slice->n_notes)
        memcpy(notes, slice->notes, slice->n_notes * sizeof *notes);
    notes[slice->n_notes++] = (struct pk_note){key, json};
    slice->notes = notes;
}

void pk_environment_note(const struct pk_state_span *span, struct pk_arena *a, struct pk_slice *slice)
{
    const char *words[PK_DOUBTS + 1];
    PK_JSON_CLEANUP json_t *doubts = json_array();
    pk_slice_add_note(slice, "state", pk_state_json(span, a), a);
    const size_t n_doubts = pk_state_doubts(span, words);
    for (size_t i = 0; i < n_doubts; i++)
        json_array_append_new(doubts, json_string(words[i]));
    if (n_doubts)
        pk_slice_add_note(slice, "doubts", pk_json_text(a, doubts, PK_JSON_COMPACT), a);
}
