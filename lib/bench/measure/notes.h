/* Notes: what is worth knowing about a series of samples: outliers, drift, disturbances, class. Inner part of measure.c;
 * measure.h lists the notes. */
#pragma once

#include "bench/measure/stop.h"
#include "json/json.h"

struct pk_notes {
    struct pk_arena *arena;
    struct pk_note *v;
    size_t n, cap;
};

void pk_note_json(struct pk_notes *notes, const char *key, json_t *stolen);
void pk_note_text(struct pk_notes *notes, const char *key, const char *text);
void pk_note_int(struct pk_notes *notes, const char *key, int64_t value);

/* Adds the notes about repeatable regions, where the case has any. */
void pk_notes_of_repeats(struct pk_notes *notes, const struct pk_stopper *st);

/* Adds the notes about the steady samples' times, in time order. */
void pk_notes_of_samples(struct pk_notes *notes, const struct pk_stopper *st);
