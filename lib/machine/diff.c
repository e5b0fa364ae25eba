/* Diff: how two machines differ, fact by fact, in words. */
#include "machine/machine.h"

#include "base/text/units.h"
#include "json/json.h"

#include <string.h>

enum shape {
    NAMED,   /* "governor powersave → performance" */
    COUNTED, /* "2 → 4 cores" */
    BYTES    /* "memory 15.5 GiB → 31 GiB" */
};

/* In this order; facts that are not here come after, by name. */
static const struct {
    const char *name, *words;
    enum shape shape;
} facts[] = {
    {"host", "host", NAMED},
    {"cpu_model", "processor", NAMED},
    {"arch", "architecture", NAMED},
    {"isa", "instruction set", NAMED},
    {"sockets", "sockets", COUNTED},
    {"cores", "cores", COUNTED},
    {"threads", "hardware threads", COUNTED},
    {"numa_nodes", "NUMA nodes", COUNTED},
    {"memory_bytes", "memory", BYTES},
    {"l1d_bytes", "L1 cache", BYTES},
    {"l2_bytes", "L2 cache", BYTES},
    {"l3_bytes", "L3 cache", BYTES},
    {"governor", "governor", NAMED},
    {"turbo", "turbo", NAMED},
    {"thp", "huge pages", NAMED},
    {"virt", "virtualisation", NAMED},
    {"kernel", "kernel", NAMED},
    {"os", "system", NAMED},
    {"compiler", "perfkit's compiler", NAMED},
};

enum { FACTS = sizeof facts / sizeof *facts };

struct fact_differences {
    struct pk_arena *a;
    const char *absent; /* what to say where a side has no such fact */
    const char **v;
    size_t n, cap;
};

static const char *value_text(const struct fact_differences *d, const json_t *v, enum shape shape)
{
    char *text;
    if (!v || (json_is_string(v) && !*json_string_value(v)))
        return d->absent;
    if (json_is_string(v))
        return pk_strdup(d->a, json_string_value(v));
    if (shape == BYTES && json_is_integer(v) && json_integer_value(v) > 0) {
        text = pk_alloc(d->a, 32);
        return pk_format_bytes(json_integer_value(v), text, 32);
    }
    return pk_json_text(d->a, v, PK_JSON_CANON);
}

static void compare(struct fact_differences *d, const char *words, enum shape shape, const json_t *x,
                    const json_t *y)
{
    if (x == y || (x && y && json_equal(x, y)))
        return;
    const char *before = value_text(d, x, shape), *after = value_text(d, y, shape);
    d->v = pk_grow(d->a, d->v, sizeof *d->v, d->n, &d->cap);
    d->v[d->n++] = shape == COUNTED ? pk_printf(d->a, "%s → %s %s", before, after, words)
                                    : pk_printf(d->a, "%s %s → %s", words, before, after);
}

static bool in_table(const char *name)
{
    for (size_t i = 0; i < FACTS; i++)
        if (!strcmp(facts[i].name, name))
            return true;
    return false;
}

/* By the table where it is of a machine, all others by their names. */
static size_t diff(const char *base, const char *new_, bool of_machine, struct pk_arena *a,
                   const char *const **words)
{
    struct fact_differences d = {.a = a, .absent = of_machine ? "unknown" : "nothing"};
    PK_JSON_CLEANUP json_t *x = json_loads(base, 0, NULL), *y = json_loads(new_, 0, NULL);
    const char *name;
    json_t *v;
    for (size_t i = 0; of_machine && i < FACTS; i++)
        compare(&d, facts[i].words, facts[i].shape, json_object_get(x, facts[i].name),
                json_object_get(y, facts[i].name));
    json_object_foreach(x, name, v)
    {
        if (!of_machine || !in_table(name))
            compare(&d, name, NAMED, v, json_object_get(y, name));
    }
    json_object_foreach(y, name, v)
    {
        if ((!of_machine || !in_table(name)) && !json_object_get(x, name))
            compare(&d, name, NAMED, NULL, v);
    }
    *words = d.v;
    return d.n;
}

size_t pk_machine_diff(const char *base, const char *new_, struct pk_arena *a, const char *const **words)
{
    return diff(base, new_, true, a, words);
}

size_t pk_facts_diff(const char *base, const char *new_, struct pk_arena *a, const char *const **words)
{
    return diff(base, new_, false, a, words);
}
