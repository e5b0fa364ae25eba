/* Words: splits lists, reads switches, forms plurals with their verbs, and finds the nearest known word (commands, options, experiments, axes, metrics). */
#pragma once

#include "base/arena.h"

/* The next part of *rest up to `sep`, blanks around it removed, copied into the arena; *rest moves after the separator and becomes NULL
 * with the last part. NULL when *rest is NULL. An empty text has one empty part.
 *     for (const char *rest = text, *part; (part = pk_next_part(&rest, ',', a));) ... */
char *pk_next_part(const char **rest, char sep, struct pk_arena *a);

/* Blanks in a line of a file: a space, a tab, the \r before its end. */
bool pk_is_blank(char c);
/* Without the blanks at both ends. */
void pk_trim(const char **text, size_t *n);
/* How many bytes come before the first control character that is not a blank. */
size_t pk_printable(const char *text, size_t n);

/* Whether an environment variable has the value "on". Programs with raised privileges read none. */
bool pk_switched_on(const char *variable);

/* "a, b, c" with ", " between n words, or with SIZE_MAX those before a NULL. In the arena. */
const char *pk_list(const char *const *words, size_t n, const char *between, struct pk_arena *a);

/* In the order of strcmp. */
void pk_sort_texts(const char **v, size_t n);

/* Is `word` one of the parts of list[0..n) between separators, blanks included? */
bool pk_has_part(const char *list, size_t n, char sep, const char *word);

/* An error in one line: "WHAT: WHY; try: FIX", without the parts that it does not have. In the arena. */
const char *pk_error_line(const struct pk_err *err, struct pk_arena *a);

/* Does s end with `end`, and has something before it? */
bool pk_ends_with(const char *s, const char *end);

/* 1, "case" -> "1 case"; 2, "process" -> "2 processes"; 12345, "sample" -> "12345 samples". In the arena. */
const char *pk_plural(size_t n, const char *noun, struct pk_arena *a);
/* The noun alone: "case" or "cases". */
const char *pk_plural_noun(size_t n, const char *noun, struct pk_arena *a);

/* Fits a text that begins with a verb in the plural to n subjects: 1, "are not known" -> "is not known". With another n, or another
 * first word, the text is unchanged. In the arena. SQL has it as predicate(n, text), plural(n, noun) and plural_noun(n, noun). */
const char *pk_predicate(size_t n, const char *text, struct pk_arena *a);

/* The word of words[0..n) nearest to `wrong` (case-folded Damerau-Levenshtein distance of at most a third of the
 * longer word, at least 1, and something in common), or NULL when none is near enough. */
const char *pk_suggest(const char *wrong, const char *const *words, size_t n);

/* The same with synonyms: also[i] = "other another" for words[i], or NULL; also may be NULL. When two are equally near, the word itself
 * is preferred. */
const char *pk_suggest_also(const char *wrong, const char *const *words, const char *const *also, size_t n);

/* "did you mean 'x'?" when one is near, else "one of: a, b, c". In the arena. */
const char *pk_suggest_text(struct pk_arena *a, const char *wrong, const char *const *words, size_t n);
