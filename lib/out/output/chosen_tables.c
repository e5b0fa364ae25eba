/* Chosen tables: some of those that a function prints, by their names. */
#include "out/output/output.h"

#include "base/text/words.h"
#include "out/out.h"

/* The names of all tables, or of those that were chosen, of which none is printed. */
static enum pk_code names_of(const struct pk_table_source *p, const struct pk_texts *chosen,
                             struct pk_arena *a, struct pk_texts *names, struct pk_err *err)
{
    const struct pk_out_options programs = {.format = PK_FMT_CSV, .list = true};
    struct pk_out *none = pk_out_open(NULL, &programs);
    pk_out_only(none, chosen ? chosen->v : NULL, chosen ? chosen->n : 0);
    const enum pk_code rc = p->print(p->user, none, err);
    size_t n;
    const char *const *all = pk_out_names(none, &n);
    for (size_t i = 0; !rc && i < n; i++)
        pk_texts_add(names, pk_strdup(a, all[i]), a);
    pk_out_abort_table(none);
    pk_out_cancel(none);
    return rc;
}

static enum pk_code check(const struct pk_table_source *p, const struct pk_texts *tables, bool one,
                          const struct pk_texts *names, struct pk_arena *a, struct pk_err *err)
{
    const char *all = pk_list(names->v, names->n, ", ", a);
    const bool some = tables->n && !pk_texts_has(tables, "all");
    for (size_t i = 0; i < tables->n && some; i++) {
        if (pk_texts_has(names, tables->v[i]))
            continue;
        pk_fail(err, PK_E_USAGE, "%s has no table '%.100s'", p->name, tables->v[i]);
        pk_why(err, "it has %s", names->n ? all : "none");
        return pk_fix(err, "%s", pk_suggest_text(a, tables->v[i], names->v, names->n));
    }
    if (!one || (some ? tables->n : names->n) < 2)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s has %zu tables, and a CSV file is one table", p->name, names->n);
    pk_why(err, "they are %s", all);
    return pk_fix(err, "choose one: --tables %s; or write a file of each: -o DIR/", names->v[0]);
}

/* Only what was chosen is computed, unless a name of it is unknown: an error names all that there are. */
static enum pk_code check_names(const struct pk_table_source *p, const struct pk_texts *tables, bool one,
                                struct pk_arena *a, struct pk_err *err)
{
    struct pk_texts some = {0}, all = {0};
    struct pk_err unknown;
    if (tables->n && names_of(p, tables, a, &some, err))
        return err->code;
    if (tables->n && !check(p, tables, one, &some, a, &unknown))
        return PK_OK;
    return names_of(p, NULL, a, &all, err) ? err->code : check(p, tables, one, &all, a, err);
}

enum pk_code pk_print_tables(const struct pk_table_source *p, const struct pk_texts *tables,
                             struct pk_out *out, struct pk_arena *a, struct pk_err *err)
{
    const bool one = pk_out_is_one_table(out);
    if ((tables->n || one) && check_names(p, tables, one, a, err))
        return err->code;
    pk_out_only(out, tables->v, tables->n);
    return p->print(p->user, out, err);
}
