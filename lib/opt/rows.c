/* Rows: one option's text parsed, checked against its row, stored in its field; tables put in place of rows; a row found by its name. */
#include "base/err.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "opt/source.h"

#include <stdio.h>
#include <string.h>

void pk_texts_add(struct pk_texts *t, const char *text, struct pk_arena *a)
{
    if (!(t->n & (t->n - 1))) { /* full: 0, 1, 2, 4 ... */
        const char **more = pk_new_n(a, const char *, t->n ? t->n * 2 : 1);
        if (t->n)
            memcpy(more, t->v, t->n * sizeof *more);
        t->v = more;
    }
    t->v[t->n++] = text;
}

bool pk_texts_has(const struct pk_texts *t, const char *text)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->v[i], text))
            return true;
    return false;
}

void pk_texts_add_new(struct pk_texts *t, const char *text, struct pk_arena *a)
{
    if (!pk_texts_has(t, text))
        pk_texts_add(t, text, a);
}

static enum pk_code parse_flag(const char *text, bool *value, struct pk_err *err)
{
    static const char *const words[] = {"false", "true", "off", "on", "no", "yes", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i])) {
            *value = i % 2;
            return PK_OK;
        }
    pk_fail(err, PK_E_USAGE, "'%.100s' is neither true nor false", text);
    pk_why(err, "it is a switch");
    return pk_fix(err, "write true or false");
}

static enum pk_code parse_choice(const struct pk_opt *row, const char *text, const char **value,
                                 struct pk_arena *a, struct pk_err *err)
{
    size_t n = 0;
    for (; row->choices[n]; n++)
        if (!strcmp(text, row->choices[n])) {
            *value = row->choices[n];
            return PK_OK;
        }
    const char *near = pk_suggest(text, row->choices, n);
    pk_fail(err, PK_E_USAGE, "'%.100s' is not one of its values", text);
    pk_why(err, "--%s is one of %s", row->name, pk_list(row->choices, n, ", ", a));
    return near ? pk_fix(err, "did you mean '%s'?", near) : pk_fix(err, "use one of them");
}

/* A bound as the user would write it: of a ratio above 1 only a percentage is taken. */
static const char *bound(const struct pk_opt *row, double v, char *buf, size_t cap)
{
    if (row->type == PK_OPT_SIZE)
        return pk_format_size_exact((int64_t)v, buf, cap);
    if (row->type == PK_OPT_RATE)
        return pk_format_rate_exact((int64_t)v, buf, cap);
    if (row->type == PK_OPT_DURATION)
        return pk_format_duration_exact((int64_t)v, buf, cap);
    if (row->type == PK_OPT_RATIO)
        snprintf(buf, cap, "%.15g%%", 100 * v);
    else
        snprintf(buf, cap, "%.0f", v);
    return buf;
}

static enum pk_code check_range(const struct pk_opt *row, const char *text, double v, struct pk_err *err)
{
    char lo[48], hi[48];
    if ((row->min == 0 && row->max == 0) || (v >= row->min && v <= row->max))
        return PK_OK;
    bound(row, row->min, lo, sizeof lo);
    bound(row, row->max, hi, sizeof hi);
    pk_fail(err, PK_E_USAGE, "%.100s is out of range", text);
    pk_why(err, "--%s is from %s to %s", row->name, lo, hi);
    return v < row->min ? pk_fix(err, "--%s %s or more", row->name, lo)
                        : pk_fix(err, "--%s %s or less", row->name, hi);
}

static enum pk_code parse_into(const struct pk_opt *row, const char *text, void *field, struct pk_arena *a,
                               struct pk_err *err)
{
    enum pk_code rc;
    switch (row->type) {
    case PK_OPT_FLAG:
        return parse_flag(text, field, err);
    case PK_OPT_INT:
    case PK_OPT_SIZE:
    case PK_OPT_RATE:
    case PK_OPT_DURATION:
        rc = row->type == PK_OPT_SIZE       ? pk_parse_size(text, field, err)
             : row->type == PK_OPT_RATE     ? pk_parse_rate(text, field, err)
             : row->type == PK_OPT_DURATION ? pk_parse_duration(text, field, err)
                                            : pk_parse_int(text, field, err);
        return rc ? rc : check_range(row, text, (double)*(int64_t *)field, err);
    case PK_OPT_RATIO:
        return pk_parse_ratio(text, field, err) ? err->code : check_range(row, text, *(double *)field, err);
    case PK_OPT_CHOICE:
        return parse_choice(row, text, field, a, err);
    case PK_OPT_TEXT:
        *(const char **)field = pk_strdup(a, text);
        return PK_OK;
    case PK_OPT_LIST:
        for (const char *rest = text, *part; row->commas && (part = pk_next_part(&rest, ',', a));)
            pk_texts_add(field, part, a);
        if (!row->commas)
            pk_texts_add(field, pk_strdup(a, text), a);
        return PK_OK;
    }
    pk_assert(!"option type");
}

enum pk_code pk_opt_check(const struct pk_opt *row, const char *text, struct pk_arena *a, struct pk_err *err)
{
    union {
        bool flag;
        int64_t whole;
        double real;
        const char *text;
        struct pk_texts list;
    } ignored = {.list = {0}};
    return parse_into(row, text, &ignored, a, err);
}

enum pk_code pk_opt_set(struct pk_opt_place at, const char *text, struct pk_opt_origin origin,
                        struct pk_arena *a, struct pk_err *err)
{
    const struct pk_opt *row = &at.table->rows[at.row];
    struct pk_opt_origin *had = &at.table->origins[at.row];
    void *field = (char *)at.table->target + row->offset;
    if (origin.source < had->source)
        return PK_OK;
    if (row->type == PK_OPT_LIST && origin.source > had->source)
        *(struct pk_texts *)field = (struct pk_texts){0};
    *had = origin;
    return parse_into(row, text, field, a, err);
}

/* --- finding a row --------------------------------------------------------------------------------------------- */

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

const struct pk_opt_section *pk_opt_command(const struct pk_opt_program *options, const char *name)
{
    for (size_t i = 0; i < options->n; i++)
        if (!strcmp(options->sections[i].command, name))
            return &options->sections[i];
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
    size_t n = 0;
    while (t->rows && t->rows[n].name)
        n++;
    t->origins = pk_new_n(a, struct pk_opt_origin, n);
    for (size_t i = 0; i < n; i++) {
        struct pk_err err;
        t->origins[i].text = "default";
        if (t->rows[i].def)
            pk_assert(!pk_opt_set((struct pk_opt_place){t, i}, t->rows[i].def, t->origins[i], a, &err));
    }
}
