/* Layout: fits a printed table into a width without breaking a number.
 *
 * In this order, as far as it takes: long texts are wrapped at blanks; headings are, on two lines and then on three; empty columns are
 * left out, then optional ones, lowest number first; texts are wrapped as narrowly as their longest words allow, and then those are
 * broken behind commas, but not at that of 1,024, and then anywhere; the other columns are left out, the last first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { PK_LAYOUT_GAP = 2, PK_LAYOUT_HEADING_LINES = 3 };

struct pk_layout_column {
    const char *heading;
    size_t widest, longest_word, longest_piece; /* of its cells, in columns of the screen */
    bool wraps;                                 /* its cells are texts */
    int optional;                               /* 1 is left out first, then 2 ...; 0 = last */
    bool kept;                                  /* never left out */
    /* set by pk_layout */
    bool shown;
    size_t width;
};

/* Sets `shown` and `width` of all columns for a screen of this width (0 = no limit). Returns how many lines the headings take. */
size_t pk_layout(struct pk_layout_column *c, size_t n, size_t width);

/* Bytes of the first line of a text broken at blanks so that it takes at most `width` columns (0 = no limit); a longer word is
 * broken behind a comma, or anywhere. *rest is the text behind it, NULL at the end. */
size_t pk_wrap(const char *text, size_t width, const char **rest);
size_t pk_wrap_lines(const char *text, size_t width);

/* Bytes of a word of n that take at most `width` columns, one character at least. */
size_t pk_characters(const char *word, size_t n, size_t width);
/* Columns of the screen that n bytes of UTF-8 without control characters take. */
size_t pk_screen_width(const char *s, size_t n);
/* Those of its longest word; with `broken` those of the longest part of a word that stays whole, where words are broken behind commas. */
size_t pk_longest_word(const char *s, bool broken);
