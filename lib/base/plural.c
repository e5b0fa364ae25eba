/* Plural: an "s" where there is more than one, or none. */
#include "base/plural.h"

#include <string.h>

const char *pk_plural(size_t n, const char *noun, struct pk_arena *a)
{
    bool hisses = *noun && noun[strlen(noun) - 1] == 's';
    return pk_printf(a, "%zu %s%s", n, noun, n == 1 ? "" : hisses ? "es" : "s");
}
