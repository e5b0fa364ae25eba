/* Libraries: what a program would be loaded with, by asking ldd. */
#include "base/clock.h"
#include "base/text/buf.h"
#include "base/text/words.h"
#include "machine/ask.h"
#include "machine/machine.h"

#include <string.h>

const char *pk_machine_libraries(const char *program, struct pk_arena *a)
{
    const char *const ldd[] = {"ldd", program, NULL};
    const char *said = pk_ask(ldd, 2 * PK_NS_PER_S, a);
    struct pk_buf out = {.arena = a};
    if (!said || strlen(said) >= PK_ASK_BYTES)
        return NULL;
    for (const char *rest = said, *line; rest && (line = pk_next_part(&rest, '\n', a));) {
        line += strspn(line, "\t ");
        if (*line)
            pk_buf_printf(&out, "%.*s\n", (int)(strcspn(line, "(") - (strstr(line, " (") != NULL)), line);
    }
    return out.n && strstr(pk_buf_text(&out), "=>") ? pk_buf_text(&out) : NULL;
}
