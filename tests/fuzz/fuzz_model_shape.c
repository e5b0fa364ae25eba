/* Fuzz: the model of --model, or of --config when the input begins with '{'. Any text is a model with a number of parameters or refused in
 * three parts. */
#include "stored.h"

#include "model/shape/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static FILE *file;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_model_shape shape;
    if (!file)
        file = pk_fuzz_file();
    rewind(file);
    pk_assert(ftruncate(fileno(file), 0) == 0 && fwrite(data, 1, n, file) == n);
    fflush(file);
    const enum pk_code rc =
        n && *data == '{' ? pk_model_shape_read(pk_fuzz_path, &a, &shape, &err)
                          : pk_model_shape_parse(pk_strndup(&a, (const char *)data, n), &a, &shape, &err);
    if (rc)
        pk_fuzz_refusal(&err);
    else
        pk_assert(pk_model_shape_parameters(&shape) > 0);
    return 0;
}
