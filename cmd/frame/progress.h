/* Progress: the state of a run on standard error, printed only between slices. */
#pragma once

#include "bench/session/session.h"
#include "cmd/cmd.h"

struct pk_progress {
    struct pk_app *app;
    enum { PK_PROGRESS_NONE, PK_PROGRESS_PLAIN, PK_PROGRESS_BAR } kind;
    bool drawn; /* a bar is on the line */
};

/* --progress auto|plain|none: auto is a bar on a terminal and nothing elsewhere. */
void pk_progress_begin(struct pk_progress *p, struct pk_app *app);
void pk_progress_slice(void *progress, const struct pk_planned *c, const struct pk_slice *s, size_t done,
                       size_t total, int64_t left_ns);
void pk_progress_warning(void *progress, const char *text);
void pk_progress_erase(struct pk_progress *p); /* before anything else is written on stderr */
void pk_progress_end(struct pk_progress *p);
