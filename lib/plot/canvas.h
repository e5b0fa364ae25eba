/* Canvas: a drawing in characters. A cell has a text of one column, or dots: 2 beside and 4 above each other, as braille has them; without
 * UTF-8 any dot is a point. Coordinates of dots grow to the right and down; what is outside is not drawn. */
#pragma once

#include "base/text/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { PK_CANVAS_ACROSS = 2, PK_CANVAS_DOWN = 4 }; /* dots in a cell */

struct pk_canvas_cell {
    uint8_t dots;
    uint8_t color; /* 0 = none; pk_canvas_row */
    char text[5];  /* UTF-8; "" = dots */
};

struct pk_canvas {
    unsigned cols, rows;
    bool ascii;
    struct pk_canvas_cell *cells;
};

struct pk_canvas_dot {
    double x, y;
};

struct pk_canvas pk_canvas_make(unsigned cols, unsigned rows, bool ascii, struct pk_arena *a);
/* A line of dots; of a dashed one half of them. */
void pk_canvas_line(struct pk_canvas *c, struct pk_canvas_dot from, struct pk_canvas_dot to, bool dashed,
                    unsigned color);
/* A text from a cell on, over dots; what may change a terminal's state is left out. Returns the columns it takes. */
unsigned pk_canvas_text(struct pk_canvas *c, int col, int row, const char *text, unsigned color);
/* The text at the cell of a dot. */
void pk_canvas_mark(struct pk_canvas *c, struct pk_canvas_dot at, const char *text, unsigned color);
/* A line of the drawing without blanks at its end, with escapes for colours if they are wanted. In the arena. */
const char *pk_canvas_row(const struct pk_canvas *c, unsigned row, bool color, struct pk_arena *a);
