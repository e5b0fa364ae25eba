/* Opt: a command's rows filled from every source, strongest last word. */
#include "opt/opt.h"

#include "base/err.h"
#include "opt/source.h"

#include <string.h>

static size_t count_rows(const struct pk_opt *rows)
{
    size_t n = 0;
    while (rows && rows[n].name)
        n++;
    return n;
}

static const struct pk_opt *add_flat(const struct pk_opt *rows, size_t offset, struct pk_opt *v, size_t *n)
{
    for (; rows->name || rows->rows; rows++) {
        if (rows->rows) {
            add_flat(rows->rows, offset + rows->offset, v, n);
            continue;
        }
        if (v) {
            v[*n] = *rows;
            v[*n].offset += offset;
        }
        ++*n;
    }
    return v;
}

const struct pk_opt *pk_opt_flat(const struct pk_opt *rows, struct pk_arena *a)
{
    size_t n = 0, ignored = 0;
    if (!rows)
        return NULL;
    add_flat(rows, 0, NULL, &n);
    return add_flat(rows, 0, pk_new_n(a, struct pk_opt, n + 1), &ignored);
}

const struct pk_opt_section *pk_opt_command(const struct pk_opt_known *known, const char *name)
{
    for (size_t i = 0; i < known->n; i++)
        if (!strcmp(known->sections[i].command, name))
            return &known->sections[i];
    pk_assert(!"a command of this name");
}

const struct pk_opt *pk_opt_row(const struct pk_opt *rows, const char *name)
{
    for (const struct pk_opt *r = rows; r && r->name; r++)
        if (!strcmp(r->name, name))
            return r;
    return NULL;
}

bool pk_opt_find(const struct pk_opt_job *job, const char *name, struct pk_opt_place *at)
{
    for (size_t t = 0; t < job->n_tables; t++) {
        const struct pk_opt *row = pk_opt_row(job->tables[t].rows, name);
        if (row) {
            *at = (struct pk_opt_place){&job->tables[t], (size_t)(row - job->tables[t].rows)};
            return true;
        }
    }
    return false;
}

/* A default that its own row refuses is a bug in the table. */
void pk_opt_defaults(struct pk_opt_table *t, struct pk_arena *a)
{
    size_t n = count_rows(t->rows);
    t->origins = pk_new_n(a, struct pk_opt_origin, n);
    for (size_t i = 0; i < n; i++) {
        struct pk_err err;
        t->origins[i].text = "default";
        if (t->rows[i].def)
            pk_assert(!pk_opt_set((struct pk_opt_place){t, i}, t->rows[i].def, t->origins[i], a, &err));
    }
}

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

enum pk_code pk_opt_again(struct pk_opt_table *table, const char *setting, struct pk_arena *a,
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
    pk_assert(row);
    return table->origins[row - table->rows].source;
}
