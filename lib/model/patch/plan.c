/* Plan: rules from lines, and the reports' own six. */
#include "model/patch/plan.h"

#include "base/file.h"
#include "base/index.h"
#include "base/text/words.h"

#include <string.h>

enum { FILE_BYTES_MAX = 256 << 10 };

const char *const pk_transform_names[] = {
    [PK_COLUMN_PARALLEL] = "column", [PK_ROW_PARALLEL] = "row", [PK_TRANSFORMS] = NULL};

enum pk_sharding pk_transform_sharding(enum pk_transform how, const struct pk_shape *s)
{
    if (how == PK_COLUMN_PARALLEL)
        return s->rank > 0 ? PK_SHARD_DIM0 : PK_WHOLE;
    return s->rank == 2 ? PK_SHARD_DIM1 : PK_WHOLE;
}

static const struct pk_patch_rule reports[] = {
    {"*.intermediate.dense", PK_COLUMN_PARALLEL},   {"*.output.dense", PK_ROW_PARALLEL},
    {"*.attention.self.query", PK_COLUMN_PARALLEL}, {"*.attention.self.key", PK_COLUMN_PARALLEL},
    {"*.attention.self.value", PK_COLUMN_PARALLEL}, {"*.attention.output.dense", PK_ROW_PARALLEL},
};
const struct pk_patch_plan pk_patch_plan_reports = {"reports", sizeof reports / sizeof *reports, reports};

const struct pk_globs *pk_patch_plan_globs(const struct pk_patch_plan *p, struct pk_arena *a)
{
    const char **pattern = pk_new_n(a, const char *, p->n);
    for (size_t i = 0; i < p->n; i++)
        pattern[i] = p->rules[i].pattern;
    return pk_globs_new(pattern, p->n, a);
}

struct plan_reader {
    struct pk_arena *a;
    struct pk_err *err;
    struct pk_patch_rule *rules;
    size_t n, cap;
    struct pk_index index; /* of rules, by pattern */
    int line;
};

/* For every line that is not as it should be. */
static enum pk_code write_it_so(struct pk_err *err)
{
    return pk_fix(err, "write lines such as: *.attention.self.query = column");
}

static bool same_pattern(const void *wanted, uint32_t row)
{
    const struct plan_reader *r = wanted;
    return !strcmp(r->rules[row].pattern, r->rules[r->n].pattern);
}

static enum pk_code add_rule(struct plan_reader *r, const char *pattern, enum pk_transform transform)
{
    r->rules = pk_grow(r->a, r->rules, sizeof *r->rules, r->n, &r->cap);
    r->rules[r->n] = (struct pk_patch_rule){pattern, transform, r->line};
    uint64_t hash = pk_hash_bytes(0, pattern, strlen(pattern));
    uint32_t row = pk_index_row(&r->index, hash, same_pattern, r, (uint32_t)r->n);
    if (row == r->n) {
        r->n++;
        return PK_OK;
    }
    pk_fail(r->err, PK_E_USAGE, "the pattern '%s' is given twice", pattern);
    pk_why(r->err, "line %d has it first, and the first match is used", r->rules[row].line);
    return pk_fix(r->err, "delete one of the two lines");
}

static enum pk_code read_rule(struct plan_reader *r, const char *pattern, const char *transform)
{
    const char *fault = pk_glob_fault(pattern, r->a);
    if (fault) {
        pk_fail(r->err, PK_E_USAGE, "'%s' is not a pattern", pattern);
        pk_why(r->err, "%s", fault);
        return write_it_so(r->err);
    }
    for (enum pk_transform t = 0; t < PK_TRANSFORMS; t++)
        if (!strcmp(transform, pk_transform_names[t]))
            return add_rule(r, pattern, t);
    pk_fail(r->err, PK_E_USAGE, "'%s' is not a transform", transform);
    pk_why(r->err, "a module is divided by column or by row");
    return pk_fix(r->err, "%s", pk_suggest_text(r->a, transform, pk_transform_names, PK_TRANSFORMS));
}

static char *trimmed(struct pk_arena *a, const char *text, size_t n)
{
    pk_trim(&text, &n);
    return pk_strndup(a, text, n);
}

/* The last '=' divides: a set may hold others. */
static enum pk_code read_line(struct plan_reader *r, const char *text, size_t n)
{
    const char *line = trimmed(r->a, text, n), *equals = strrchr(line, '=');
    const bool printable = pk_printable(text, n) == n;
    if (!n || (!*line && printable) || *line == '#')
        return PK_OK;
    if (equals && printable)
        return read_rule(r, trimmed(r->a, line, (size_t)(equals - line)),
                         trimmed(r->a, equals + 1, strlen(equals + 1)));
    pk_fail(r->err, PK_E_USAGE, "'%s' is not a rule", line);
    pk_why(r->err, printable ? "there is no '=' in it" : "it contains a character that cannot be printed");
    return write_it_so(r->err);
}

enum pk_code pk_patch_plan_parse(const char *name, const char *text, size_t n, struct pk_arena *a,
                                 struct pk_patch_plan *out, struct pk_err *err)
{
    struct plan_reader r = {.a = a, .err = err, .index = {.arena = a}};
    for (const char *end = text + n, *next; text < end; text = next) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        next = nl ? nl + 1 : end;
        r.line++;
        if (read_line(&r, text, (size_t)((nl ? nl : end) - text)))
            return pk_within(err, "%s:%d", name, r.line);
    }
    *out = (struct pk_patch_plan){name, r.n, r.rules};
    if (r.n)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s has no rule", name);
    pk_why(err, "all its lines are blank or begin with #");
    return write_it_so(err);
}

enum pk_code pk_patch_plan_read(const char *path, struct pk_arena *a, struct pk_patch_plan *out,
                                struct pk_err *err)
{
    char *text;
    size_t n;
    if (pk_slurp(path, FILE_BYTES_MAX, a, &text, &n, err))
        return err->code;
    return pk_patch_plan_parse(path, text, n, a, out, err);
}
