/* Pfm: the names that processors' vendors give events, and what the kernel calls them. libpfm4 is opened when it is first asked, with
 * the events of processors that are not here too. Not thread safe. */
#pragma once

#include "counter/perf/reader.h"

/* NULL when libpfm4 is there, else why not. */
const char *pk_pfm_absent(void);
const char *pk_pfm_advice(void); /* the command that brings it */
/* "4.13"; "" when it is not there. */
const char *pk_pfm_version(struct pk_arena *a);

/* "skx::INST_RETIRED:ANY_P". False when it is not there or does not know the name. */
bool pk_pfm_encode(const char *name, struct pk_perf_code *out);
