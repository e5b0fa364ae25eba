/* Text: UTF-8 decoding, replacement of what a terminal would obey, numbers at their display scale. */
#include "out/text.h"

#include <math.h>
#include <string.h>

/* Length of the sequence a lead byte announces, its payload mask, and the smallest code point that may use
 * it. */
static const struct {
    unsigned char mask, lead;
    unsigned length;
    uint32_t payload, least;
} forms[] = {
    {0x80, 0x00, 1, 0x7f, 0},
    {0xe0, 0xc0, 2, 0x1f, 0x80},
    {0xf0, 0xe0, 3, 0x0f, 0x800},
    {0xf8, 0xf0, 4, 0x07, 0x10000},
};

size_t pk_utf8_next(const char *s, uint32_t *code)
{
    const unsigned char *u = (const unsigned char *)s;
    *code = PK_UTF8_BAD;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if ((u[0] & forms[f].mask) != forms[f].lead)
            continue;
        uint32_t c = u[0] & forms[f].payload;
        for (unsigned i = 1; i < forms[f].length; i++) {
            if ((u[i] & 0xc0) != 0x80)
                return 1;
            c = c << 6 | (u[i] & 0x3f);
        }
        if (c < forms[f].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            return 1;
        *code = c;
        return forms[f].length;
    }
    return 1;
}

bool pk_utf8_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void pk_text_safe(struct pk_buf *b, const char *text)
{
    uint32_t code;
    for (size_t n; *text; text += n) {
        n = pk_utf8_next(text, &code);
        if (code == '\n' || code == '\t' || code == '\r')
            pk_buf_char(b, ' ');
        else if (code == PK_UTF8_BAD || pk_utf8_unsafe(code))
            pk_buf_str(b, "\xef\xbf\xbd");
        else
            pk_buf_add(b, text, n);
    }
}

/* Six significant digits, without an exponent as long as the integer part is one that people still read. */
static void free_form(struct pk_buf *b, double v)
{
    pk_buf_printf(b, fabs(v) >= 1e6 && fabs(v) < 1e15 ? "%.0f" : "%.6g", v);
}

void pk_text_cell(struct pk_buf *b, const struct pk_column *col, const struct pk_cell *cell)
{
    if (cell->type == PK_CELL_NULL || (cell->type == PK_CELL_REAL && isnan(cell->f)))
        return;
    if (cell->type == PK_CELL_TEXT) {
        pk_text_safe(b, cell->s);
        return;
    }
    bool whole = cell->type == PK_CELL_INT;
    if (whole && col->scale == 0 && col->decimals <= 0) {
        pk_buf_printf(b, "%lld", (long long)cell->i);
        return;
    }
    double v = whole ? (double)cell->i : cell->f;
    if (col->scale != 0)
        v /= col->scale;
    if (col->decimals < 0)
        free_form(b, v);
    else
        pk_buf_printf(b, "%.*f", col->decimals, v);
}
