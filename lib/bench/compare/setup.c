/* Compare, setups: where the machines and settings of two runs differ. */
#include "bench/compare/compare.h"
#include "json/json.h"

#include <string.h>

struct differences {
    struct pk_arena *a;
    const char **v;
    size_t n, cap;
};

static const char *shown(const json_t *v, struct pk_arena *a)
{
    if (!v)
        return "nothing";
    return json_is_string(v) ? pk_strdup(a, json_string_value(v)) : pk_json_text(a, v, PK_JSON_CANON);
}

static void compare_member(struct differences *d, const char *what, const char *name, const json_t *x,
                           const json_t *y)
{
    if (x == y || (x && y && json_equal(x, y)))
        return;
    d->v = pk_grow(d->a, d->v, sizeof *d->v, d->n, &d->cap);
    d->v[d->n++] = pk_printf(d->a, "%s %s: %s, then %s", what, name, shown(x, d->a), shown(y, d->a));
}

/* Every member of either object; `only` restricts it to these names. */
static void compare_objects(struct differences *d, const char *what, const char *base, const char *new_,
                            const char *const *only)
{
    PK_JSON_CLEANUP json_t *x = json_loads(base, 0, NULL), *y = json_loads(new_, 0, NULL);
    const char *name;
    json_t *v;
    for (size_t i = 0; only && only[i]; i++)
        compare_member(d, what, only[i], json_object_get(x, only[i]), json_object_get(y, only[i]));
    if (only)
        return;
    json_object_foreach(x, name, v) compare_member(d, what, name, v, json_object_get(y, name));
    json_object_foreach(y, name, v)
    {
        if (!json_object_get(x, name))
            compare_member(d, what, name, NULL, v);
    }
}

/* Of the settings of a run, those that change what a case means; which cases it has shows in the pairs. */
static const char *const run_settings[] = {"device", "threads", "bind", "cold", "warmup", NULL};

size_t pk_compare_setups(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                         const char *const **differences)
{
    struct differences d = {.a = a};
    compare_objects(&d, "machine", base->machine, new_->machine, NULL);
    compare_objects(&d, "setting", base->settings, new_->settings, run_settings);
    compare_objects(&d, "worker", base->said, new_->said, NULL);
    *differences = d.v;
    return d.n;
}
