/* Glob: matches several patterns at once with one automaton over bytes.
 *
 * A position is a place in one of the patterns; a set of positions is an array of `words` 64-bit words. Reading a byte replaces a set by
 * the next one; a set that contains the end of a pattern has matched the pattern. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_NO_RULE UINT32_MAX

/* Why this is not a pattern (plan.h), in the arena; NULL for a valid one. */
const char *pk_glob_fault(const char *pattern, struct pk_arena *a);

struct pk_globs {
    size_t words;
    uint64_t *start;   /* before the first byte */
    uint64_t *leads;   /* [256][words] positions from which a byte leads to the next */
    uint64_t *stars;   /* positions that every byte stays at: '*' */
    uint64_t *ends;    /* ends of patterns, in their order */
    uint32_t *rule_of; /* [positions] index of the pattern, which is the index of a plan's rule */
};

/* For n valid patterns. */
const struct pk_globs *pk_globs_new(const char *const *pattern, size_t n, struct pk_arena *a);

/* Reads one byte; false when no pattern can match any more. */
bool pk_globs_read(const struct pk_globs *g, uint64_t *set, unsigned char byte);

/* The first pattern that has matched, or PK_NO_RULE. */
uint32_t pk_globs_matched(const struct pk_globs *g, const uint64_t *set);
