/* Fuzz: a spool. Any lines are imported into a store or refused in three parts; the store is sound afterwards. "$" in the input stands for
 * the uuid of the store's run. */
#include "stored.h"

#include "bench/record/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *file;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_store *s;
    struct pk_spool_result result;
    const char *problem = NULL;
    if (!file)
        file = pk_fuzz_file();
    if (pk_store_open(":memory:", PK_STORE_WRITE, NULL, &s, &err))
        __builtin_trap();
    pk_fuzz_record(s);
    rewind(file);
    pk_assert(ftruncate(fileno(file), 0) == 0);
    for (size_t i = 0; i < n; i++)
        if (data[i] == '$')
            fputs(pk_store_begun(s), file);
        else
            fputc(data[i], file);
    fflush(file);
    if (pk_spool_import(s, pk_fuzz_path, &result, &err))
        pk_assert(err.what[0] && err.why[0] && err.fix[0]);
    pk_assert(pk_store_check(s, &a, &problem, &err) == PK_OK && !problem);
    pk_store_close(s);
    return 0;
}
