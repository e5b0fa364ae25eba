/* Doubt: does a slice's own word, in its notes, forbid a verdict over its times?
 *
 * Of what makes a slice doubtful (view v_doubt) these change how fast everything runs, and for longer than a pair of processes
 * takes: the class "slowdown", the doubts "throttled" and "clock-fell", and whatever a GPU's state was doubted for (doubts:gpu).
 * Being disturbed for a while is noise, which intervals hold. */
#pragma once

#include "wire/slice.h"

bool pk_slice_unstable(const struct pk_slice *s);

/* The same of all notes as the store keeps them, one JSON object. Quick where the answer is no. */
bool pk_notes_unstable(const char *notes);
