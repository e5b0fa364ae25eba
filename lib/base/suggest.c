/* Suggest: the nearest word by edit distance with transpositions. */
#include "base/suggest.h"

#include "base/buf.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

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
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    return d[na][nb];
}

const char *pk_suggest(const char *wrong, const char *const *words, size_t n)
{
    const char *best = NULL;
    size_t best_d = LONGEST;
    for (size_t i = 0; i < n; i++) {
        size_t longer = strlen(wrong) > strlen(words[i]) ? strlen(wrong) : strlen(words[i]);
        size_t near = longer / 3 ? longer / 3 : 1, d = distance(wrong, words[i]);
        if (d <= near && d < best_d) {
            best_d = d;
            best = words[i];
        }
    }
    return best;
}

const char *pk_suggest_text(struct pk_arena *a, const char *wrong, const char *const *words, size_t n)
{
    const char *best = pk_suggest(wrong, words, n);
    if (best)
        return pk_printf(a, "did you mean '%s'?", best);
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, "one of: ");
    for (size_t i = 0; i < n; i++)
        pk_buf_printf(&b, "%s%s", i ? ", " : "", words[i]);
    return pk_buf_text(&b);
}
