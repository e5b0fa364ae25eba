/* Print: what a text of sections prints: its findings, then its headline table or all tables. */
#include "base/err.h"
#include "store/db.h"
#include "store/table/print_private.h"

#include <string.h>

/* Of one section, a row per sentence; *n: those so far. */
static enum pk_code print_finding(struct pk_print *p, const struct pk_section *f, int64_t *n,
                                  struct pk_err *err)
{
    static const struct pk_column columns[] = {
        {.key = "place", .heading = "#", .decimals = -1},
        {.key = "sentence", .heading = "Finding", .left = true},
        {.key = "finding", .heading = "Kind", .left = true, .machine = true},
    };
    struct pk_rows rows;
    if (pk_store_query(p->s, f->sql, p->params, p->n_params, p->a, &rows, err))
        return pk_within(err, "finding %s", f->name);
    for (size_t i = 0; i < rows.n; i++) {
        const struct pk_cell *sentence = pk_rows_cell(&rows, i, "sentence");
        if (sentence->type != PK_CELL_TEXT)
            continue;
        if (++*n == 1)
            pk_out_table(p->out, "findings", pk_out_lists(p->out) ? "What the run shows, in sentences" : NULL,
                         PK_COLUMNS(columns));
        const struct pk_cell cells[] = {pk_cell_int(*n), *sentence, pk_cell_text(f->name)};
        pk_out_row(p->out, cells);
    }
    return PK_OK;
}

static enum pk_code print_findings(struct pk_print *p, const struct pk_section *v, size_t n,
                                   struct pk_err *err)
{
    int64_t found = 0;
    if (pk_out_headline_first(p->out))
        pk_out_most(p->out, PK_FINDINGS_MAX);
    for (size_t i = 0; i < n; i++)
        if (v[i].kind == PK_SECTION_FINDING && pk_out_wants(p->out, "findings") &&
            print_finding(p, &v[i], &found, err))
            return err->code;
    pk_out_most(p->out, 0);
    return PK_OK;
}

/* The first choice that has rows; a text without any has its first table with rows. */
static enum pk_code print_headline(struct pk_print *p, const struct pk_section *v, size_t n,
                                   struct pk_err *err)
{
    enum { CHOICES = 3 };
    size_t before, now;
    pk_out_names(p->out, &before);
    now = before;
    p->headline = true;
    pk_out_most(p->out, PK_HEADLINE_ROWS);
    for (size_t choice = 1; choice <= CHOICES + 1; choice++)
        for (size_t i = 0; i < n && now == before; i++) {
            if (v[i].headline == choice % (CHOICES + 1) && pk_print_section(p, &v[i], err))
                return err->code;
            pk_out_names(p->out, &now);
        }
    pk_out_most(p->out, 0);
    return PK_OK;
}

static enum pk_code print_text(struct pk_print *p, const struct pk_section *v, size_t n, struct pk_err *err)
{
    if (print_findings(p, v, n, err))
        return err->code;
    if (pk_out_headline_first(p->out))
        return print_headline(p, v, n, err);
    for (size_t i = 0; i < n; i++)
        if (pk_print_section(p, &v[i], err))
            return err->code;
    return PK_OK;
}

/* Section `at` of a text, or what all of it prints. */
static enum pk_code print_tables(struct pk_print *p, const char *text, const struct pk_section *v, size_t n,
                                 const size_t *at, struct pk_err *err)
{
    pk_db_limited_begin(p->s, text);
    enum pk_code code = pk_db_make_views(p->s, text, v, n, err);
    if (!code)
        code = at ? pk_print_section(p, &v[*at], err) : print_text(p, v, n, err);
    pk_db_limited_end(p->s);
    if (code)
        pk_out_abort_table(p->out);
    if (!p->s->narrow)
        pk_db_drop_views(p->s);
    return code;
}

enum pk_code pk_table_print(struct pk_store *s, const char *text, const char *table,
                            const struct pk_param *params, size_t n_params, struct pk_out *out,
                            struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_print p = {.s = s, .a = &a, .params = params, .n_params = n_params, .out = out};
    struct pk_section *v;
    size_t n, i = 0;
    s->doing = "print a table";
    if (!pk_out_wants(out, table))
        return PK_OK;
    if (!text && !pk_db_text(PK_SECTION_TABLE, table, &text))
        return pk_fail(err, PK_E_INTERNAL, "there is no table '%s'", table);
    if (pk_sections(text, &a, &v, &n, err))
        return err->code;
    while (i < n && (v[i].kind != PK_SECTION_TABLE || strcmp(v[i].name, table) != 0))
        i++;
    if (i == n)
        return pk_fail(err, PK_E_INTERNAL, "there is no table '%s'", table);
    return print_tables(&p, text, v, n, &i, err);
}

enum pk_code pk_tables_print(struct pk_store *s, const char *text, const struct pk_param *params,
                             size_t n_params, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_print p = {.s = s, .a = &a, .params = params, .n_params = n_params, .out = out};
    struct pk_section *v;
    size_t n;
    s->doing = "print a table";
    if (pk_sections(text, &a, &v, &n, err))
        return err->code;
    bool wanted = pk_out_wants(out, "findings");
    for (size_t i = 0; i < n && !wanted; i++)
        wanted = v[i].kind == PK_SECTION_TABLE && pk_out_wants(out, v[i].name);
    return wanted ? print_tables(&p, text, v, n, NULL, err) : PK_OK;
}
