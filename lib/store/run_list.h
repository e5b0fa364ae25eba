/* Run list: which runs of an experiment a store has, oldest first. */
#pragma once

#include "store/store.h"

struct pk_run_wanted {
    const char *experiment;
    const char *label; /* NULL = any */
    bool gates;        /* also runs that are sides of a gate */
    int64_t last;      /* so many of the newest; 0 = all */
};

/* Runs that are over. PK_E_NOTHING when the store has no run at all; PK_E_USAGE for an experiment or a label that none of its runs has,
 * with the nearest that some have. *n may be 0: there are sides of gates only. */
enum pk_code pk_store_run_list(struct pk_store *s, const struct pk_run_wanted *w, struct pk_arena *a,
                               int64_t **ids, size_t *n, struct pk_err *err) PK_MUST_CHECK;
