/* Filter: names, and the loops of the best instruction set. */
#include "shard/filter.h"

#include "base/text/words.h"

#include <string.h>

const char *const pk_byte_filter_names[PK_FILTERS + 1] = {"none", "shuffle", "exponent"};

static const struct pk_planes *planes_of(enum pk_isa isa)
{
    static const struct pk_planes *const tables[PK_ISAS] = {
        [PK_ISA_BASELINE] = &pk_planes_baseline,
#if defined(__x86_64__)
        [PK_ISA_AVX2] = &pk_planes_avx2,
        [PK_ISA_AVX512] = &pk_planes_avx512,
#endif
    };
    while (!tables[isa])
        isa--;
    return tables[isa];
}

enum pk_code pk_byte_filter_parse(const char *name, enum pk_byte_filter *f, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (*f = 0; *f < PK_FILTERS; ++*f)
        if (!strcmp(name, pk_byte_filter_names[*f]))
            return PK_OK;
    pk_fail(err, PK_E_USAGE, "filter '%.100s' is unknown", name);
    pk_why(err, "a filter is %s", pk_list(pk_byte_filter_names, PK_FILTERS, ", ", &a));
    return pk_fix(err, "%s", pk_suggest_text(&a, name, pk_byte_filter_names, PK_FILTERS));
}

size_t pk_byte_filter_first_plane(enum pk_byte_filter f, enum pk_dtype type, size_t bytes)
{
    return f ? bytes / pk_dtype_bytes(type) : bytes;
}

void pk_byte_filter_apply(enum pk_byte_filter f, enum pk_isa isa, enum pk_dtype type, const void *from,
                          size_t bytes, void *to)
{
    const size_t n = bytes / pk_dtype_bytes(type), whole = f ? n * pk_dtype_bytes(type) : 0;
    if (f)
        planes_of(isa)->split[type](from, to, n, f == PK_FILTER_EXPONENT);
    if (bytes > whole)
        memcpy((char *)to + whole, (const char *)from + whole, bytes - whole);
}

void pk_byte_filter_invert(enum pk_byte_filter f, enum pk_isa isa, enum pk_dtype type, const void *from,
                           size_t bytes, void *to)
{
    const size_t n = bytes / pk_dtype_bytes(type), whole = f ? n * pk_dtype_bytes(type) : 0;
    if (f)
        planes_of(isa)->join[type](from, to, n, f == PK_FILTER_EXPONENT);
    if (bytes > whole)
        memcpy((char *)to + whole, (const char *)from + whole, bytes - whole);
}
