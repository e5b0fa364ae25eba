/* Suggest: did-you-mean for commands, options, experiments, axes, metrics. */
#pragma once

#include "base/arena.h"

/* The word of words[0..n) nearest to `wrong` (case-folded Damerau-Levenshtein distance of at most a third of the
 * longer word, at least 1, and something in common), or NULL when none is near enough. */
const char *pk_suggest(const char *wrong, const char *const *words, size_t n);

/* The same where words are also known by others: also[i] = "other another" for words[i], or NULL; also may be NULL. Of equally near ones
 * the word itself. */
const char *pk_suggest_also(const char *wrong, const char *const *words, const char *const *also, size_t n);

/* "did you mean 'x'?" when one is near, else "one of: a, b, c". In the arena. */
const char *pk_suggest_text(struct pk_arena *a, const char *wrong, const char *const *words, size_t n);
