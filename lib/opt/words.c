/* Words: popt splits, this refuses what it would take literally. */
#include "opt/words.h"

#include <popt.h>
#include <stdlib.h>
#include <string.h>

static bool needs_shell(const char *word)
{
    static const char *const operators[] = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", NULL};
    for (const char *const *o = operators; *o; o++)
        if (strcmp(word, *o) == 0)
            return true;
    return false;
}

static const char *const *copied(const char *const *v, int n, struct pk_arena *a)
{
    const char **words = pk_new_n(a, const char *, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        words[i] = pk_strdup(a, v[i]);
    return words;
}

/* popt ends an open quote where the text ends. */
static bool quote_open(const char *text)
{
    char quote = 0;
    for (; *text; text++) {
        if (*text == '\\' && text[1])
            text++;
        else if (quote ? *text == quote : *text == '"' || *text == '\'')
            quote = quote ? 0 : *text;
    }
    return quote;
}

enum pk_code pk_words_split(const char *option, const char *text, struct pk_arena *a,
                            const char *const **words, struct pk_err *err)
{
    const char **v = NULL;
    int n = 0, rc = quote_open(text) ? POPT_ERROR_BADQUOTE : poptParseArgvString(text, &n, &v);
    *words = rc ? NULL : copied(v, n, a);
    free(v);
    if (rc) {
        pk_fail(err, PK_E_USAGE, "--%s '%s' is no command", option, text);
        pk_why(err, rc == POPT_ERROR_BADQUOTE ? "a quote is not closed" : "it is empty");
        return pk_fix(err, "give a program with its arguments: --%s './solve input.txt'", option);
    }
    for (int i = 0; i < n; i++)
        if (needs_shell((*words)[i])) {
            pk_fail(err, PK_E_USAGE, "--%s '%s' needs a shell", option, text);
            pk_why(err, "'%s' means something to a shell only, and none is started", (*words)[i]);
            return pk_fix(err, "--%s \"sh -c '...'\"", option);
        }
    return PK_OK;
}
