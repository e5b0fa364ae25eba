/* Failed: what the failed cases of a run said. */
#pragma once

#include "store/store.h"

/* The message of all of them; where they differ the commonest, of equally common ones the first. */
const char *pk_failed_text(struct pk_store *s, int64_t run_id, struct pk_arena *a);
