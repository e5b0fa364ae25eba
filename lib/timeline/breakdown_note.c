/* Breakdown note: kernels by their names, and the note. */
#include "timeline/breakdown_note.h"

#include <stdlib.h>
#include <string.h>

static int by_kind(const void *a, const void *b)
{
    const struct pk_kernel *x = *(const struct pk_kernel *const *)a, *y = *(const struct pk_kernel *const *)b;
    if (x->region != y->region)
        return (x->region > y->region) - (x->region < y->region);
    return x->family != y->family ? (int)x->family - (int)y->family : strcmp(x->name, y->name);
}

static int longest_first(const void *a, const void *b)
{
    const struct pk_named_kernel *x = a, *y = b;
    return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
}

void pk_kernels_by_name(const struct pk_trace *t, struct pk_arena *a, struct pk_named_kernels *out)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    const struct pk_kernel **v = pk_new_n(&own, const struct pk_kernel *, t->n + 1);
    struct pk_named_kernel *last = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < t->n; i++)
        v[i] = &t->v[i];
    qsort(v, t->n, sizeof(const struct pk_kernel *), by_kind);
    *out = (struct pk_named_kernels){.v = pk_new(a, struct pk_named_kernel)};
    for (size_t i = 0; i < t->n; i++) {
        if (!i || by_kind(&v[i - 1], &v[i])) {
            out->v = pk_grow(a, out->v, sizeof *out->v, out->n, &cap);
            last = &out->v[out->n++];
            *last = (struct pk_named_kernel){.longest = *v[i]};
        }
        const uint64_t ns = v[i]->end_ns - v[i]->begin_ns;
        if (ns > last->longest.end_ns - last->longest.begin_ns)
            last->longest = *v[i];
        last->calls += !v[i]->continued;
        last->time_ns += ns;
    }
    qsort(out->v, out->n, sizeof *out->v, longest_first);
}

struct naming {
    pk_region_name_fn *name;
    const void *user;
};

static const char *name_of(const struct naming *n, int region)
{
    return region == PK_WHOLE ? "iteration" : region == PK_NO_REGION ? "outside" : n->name(n->user, region);
}

static json_t *regions_json(const struct pk_breakdown *b, const struct naming *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < b->n_regions; i++) {
        const struct pk_region_time *r = &b->regions[i];
        json_t *j = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "region", name_of(names, r->region), "calls",
                              (json_int_t)r->calls, "occurrences", (json_int_t)r->occurrences, "time_ns",
                              (json_int_t)r->time_ns, "busy_ns", (json_int_t)r->busy_ns, "gap_ns",
                              (json_int_t)r->gap_ns);
        if (b->launched)
            json_object_update_new(j, json_pack("{s:I, s:I}", "host_ns", (json_int_t)r->host_ns, "launch_ns",
                                                (json_int_t)r->launch_ns));
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *overhead_json(const struct pk_breakdown *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < PK_OVERHEADS; i++)
        if (b->overhead[i].n)
            json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "kind", pk_overhead_names[i], "calls",
                                                  (json_int_t)b->overhead[i].n, "time_ns",
                                                  (json_int_t)b->overhead[i].ns));
    return list;
}

static json_t *families_json(const struct pk_breakdown *b, const struct naming *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < b->n_families; i++) {
        const struct pk_family_time *f = &b->families[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:I, s:f, s:f}", "region", name_of(names, f->region), "family",
                            pk_family_names[f->family], "calls", (json_int_t)f->calls, "time_ns",
                            (json_int_t)f->time_ns, "flops", f->declared.flops, "bytes", f->declared.bytes));
    }
    return list;
}

/* NULL for what is no kernel of a GPU. */
static json_t *launch_json(const struct pk_kernel *k)
{
    const struct pk_kernel_needs *n = &k->needs;
    if (!k->block[0])
        return NULL;
    return json_pack("{s:[I,I,I], s:[I,I,I], s:I, s:I, s:I, s:I, s:o*, s:s*}", "grid", (json_int_t)k->grid[0],
                     (json_int_t)k->grid[1], (json_int_t)k->grid[2], "block", (json_int_t)k->block[0],
                     (json_int_t)k->block[1], (json_int_t)k->block[2], "registers", (json_int_t)n->registers,
                     "static_bytes", (json_int_t)n->static_bytes, "dynamic_bytes",
                     (json_int_t)n->dynamic_bytes, "local_bytes", (json_int_t)n->local_bytes, "occupancy",
                     n->occupancy > 0 ? json_real(n->occupancy) : NULL, "limited_by", n->limited_by);
}

static json_t *kernels_json(const struct pk_named_kernels *named, const struct naming *names)
{
    json_t *list = json_array();
    for (size_t i = 0; i < named->n && i < PK_KERNELS_NOTED; i++) {
        const struct pk_named_kernel *k = &named->v[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:o*}", "region",
                                              name_of(names, k->longest.region), "family",
                                              pk_family_names[k->longest.family], "name", k->longest.name,
                                              "calls", (json_int_t)k->calls, "time_ns",
                                              (json_int_t)k->time_ns, "launch", launch_json(&k->longest)));
    }
    return list;
}

json_t *pk_breakdown_json(const struct pk_breakdown *b, const struct pk_named_kernels *named,
                          pk_region_name_fn *name, const void *user)
{
    const struct naming names = {name, user};
    json_t *j = json_pack("{s:b, s:b, s:o, s:o, s:o}", "whole", (int)b->whole, "folded", (int)b->folded,
                          "regions", regions_json(b, &names), "families", families_json(b, &names), "kernels",
                          kernels_json(named, &names));
    if (b->launched)
        json_object_set_new(j, "overhead", overhead_json(b));
    return j;
}
