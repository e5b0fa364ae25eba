/* Format: names of the output formats, and what --format is parsed with. */
#include "out/out.h"

#include "base/err.h"
#include "base/text/words.h"

#include <string.h>

#define NAME(constant, name) [PK_FMT_##constant] = #name,
const char *const pk_format_names[PK_FORMATS_N + 1] = {PK_FORMATS(NAME)};

enum pk_code pk_format_parse(const char *name, enum pk_format *f, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (*f = 0; *f < PK_FORMATS_N; ++*f)
        if (!strcmp(name, pk_format_names[*f]))
            return PK_OK;
    pk_fail(err, PK_E_USAGE, "format '%s' is unknown", name);
    pk_why(err, "formats are %s", pk_list(pk_format_names, PK_FORMATS_N, ", ", &a));
    return pk_fix(err, "%s", pk_suggest_text(&a, name, pk_format_names, PK_FORMATS_N));
}
