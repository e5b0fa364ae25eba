/* nsys: `nsys export --type sqlite REPORT`: kernels, copies, fills, the calls that launched them, and NVTX ranges. Those of PyTorch's
 * emit_nvtx ("aten::mm, op_id = 3") are operators. Times are ns since the session began. */
#include "import/trace.h"

#include "base/clock.h"
#include "base/index.h"
#include "store/table/table.h"

#include <stdlib.h>
#include <string.h>

enum { READ_LIMIT_S = 600 };

struct nsys_export {
    struct pk_import_reader *r;
    struct pk_import_trace *t;
    struct pk_store *s;
    const struct nsys_table *table;
    uint64_t deadline_ns;
    const char *text; /* of a query with one value */
};

/* What the rows of each table are. */
static const struct nsys_table {
    const char *name, *query;
    enum pk_import_trace_kind kind;
} tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "nsys_kernels", PK_IMPORT_TRACE_PIECE},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "nsys_copies", PK_IMPORT_TRACE_PIECE},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "nsys_fills", PK_IMPORT_TRACE_PIECE},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "nsys_calls", PK_IMPORT_TRACE_LAUNCH},
    {"NVTX_EVENTS", "nsys_ranges", PK_IMPORT_TRACE_RANGE},
};

enum { TABLES = sizeof tables / sizeof *tables };

/* --- rows -------------------------------------------------------------------------------------------------------------- */

/* The process within a global identifier of a process or thread, which is in bits 24 to 47. */
static int64_t launch_of(const struct pk_cell *correlation, const struct pk_cell *global)
{
    const int64_t process = global->type == PK_CELL_INT ? global->i >> 24 & 0xffffff : 0;
    return correlation->type == PK_CELL_INT && correlation->i > 0 && correlation->i < INT64_C(1) << 32
               ? process << 32 | correlation->i
               : 0;
}

static const char *copy_name(const struct pk_cell *kind)
{
    static const struct {
        int64_t kind;
        const char *name;
    } kinds[] = {{1, "copy host to device"},
                 {2, "copy device to host"},
                 {8, "copy device to device"},
                 {10, "copy peer to peer"},
                 {0, "copy"}};
    size_t i = 0;
    while (kinds[i].kind && (kind->type != PK_CELL_INT || kind->i != kinds[i].kind))
        i++;
    return kinds[i].name;
}

/* start, end, name, device, stream, correlation, process, bytes of copies */
static void take_piece(struct nsys_export *n, const struct pk_cell *c, struct pk_import_trace_span *s)
{
    const bool kernel = n->table == tables;
    const char *name = kernel                                       ? pk_cell_string(&c[2])
                       : strcmp(n->table->query, "nsys_fills") == 0 ? "fill"
                                                                    : copy_name(&c[2]);
    if (c[3].type != PK_CELL_INT || c[3].i < 0 || c[3].i > 1 << 20)
        pk_import_problem(n->r, "there is no device");
    s->name = pk_import_trace_name(n->t, *name ? name : "?", NULL);
    s->family = kernel ? pk_kernel_family_of(s->name) : PK_FAMILY_COPY;
    s->device = c[3].i;
    s->lane = c[4].type == PK_CELL_INT ? (uint32_t)c[4].i : 0;
    s->launch = launch_of(&c[5], &c[6]);
    s->copied_bytes = !kernel && c[7].type == PK_CELL_INT ? c[7].i : 0;
}

/* start, end, text, thread. Returns what it is. */
static enum pk_import_trace_kind take_range(struct nsys_export *n, const struct pk_cell *c,
                                            struct pk_import_trace_span *s)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    const char *text = pk_cell_string(&c[2]), *id = strstr(text, ", op_id = "),
               *seq = strstr(text, ", seq = ");
    const char *end = seq && (!id || seq < id) ? seq : id;
    uint32_t thread;
    pk_import_trace_name(
        n->t, pk_printf(&own, "thread %lld", c[3].type == PK_CELL_INT ? (long long)c[3].i : 0), &thread);
    if (end)
        text = pk_strndup(&own, text, (size_t)(end - text));
    s->name = pk_import_trace_name(n->t, *text ? text : "?", NULL);
    s->lane = thread;
    s->family = pk_import_trace_op_family(s->name);
    return end ? PK_IMPORT_TRACE_OP : PK_IMPORT_TRACE_RANGE;
}

static enum pk_code take_row(void *reading, const struct pk_cell *c, struct pk_err *err)
{
    struct nsys_export *n = reading;
    struct pk_import_reader *r = n->r;
    enum pk_import_trace_kind kind = n->table->kind;
    struct pk_import_trace_span s = {.begin_ns = c[0].i, .end_ns = c[1].i};
    if (pk_import_stopped(r))
        return PK_E_IO;
    if (c[0].type != PK_CELL_INT || c[1].type != PK_CELL_INT)
        pk_import_problem(r, "its times are not integers");
    else if (kind == PK_IMPORT_TRACE_PIECE)
        take_piece(n, c, &s);
    else if (kind == PK_IMPORT_TRACE_RANGE)
        kind = take_range(n, c, &s);
    else
        s.launch = launch_of(&c[3], &c[4]);
    if (kind == PK_IMPORT_TRACE_LAUNCH)
        s.name = "";
    if (!r->failed && (kind != PK_IMPORT_TRACE_LAUNCH || s.launch))
        pk_import_trace_add(n->t, kind, &s);
    if (pk_clock_ns() > n->deadline_ns)
        pk_import_problem(r, "reading it takes more than %d minutes", READ_LIMIT_S / 60);
    r->at++;
    return r->failed ? PK_E_IO : PK_OK;
}

/* --- tables ------------------------------------------------------------------------------------------------------------ */

static enum pk_code take_text(void *reading, const struct pk_cell *c, struct pk_err *err)
{
    struct nsys_export *n = reading;
    n->text = c[0].type == PK_CELL_NULL ? NULL : pk_import_trace_name(n->t, pk_cell_string(&c[0]), NULL);
    return PK_OK;
}

static void run(struct nsys_export *n, const char *query, pk_row_fn *row)
{
    struct pk_err err = {0};
    if (n->r->failed || !pk_query_each(n->s, query, NULL, 0, row, n, &err) || pk_import_stopped(n->r))
        return;
    pk_import_problem(n->r, "%s", err.why);
}

/* The only value of a query; NULL: there is none. */
static const char *one_text(struct nsys_export *n, const struct pk_rows *names, const char *table,
                            const char *query)
{
    n->text = NULL;
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(pk_cell_string(&names->cells[i]), table) == 0)
            run(n, query, take_text);
    return n->text;
}

static void read_tables(struct nsys_export *n, const struct pk_rows *names)
{
    for (size_t k = 0; k < TABLES; k++) {
        n->table = &tables[k];
        n->r->member = tables[k].name;
        n->r->at = 0;
        for (size_t i = 0; i < names->n && !n->r->failed; i++)
            if (strcmp(pk_cell_string(&names->cells[i]), tables[k].name) == 0)
                run(n, tables[k].query, take_row);
        if (n->r->failed)
            return;
    }
    n->r->member = NULL;
}

static void read_database(struct nsys_export *n)
{
    struct pk_import_reader *r = n->r;
    struct pk_rows names;
    struct pk_err err = {0};
    if (pk_query(n->s, "nsys_tables", NULL, 0, r->a, &names, &err)) {
        pk_import_problem(r, "%s", err.why);
        return;
    }
    const char *version = one_text(n, &names, "META_DATA_EXPORT", "nsys_version");
    if (!version)
        pk_import_problem(r, "it is a SQLite database of another program: it has no EXPORT_SCHEMA_VERSION "
                             "(`perfkit db merge` takes a store of perfkit)");
    else if (strncmp(version, "3.", 2) != 0)
        pk_import_version(r, pk_printf(r->a, "version %.40s of nsys's tables", version), "version 3");
    pk_import_setting(r, "nsys", one_text(n, &names, "META_DATA_EXPORT", "nsys_product"));
    pk_import_setting(r, "gpu", one_text(n, &names, "TARGET_INFO_GPU", "nsys_gpu"));
    const char *start = one_text(n, &names, "TARGET_INFO_SESSION_START_TIME", "nsys_start");
    r->out->started_ns = start && strspn(start, "0123456789") == strlen(start) && strlen(start) < 19 + 1
                             ? strtoll(start, NULL, 10)
                             : 0;
    read_tables(n, &names);
    pk_import_trace_finish(n->t, NULL);
}

/* A file is a run once, by all of its bytes. */
static void hash_file(struct pk_import_reader *r)
{
    char block[1 << 16];
    for (size_t n; !pk_import_stopped(r) && (n = fread(block, 1, sizeof block, r->f));)
        r->hash = pk_fnv1a(r->hash, block, n);
}

static void read_file(struct pk_import_reader *r)
{
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct nsys_export n = {.r = r, .t = pk_import_trace_new(r)};
    const struct pk_store_wait wait = {.stop_flag = r->stop_flag};
    struct pk_err err = {0};
    n.deadline_ns = pk_clock_ns() + READ_LIMIT_S * (uint64_t)PK_NS_PER_S;
    r->line = 0;
    hash_file(r);
    if (r->failed)
        return;
    if (pk_store_open_foreign(r->path, &wait, &s, &err)) {
        pk_import_problem(r, "%s", err.why);
        return;
    }
    n.s = s;
    read_database(&n);
}

const struct pk_import_source pk_import_nsys = {
    .name = "nsys",
    .files = "nsys export --type sqlite",
    .begins = {"SQLite format 3"},
    .read = read_file,
};
