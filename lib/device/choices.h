/* Choices: which of several implementations is fastest, found by trying them, such as the algorithm of a matrix product. A choice is
 * made once per run and passed to every process of the run: choices that differ between processes would look like noise between them.
 *
 * Key and value are text. The key names what was chosen for and everything that it depends on, the library's version included. A given
 * choice is a hint and must be checked before use. Texts live as long as the device; none is made in a timed region. */
#pragma once

#include "device/device.h"

/* As settings on the wire and in the store choices are called "choice:KEY". */
#define PK_CHOICE_PREFIX "choice:"
enum {
    PK_CHOICE_KEY_MOST = 128 - sizeof PK_CHOICE_PREFIX,
    PK_CHOICE_VALUE_MOST = 1024,
    PK_CHOICES_MOST = 4096
};

/* From the parent of this process, before it measures. Choices made here are kept. */
void pk_choice_give(struct pk_device *dev, const char *key, const char *value);
/* NULL: nobody has chosen. */
const char *pk_choice_of(const struct pk_device *dev, const char *key);
/* Chosen here. The key has at most PK_CHOICE_KEY_MOST bytes (asserted). Replaces a given choice that was refused because of `why`. */
void pk_choice_make(struct pk_device *dev, const char *key, const char *value, const char *why);
/* Choices made since the last call, as settings; with "choice_warning" for each refused one. */
void pk_choices_report(struct pk_device *dev, pk_fact_fn *fn, void *user);
