/* Choices: the fastest of several implementations, found by timing them (for example the algorithms of a matrix product). A choice is
 * made once per run and passed to every process of the run: different choices would look like noise between processes.
 *
 * Key and value are text. The key contains everything that the choice depends on, the library's version included. A given choice is a
 * hint and must be checked before use. Texts live as long as the device; no choice is made in a timed region. */
#pragma once

#include "device/device.h"

/* On the wire and in the store a choice is the setting "choice:KEY". */
#define PK_CHOICE_PREFIX "choice:"
enum { PK_CHOICE_KEY_MAX = 128 - sizeof PK_CHOICE_PREFIX, PK_CHOICE_VALUE_MAX = 1024, PK_CHOICES_MAX = 4096 };

/* A choice that the parent process passes on, before measuring. Choices made in this process are kept. */
void pk_choice_give(struct pk_device *dev, const char *key, const char *value);
/* NULL when there is no choice. */
const char *pk_choice_of(const struct pk_device *dev, const char *key);
/* A choice made in this process; the key has at most PK_CHOICE_KEY_MAX bytes (asserted). why: why a given choice was refused and is
 * replaced; NULL = none was. */
void pk_choice_make(struct pk_device *dev, const char *key, const char *value, const char *why);
/* Passes choices made since the last call to fn, as settings; with "choice_warning" for each refused one. A notice of the device is passed
 * once, as the fact of its key. */
void pk_choices_report(struct pk_device *dev, pk_fact_fn *fn, void *user);
