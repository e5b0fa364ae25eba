/* Explain: formulas as text, with names or with numbers. */
#include "model/terms/terms.h"

#include "base/text/buf.h"

#include <ctype.h>
#include <string.h>

static const struct pk_parallel_row *find_row(const char *name, size_t n)
{
    for (const struct pk_parallel_row *row = pk_parallel_rows; row->name; row++)
        if (!strncmp(row->name, name, n) && !row->name[n])
            return row;
    return NULL;
}

static size_t word_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.')
        n++;
    return n;
}

/* The terms of a sum. */
static const char *sum_text(const struct pk_parallel_row *sum, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (const struct pk_parallel_row *row = pk_parallel_rows; row->name; row++)
        if (row->kind == PK_PARALLEL_TERM && row->group == sum->group)
            pk_buf_printf(&b, "%s%s", b.n ? " + " : "", row->name);
    return pk_buf_text(&b);
}

const char *pk_formula_numbers(const char *formula, pk_named_value *find, const void *values,
                               struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (const char *s = formula; *s;) {
        const size_t n = word_length(s), step = n ? n : 1;
        const double *named = n ? find(values, s, n) : NULL;
        if (named)
            pk_buf_printf(&b, "%.15g", *named);
        else
            pk_buf_add(&b, s, step);
        s += step;
    }
    return pk_buf_text(&b);
}

static const double *find_value(const void *values, const char *name, size_t n)
{
    const struct pk_parallel_row *row = find_row(name, n);
    return row ? (const double *)((const char *)values + row->offset) : NULL;
}

const char *pk_parallel_formula(const struct pk_parallel_row *row, const struct pk_parallel_values *v,
                                struct pk_arena *a)
{
    const char *text = row->kind == PK_PARALLEL_SUM ? sum_text(row, a) : row->formula ? row->formula : "";
    return v ? pk_formula_numbers(text, find_value, v, a) : text;
}
