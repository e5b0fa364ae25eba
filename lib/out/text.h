/* Text: makes untrusted strings safe to print, and formats cells as text. */
#pragma once

#include "base/text/buf.h"
#include "out/out.h"

/* The next code point of UTF-8 text that is not at its end; returns its length in bytes. A byte that begins no valid
 * sequence is one code point PK_UTF8_BAD. */
enum { PK_UTF8_BAD = 0xfffd };
size_t pk_utf8_next(const char *s, uint32_t *code);

/* True for what may change a terminal's state or the order of what is read, or is not seen at all: C0 and C1 controls, DEL, bidirectional
 * marks, zero-width and invisible characters, tags, line and paragraph separators. */
bool pk_utf8_unsafe(uint32_t code);

/* Whether a byte completes "##[" or "##vso[", which begin a command of GitHub and Azure Pipelines anywhere in a line. *seen: how much of it
 * the bytes before were; at first 0. */
bool pk_ends_marker(unsigned *seen, char byte);

/* Appends text with unsafe code points and invalid bytes replaced: white space by a blank, others by U+FFFD. */
void pk_text_safe(struct pk_buf *b, const char *text);

/* Whether the terminal's locale has no UTF-8, as in LC_ALL=C: of the thread's locale. */
bool pk_terminal_is_ascii(void);
/* What stands for a code point there: "+/-" for ±, "?" for what has no spelling. */
const char *pk_ascii_of(uint32_t code);
/* The text in those. In the arena. */
const char *pk_text_ascii(const char *text, struct pk_arena *a);

/* Appends a cell as people read it: scaled, with the column's decimals. NULL and NaN append nothing. What would be shown with
 * zeros alone, or with 3 decimals below 0.01, gets as many significant digits as the column has decimals, one at least: 0.00524,
 * never 0.000. Below 1e-9 is rounding noise and stays zero. From 1e15 on there is an exponent, 1e+300,
 * whatever decimals the column has. An interval takes the next cell, too: "1.8–13.0", and "-1.8 to 13.0" where an end is negative. */
void pk_text_cell(struct pk_buf *b, const struct pk_column *col, const struct pk_cell *cell);

/* What is between the ends; the first is "-" on a terminal without Unicode. */
#define PK_INTERVAL_DASH "–"
#define PK_INTERVAL_TO   " to "

/* plot.c: numbers between lo and hi as a bar of up to `width` characters ("" when not finite), or n of them as a sparkline. */
const char *pk_text_bar(double v, double lo, double hi, unsigned width, struct pk_arena *a);
const char *pk_text_spark(const double *v, size_t n, double lo, double hi, struct pk_arena *a);
