/* Oracle: what its files share: questions, and how to say an answer. */
#pragma once

#include <stddef.h>

enum { MOST = 4096 };

/* "FUNCTION number number ..." is answered by a line of numbers. */
struct question {
    const char *name;
    void (*answer)(double *v, size_t n); /* v has room for MOST */
};

extern const struct question stats_questions[], infer_questions[]; /* each ends with a NULL name */

void say(double v);
