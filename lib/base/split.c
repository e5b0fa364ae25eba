/* Split: the parts of a text between separators. */
#include "base/split.h"

#include <string.h>

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

char *pk_next_part(const char **rest, char sep, struct pk_arena *a)
{
    const char *begin = *rest;
    if (!begin)
        return NULL;
    const char *end = strchr(begin, sep);
    *rest = end ? end + 1 : NULL;
    if (!end)
        end = begin + strlen(begin);
    while (begin < end && blank(*begin))
        begin++;
    while (begin < end && blank(end[-1]))
        end--;
    return pk_strndup(a, begin, (size_t)(end - begin));
}
