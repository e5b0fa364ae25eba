/* Descriptor changes: what may change between two descriptors of one experiment. */
#include "bench/own/descriptor.h"
#include "bench/own/members.h"
#include "wire/slice.h"

#include <string.h>

static enum pk_code refuse_change(const struct pk_own *own, const char *where, const char *what,
                                  const char *was, const char *now, struct pk_err *err)
{
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s: %s changed", own->probe.name, what);
    pk_why(err, "it was %s in %s, and is %s now: different things would be compared", was, where, now);
    return pk_fix(err, "undo the change, or describe the experiment with a higher `revision`, which starts a "
                       "new series of results");
}

static const char *type_text(const struct pk_axis *x, struct pk_arena *a)
{
    static const char *const names[] = {
        [PK_AXIS_INT] = "int",     [PK_AXIS_SIZE] = "size",   [PK_AXIS_RATE] = "rate",
        [PK_AXIS_FLOAT] = "float", [PK_AXIS_ENUM] = "choice", [PK_AXIS_BOOL] = "bool",
        [PK_AXIS_FILE] = "file"};
    return x->unit && *x->unit ? pk_printf(a, "%s in %s", names[x->type], x->unit) : names[x->type];
}

static enum pk_code follow_axis(struct pk_own *own, size_t i, const struct pk_own *earlier, const char *where,
                                struct pk_arena *a, struct pk_err *err)
{
    struct pk_axis *x = (struct pk_axis *)&own->probe.axes[i]; /* its own, made by pk_descriptor_axes */
    const int at = pk_axis_index(earlier->probe.axes, x->name);
    if (at < 0)
        return PK_OK;
    const struct pk_axis *was = &earlier->probe.axes[at];
    const char *before = type_text(was, a), *now = type_text(x, a);
    union pk_value v;
    struct pk_err ignored;
    if (strcmp(before, now) != 0)
        return refuse_change(own, where, pk_printf(a, "axis %s", x->name), before, now, err);
    if (own->born[i] && strcmp(x->born, was->born) != 0)
        return refuse_change(own, where, pk_printf(a, "the born value of axis %s", x->name), was->born,
                             x->born, err);
    if (pk_axis_value(x, was->born, a, &v, &ignored))
        return refuse_change(own, where, pk_printf(a, "axis %s", x->name),
                             pk_printf(a, "able to be %s", was->born), pk_axis_takes(x, a), err);
    x->born = was->born;
    return PK_OK;
}

enum pk_code pk_descriptor_check_changes(struct pk_own *own, const struct pk_own *earlier, const char *where,
                                         struct pk_arena *a, struct pk_err *err)
{
    struct pk_metric_decl *now, *was;
    if (own->probe.revision != earlier->probe.revision)
        return PK_OK;
    for (size_t i = 0; own->probe.axes[i].name; i++)
        if (follow_axis(own, i, earlier, where, a, err))
            return err->code;
    const size_t n = pk_probe_metrics(&own->probe, a, &now), m = pk_probe_metrics(&earlier->probe, a, &was);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) {
            if (strcmp(now[i].name, was[k].name) != 0)
                continue;
            const char *what = pk_printf(a, "metric %s", now[i].name);
            if (strcmp(now[i].unit, was[k].unit) != 0)
                return refuse_change(own, where, what, pk_printf(a, "in %s", was[k].unit),
                                     pk_printf(a, "in %s", now[i].unit), err);
            if (strcmp(now[i].direction, was[k].direction) != 0)
                return refuse_change(own, where, what, pk_printf(a, "better %s", was[k].direction),
                                     pk_printf(a, "better %s", now[i].direction), err);
        }
    PK_JSON_CLEANUP json_t *j = json_loads(own->json, 0, NULL);
    own->json = pk_descriptor_as_text(j, own, a);
    return PK_OK;
}

/* --- the order of axes ------------------------------------------------------------------------------------------------------ */

static enum pk_code refuse_axis(const struct pk_own *own, const struct pk_own *with, const char *axis,
                                const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s: axis %s of %s cannot be paired", pk_probe_call(&own->probe), axis,
            pk_probe_call(&with->probe));
    pk_why(err, "%s", why);
    return pk_fix(err,
                  "give both programs the axis, or compare stored runs: perfkit compare, gate --against");
}

/* Where each axis of `own` goes: those of the other first. */
static enum pk_code place_axes(const struct pk_own *own, const struct pk_own *with, size_t *place,
                               struct pk_err *err)
{
    const size_t n = pk_axes_count(own->probe.axes), first = pk_axes_count(with->probe.axes);
    size_t next = first;
    for (size_t i = 0; i < first; i++)
        if (pk_axis_index(own->probe.axes, with->probe.axes[i].name) < 0)
            return refuse_axis(own, with, with->probe.axes[i].name, "one of the programs does not have it",
                               err);
    for (size_t i = 0; i < n; i++) {
        const int at = pk_axis_index(with->probe.axes, own->probe.axes[i].name);
        place[i] = at >= 0 ? (size_t)at : next++;
    }
    for (size_t i = 0; i < n; i++)
        if (own->probe.axes[i].when && place[own->probe.axes[i].when->axis] > place[i])
            return refuse_axis(own, with, own->probe.axes[i].name, "it applies only with an axis that is new",
                               err);
    return PK_OK;
}

enum pk_code pk_descriptor_align(struct pk_own *own, const struct pk_own *with, struct pk_arena *a,
                                 struct pk_err *err)
{
    size_t place[PK_AXES_MAX];
    const struct pk_axis *old = own->probe.axes;
    const size_t n = pk_axes_count(old);
    struct pk_axis *axes = pk_new_n(a, struct pk_axis, n + 1);
    bool born[PK_AXES_MAX];
    if (place_axes(own, with, place, err))
        return err->code;
    memcpy(born, own->born, sizeof born);
    for (size_t i = 0; i < n; i++) {
        struct pk_axis *x = &axes[place[i]];
        *x = old[i];
        own->born[place[i]] = born[i];
        if (!x->when)
            continue;
        struct pk_axis_when *when = pk_new(a, struct pk_axis_when);
        *when = *x->when;
        when->axis = place[when->axis];
        x->when = when;
    }
    own->probe.axes = axes;
    return PK_OK;
}
