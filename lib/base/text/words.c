/* Words: parts between separators, an "s" where there is not one, the nearest word by edit distance with transpositions. */
#include "base/text/words.h"

#include "base/text/buf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pk_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void pk_trim(const char **text, size_t *n)
{
    for (; *n && pk_is_blank((*text)[*n - 1]); --*n)
        ;
    for (; *n && pk_is_blank(**text); ++*text, --*n)
        ;
}

size_t pk_printable(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && (!iscntrl((unsigned char)text[i]) || pk_is_blank(text[i])))
        i++;
    return i;
}

bool pk_switched_on(const char *variable)
{
    const char *value = secure_getenv(variable);
    return value && !strcmp(value, "on");
}

static bool blank(char c)
{
    return c == ' ' || c == '\t';
}

char *pk_next_part(const char **rest, char sep, struct pk_arena *a)
{
    const char *begin = *rest;
    if (!begin)
        return NULL;
    const char *end = strchr(begin, sep);
    *rest = end ? end + 1 : NULL;
    if (!end)
        end = begin + strlen(begin);
    while (begin < end && blank(*begin))
        begin++;
    while (begin < end && blank(end[-1]))
        end--;
    return pk_strndup(a, begin, (size_t)(end - begin));
}

static int by_bytes(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

void pk_sort_texts(const char **v, size_t n)
{
    if (n)
        qsort(v, n, sizeof *v, by_bytes);
}

const char *pk_error_line(const struct pk_err *err, struct pk_arena *a)
{
    return pk_printf(a, "%s%s%s%s%s", err->what, *err->why ? ": " : "", err->why, *err->fix ? "; try: " : "",
                     err->fix);
}

const char *pk_list(const char *const *words, size_t n, const char *between, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < n && words[i]; i++)
        pk_buf_printf(&b, "%s%s", i ? between : "", words[i]);
    return pk_buf_text(&b);
}

bool pk_has_part(const char *list, size_t n, char sep, const char *word)
{
    const size_t len = strlen(word);
    for (size_t at = 0, part; at <= n; at += part + 1) {
        const char *end = memchr(list + at, sep, n - at);
        part = (end ? (size_t)(end - list) : n) - at;
        if (part == len && !memcmp(list + at, word, len))
            return true;
    }
    return false;
}

const char *pk_plural_noun(size_t n, const char *noun, struct pk_arena *a)
{
    const size_t len = strlen(noun);
    const bool hisses = len && (noun[len - 1] == 's' || (len > 1 && !strcmp(noun + len - 2, "ch")));
    return pk_printf(a, "%s%s", noun, n == 1 ? "" : hisses ? "es" : "s");
}

bool pk_ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

const char *pk_plural(size_t n, const char *noun, struct pk_arena *a)
{
    return pk_printf(a, "%zu %s", n, pk_plural_noun(n, noun, a));
}

const char *pk_predicate(size_t n, const char *text, struct pk_arena *a)
{
    static const struct {
        const char *many, *one;
    } verbs[] = {
        {"are", "is"}, {"were", "was"}, {"match", "matches"}, {"compute", "computes"}, {"come", "comes"}};
    const size_t word = strcspn(text, " ");
    for (size_t i = 0; n == 1 && i < sizeof verbs / sizeof *verbs; i++)
        if (word == strlen(verbs[i].many) && !strncmp(text, verbs[i].many, word))
            return pk_printf(a, "%s%s", verbs[i].one, text + word);
    return text;
}

enum { LONGEST = 63 }; /* word that is compared */

/* Optimal string alignment distance, case folded. Words longer than LONGEST never match. */
static size_t distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b), d[LONGEST + 1][LONGEST + 1];
    if (na > LONGEST || nb > LONGEST)
        return LONGEST;
    for (size_t i = 0; i <= na; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= na; i++)
        for (size_t j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            const size_t changed = d[i - 1][j - 1] + (ca != cb);
            const size_t longer = (d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]) + 1;
            d[i][j] = changed < longer ? changed : longer;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[na][nb];
}

/* What is nearest so far. */
struct nearest {
    const char *word;
    size_t d;
};

/* Takes `word` where `spelling` of it is nearer than what there was, and near enough. */
static void consider(struct nearest *best, const char *wrong, const char *spelling, const char *word)
{
    const size_t nw = strlen(wrong), ns = strlen(spelling), longer = nw > ns ? nw : ns;
    const size_t near = longer / 3 ? longer / 3 : 1, d = distance(wrong, spelling);
    if (d <= near && d < longer && d < best->d)
        *best = (struct nearest){word, d};
}

const char *pk_suggest_also(const char *wrong, const char *const *words, const char *const *also, size_t n)
{
    struct nearest best = {NULL, LONGEST};
    char other[LONGEST + 1];
    for (size_t i = 0; i < n; i++)
        consider(&best, wrong, words[i], words[i]);
    for (size_t i = 0; also && i < n; i++)
        for (const char *at = also[i]; at && *at; at += strspn(at, " ")) {
            const size_t len = strcspn(at, " ");
            snprintf(other, sizeof other, "%.*s", (int)len, at);
            consider(&best, wrong, other, words[i]);
            at += len;
        }
    return best.word;
}

const char *pk_suggest(const char *wrong, const char *const *words, size_t n)
{
    return pk_suggest_also(wrong, words, NULL, n);
}

const char *pk_suggest_text(struct pk_arena *a, const char *wrong, const char *const *words, size_t n)
{
    const char *best = pk_suggest(wrong, words, n);
    if (best)
        return pk_printf(a, "did you mean '%s'?", best);
    return pk_printf(a, "one of: %s", pk_list(words, n, ", ", a));
}
