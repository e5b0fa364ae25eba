/* Spool import: slices of a spool (spool.h), recorded in the store that their run is in. */
#pragma once

#include "store/store.h"

/* Records every slice of a spool in the store its run is in. Slices that are there already are counted, not
 * doubled. A last slice that was cut short is ignored. */
struct pk_spool_result {
    size_t added, known;
};
enum pk_code pk_spool_import(struct pk_store *s, const char *path, struct pk_spool_result *out,
                             struct pk_err *err) PK_MUST_CHECK;
