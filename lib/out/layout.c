/* Layout: widths of columns, lines of headings, and what is left out. */
#include "out/layout.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* A text of up to SHORT is a name and stays in one piece; longer ones are wrapped, at first no narrower than READABLE. */
enum { SHORT = 16, READABLE = 28, BROKEN = 8 };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t pk_screen_width(const char *s, size_t n)
{
    wchar_t c;
    mbstate_t state = {0};
    size_t width = 0; /* ASCII first, eight bytes at a time: nearly always that is all of it */
    for (uint64_t eight; width + sizeof eight <= n; width += sizeof eight) {
        memcpy(&eight, s + width, sizeof eight);
        if (eight & 0x8080808080808080)
            break;
    }
    while (width < n && !(s[width] & 0x80))
        width++;
    s += width;
    n -= width;
    for (size_t used; n; s += used, n -= used) {
        used = mbrtowc(&c, s, n, &state);
        if (used == 0 || used > n)
            return width;
        int w = wcwidth(c);
        width += w > 0 ? (size_t)w : 0;
    }
    return width;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of a word of n up to the first place behind `from` where it may be broken: a comma that is not within a number. */
static size_t piece(const char *word, size_t from, size_t n)
{
    for (size_t k = from + 1; k < n; k++)
        if (word[k - 1] == ',' && !(k >= 2 && digit(word[k - 2]) && digit(word[k])))
            return k;
    return n;
}

size_t pk_longest_word(const char *s, bool broken)
{
    size_t longest = 0;
    for (size_t n; *s; s += n + strspn(s + n, " ")) {
        n = strcspn(s, " ");
        n = broken ? piece(s, 0, n) : n;
        longest = larger(longest, pk_screen_width(s, n));
    }
    return longest;
}

size_t pk_characters(const char *word, size_t n, size_t width)
{
    size_t line = 0;
    for (size_t end = 0; end < n; line = end) {
        do
            end++;
        while (end < n && ((unsigned char)word[end] & 0xc0) == 0x80);
        if (line && pk_screen_width(word, end) > width)
            break;
    }
    return line;
}

/* As many pieces of a word as fit; of a piece that does not, as many characters. */
static size_t pieces(const char *word, size_t n, size_t width)
{
    size_t line = piece(word, 0, n);
    if (pk_screen_width(word, line) > width)
        return pk_characters(word, line, width);
    for (size_t end; line < n && pk_screen_width(word, end = piece(word, line, n)) <= width;)
        line = end;
    return line;
}

/* Where the word that begins at `at` ends: "79 %" is one. */
static size_t word_end(const char *text, size_t at)
{
    const size_t end = at + strcspn(text + at, " ");
    const bool percent = end > at && strchr("0123456789", text[end - 1]) && strncmp(text + end, " %", 2) == 0;
    return percent ? end + 1 + strcspn(text + end + 1, " ") : end;
}

size_t pk_wrap(const char *text, size_t width, const char **rest)
{
    size_t line = strlen(text), word = strcspn(text, " ");
    *rest = NULL;
    if (!width || pk_screen_width(text, line) <= width)
        return line;
    if (pk_screen_width(text, word) > width && (line = pieces(text, word, width)) < word) {
        *rest = text + line;
        return line;
    }
    line = 0;
    for (size_t end = word_end(text, 0); line == 0 || pk_screen_width(text, end) <= width;) {
        line = end;
        if (!text[end])
            return line;
        end = word_end(text, end + strspn(text + end, " "));
    }
    *rest = text + line + strspn(text + line, " ");
    return line;
}

size_t pk_wrap_lines(const char *text, size_t width)
{
    size_t lines = 0;
    for (const char *rest = text; rest; lines++)
        pk_wrap(rest, width, &rest);
    return lines;
}

/* The narrowest column for which a heading takes at most this number of lines. */
static size_t heading_width(const char *heading, size_t lines)
{
    size_t width = pk_longest_word(heading, false);
    while (pk_wrap_lines(heading, width) > lines)
        width++;
    return width;
}

static size_t total(const struct pk_layout_column *c, size_t n)
{
    size_t sum = 0, shown = 0;
    for (size_t i = 0; i < n; i++) {
        sum += c[i].shown ? c[i].width : 0;
        shown += c[i].shown;
    }
    return sum + (shown ? shown - 1 : 0) * PK_LAYOUT_GAP;
}

/* How far texts may be narrowed. */
enum narrow { TO_READABLE, TO_WORDS, TO_PIECES, TO_CHARACTERS };

static size_t narrowest(const struct pk_layout_column *c, size_t lines, enum narrow to)
{
    const size_t of[] = {[TO_READABLE] = larger(READABLE, c->longest_word),
                         [TO_WORDS] = c->longest_word,
                         [TO_PIECES] = c->longest_piece,
                         [TO_CHARACTERS] = BROKEN};
    return larger(heading_width(c->heading, lines), of[to]);
}

/* The widest text column that may still be narrower; NULL when there is none. */
static struct pk_layout_column *widest_text(struct pk_layout_column *c, size_t n, size_t lines,
                                            enum narrow to)
{
    struct pk_layout_column *widest = NULL;
    for (size_t i = 0; i < n; i++)
        if (c[i].shown && c[i].wraps && c[i].widest > SHORT && c[i].width > narrowest(&c[i], lines, to) &&
            (!widest || c[i].width > widest->width))
            widest = &c[i];
    return widest;
}

static bool fits(struct pk_layout_column *c, size_t n, size_t width, size_t lines, enum narrow to)
{
    struct pk_layout_column *text;
    for (size_t i = 0; i < n; i++)
        c[i].width = larger(c[i].widest, heading_width(c[i].heading, lines));
    while (total(c, n) > width && (text = widest_text(c, n, lines, to)))
        text->width--;
    return total(c, n) <= width;
}

/* Leaves out what is empty, or else the optional columns of the lowest number; false when there are none. */
static bool leave_out(struct pk_layout_column *c, size_t n)
{
    int lowest = INT_MAX;
    for (size_t i = 0; i < n; i++)
        if (c[i].shown && !c[i].kept && (c[i].optional || !c[i].widest))
            lowest = c[i].widest ? c[i].optional < lowest ? c[i].optional : lowest : 0;
    for (size_t i = 0; i < n; i++)
        c[i].shown = c[i].shown && (c[i].kept || (lowest ? c[i].optional != lowest : c[i].widest > 0));
    return lowest < INT_MAX;
}

/* Leaves out the last of the others; never the first. */
static bool leave_out_last(struct pk_layout_column *c, size_t n)
{
    size_t i = n;
    while (i > 1 && (!c[i - 1].shown || c[i - 1].kept))
        i--;
    if (i > 1)
        c[i - 1].shown = false;
    return i > 1;
}

static void choose_widths(struct pk_layout_column *c, size_t n, size_t width)
{
    do
        for (size_t lines = 1; lines <= PK_LAYOUT_HEADING_LINES; lines++)
            if (fits(c, n, width, lines, TO_READABLE))
                return;
    while (leave_out(c, n));
    do
        for (enum narrow to = TO_WORDS; to <= TO_CHARACTERS; to++)
            if (fits(c, n, width, PK_LAYOUT_HEADING_LINES, to))
                return;
    while (leave_out_last(c, n));
}

size_t pk_layout(struct pk_layout_column *c, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++)
        c[i].shown = true;
    choose_widths(c, n, width ? width : SIZE_MAX);
    size_t lines = 1;
    for (size_t i = 0; i < n; i++)
        if (c[i].shown)
            lines = larger(lines, pk_wrap_lines(c[i].heading, c[i].width));
    return lines;
}
