/* Compare, setups: where the machines and settings of two runs differ. */
#include "judge/pair/pair.h"
#include "machine/machine.h"
#include "json/json.h"

#include <string.h>

struct setup_differences {
    struct pk_arena *a;
    const char **v;
    size_t n, cap;
};

typedef size_t diff_fn(const char *base, const char *new_, struct pk_arena *a, const char *const **words);

/* what: before each of them; "" = nothing. */
static void add(struct setup_differences *d, const char *what, diff_fn *diff, const char *base,
                const char *new_)
{
    const char *const *words;
    const size_t n = diff(base, new_, d->a, &words);
    for (size_t i = 0; i < n; i++) {
        d->v = pk_grow(d->a, d->v, sizeof *d->v, d->n, &d->cap);
        d->v[d->n++] = pk_printf(d->a, "%s%s", what, words[i]);
    }
}

/* Of the settings of a run, those that change what a case means; which cases it has shows in the pairs. */
static const char *const run_settings[] = {"device", "threads", "bind", "cold", "warmup", NULL};

/* The object with only these members, as the user writes them: bind is recorded as true or false unless it is a list. */
static const char *members_of(const char *object, const char *const *names, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *whole = json_loads(object, 0, NULL), *part = json_object();
    for (; *names; names++) {
        json_t *v = json_object_get(whole, *names);
        if (json_is_boolean(v) && !strcmp(*names, "bind"))
            json_object_set_new(part, *names, json_string(json_is_true(v) ? "cores" : "none"));
        else if (v)
            json_object_set(part, *names, v);
    }
    return pk_json_text(a, part, PK_JSON_CANON);
}

/* Of what is recorded with a run, what is about judging it and changes no time: where a gate's screening ended. */
static const char *conditions(const char *worker_facts, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *all = json_loads(worker_facts, 0, NULL);
    json_object_del(all, "gate_screened");
    return pk_json_text(a, all, PK_JSON_CANON);
}

size_t pk_compare_setups(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                         const char *const **differences)
{
    struct setup_differences d = {.a = a};
    add(&d, "", pk_machine_diff, base->machine, new_->machine);
    add(&d, "setting ", pk_facts_diff, members_of(base->settings, run_settings, a),
        members_of(new_->settings, run_settings, a));
    add(&d, "worker ", pk_facts_diff, conditions(base->worker_facts, a), conditions(new_->worker_facts, a));
    *differences = d.v;
    return d.n;
}
