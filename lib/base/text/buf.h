/* Buf: a string that grows, in an arena. Always NUL terminated once anything was added. */
#pragma once

#include "base/arena.h"

struct pk_buf {
    struct pk_arena *arena; /* where the text lives; set before first use: struct pk_buf b = {.arena = a} */
    char *s;                /* NULL while empty */
    size_t n, cap;          /* bytes without, and with room for, the NUL */
};

void pk_buf_add(struct pk_buf *b, const char *s, size_t n);
void pk_buf_str(struct pk_buf *b, const char *s);
void pk_buf_char(struct pk_buf *b, char c);
void pk_buf_printf(struct pk_buf *b, const char *fmt, ...) PK_PRINTF(2, 3);

/* Empties the text and keeps its memory. */
void pk_buf_clear(struct pk_buf *b);

/* The text, "" when nothing was added. */
const char *pk_buf_text(const struct pk_buf *b);
