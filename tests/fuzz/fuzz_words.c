/* Command lines in one text: refused in three parts, or words, one at least. */
#include "fuzz.h"
#include "opt/opt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    const char *const *words;
    if (pk_words_split("a", pk_strndup(&a, (const char *)data, n), &a, &words, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    pk_assert(words[0]);
    for (; *words; words++)
        pk_assert(strlen(*words) <= n);
    return 0;
}
