/* Fuzz: a file of another tool. Any bytes become a run or are refused in three parts; the store is sound afterwards, and has nothing of what
 * was refused. */
#include "stored.h"

#include "import/import.h"

enum { MANY = 50 };

static size_t runs_of(struct pk_store *s)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_rows rows;
    if (pk_store_query(s, "SELECT run_id FROM v_run", NULL, 0, &a, &rows, &err))
        __builtin_trap();
    return rows.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *file;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    static struct pk_store *s; /* of many inputs: making one takes most of the time */
    static size_t inputs;
    struct pk_imported im;
    struct pk_import_options o = {.tags = "{}", .command_line = "fuzz"};
    struct pk_import_result result = {0};
    const char *problem = NULL;
    if (!file)
        file = pk_fuzz_file();
    rewind(file);
    pk_assert(ftruncate(fileno(file), 0) == 0);
    fwrite(data, 1, n, file);
    fflush(file);
    enum pk_code code = pk_import_read(pk_fuzz_path, &o, &a, &im, &err);
    if (code) {
        pk_assert(err.what[0] && err.why[0] && err.fix[0]);
        return 0;
    }
    if (!s && pk_store_open(":memory:", PK_STORE_WRITE, NULL, &s, &err))
        __builtin_trap();
    const size_t before = runs_of(s);
    code = pk_import_store(s, &im, &o, &result, &err);
    if (code)
        pk_assert(err.what[0] && err.why[0] && err.fix[0]);
    pk_assert(runs_of(s) == before + (code == PK_OK && result.run_id && !result.known));
    if (++inputs % MANY)
        return 0;
    pk_assert(pk_store_check(s, &a, &problem, &err) == PK_OK && !problem);
    pk_store_close(s);
    s = NULL;
    return 0;
}
