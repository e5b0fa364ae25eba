/* Lines: texts side by side. */
#include "out/lines.h"

void pk_lines_begin(struct pk_lines *l, const char *const *texts, const size_t *above)
{
    for (size_t i = 0; i < l->n; i++)
        l->rest[i] = l->columns[i].shown ? texts[i] : NULL;
    l->above = above;
    l->line = 0;
}

bool pk_lines_next(struct pk_lines *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++) {
        const struct pk_layout_column *c = &l->columns[i];
        const char *text = l->rest[i];
        l->piece[i] = (struct pk_line_piece){0};
        any |= text != NULL;
        if (!text || (l->above && l->line < l->above[i]))
            continue;
        const size_t bytes = pk_wrap(text, c->wraps || l->above ? c->width : 0, &l->rest[i]);
        l->piece[i] = (struct pk_line_piece){text, bytes, pk_screen_width(text, bytes)};
    }
    l->line++;
    return any;
}

void pk_lines_see(struct pk_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->widths[i] = l->piece[i].width > l->widths[i] ? l->piece[i].width : l->widths[i];
}

static void put_blanks(struct pk_sink *s, size_t n)
{
    while (n--)
        pk_sink_char(s, ' ');
}

void pk_lines_put(const struct pk_lines *l, struct pk_sink *s)
{
    size_t blanks = 0; /* not written yet */
    for (size_t i = 0; i < l->n; i++) {
        const struct pk_line_piece *p = &l->piece[i];
        const size_t room = l->widths[i] - p->width, before = l->columns[i].wraps ? 0 : room;
        size_t bytes = p->bytes;
        if (!l->columns[i].shown)
            continue;
        while (bytes && p->text[bytes - 1] == ' ')
            bytes--;
        blanks += before;
        if (bytes) {
            put_blanks(s, blanks);
            pk_sink_put(s, p->text, bytes);
            blanks = 0;
        }
        blanks += p->bytes - bytes + room - before + PK_LAYOUT_GAP;
    }
    pk_sink_char(s, '\n');
}

size_t pk_lines_width(const struct pk_lines *l)
{
    size_t width = 0;
    for (size_t i = 0; i < l->n; i++)
        width += l->columns[i].shown ? l->widths[i] + PK_LAYOUT_GAP : 0;
    return width ? width - PK_LAYOUT_GAP : 0;
}
