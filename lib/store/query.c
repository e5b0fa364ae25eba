/* Query: SQL in; cells, members of structs or printed rows out. */
#include "store/db.h"

#include "base/err.h"
#include "base/text/words.h"
#include "stats/dist.h"
#include "stats/stats.h"
#include "store/table.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* What is no number has several: "2,4". */
static size_t number_of(sqlite3_value *v)
{
    return sqlite3_value_numeric_type(v) == SQLITE_INTEGER ? (size_t)sqlite3_value_int64(v) : 2;
}

static const char *text_of(sqlite3_value *v)
{
    const char *text = (const char *)sqlite3_value_text(v);
    return text ? text : "";
}

/* plural(n, noun) */
static void plural(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *noun = pk_plural_noun(number_of(v[0]), text_of(v[1]), &a);
    if (sqlite3_value_type(v[0]) != SQLITE_NULL)
        sqlite3_result_text(to, pk_printf(&a, "%s %s", text_of(v[0]), noun), -1, SQLITE_TRANSIENT);
}

/* plural_noun(n, noun) */
static void plural_noun(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    sqlite3_result_text(to, pk_plural_noun(number_of(v[0]), text_of(v[1]), &a), -1, SQLITE_TRANSIENT);
}

/* predicate(n, text) */
static void predicate(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    sqlite3_result_text(to, pk_predicate(number_of(v[0]), text_of(v[1]), &a), -1, SQLITE_TRANSIENT);
}

static double real_of(sqlite3_value *v)
{
    return sqlite3_value_type(v) == SQLITE_NULL ? NAN : sqlite3_value_double(v);
}

/* in_words(low, high): what the interval of a speed-up says */
static void in_words(sqlite3_context *to, int n, sqlite3_value **v)
{
    const char *words = pk_speedup_words((struct pk_interval){real_of(v[0]), real_of(v[1])});
    if (words)
        sqlite3_result_text(to, words, -1, SQLITE_STATIC);
}

/* ratio_text(ratio, low, high): "1.52 x (1.31 to 1.77)" */
static void ratio_text(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_interval ci = {real_of(v[1]), real_of(v[2])};
    const char *words = pk_speedup_words(ci);
    const int decimals = ci.hi >= 100 ? 0 : ci.hi >= 10 ? 1 : 2;
    const char *text = words ? pk_printf(&a, "%.*f x (%.*f to %.*f%s)", decimals, real_of(v[0]), decimals,
                                         ci.lo, decimals, ci.hi, pk_ratio_side(ci) ? "" : ": not told apart")
                             : pk_printf(&a, "%.2f x (no interval)", real_of(v[0]));
    sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

/* speedup_note(base, missing, by): the note of a table of speed-ups against `base`; missing: some have no interval */
static void speedup_note(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    sqlite3_result_text(
        to,
        pk_printf(&a,
                  "Speed-up = %s's time / this time, of medians; its interval follows from the ends of both. "
                  "Nothing is concluded where it contains 1 (not told apart)%s. `perfkit compare --by %s` "
                  "gives verdicts.",
                  text_of(v[0]),
                  sqlite3_value_int(v[1]) ? " or is missing: it needs three processes (--invocations 3)" : "",
                  text_of(v[2])),
        -1, SQLITE_TRANSIENT);
}

/* margin_of_mean(n, mean, mean of squares): half of the 95 % interval of the mean of n >= 3 values, else NULL */
static void margin_of_mean(sqlite3_context *to, int n, sqlite3_value **v)
{
    const double values = real_of(v[0]), mean = real_of(v[1]), squares = real_of(v[2]);
    if (values >= 3)
        sqlite3_result_double(to, pk_t_quantile(0.975, values - 1) *
                                      sqrt(fmax(0, squares - mean * mean) / (values - 1)));
}

/* processes_low(figure), processes_high(figure): the ends of the 95 % interval of the median process, of a figure of each */
struct figures {
    double *v;
    size_t n;
};

static void add_figure(sqlite3_context *to, int n, sqlite3_value **v)
{
    struct figures *f = sqlite3_aggregate_context(to, sizeof *f);
    double *more = f ? sqlite3_realloc64(f->v, (f->n + 1) * sizeof *more) : NULL;
    if (!more) {
        sqlite3_result_error_nomem(to);
        return;
    }
    f->v = more;
    if (sqlite3_value_type(v[0]) != SQLITE_NULL)
        f->v[f->n++] = sqlite3_value_double(v[0]);
}

static struct pk_interval interval_of(sqlite3_context *to)
{
    struct figures *f = sqlite3_aggregate_context(to, 0);
    struct pk_interval ci = {NAN, NAN};
    if (f && f->n)
        ci = pk_invocations_interval(f->v, f->n, 0.95);
    if (f)
        sqlite3_free(f->v);
    return ci;
}

static void processes_low(sqlite3_context *to)
{
    sqlite3_result_double(to, interval_of(to).lo);
}

static void processes_high(sqlite3_context *to)
{
    sqlite3_result_double(to, interval_of(to).hi);
}

enum pk_code pk_db_functions(struct pk_store *s, struct pk_err *err)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *to, int n, sqlite3_value **v);
        void (*end)(sqlite3_context *to); /* of an aggregate, whose rows `call` takes */
    } functions[] = {{"plural", 2, plural},
                     {"plural_noun", 2, plural_noun},
                     {"predicate", 2, predicate},
                     {"in_words", 2, in_words},
                     {"ratio_text", 3, ratio_text},
                     {"speedup_note", 3, speedup_note},
                     {"margin_of_mean", 3, margin_of_mean},
                     {"processes_low", 1, add_figure, processes_low},
                     {"processes_high", 1, add_figure, processes_high}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (sqlite3_create_function(s->db, functions[i].name, functions[i].arguments, flags, NULL,
                                    functions[i].end ? NULL : functions[i].call,
                                    functions[i].end ? functions[i].call : NULL,
                                    functions[i].end) != SQLITE_OK)
            return pk_db_fail(s, err);
    return PK_OK;
}

enum pk_code pk_db_prepare(struct pk_store *s, const char *sql, const struct pk_param *params,
                           size_t n_params, sqlite3_stmt **stmt, struct pk_err *err)
{
    pk_db_watch(s);
    if (sqlite3_prepare_v2(s->db, sql, -1, stmt, NULL) != SQLITE_OK)
        return pk_db_fail(s, err);
    for (size_t i = 0; i < n_params; i++) {
        const int at = sqlite3_bind_parameter_index(*stmt, params[i].name); /* 0 = it has none of this name */
        const struct pk_cell *c = &params[i].value;
        if (at && c->type == PK_CELL_INT)
            sqlite3_bind_int64(*stmt, at, c->i);
        else if (at && c->type == PK_CELL_REAL)
            pk_db_bind_real(*stmt, at, c->f);
        else if (at && c->type == PK_CELL_TEXT)
            sqlite3_bind_text(*stmt, at, c->s, -1, SQLITE_STATIC);
    }
    return PK_OK;
}

void pk_db_cell(sqlite3_stmt *stmt, int i, struct pk_cell *c)
{
    const int type = sqlite3_column_type(stmt, i);
    if (type == SQLITE_INTEGER) {
        *c = pk_cell_int(sqlite3_column_int64(stmt, i));
    } else if (type == SQLITE_FLOAT) {
        *c = pk_cell_real(sqlite3_column_double(stmt, i));
    } else if (type == SQLITE_NULL) {
        *c = (struct pk_cell){.type = PK_CELL_NULL};
    } else {
        const char *text = (const char *)sqlite3_column_text(stmt, i);
        *c = pk_cell_text(text ? text : ""); /* a blob without bytes */
    }
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL)
        c->s = "";
}

const char **pk_db_names(sqlite3_stmt *stmt, struct pk_arena *a)
{
    int n = sqlite3_column_count(stmt);
    const char **names = pk_new_n(a, const char *, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        names[i] = pk_strdup(a, sqlite3_column_name(stmt, i));
    return names;
}

const struct pk_cell *pk_rows_cell(const struct pk_rows *r, size_t row, const char *name)
{
    size_t i = 0;
    while (i < r->n_cols && strcmp(r->names[i], name) != 0)
        i++;
    pk_assert(i < r->n_cols && row < r->n);
    return &r->cells[row * r->n_cols + i];
}

static enum pk_code query(struct pk_store *s, const char *sql, const struct pk_param *params, size_t n_params,
                          struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    sqlite3_stmt *stmt;
    *out = (struct pk_rows){0};
    if (pk_db_prepare(s, sql, params, n_params, &stmt, err))
        return err->code;
    out->n_cols = (size_t)sqlite3_column_count(stmt);
    out->names = pk_db_names(stmt, a);
    struct pk_cell *cells = NULL;
    size_t n = 0, cap = 0;
    for (; sqlite3_step(stmt) == SQLITE_ROW; out->n++)
        for (size_t i = 0; i < out->n_cols; i++, n++) {
            cells = pk_grow(a, cells, sizeof *cells, n, &cap);
            pk_db_cell(stmt, (int)i, &cells[n]);
            if (cells[n].type == PK_CELL_TEXT)
                cells[n].s = pk_strdup(a, cells[n].s);
        }
    out->cells = cells;
    enum pk_code code = sqlite3_reset(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
    sqlite3_finalize(stmt);
    return code;
}

enum pk_code pk_store_query(struct pk_store *s, const char *sql, const struct pk_param *params,
                            size_t n_params, struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    s->doing = "read it";
    return query(s, sql, params, n_params, a, out, err);
}

enum pk_code pk_db_query(struct pk_store *s, const char *name, const struct pk_param *params, size_t n_params,
                         struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    const char *whole, *sql = pk_db_text(PK_SECTION_QUERY, name, &whole);
    *out = (struct pk_rows){0};
    if (!sql)
        return pk_fail(err, PK_E_INTERNAL, "there is no query '%s'", name);
    return query(s, sql, params, n_params, a, out, err);
}

enum pk_code pk_query(struct pk_store *s, const char *name, const struct pk_param *params, size_t n_params,
                      struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    s->doing = "read it";
    return pk_db_query(s, name, params, n_params, a, out, err);
}

enum pk_code pk_db_texts(struct pk_store *s, const char *query, const struct pk_param *params,
                         size_t n_params, struct pk_arena *a, const char ***texts, size_t *n,
                         struct pk_err *err)
{
    struct pk_rows rows;
    *n = 0;
    if (pk_query(s, query, params, n_params, a, &rows, err))
        return err->code;
    *texts = pk_new_n(a, const char *, rows.n + 1);
    for (; *n < rows.n; ++*n)
        (*texts)[*n] = rows.cells[*n].s;
    return PK_OK;
}

enum pk_code pk_db_stream_rows(struct pk_store *s, sqlite3_stmt *stmt, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    int n = sqlite3_column_count(stmt);
    struct pk_cell *cells = pk_new_n(&a, struct pk_cell, (size_t)n + 1);
    do {
        for (int i = 0; i < n; i++)
            pk_db_cell(stmt, i, &cells[i]);
        pk_out_row(out, cells);
        pk_db_watch(s); /* nor does the time count that a slow reader takes */
    } while (!pk_out_broken(out) && sqlite3_step(stmt) == SQLITE_ROW);
    return sqlite3_reset(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}

void pk_db_row(const struct pk_rows *r, size_t row, const char *types, ...)
{
    va_list ap;
    pk_assert(strlen(types) == r->n_cols);
    va_start(ap, types);
    for (size_t i = 0; i < r->n_cols; i++) {
        const struct pk_cell *c = &r->cells[row * r->n_cols + i];
        const int64_t whole = c->type == PK_CELL_INT ? c->i : 0;
        if (types[i] == 'i')
            *va_arg(ap, int64_t *) = whole;
        else if (types[i] == 'd')
            *va_arg(ap, int *) = (int)whole;
        else if (types[i] == 'z')
            *va_arg(ap, size_t *) = (size_t)whole;
        else if (types[i] == 'b')
            *va_arg(ap, bool *) = whole != 0;
        else if (types[i] == 'f')
            *va_arg(ap, double *) = pk_cell_number(c);
        else
            *va_arg(ap, const char **) = c->type == PK_CELL_TEXT ? c->s : types[i] == 'o' ? NULL : "";
    }
    va_end(ap);
}
