/* Usage: the help of the program and of a command, from their rows. */
#include "base/text/buf.h"
#include "build_config.h"
#include "cmd/frame/frame.h"
#include "out/layout.h"

#include <string.h>
#include <unistd.h>

enum { COMMAND_COLUMN = 12, USUAL_WIDTH = 80 };

static void add_usage(struct pk_buf *b, const char *usage, unsigned width)
{
    static const char head[] = "usage: perfkit ";
    pk_buf_str(b, head);
    for (const char *line = usage, *rest; line; line = rest) {
        const size_t n = pk_wrap(line, width - (sizeof head - 1), &rest);
        pk_buf_printf(b, "%.*s\n%*s", (int)n, line, rest ? (int)sizeof head - 1 : 0, "");
    }
    pk_buf_char(b, '\n');
}

const char *pk_usage_program(struct pk_arena *a, bool more)
{
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, "usage: perfkit COMMAND [options]. Begin with: perfkit run attention-scaling\n");
    for (size_t i = 0; pk_commands[i]; i++)
        if (!pk_commands[i]->hidden)
            pk_buf_printf(&b, "  %-*s%s\n", COMMAND_COLUMN, pk_commands[i]->name, pk_commands[i]->summary);
    if (!more)
        return pk_buf_text(&b);
    pk_buf_str(&b, "perfkit COMMAND -h shows examples, --help all options; help topics lists pages.\n"
                   "RUN is `@` (the newest), `@~1` (the one before), an id, a label or FILE.db:RUN.\n");
    pk_buf_printf(&b, "Documentation: %s\n",
                  access(PK_DOC_INSTALLED, R_OK) ? PK_SOURCE_ROOT "/docs" : PK_DOC_INSTALLED PK_MAN_NAMED);
    return pk_buf_text(&b);
}

const char *pk_usage_command(const struct pk_cmd *c, const struct pk_opt_table *tables, bool full,
                             unsigned width, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    pk_buf_printf(&b, "perfkit %s - %s\n\n", c->name, c->summary);
    add_usage(&b, c->usage, width ? width : USUAL_WIDTH);
    if (c->examples) {
        pk_buf_str(&b, "examples:\n");
        for (const char *at = c->examples; *at; at += strcspn(at, "\n"), at += *at == '\n')
            pk_buf_printf(&b, "  %.*s\n", (int)strcspn(at, "\n"), at);
        pk_buf_char(&b, '\n');
    }
    const struct pk_opt_table own_first[] = {tables[1], tables[2], tables[0]};
    pk_buf_str(&b, pk_opt_help(own_first, full ? 3 : 2, full, width, a));
    if (!full)
        pk_buf_printf(&b, "%sall options: perfkit %s --help\n", c->options ? "\n" : "", c->name);
    return pk_buf_text(&b);
}
