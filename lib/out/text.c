/* Text: UTF-8 decoding, replacement of what a terminal would obey or cannot show, numbers at their display scale. */
#include "out/text.h"

#include "json/json.h"

#include <ctype.h>
#include <langinfo.h>
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
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0, 0x1f},          {0x7f, 0x9f},      {0xad, 0xad},     {0x34f, 0x34f},
                  {0x61c, 0x61c},     {0x115f, 0x1160},  {0x17b4, 0x17b5}, {0x180b, 0x180f},
                  {0x200b, 0x200f},   {0x2028, 0x202e},  {0x2060, 0x206f}, {0x3164, 0x3164},
                  {0xfeff, 0xfeff},   {0xffa0, 0xffa0},  {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
                  {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

bool pk_ends_marker(unsigned *seen, char byte)
{
    static const char longest[] = "##vso[";
    const bool ends = byte == '[' && (*seen == 2 || *seen == strlen(longest) - 1);
    if (ends)
        *seen = 0;
    else if (tolower((unsigned char)byte) == longest[*seen])
        ++*seen;
    else if (byte != '#')
        *seen = 0;
    else
        *seen = *seen == 2 ? 2 : 1;
    return ends;
}

void pk_text_safe(struct pk_buf *b, const char *text)
{
    uint32_t code;
    for (size_t n; *text; text += n) {
        for (n = 0; text[n] >= ' ' && text[n] <= '~';) /* nearly always all of it */
            n++;
        if (n) {
            pk_buf_add(b, text, n);
            continue;
        }
        n = pk_utf8_next(text, &code);
        if (code == '\n' || code == '\t' || code == '\r')
            pk_buf_char(b, ' ');
        else if (code == PK_UTF8_BAD || pk_utf8_unsafe(code))
            pk_buf_str(b, "\xef\xbf\xbd");
        else
            pk_buf_add(b, text, n);
    }
}

/* --- terminals without Unicode -------------------------------------------------------------------------------------- */

static const struct {
    uint32_t code;
    const char *ascii;
} spellings[] = {{0xa0, " "},    {0xb0, ""},    {0xb1, "+/-"},  {0xb2, "^2"},   {0xb5, "u"},
                 {0xb7, "-"},    {0xd7, "x"},   {0x3bc, "u"},   {0x2013, "-"},  {0x2014, "-"},
                 {0x2018, "'"},  {0x2019, "'"}, {0x201c, "\""}, {0x201d, "\""}, {0x2026, "..."},
                 {0x2192, "->"}, {0x2212, "-"}, {0x2264, "<="}, {0x2265, ">="}};

bool pk_terminal_is_ascii(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

const char *pk_ascii_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (spellings[i].code == code)
            return spellings[i].ascii;
    return "?";
}

const char *pk_text_ascii(const char *text, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    uint32_t code;
    for (size_t n; *text; text += n) {
        n = pk_utf8_next(text, &code);
        if (code < 0x80)
            pk_buf_char(&b, (char)code);
        else
            pk_buf_str(&b, pk_ascii_of(code));
    }
    return pk_buf_text(&b);
}

/* --- cells ---------------------------------------------------------------------------------------------------- */

static const double longest =
    1e15; /* longer integer parts are not read, and widen a column: they have an exponent */

static const double rounding_noise = 1e-9;

/* Decimals that leave a small number as many significant digits as its column has decimals. Small is, with 3 decimals, what
 * would show two zeros behind the point; with fewer, what would show nothing else. */
static int decimals_for(int decimals, double v)
{
    double size = fabs(v), small = decimals >= 3 ? pow(10, 1 - decimals) : pow(10, -decimals) / 2;
    if (size >= small || size < rounding_noise)
        return decimals;
    return (decimals > 1 ? decimals : 1) - 1 - (int)floor(log10(size));
}

static void put_whole(struct pk_buf *b, uint64_t v, int digits)
{
    char text[20], *p = text + sizeof text;
    for (; v || digits > 0; v /= 10, digits--)
        *--p = (char)('0' + v % 10);
    pk_buf_add(b, p, (size_t)(text + sizeof text - p));
}

/* As printf's %.*f, which takes most of the time of a long table; printf is used only near rounding ties. */
static void put_fixed(struct pk_buf *b, int decimals, double v)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}, largest = 1e9, close = 1e-4;
    const int most = sizeof powers / sizeof *powers - 1;
    const double scaled = decimals <= most ? fabs(v) * powers[decimals] : NAN;
    const double whole = floor(scaled), rest = scaled - whole;
    if (!(scaled < largest) || fabs(rest - 0.5) < close) {
        pk_buf_printf(b, "%.*f", decimals, v);
        return;
    }
    const uint64_t n = (uint64_t)whole + (rest > 0.5), unit = (uint64_t)powers[decimals];
    if (signbit(v))
        pk_buf_char(b, '-');
    put_whole(b, n / unit, 1);
    if (decimals)
        pk_buf_char(b, '.');
    put_whole(b, n % unit, decimals);
}

static void put_number(struct pk_buf *b, const struct pk_column *col, double v)
{
    if ((col->over > 0 && v > col->over * (1 + rounding_noise)) ||
        (col->under > 0 && v < col->under * (1 - rounding_noise)))
        pk_buf_char(b, '!');
    if (col->most > 0 && v > col->most)
        pk_buf_printf(b, ">%.0f", col->most);
    else if (col->least > 0 && v < col->least)
        pk_buf_printf(b, "<%g", col->least);
    else if (col->exponent)
        pk_buf_printf(b, v == 0 ? "0" : "%.*e", col->decimals, v);
    else if (col->decimals < 0 ||
             fabs(v) >= longest) /* all digits of an integer part that has more than six */
        pk_buf_printf(b, fabs(v) >= 1e6 && fabs(v) < longest ? "%.0f" : "%.6g", v);
    else
        put_fixed(b, decimals_for(col->decimals, v), v);
}

static void put_json_value(struct pk_buf *b, const json_t *v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    pk_text_safe(b, pk_json_value_text(&a, v));
}

/* An object as "a=1 b=2", a list as "a, b"; what is neither, as it is. */
static void put_json(struct pk_buf *b, const char *text)
{
    PK_JSON_CLEANUP json_t *j = json_loads(text, 0, NULL);
    const char *name, *between = "";
    json_t *v;
    if (!json_is_object(j) && !json_is_array(j)) {
        pk_text_safe(b, text);
        return;
    }
    for (size_t i = 0; i < json_array_size(j); i++) {
        pk_buf_str(b, i ? ", " : "");
        put_json_value(b, json_array_get(j, i));
    }
    json_object_foreach(j, name, v)
    {
        pk_buf_str(b, between);
        pk_text_safe(b, name);
        pk_buf_char(b, '=');
        put_json_value(b, v);
        between = " ";
    }
}

static void put_interval(struct pk_buf *b, const struct pk_column *col, const struct pk_cell *ends)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf low = {.arena = &a}, high = {.arena = &a};
    struct pk_column end = *col;
    end.interval = false;
    pk_text_cell(&low, &end, &ends[0]);
    pk_text_cell(&high, &end, &ends[1]);
    if (!low.n && !high.n)
        return;
    const char *from = pk_buf_text(&low), *to = pk_buf_text(&high);
    pk_buf_printf(b, "%s%s%s", from, *from == '-' || *to == '-' ? PK_INTERVAL_TO : PK_INTERVAL_DASH, to);
}

void pk_text_cell(struct pk_buf *b, const struct pk_column *col, const struct pk_cell *cell)
{
    if (col->interval) {
        put_interval(b, col, cell);
        return;
    }
    if (cell->type == PK_CELL_NULL || (cell->type == PK_CELL_REAL && isnan(cell->f)))
        return;
    if (cell->type == PK_CELL_TEXT) {
        if (col->json)
            put_json(b, cell->s);
        else
            pk_text_safe(b, cell->s);
        return;
    }
    bool whole = cell->type == PK_CELL_INT;
    if (whole && col->scale == 0 && col->decimals <= 0) {
        pk_buf_printf(b, "%lld", (long long)cell->i);
        return;
    }
    double v = whole ? (double)cell->i : cell->f;
    put_number(b, col, col->scale != 0 ? v / col->scale : v);
}
