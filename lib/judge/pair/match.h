/* Match: pairs figures or cases of two sides by a text key. The caller that makes the key decides what belongs together: the identity of
 * a case between runs, its place among the cases of one gate, all but one axis within a run, or the axes that tell the cases of a plan
 * apart. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

struct pk_match {
    struct pk_match_key {
        const char *key;
        size_t at; /* place among those that were given */
    } * v;         /* sorted; of one key in the order of their places */
    size_t n;
    bool *taken; /* by place; the caller's */
};

struct pk_match pk_match_make(const char *const *keys, size_t n, struct pk_arena *a);

/* Where the keys that are equal to this one begin in v; n where there is none. */
size_t pk_match_first(const struct pk_match *m, const char *key);

/* The place of the first entry with this key that is not used yet, or, when `again`, of the first. SIZE_MAX = none. */
size_t pk_match_find(const struct pk_match *m, const char *key, bool again);
