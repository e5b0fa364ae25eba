/* Gate sides, private: what record.c writes and noise.c looks for. */
#pragma once

#include "judge/gate/sides/sides.h"

enum { PK_GATE_WARMUP = 0 }; /* runs of a side that is a program, before those that count */

/* The words of a side that is a program, as they are recorded: an array. */
json_t *pk_gate_side_words(const struct pk_gate_side *s);
