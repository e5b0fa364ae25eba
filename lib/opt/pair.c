/* Pair: options of a table that bind each other: a least and a most, and those that do not go together. */
#include "base/err.h"
#include "base/text/units.h"
#include "opt/source.h"

#include <stdio.h>
#include <string.h>

/* One row of a table with what it holds. */
struct held {
    const struct pk_opt *row;
    struct pk_opt_origin *origin;
    void *field;
};

static struct held find(const struct pk_opt_table *t, const char *name)
{
    const struct pk_opt *row = pk_opt_row(t->rows, name);
    pk_assert(row);
    return (struct held){row, &t->origins[row - t->rows], (char *)t->target + row->offset};
}

/* "--max-time 1s (./.perfkit.ini:3)", or without the place when it was typed. */
static const char *as_given(const struct held *h, struct pk_arena *a)
{
    char value[48];
    const int64_t v = *(const int64_t *)h->field;
    if (h->row->type == PK_OPT_DURATION)
        pk_format_duration_exact(v, value, sizeof value);
    else
        snprintf(value, sizeof value, "%lld", (long long)v);
    return h->origin->source == PK_OPT_COMMAND_LINE
               ? pk_printf(a, "--%s %s", h->row->name, value)
               : pk_printf(a, "--%s %s (%s)", h->row->name, value, h->origin->text);
}

enum pk_code pk_opt_ordered(const struct pk_opt_table *table, const char *least, const char *most,
                            struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct held lo = find(table, least), hi = find(table, most);
    int64_t *l = lo.field, *h = hi.field;
    if (*l <= *h)
        return PK_OK;
    if (lo.origin->source > hi.origin->source)
        *h = *l;
    else if (lo.origin->source < hi.origin->source)
        *l = *h;
    else {
        pk_fail(err, PK_E_USAGE, "%s is more than %s", as_given(&lo, &a), as_given(&hi, &a));
        pk_why(err, "the one is at least, the other at most");
        return pk_fix(err, "leave one of them out: it follows the other");
    }
    return PK_OK;
}

static bool is_on(const struct held *h)
{
    return h->row->type != PK_OPT_FLAG || *(const bool *)h->field;
}

enum pk_code pk_opt_apart(const struct pk_opt_table *table, const char *name, const char *const *others,
                          const char *why, struct pk_err *err)
{
    const struct held one = find(table, name);
    if (one.origin->source == PK_OPT_DEFAULT || !is_on(&one))
        return PK_OK;
    for (; *others; others++) {
        const struct held other = find(table, *others);
        if (other.origin->source < one.origin->source || !is_on(&other))
            continue;
        pk_fail(err, PK_E_USAGE, "--%s and --%s do not go together", name, *others);
        pk_why(err, "%s", why);
        return pk_fix(err, "leave out --%s, or --%s", *others, name);
    }
    return PK_OK;
}
