/* Lines: the texts of a row side by side, each wrapped at its column's width, line after line.
 *
 * A table goes over its texts twice, to find how wide its columns are and to write them: lines are not kept, for there may be a
 * hundred thousand. */
#pragma once

#include "out/layout.h"
#include "out/sink.h"

struct pk_line_piece {
    const char *text;
    size_t bytes, width;
};

struct pk_lines {
    size_t n; /* columns */
    const struct pk_layout_column *columns;
    size_t *widths; /* of what was seen of each; at first 0 */

    /* the line that pk_lines_next made, and what is left of each text behind it: room for n */
    struct pk_line_piece *piece;
    const char **rest;
    const size_t *above;
    size_t line;
};

/* above[i] lines stay empty above text i; with NULL none do, and only columns of texts wrap. */
void pk_lines_begin(struct pk_lines *l, const char *const *texts, const size_t *above);
/* False behind the last one. */
bool pk_lines_next(struct pk_lines *l);
void pk_lines_see(struct pk_lines *l);
/* Without blanks at its end. */
void pk_lines_put(const struct pk_lines *l, struct pk_sink *s);
/* How wide the widest one is. */
size_t pk_lines_width(const struct pk_lines *l);
