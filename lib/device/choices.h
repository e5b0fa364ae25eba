/* Choices: which of several implementations is fastest, found by trying them, such as the algorithm of a matrix product. A choice is
 * made once per run and passed to every process of the run: choices that differ between processes would look like noise between them.
 *
 * Key and value are text. The key names what was chosen for and everything that it depends on, the library's version included. What
 * was given is a hint: who uses it checks it first. Texts live as long as the device; none is made in a timed region. */
#pragma once

#include "device/device.h"

/* As settings on the wire and in the store choices are called "choice:KEY". */
#define PK_CHOICE_PREFIX "choice:"
enum {
    PK_CHOICE_KEY_MOST = 128 - sizeof PK_CHOICE_PREFIX,
    PK_CHOICE_VALUE_MOST = 1024,
    PK_CHOICES_MOST = 4096
};

/* From whoever runs this process, before it measures. What was made here stands. */
void pk_choice_give(struct pk_device *dev, const char *key, const char *value);
/* NULL: nobody has chosen. */
const char *pk_choice_of(const struct pk_device *dev, const char *key);
/* Chosen here. The key has at most PK_CHOICE_KEY_MOST bytes (asserted). Over one that was given: that was refused, because of `why`. */
void pk_choice_make(struct pk_device *dev, const char *key, const char *value, const char *why);
/* What was made since the last call, as settings; with "choice_warning" for each that was refused. */
void pk_choices_tell(struct pk_device *dev, pk_fact_fn *fn, void *user);
