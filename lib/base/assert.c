/* The failing end of pk_assert. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void pk_assert_fail(const char *cond, const char *file, int line)
{
    fprintf(stderr, "perfkit: bug: %s does not hold (%s:%d); please report it\n", cond, file, line);
    abort();
}
