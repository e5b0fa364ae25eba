/* Probe invalid: whether the descriptor of an experiment is sound. */
#pragma once

#include "bench/probe.h"

/* The first broken promise of a descriptor: NULL when sound, else a sentence. */
const char *probe_invalid(const struct pk_probe *p, struct pk_arena *a);
