/* Safetensors headers: refused in three parts, or tensors that lie one behind the other and fill the file. */
#include "fuzz.h"
#include "model/transformer/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct pk_transformer_config c = {.layers = 1, .width = 8, .heads = 1, .ff = 8, .vocab = 2};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_safetensors f;
    const uint64_t data_bytes = n ? (uint64_t)4 * data[n - 1] : 0;
    if (pk_safetensors_parse("file", (const char *)data, n ? n - 1 : 0, data_bytes, &a, &f, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    uint64_t end = 0;
    for (size_t i = 0; i < f.n; i++) {
        pk_assert(f.v[i].at == end && f.v[i].bytes >= f.v[i].elements);
        pk_tensor_shape_text(&f.v[i], &a);
        end += f.v[i].bytes;
    }
    pk_assert(end == data_bytes);
    if (pk_transformer_weights_fit(&f, &c, &err))
        pk_fuzz_refusal(&err);
    return 0;
}
