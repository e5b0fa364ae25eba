/* Glob: a pattern is a sequence of byte sets and stars; all sequences are concatenated in one set of positions. */
#include "model/patch/glob.h"

#include "base/err.h"

#include <string.h>

enum { BYTES = 256 };

/* ---- patterns ----------------------------------------------------------------------------------------- */

struct glob_token {
    bool star;
    bool member[BYTES]; /* the bytes it matches, when it is no star: */
    size_t low, high;   /* of these at most, and most often of one */
};

enum fault { NO_FAULT, OPEN, CLASS, CARET, REVERSED };

static const char *const reasons[] = {
    [OPEN] = "the [ at byte %zu has no ] that closes it; a bracket itself is [[]",
    [CLASS] = "the set at byte %zu has a class such as [:alpha:]; write the characters or a range: [a-z]",
    [CARET] = "the set at byte %zu begins with ^; what is not in a set is written [!a-z]",
    [REVERSED] = "the set at byte %zu has a range that ends before it begins",
};

static bool begins_class(const char *p)
{
    return *p == '[' && p[1] && strchr(":.=", p[1]);
}

/* From after '[' to after ']'. */
static enum fault read_set(const char **at, struct glob_token *t)
{
    const char *p = *at;
    bool absent = *p == '!';
    p += absent;
    if (*p == '^')
        return CARET;
    do {
        unsigned char low = (unsigned char)*p, high = low;
        if (!low)
            return OPEN;
        if (begins_class(p))
            return CLASS;
        p++;
        if (*p == '-' && p[1] && p[1] != ']') {
            high = (unsigned char)p[1];
            if (begins_class(p + 1))
                return CLASS;
            if (high < low)
                return REVERSED;
            p += 2;
        }
        memset(&t->member[low], true, high - low + 1u);
    } while (*p != ']');
    for (size_t c = 1; absent && c < BYTES; c++)
        t->member[c] = !t->member[c];
    *at = p + 1;
    return NO_FAULT;
}

/* Stars in a row are one. */
static enum fault read_token(const char **at, struct glob_token *t)
{
    char c = *(*at)++;
    *t = (struct glob_token){.star = c == '*', .high = BYTES - 1};
    if (c == '[')
        return read_set(at, t);
    if (c == '?')
        memset(t->member, true, sizeof t->member);
    else
        t->low = t->high = (unsigned char)c;
    t->member[(unsigned char)c] = true;
    if (t->star)
        *at += strspn(*at, "*");
    return NO_FAULT;
}

const char *pk_glob_fault(const char *pattern, struct pk_arena *a)
{
    struct glob_token t;
    if (!*pattern)
        return "it is empty";
    for (const char *p = pattern; *p;) {
        size_t byte = (size_t)(p - pattern) + 1;
        enum fault fault = read_token(&p, &t);
        if (fault)
            return pk_printf(a, reasons[fault], byte);
    }
    return NULL;
}

/* ---- positions ---------------------------------------------------------------------------------------- */

static void add(uint64_t *set, size_t position)
{
    set[position / 64] |= UINT64_C(1) << position % 64;
}

/* A position before a star is also after it, because the star may match nothing. */
static void pass_stars(const struct pk_globs *g, uint64_t *set)
{
    uint64_t carry = 0;
    for (size_t w = 0; w < g->words; w++) {
        uint64_t at = set[w] & g->stars[w];
        set[w] |= at << 1 | carry;
        carry = at >> 63;
    }
}

/* The positions of one pattern, the last its end. Returns how many there are. */
static size_t add_positions(struct pk_globs *g, size_t first, const char *pattern, uint32_t rule)
{
    size_t at = first;
    add(g->start, at);
    for (struct glob_token t; *pattern; at++) {
        pk_assert(read_token(&pattern, &t) == NO_FAULT);
        g->rule_of[at] = rule;
        if (t.star)
            add(g->stars, at);
        for (size_t c = t.low; !t.star && c <= t.high; c++)
            if (t.member[c])
                add(g->leads + c * g->words, at);
    }
    g->rule_of[at] = rule;
    add(g->ends, at);
    return at + 1 - first;
}

const struct pk_globs *pk_globs_new(const char *const *pattern, size_t n, struct pk_arena *a)
{
    size_t room = 0, at = 0; /* positions: at most one a byte, and the end */
    for (size_t r = 0; r < n; r++)
        room += strlen(pattern[r]) + 1;
    struct pk_globs *g = pk_new(a, struct pk_globs);
    g->words = (room + 63) / 64;
    g->start = pk_new_n(a, uint64_t, g->words);
    g->leads = pk_new_n(a, uint64_t, BYTES * g->words);
    g->stars = pk_new_n(a, uint64_t, g->words);
    g->ends = pk_new_n(a, uint64_t, g->words);
    g->rule_of = pk_new_n(a, uint32_t, g->words * 64);
    for (size_t r = 0; r < n; r++)
        at += add_positions(g, at, pattern[r], (uint32_t)r);
    pass_stars(g, g->start);
    return g;
}

bool pk_globs_read(const struct pk_globs *g, uint64_t *set, unsigned char byte)
{
    const uint64_t *leads = g->leads + byte * g->words;
    uint64_t carry = 0, any = 0;
    for (size_t w = 0; w < g->words; w++) {
        uint64_t on = set[w] & leads[w];
        set[w] = on << 1 | carry | (set[w] & g->stars[w]);
        carry = on >> 63;
        any |= set[w];
    }
    pass_stars(g, set);
    return any;
}

uint32_t pk_globs_matched(const struct pk_globs *g, const uint64_t *set)
{
    for (size_t w = 0; w < g->words; w++)
        if (set[w] & g->ends[w])
            return g->rule_of[w * 64 + (size_t)__builtin_ctzll(set[w] & g->ends[w])];
    return PK_NO_RULE;
}
