/* Fuzz: what the targets share. A target promises: any bytes end in PK_OK or in a usage error of three parts. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void pk_fuzz_refusal(const struct pk_err *err)
{
    pk_assert(err->code == PK_E_USAGE && err->what[0] && err->why[0] && err->fix[0]);
}
