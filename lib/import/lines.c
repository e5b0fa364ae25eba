/* Lines: reads a text file a line at a time. */
#include "import/reader.h"

#include "base/index.h"

const char *pk_import_line(struct pk_import_reader *r, struct pk_buf *b)
{
    int c = EOF;
    if (pk_import_stopped(r))
        return NULL;
    r->line += r->in_lines;
    r->in_lines = true;
    pk_buf_clear(b);
    while (b->n <= PK_IMPORT_JSON_MAX && (c = getc_unlocked(r->f)) != EOF && c != '\n')
        pk_buf_char(b, (char)c);
    if (b->n > PK_IMPORT_JSON_MAX)
        pk_import_problem(r, "more than 16 MiB in one line");
    r->hash = pk_fnv1a(pk_fnv1a(r->hash, pk_buf_text(b), b->n), "\n", 1);
    return r->failed || (c == EOF && !b->n) ? NULL : pk_buf_text(b);
}
