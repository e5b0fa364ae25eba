/* Glob: patterns as one automaton over bytes.
 *
 * A position is a place in one of the patterns; a set of positions is an array of `words` 64-bit words. Reading a byte turns
 * a set into the next one; a set that holds the end of a pattern has matched it. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PK_NO_RULE UINT32_MAX

/* Why this is no pattern (plan.h), in the arena; NULL for a good one. */
const char *pk_glob_fault(const char *pattern, struct pk_arena *a);

struct pk_globs {
    size_t words;
    uint64_t *start;   /* before the first byte */
    uint64_t *leads;   /* [256][words] positions that a byte leads on from */
    uint64_t *stars;   /* positions that every byte stays at: '*' */
    uint64_t *ends;    /* ends of patterns, in their order */
    uint32_t *rule_of; /* of each position: the index of its pattern, which is that of a plan's rule */
};

/* Of n patterns, every one a good one. */
const struct pk_globs *pk_globs_new(const char *const *pattern, size_t n, struct pk_arena *a);

/* Reads one byte; false when nothing is left that could match. */
bool pk_globs_read(const struct pk_globs *g, uint64_t *set, unsigned char byte);

/* The first pattern that has matched, or PK_NO_RULE. */
uint32_t pk_globs_matched(const struct pk_globs *g, const uint64_t *set);
