/* Html: writes the text of a page so that what was recorded is data, never markup.
 *
 * Errors of the stream are the caller's: ferror(f) at the end. */
#pragma once

#include "json/json.h"

#include <stdio.h>

/* Writes fmt, in which each '%' stands for the next argument, a text (const char *; NULL = ""), which is escaped for content and for
 * attributes in double quotes, with characters replaced that a terminal would not get either (out/text.h):
 *     pk_html(f, "<h2 id=\"%\">%</h2>\n", id, title);
 * The markup of fmt is a literal. Nothing else writes a text that is not from this program. */
void pk_html(FILE *f, const char *fmt, ...);

/* A block of data that scripts and programs read: <script type="application/json" id="ID">. No text in it can end the block. */
void pk_html_json(FILE *f, const char *id, const json_t *j);
