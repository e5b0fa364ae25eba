/* Fuzz: the tensors of --tensors. Any text is a list of gradients or refused in three parts. */
#include "stored.h"

#include "model/gradients.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *file;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_gradients g;
    if (!file)
        file = pk_fuzz_file();
    rewind(file);
    pk_assert(ftruncate(fileno(file), 0) == 0 && fwrite(data, 1, n, file) == n);
    fflush(file);
    if (pk_gradients_read(pk_fuzz_path, &a, &g, &err))
        pk_fuzz_refusal(&err);
    return 0;
}
