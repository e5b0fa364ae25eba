/* Opt: a command's rows filled from every source, strongest last word; and options that bind each other. */
#include "opt/opt.h"

#include "base/err.h"
#include "base/text/units.h"
#include "opt/source.h"

#include <stdio.h>
#include <string.h>

enum pk_code pk_opt_parse(const struct pk_opt_input *in, struct pk_opt_table *tables, size_t n_tables,
                          struct pk_arena *a, struct pk_texts *rest, int *help, struct pk_err *err)
{
    struct pk_opt_job job = {in, tables, n_tables, a};
    for (size_t t = 0; t < n_tables; t++)
        pk_opt_defaults(&tables[t], a);
    if (pk_opt_read_command_line(&job, rest, help, err) || *help)
        return *help ? PK_OK : err->code;
    enum pk_code rc = pk_opt_read_environment(&job, err);
    if (!rc)
        rc = pk_opt_read_config(&job, err);
    return in->lenient ? PK_OK : rc;
}

/* "name=value" from a place that names options as the program does: an unknown one is a bug, and the tests' to find. */
static enum pk_code set_named(struct pk_opt_table *table, const char *setting, struct pk_opt_origin origin,
                              struct pk_arena *a, struct pk_err *err)
{
    const char *eq = strchr(setting, '=');
    pk_assert(eq);
    const struct pk_opt *row = pk_opt_row(table->rows, pk_strndup(a, setting, (size_t)(eq - setting)));
    pk_assert(row);
    struct pk_opt_place at = {table, (size_t)(row - table->rows)};
    if (pk_opt_set(at, eq + 1, origin, a, err))
        return pk_within(err, "%s: %s", origin.text, row->name);
    return PK_OK;
}

enum pk_code pk_opt_preset(struct pk_opt_table *table, const char *setting, struct pk_arena *a,
                           struct pk_err *err)
{
    return set_named(table, setting, (struct pk_opt_origin){PK_OPT_PRESET, "preset"}, a, err);
}

enum pk_code pk_opt_resume(struct pk_opt_table *table, const char *setting, struct pk_arena *a,
                           struct pk_err *err)
{
    return set_named(table, setting, (struct pk_opt_origin){PK_OPT_EARLIER_RUN, "the interrupted run"}, a,
                     err);
}

const char *pk_opt_origin(const struct pk_opt_table *tables, size_t n_tables, const char *name)
{
    struct pk_opt_place at;
    struct pk_opt_job job = {.tables = (struct pk_opt_table *)tables, .n_tables = n_tables};
    return pk_opt_find(&job, name, &at) ? at.table->origins[at.row].text : NULL;
}

enum pk_opt_source pk_opt_source_of(const struct pk_opt_table *table, const char *name)
{
    const struct pk_opt *row = pk_opt_row(table->rows, name);
    return row ? table->origins[row - table->rows].source : PK_OPT_DEFAULT;
}

/* --- options that bind each other: a least and a most, and those that cannot be combined ----------------- */

/* One row of a table with what it holds. */
struct option_value {
    const struct pk_opt *row;
    struct pk_opt_origin *origin;
    void *field;
};

static struct option_value find_row(const struct pk_opt_table *t, const char *name)
{
    const struct pk_opt *row = pk_opt_row(t->rows, name);
    pk_assert(row);
    return (struct option_value){row, &t->origins[row - t->rows], (char *)t->target + row->offset};
}

/* "--max-time 1s (./.perfkit.ini:3)", or without the place when it was typed. */
static const char *as_given(const struct option_value *h, struct pk_arena *a)
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
    const struct option_value lo = find_row(table, least), hi = find_row(table, most);
    int64_t *l = lo.field, *h = hi.field;
    if (*l <= *h)
        return PK_OK;
    if (lo.origin->source > hi.origin->source)
        *h = *l;
    else if (lo.origin->source < hi.origin->source)
        *l = *h;
    else {
        pk_fail(err, PK_E_USAGE, "%s is more than %s", as_given(&lo, &a), as_given(&hi, &a));
        pk_why(err, "the first is a minimum, the second a maximum");
        return pk_fix(err, "omit one of them: it is adjusted to the other");
    }
    return PK_OK;
}

static bool is_on(const struct option_value *h)
{
    return h->row->type != PK_OPT_FLAG || *(const bool *)h->field;
}

enum pk_code pk_opt_exclusive(const struct pk_opt_table *table, const char *name, const char *const *others,
                              const char *why, struct pk_err *err)
{
    const struct option_value one = find_row(table, name);
    if (one.origin->source == PK_OPT_DEFAULT || !is_on(&one))
        return PK_OK;
    for (; *others; others++) {
        const struct option_value other = find_row(table, *others);
        if (other.origin->source < one.origin->source || !is_on(&other))
            continue;
        pk_fail(err, PK_E_USAGE, "--%s and --%s cannot be combined", name, *others);
        pk_why(err, "%s", why);
        return pk_fix(err, "omit --%s or --%s", *others, name);
    }
    return PK_OK;
}
