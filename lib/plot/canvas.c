/* Canvas: cells with dots and texts. */
#include "plot/canvas.h"

#include "out/layout.h"
#include "out/text.h"

#include <math.h>
#include <string.h>

struct pk_canvas pk_canvas_make(unsigned cols, unsigned rows, bool ascii, struct pk_arena *a)
{
    return (struct pk_canvas){cols, rows, ascii, pk_new_n(a, struct pk_canvas_cell, (size_t)cols * rows + 1)};
}

static struct pk_canvas_cell *cell_at(const struct pk_canvas *c, int col, int row)
{
    const bool inside = col >= 0 && row >= 0 && (unsigned)col < c->cols && (unsigned)row < c->rows;
    return inside ? &c->cells[(size_t)row * c->cols + (size_t)col] : NULL;
}

static void put_dot(struct pk_canvas *c, int x, int y, unsigned color)
{
    static const uint8_t bits[PK_CANVAS_DOWN][PK_CANVAS_ACROSS] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    struct pk_canvas_cell *cell =
        x < 0 || y < 0 ? NULL : cell_at(c, x / PK_CANVAS_ACROSS, y / PK_CANVAS_DOWN);
    if (!cell)
        return;
    cell->dots |= bits[y % PK_CANVAS_DOWN][x % PK_CANVAS_ACROSS];
    cell->color = (uint8_t)color;
}

void pk_canvas_line(struct pk_canvas *c, struct pk_canvas_dot from, struct pk_canvas_dot to, bool dashed,
                    unsigned color)
{
    enum { DASH = 4 };
    const double most = 4.0 * (c->cols + c->rows);
    const double steps = fmin(fmax(fabs(to.x - from.x), fabs(to.y - from.y)), most);
    for (double i = 0; i <= steps; i++) {
        const double t = steps > 0 ? i / steps : 0;
        if (dashed && fmod(i, DASH) >= DASH / 2)
            continue;
        put_dot(c, (int)lround(from.x + t * (to.x - from.x)), (int)lround(from.y + t * (to.y - from.y)),
                color);
    }
}

unsigned pk_canvas_text(struct pk_canvas *c, int col, int row, const char *text, unsigned color)
{
    unsigned n = 0;
    uint32_t code;
    for (size_t bytes; *text; text += bytes) {
        bytes = pk_utf8_next(text, &code);
        struct pk_canvas_cell *cell = cell_at(c, col + (int)n, row);
        if (code == PK_UTF8_BAD || pk_utf8_unsafe(code) || pk_screen_width(text, bytes) != 1)
            continue;
        if (cell) {
            memcpy(cell->text, text, bytes);
            cell->text[bytes] = '\0';
            cell->color = (uint8_t)color;
        }
        n++;
    }
    return n;
}

void pk_canvas_mark(struct pk_canvas *c, struct pk_canvas_dot at, const char *text, unsigned color)
{
    pk_canvas_text(c, (int)floor(at.x / PK_CANVAS_ACROSS), (int)floor(at.y / PK_CANVAS_DOWN), text, color);
}

static void put_cell(const struct pk_canvas *c, const struct pk_canvas_cell *cell, struct pk_buf *b)
{
    if (*cell->text)
        pk_buf_str(b, c->ascii ? pk_text_ascii(cell->text, b->arena) : cell->text);
    else if (!cell->dots)
        pk_buf_char(b, ' ');
    else if (c->ascii)
        pk_buf_char(b, '.');
    else
        pk_buf_printf(b, "\xe2%c%c", 0xa0 | cell->dots >> 6, 0x80 | (cell->dots & 0x3f)); /* U+2800 and on */
}

const char *pk_canvas_row(const struct pk_canvas *c, unsigned row, bool color, struct pk_arena *a)
{
    static const char *const escapes[] = {"",         "\x1b[34m", "\x1b[33m", "\x1b[36m",
                                          "\x1b[35m", "\x1b[32m", "\x1b[31m"};
    enum { COLORS = sizeof escapes / sizeof *escapes - 1 };
    const struct pk_canvas_cell *cells = &c->cells[(size_t)row * c->cols];
    struct pk_buf b = {.arena = a};
    unsigned n = c->cols;
    while (n && !cells[n - 1].dots && (!*cells[n - 1].text || !strcmp(cells[n - 1].text, " ")))
        n--;
    for (unsigned i = 0, now = 0; i <= n; i++) {
        const unsigned wanted = i < n && color && cells[i].color ? 1 + (cells[i].color - 1u) % COLORS : 0;
        if (wanted != now)
            pk_buf_str(&b, wanted ? escapes[wanted] : pk_style_escape(PK_STYLE_END));
        now = wanted;
        if (i < n)
            put_cell(c, &cells[i], &b);
    }
    return pk_buf_text(&b);
}
