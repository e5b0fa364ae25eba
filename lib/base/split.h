/* Split: the parts of a text between separators. */
#pragma once

#include "base/arena.h"

/* The next part of *rest up to `sep`, blanks around it removed, copied into the arena; *rest moves behind the
 * separator and becomes NULL with the last part. NULL when *rest is NULL. An empty text has one empty part.
 *     for (const char *rest = text, *part; (part = pk_next_part(&rest, ',', a));) ... */
char *pk_next_part(const char **rest, char sep, struct pk_arena *a);
