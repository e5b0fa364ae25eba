/* Fuzz: another person's store. An image of a store with bytes and values changed is opened as FILE.db:RUN is, and all of its runs are read:
 * each call ends in PK_OK or in an error of three parts.
 *
 * Input: any number of changes of 12 bytes each. First byte even: 4 bytes of the image at an offset. Odd: a value of a column. */
#include "stored.h"

#include "bench/tables/tables.h"
#include "store/read/figures.h"

#include <sqlite3.h>

static const struct {
    const char *table, *column;
} columns[] = {
    {"run", "id"},
    {"run", "machine_id"},
    {"run", "started_ns"},
    {"run", "ended_ns"},
    {"run_case", "id"},
    {"run_case", "run_id"},
    {"run_case", "ordinal"},
    {"run_case", "predicted_bytes"},
    {"metric", "id"},
    {"slice", "id"},
    {"slice", "case_id"},
    {"slice", "invocation"},
    {"slice", "elapsed_ns"},
    {"series", "id"},
    {"series", "slice_id"},
    {"series", "metric_id"},
    {"series", "instance"},
    {"series", "reps"},
    {"series", "rank"},
    {"slice_summary", "slice_id"},
    {"slice_summary", "metric_id"},
    {"slice_summary", "n"},
    {"summary", "case_id"},
    {"summary", "metric_id"},
    {"summary", "n"},
    {"summary", "invocations"},
    {"sample", "ordinal"},
    {"sample", "value"},
    {"machine", "id"},
};

/* --- memory of SQLite, which is not instrumented: blocks of powers of two that are used again. malloc is most of the time here. */

enum { CLASSES = 26, LEAST = 32, HEAD = 16, CHUNK = 1 << 20 };
static union block {
    union block *next; /* of a free one */
    int class;
    char head[HEAD];
} * free_blocks[CLASSES];

static int class_of(int n)
{
    int class = 0;
    while ((LEAST << class) - HEAD < n)
        class ++;
    return class;
}

static void *take(int n)
{
    static char *chunk;
    static size_t left;
    const int class = class_of(n);
    const size_t bytes = (size_t)LEAST << class;
    union block *b = free_blocks[class];
    if (b) {
        free_blocks[class] = b->next;
    } else if (bytes > CHUNK) {
        b = malloc(bytes);
    } else {
        if (left < bytes)
            chunk = malloc(left = CHUNK);
        b = (union block *)(void *)chunk;
        chunk += bytes;
        left -= bytes;
    }
    b->class = class;
    return b + 1;
}

static void give(void *p)
{
    union block *b = (union block *)p - 1;
    const int class = b->class;
    b->next = free_blocks[class];
    free_blocks[class] = b;
}

static int size(void *p)
{
    return p ? (LEAST << ((union block *)p - 1)->class) - HEAD : 0;
}

static int rounded(int n)
{
    return (LEAST << class_of(n)) - HEAD;
}

static void *resize(void *p, int n)
{
    void *to = take(n);
    memcpy(to, p, (size_t)(size(p) < n ? size(p) : n));
    give(p);
    return to;
}

static int ready(void *unused)
{
    return SQLITE_OK;
}

static void over(void *unused)
{
}

static unsigned char *base; /* the image as it was written */
static sqlite3_int64 base_bytes;
static FILE *file, *sink;

static void make_base(void)
{
    struct pk_err err = {0};
    struct pk_store *s = NULL;
    sqlite3 *db = NULL;
    static const sqlite3_mem_methods memory = {take, give, resize, size, rounded, ready, over, NULL};
    sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
    file = pk_fuzz_file();
    sink = fopen("/dev/null", "w");
    if (!pk_store_open(pk_fuzz_path, PK_STORE_WRITE, NULL, &s, &err))
        pk_fuzz_record(s);
    pk_store_close(s);
    if (sqlite3_open_v2(pk_fuzz_path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
        base = sqlite3_serialize(db, "main", &base_bytes, 0);
    pk_assert(base && sink);
    sqlite3_close(db);
}

/* The rows whose value has the remainder of `which` get another one; ids do, too, which no constraint of a stranger's file prevents. */
static void change_value(sqlite3 *db, const unsigned char *change)
{
    const size_t i = change[1] % (sizeof columns / sizeof *columns);
    sqlite3_stmt *stmt;
    int64_t value;
    char sql[200];
    memcpy(&value, change + 4, sizeof value);
    snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = ?1 >> ?3 WHERE CAST(%s AS INTEGER) %% 4 = ?2",
             columns[i].table, columns[i].column, columns[i].column);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_int64(stmt, 1, value);
    sqlite3_bind_int64(stmt, 2, change[2] % 4);
    sqlite3_bind_int64(stmt, 3, change[3] % 64);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
}

enum { CHANGE_BYTES = 12, MOST_CHANGES = 32 };

static void write_image(const uint8_t *data, size_t n)
{
    sqlite3 *db = NULL;
    sqlite3_int64 bytes = 0;
    unsigned char *image = sqlite3_malloc64((sqlite3_uint64)base_bytes);
    memcpy(image, base, (size_t)base_bytes);
    sqlite3_open(":memory:", &db);
    sqlite3_deserialize(db, "main", image, base_bytes, base_bytes,
                        SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    const size_t changes = n / CHANGE_BYTES < MOST_CHANGES ? n / CHANGE_BYTES : MOST_CHANGES;
    for (size_t i = 0; i < changes; i++)
        if (data[i * CHANGE_BYTES] & 1)
            change_value(db, data + i * CHANGE_BYTES);
    unsigned char *changed = sqlite3_serialize(db, "main", &bytes, 0);
    sqlite3_close(db);
    for (size_t i = 0; i < changes && changed; i++) {
        const uint8_t *c = data + i * CHANGE_BYTES;
        const size_t at = ((size_t)c[1] << 16 | (size_t)c[2] << 8 | c[3]) % (size_t)bytes;
        for (size_t k = 0; !(c[0] & 1) && k < 4 && at + k < (size_t)bytes; k++)
            changed[at + k] = c[4 + k];
    }
    rewind(file);
    pk_assert(changed && ftruncate(fileno(file), 0) == 0 &&
              fwrite(changed, 1, (size_t)bytes, file) == (size_t)bytes);
    fflush(file);
    sqlite3_free(changed);
}

static void has_three_parts(enum pk_code code, const struct pk_err *err)
{
    pk_assert(!code || (err->what[0] && err->why[0] && err->fix[0]));
}

static void read_run(struct pk_store *s, int64_t run, enum pk_format format)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_figures *figures;
    const struct pk_figures *counted;
    const struct pk_unfinished_case *unfinished;
    struct pk_run_facts facts;
    struct pk_fit_group *groups;
    size_t n;
    int64_t ok;
    has_three_parts(pk_store_figures(s, run, &a, &figures, &n, &ok, &err), &err);
    has_three_parts(pk_store_unfinished(s, run, &a, &unfinished, &n, &err), &err);
    has_three_parts(pk_store_run_facts(s, run, &a, &facts, &err), &err);
    has_three_parts(pk_store_counter_figures(s, run, &a, &counted, &n, &err), &err);
    has_three_parts(pk_store_fit_groups(s, run, "forward_ns", "n", NULL, &a, &groups, &n, &err), &err);
    if (format >= PK_FORMATS_N) /* tables take ten times as long as the rest */
        return;
    struct pk_out *out = pk_out_open(sink, &(struct pk_out_options){.format = format, .width = 80});
    has_three_parts(pk_run_tables(s, run, out, &err), &err);
    has_three_parts(pk_out_close(out, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_store *s = NULL;
    int64_t *runs;
    size_t n_runs;
    if (!base)
        make_base();
    write_image(data, n);
    const char *ref = pk_printf(&a, "%s:base", pk_fuzz_path);
    if (pk_store_open_refs(":memory:", ref, NULL, NULL, &a, &s, &runs, &n_runs, &err)) {
        has_three_parts(err.code, &err);
        return 0;
    }
    for (size_t i = 0; i < n_runs; i++)
        read_run(s, runs[i], n ? (enum pk_format)(data[0] / 2 % 32) : PK_FMT_TABLE);
    pk_store_close(s);
    return 0;
}
