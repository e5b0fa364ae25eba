/* nccl-tests: what all_reduce_perf and the others print, all of it: `all_reduce_perf ... | tee FILE`. A row is one size, measured out of place
 * and in place: two cases. Its time is that of a batch of operations (-n) divided by their number, so it is one sample; the cycles of -N are
 * more of them. The heading says which columns there are, and numbers stand below the ends of their headings. */
#include "import/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define US_TO_NS 1e3
#define GB       1e9

enum { COLUMNS_MAX = 32, FIXED = 5 };

/* Columns of one place, and those before them. */
enum kind { SIZE, COUNT, TYPE, REDOP, ROOT, TIME, ALGBW, BUSBW, WRONG, MINIMUM, MAXIMUM, P99, CV, STAMP };

static const struct column {
    const char *heading;
    enum kind kind;
    double scale; /* of a metric, else 0 */
    struct pk_metric_decl decl;
} headings[] = {
    {"size", SIZE, 0, {0}},
    {"count", COUNT, 0, {0}},
    {"type", TYPE, 0, {0}},
    {"redop", REDOP, 0, {0}},
    {"root", ROOT, 0, {0}},
    {"time", TIME, US_TO_NS, PK_IMPORT_TIME("time_ns", "median")},
    {"cputime", TIME, US_TO_NS, PK_IMPORT_TIME("cpu_ns", "median")},
    {"algbw", ALGBW, GB, {"algbw_bytes_per_s", "bytes/s", "higher", "rate", "median", "median", "reported"}},
    {"busbw", BUSBW, GB, {"busbw_bytes_per_s", "bytes/s", "higher", "rate", "median", "median", "reported"}},
    {"#wrong", WRONG, 0, {0}},
    {"i_min", MINIMUM, US_TO_NS, PK_IMPORT_TIME("iteration_min_ns", "median")},
    {"i_max", MAXIMUM, US_TO_NS, PK_IMPORT_TIME("iteration_max_ns", "median")},
    {"i_p99", P99, US_TO_NS, PK_IMPORT_TIME("iteration_p99_ns", "median")},
    {"i_cv%", CV, 0, {0}},
    {"timestamp", STAMP, 0, {0}},
};

static const char *const fixed[FIXED] = {"size", "count", "type", "redop", "root"};

/* Of the line "# nThread 1 nGpus 8 minBytes ...": compare holds them equal. */
static const char *const settings[] = {"warmup iters", "agg iters", "iters", "graph", "unalign"};

struct nccl_output {
    struct pk_import_reader *r;
    const char *test; /* "all_reduce_perf"; NULL = the file does not say: before October 2025 */
    const struct column *columns[COLUMNS_MAX];
    size_t ends[COLUMNS_MAX]; /* of the headings, in the line */
    size_t n_columns;
    bool stamped, ended; /* each row ends with a date and a time; the last lines are there */
    int64_t ranks, iterations;
};

struct line_token {
    const char *text;
    size_t n, end;
};

static size_t split(const char *line, struct line_token *v, size_t most)
{
    size_t n = 0;
    for (const char *at = line + strspn(line, " \t\r"); *at && n < most; at += strspn(at, " \t\r")) {
        const size_t length = strcspn(at, " \t\r");
        v[n++] = (struct line_token){at, length, (size_t)(at - line) + length};
        at += length;
    }
    return n;
}

static bool is(const struct line_token *t, const char *text)
{
    return t->n == strlen(text) && strncmp(t->text, text, t->n) == 0;
}

/* --- lines that begin with # --- */

static void read_heading(struct nccl_output *n, const char *line)
{
    struct line_token v[COLUMNS_MAX];
    const size_t count = split(line + 1, v, COLUMNS_MAX);
    n->n_columns = 0;
    for (size_t i = 0; i < count && !n->r->failed; i++) {
        const struct column *found = NULL;
        for (size_t k = 0; k < sizeof headings / sizeof *headings; k++)
            found = is(&v[i], headings[k].heading) ? &headings[k] : found;
        if (!found || (found->kind == STAMP && i + 1 < count) || (i < FIXED) != (found->kind <= ROOT) ||
            (i < FIXED && !is(&v[i], fixed[i])))
            pk_import_version(
                n->r, pk_printf(n->r->a, "a table with '%.*s' in column %zu", (int)v[i].n, v[i].text, i + 1),
                "those since version 2.13, with size, count, type, redop, root and then times");
        n->ends[i] = v[i].end + 1;
        n->columns[n->n_columns++] = found;
    }
    if (n->r->failed)
        return;
    n->stamped = n->n_columns && n->columns[n->n_columns - 1]->kind == STAMP;
    n->n_columns -= n->stamped;
    if (n->n_columns <= FIXED || n->columns[FIXED]->kind != TIME)
        pk_import_problem(n->r, "the heading has no column of times");
}

/* "... warmup iters: 1 iters: 20 agg iters: 1 ...": the number behind a name, where no other name ends with it. */
static void read_options(struct nccl_output *n, const char *line)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *name = pk_printf(n->r->a, " %s: ", settings[i]), *at = strstr(line, name);
        while (at && strcmp(settings[i], "iters") == 0 &&
               (strncmp(at - strlen("warmup"), "warmup", strlen("warmup")) == 0 ||
                strncmp(at - strlen("agg"), "agg", strlen("agg")) == 0))
            at = strstr(at + 1, name);
        if (!at)
            continue;
        at += strlen(name);
        pk_import_setting(n->r, pk_printf(n->r->a, "nccl_tests.%s", settings[i]),
                          pk_strndup(n->r->a, at, strspn(at, "-0123456789")));
        if (strcmp(settings[i], "iters") == 0)
            n->iterations = strtoll(at, NULL, 10);
    }
}

/* "#  Rank  0 Group  0 Pid 1234 on  host device  0 [0000:07:00] NVIDIA H100" */
static void read_rank(struct nccl_output *n, const char *line)
{
    const char *on = strstr(line, " on "), *bracket = strchr(line, ']');
    if (n->ranks++ || !on || !bracket)
        return;
    on += strlen(" on ");
    on += strspn(on, " ");
    PK_JSON_CLEANUP json_t *machine = json_object();
    json_object_set_new(machine, "host", json_string(pk_strndup(n->r->a, on, strcspn(on, " "))));
    pk_import_machine(n->r, machine);
    pk_import_setting(n->r, "gpu", pk_strdup(n->r->a, bracket + 1 + strspn(bracket + 1, " ")));
}

static void read_comment(struct nccl_output *n, const char *line)
{
    static const char test[] = "# Collective test starting: ", version[] = "# nccl-tests version ";
    struct pk_import_reader *r = n->r;
    struct line_token first;
    if (strncmp(line, test, sizeof test - 1) == 0)
        n->test = pk_strdup(r->a, line + sizeof test - 1);
    else if (strncmp(line, version, sizeof version - 1) == 0) {
        const char *library = strstr(line, "nccl-library=");
        const char *own = line + sizeof version - 1;
        pk_import_setting(r, "nccl_tests", pk_strndup(r->a, own, strcspn(own, " ")));
        pk_import_setting(r, "nccl", library ? pk_strdup(r->a, library + strlen("nccl-library=")) : NULL);
    } else if (strncmp(line, "# nThread ", strlen("# nThread ")) == 0)
        read_options(n, line);
    else if (strncmp(line, "# Blocking Enabled", strlen("# Blocking Enabled")) == 0)
        pk_import_setting(r, "nccl_tests.blocking", pk_strdup(r->a, line + 2));
    else if (split(line + 1, &first, 1) && is(&first, "Rank"))
        read_rank(n, line);
    else if (split(line + 1, &first, 1) && is(&first, "size"))
        read_heading(n, line);
    n->ended |= strncmp(line, "# Avg bus bandwidth", strlen("# Avg bus bandwidth")) == 0;
}

/* --- rows --- */

/* Sets cell[column] to each token. A row with all columns has them in order; else (no redop, nothing out of place) each stands below the
 * end of its heading. */
static bool place(struct nccl_output *n, const struct line_token *v, size_t count,
                  const struct line_token **cell)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        while (count < n->n_columns && at < n->n_columns && n->ends[at] != v[i].end)
            at++;
        if (at == n->n_columns) {
            pk_import_problem(n->r, "'%.*s' is below no heading", (int)v[i].n, v[i].text);
            return false;
        }
        cell[at] = &v[i];
    }
    return true;
}

static double number(struct nccl_output *n, const struct line_token *t)
{
    char *end = NULL;
    const double x = strtod(t->text, &end);
    if (end != t->text + t->n || !(x >= 0) || x > PK_IMPORT_LARGEST)
        pk_import_problem(n->r, "'%.*s' is not a number of at least zero", (int)t->n, t->text);
    return n->r->failed ? 0 : x;
}

static json_t *axes_of(struct nccl_output *n, const struct line_token *const *cell, const char *where)
{
    json_t *axes = json_object();
    for (size_t i = 0; i < FIXED && !n->r->failed; i++) {
        if (!cell[i] || i == COUNT)
            continue;
        const char *text = pk_strndup(n->r->a, cell[i]->text, cell[i]->n);
        if (i == SIZE)
            json_object_set_new(axes, "bytes", json_integer((json_int_t)number(n, cell[i])));
        else if (i == ROOT && strcmp(text, "-1") != 0)
            json_object_set_new(axes, "root", json_string(text));
        else if (i == TYPE || (i == REDOP && strcmp(text, "none") != 0))
            json_object_set_new(axes, fixed[i], json_string(text));
    }
    json_object_set_new(axes, "place", json_string(where));
    if (n->ranks)
        json_object_set_new(axes, "ranks", json_integer((json_int_t)n->ranks));
    return axes;
}

/* The columns from `first` to the next time, of one place. */
static size_t take_place(struct nccl_output *n, const struct line_token *const *cell, size_t first,
                         const char *where)
{
    struct pk_import_reader *r = n->r;
    size_t end = first + 1, wrong = 0;
    while (end < n->n_columns && n->columns[end]->kind != TIME)
        end++;
    if (!cell[first])
        return end; /* this place was not measured */
    PK_JSON_CLEANUP json_t *axes = axes_of(n, cell, where);
    struct pk_imported_case *c =
        r->failed ? NULL : pk_import_case(r, n->test ? n->test : "nccl-tests", "cuda", axes);
    for (size_t i = first; c && i < end && !r->failed; i++)
        if (n->columns[i]->kind == WRONG && cell[i] && !is(cell[i], "N/A"))
            wrong = (size_t)number(n, cell[i]);
    if (wrong) { /* what is wrong has no time */
        c->status = PK_ST_FAILED;
        c->message = pk_printf(r->a, "%zu wrong values", wrong);
        c->n_metrics = 0;
    }
    for (size_t i = first; c && c->status == PK_ST_OK && i < end && !r->failed; i++) {
        if (!cell[i])
            pk_import_problem(r, "there is nothing below '%s'", n->columns[i]->heading);
        else if (n->columns[i]->scale > 0) {
            struct pk_imported_metric *m = pk_import_metric(r, c, &n->columns[i]->decl);
            const double x = number(n, cell[i]) * n->columns[i]->scale;
            if (m)
                pk_import_sample(r, m, (int64_t)m->n, x);
        }
    }
    if (c && n->iterations)
        pk_import_note(r, c, "iterations_per_sample", json_integer((json_int_t)n->iterations));
    return end;
}

static void read_row(struct nccl_output *n, const char *line)
{
    static const char *const places[] = {"out-of-place", "in-place"};
    struct line_token v[COLUMNS_MAX];
    const struct line_token *cell[COLUMNS_MAX] = {0};
    size_t count = split(line, v, COLUMNS_MAX), at = FIXED, measured = 0;
    if (!n->n_columns) {
        pk_import_problem(n->r, "it is a row, and there was no heading");
        return;
    }
    count -= n->stamped && count > 2 ? 2 : 0; /* a date and a time of the day */
    if (count > n->n_columns) {
        pk_import_problem(n->r, "it has %zu values below %zu headings", count, n->n_columns);
        return;
    }
    if (!place(n, v, count, cell))
        return;
    for (size_t k = 0; at < n->n_columns && k < 2 && !n->r->failed; k++) {
        measured += cell[at] != NULL;
        at = take_place(n, cell, at, places[k]);
    }
    if (!measured)
        pk_import_problem(n->r, "the row has no time");
}

/* A row begins with a size; a library's messages and a program's are neither. */
static bool is_row(const char *line)
{
    struct line_token t;
    return split(line, &t, 1) && strspn(t.text, "0123456789") == t.n;
}

static void read_text(struct pk_import_reader *r)
{
    struct pk_arena own = {0};
    struct pk_buf b = {.arena = &own};
    struct nccl_output n = {.r = r};
    for (const char *line; (line = pk_import_line(r, &b));) {
        if (*line == '#')
            read_comment(&n, line);
        else if (is_row(line))
            read_row(&n, line);
    }
    if (!n.ended)
        pk_import_problem(r, "the end is missing: a line '# Avg bus bandwidth'");
    pk_arena_free(&own);
}

const struct pk_import_source pk_import_nccl_tests = {
    .name = "nccl-tests",
    .files = "what all_reduce_perf and the others print",
    .begins = {"# nccl-tests version ", "# nThread ", "# Writing JSON output to ", "# skipping json output"},
    .read = read_text,
};
