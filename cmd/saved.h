/* Saved: the run a user names, in the store it is in. */
#pragma once

#include "cmd/cmd.h"
#include "store/store.h"

struct pk_saved {
    struct pk_store *store;
    int64_t run_id;
};

/* REF is "@", "@~1", an id or a label in the user's own store, or FILE:REF for one in another file, which is opened as a
 * stranger's (FILE alone ending in .db or FILE: mean its newest run). The caller closes saved->store; nothing is open after an error. */
enum pk_code pk_saved_open(const struct pk_app *app, const char *ref, struct pk_saved *saved, struct pk_err *err) PK_MUST_CHECK;
