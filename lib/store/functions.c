/* Functions: what SQL of perfkit may call: words and numbers in sentences, intervals. docs/tables.md describes them. */
#include "store/db.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "stats/dist.h"
#include "stats/stats.h"
#include "stats/verdict/verdict.h"

#include <math.h>
#include <string.h>

/* What is not a number has several: "2,4". */
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

/* reason_text(reason): the clause of v_verdict's word, which any other remains */
static void reason_text(sqlite3_context *to, int n, sqlite3_value **v)
{
    enum pk_reason reason;
    if (pk_reason_parse(text_of(v[0]), &reason))
        sqlite3_result_text(to, pk_reason_text(reason), -1, SQLITE_STATIC);
    else
        sqlite3_result_value(to, v[0]);
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

/* "1.52 x (1.31 to 1.77)" */
static const char *ratio_words(double ratio, struct pk_interval ci, const char *behind, struct pk_arena *a)
{
    enum { MOST = 4 };
    int decimals = ci.hi >= 100 ? 0 : ci.hi >= 10 ? 1 : 2;
    while (decimals < MOST && pk_ratio_side(ci) && fabs(ci.lo - 1) < 0.5 * pow(10, -decimals))
        decimals++;
    return pk_speedup_words(ci) ? pk_printf(a, "%.*f x (%.*f to %.*f%s)", decimals, ratio, decimals, ci.lo,
                                            decimals, ci.hi, behind)
                                : pk_printf(a, "%.*f x (no interval)", ratio >= 100 ? 0 : 2, ratio);
}

/* ratio_text(ratio, low, high) */
static void ratio_text(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_interval ci = {real_of(v[1]), real_of(v[2])};
    sqlite3_result_text(to, ratio_words(real_of(v[0]), ci, pk_ratio_side(ci) ? "" : ": not told apart", &a),
                        -1, SQLITE_TRANSIENT);
}

/* speedup_text(what, base, speedup, low, high): "flash is 1.34 x (1.31 to 1.37) faster than vanilla"; only where the interval allows it */
static void speedup_text(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double ratio = real_of(v[2]);
    struct pk_interval ci = {real_of(v[3]), real_of(v[4])};
    const int side = pk_ratio_side(ci);
    if (side < 0) {
        ratio = 1 / ratio;
        ci = (struct pk_interval){1 / ci.hi, 1 / ci.lo};
    }
    const char *figures = ratio_words(ratio, ci, "", &a);
    const char *text =
        side ? pk_printf(&a, "%s is %s %s than %s", text_of(v[0]), figures, side > 0 ? "faster" : "slower",
                         text_of(v[1]))
             : pk_printf(&a, "%s is not told apart from %s: %s", text_of(v[0]), text_of(v[1]), figures);
    if (sqlite3_value_type(v[2]) != SQLITE_NULL)
        sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

/* time_text(ns): "21.7 us" */
static void time_text(sqlite3_context *to, int n, sqlite3_value **v)
{
    char text[32];
    if (sqlite3_value_type(v[0]) != SQLITE_NULL)
        sqlite3_result_text(to, pk_format_ns(sqlite3_value_double(v[0]), text, sizeof text), -1,
                            SQLITE_TRANSIENT);
}

/* differing(text, all): " (compute 4 ms)", the parts of a text between commas that not every line of `all` has; "" where there are none */
static void differing(sqlite3_context *to, int n, sqlite3_value **v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf b = {.arena = &a};
    for (const char *rest = text_of(v[0]), *part; (part = pk_next_part(&rest, ',', &a));) {
        bool common = true;
        for (const char *lines = text_of(v[1]), *line; common && (line = pk_next_part(&lines, '\n', &a));) {
            common = false;
            for (const char *other; !common && (other = pk_next_part(&line, ',', &a));)
                common = strcmp(other, part) == 0;
        }
        if (!common)
            pk_buf_printf(&b, "%s%s", b.n ? ", " : " (", part);
    }
    sqlite3_result_text(to, b.n ? pk_printf(&a, "%s)", pk_buf_text(&b)) : "", -1, SQLITE_TRANSIENT);
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
                     {"reason_text", 1, reason_text},
                     {"in_words", 2, in_words},
                     {"ratio_text", 3, ratio_text},
                     {"speedup_note", 3, speedup_note},
                     {"speedup_text", 5, speedup_text},
                     {"time_text", 1, time_text},
                     {"differing", 2, differing},
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
