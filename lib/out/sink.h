/* Sink: bytes and numbers on their way to a stream, through one large buffer.
 *
 * Errors stick: after the first failed write nothing more is tried, and `error` is its errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PK_SINK_BYTES = 1 << 16 };

struct pk_sink {
    FILE *f;
    int error; /* errno of the first failure, 0 = none */
    size_t n;
    char buf[PK_SINK_BYTES];
};

void pk_sink_put(struct pk_sink *s, const char *bytes, size_t n);
void pk_sink_str(struct pk_sink *s, const char *text);
void pk_sink_char(struct pk_sink *s, char c);
void pk_sink_int(struct pk_sink *s, int64_t v);
/* The shortest of 15 to 17 significant digits that reads back as the same number, with a point below 1e15 ("3.0",
 * "1e+300"). v is finite. The caller has a locale with a decimal point. In real.c. */
void pk_sink_real(struct pk_sink *s, double v);
void pk_sink_flush(struct pk_sink *s); /* buffer and stream */
