/* Words: a shell's quoting without a shell; what only a shell would do is refused. */
#include "opt/opt.h"

#include <ctype.h>
#include <string.h>

struct scan {
    const char *at;
    char *out;           /* end of the word that is being read */
    const char *special; /* the first thing that only a shell understands; NULL = none */
};

/* $HOME, ${X}, $(date), `date` */
static bool expands(const char *s)
{
    return *s == '`' || (*s == '$' && s[1] && (isalnum((unsigned char)s[1]) || strchr("_{(@*#?$!-", s[1])));
}

static void note_special(struct scan *s)
{
    if (!s->special)
        s->special = s->at;
}

/* From quote to quote; false when there is no second one. */
static bool read_quoted(struct scan *s)
{
    const char quote = *s->at++;
    while (*s->at && *s->at != quote) {
        if (quote == '"' && *s->at == '\\' && s->at[1] && strchr("$`\"\\", s->at[1]))
            s->at++;
        else if (quote == '"' && expands(s->at))
            note_special(s);
        *s->out++ = *s->at++;
    }
    return *s->at && s->at++;
}

static bool read_word(struct scan *s)
{
    const char *begin = s->at;
    while (*s->at && !isspace((unsigned char)*s->at)) {
        if (*s->at == '"' || *s->at == '\'') {
            if (!read_quoted(s))
                return false;
            continue;
        }
        if (*s->at == '\\' && s->at[1])
            s->at++;
        else if (strchr("|&;<>()*?[", *s->at) || expands(s->at) || (s->at == begin && strchr("~#", *s->at)))
            note_special(s);
        *s->out++ = *s->at++;
    }
    *s->out++ = '\0';
    return true;
}

static enum pk_code no_command(const char *option, const char *text, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s'%s' is not a command", option, text);
    pk_why(err, "%s", why);
    return pk_fix(err, "give a program with its arguments: %s'./solve input.txt'", option);
}

static enum pk_code needs_shell(const char *option, const char *text, const char *special, struct pk_err *err)
{
    const size_t n = expands(special) ? strcspn(special, " \t\n\"'") : 1;
    pk_fail(err, PK_E_USAGE, "%s'%s' needs a shell", option, text);
    pk_why(err, "only a shell understands '%.*s', and no shell is started", (int)n, special);
    return pk_fix(err, "%s\"sh -c '...'\", or put it in single quotes to pass it unchanged", option);
}

enum pk_code pk_words_split(const char *option, const char *text, struct pk_arena *a,
                            const char *const **words, struct pk_err *err)
{
    const size_t length = strlen(text);
    const char **v = pk_new_n(a, const char *, length / 2 + 2);
    struct scan s = {.at = text, .out = pk_new_n(a, char, 2 * length + 2)};
    const char *given = option ? pk_printf(a, "--%s ", option) : "";
    size_t n = 0;
    *words = NULL;
    for (;;) {
        s.at += strspn(s.at, " \t\n\v\f\r");
        if (!*s.at)
            break;
        v[n++] = s.out;
        if (!read_word(&s))
            return no_command(given, text, "a quote is not closed", err);
    }
    if (!n)
        return no_command(given, text, "it is empty", err);
    if (s.special)
        return needs_shell(given, text, s.special, err);
    size_t name = 0; /* of the variable that a first word like X=1 would set */
    while (isalnum((unsigned char)v[0][name]) || v[0][name] == '_')
        name++;
    if (name && !isdigit((unsigned char)*v[0]) && v[0][name] == '=') {
        pk_fail(err, PK_E_USAGE, "%s'%s' needs a shell", given, text);
        pk_why(err, "only a shell would set the variable '%s', and no shell is started", v[0]);
        return pk_fix(err, "%s'env %s'", given, text);
    }
    *words = v;
    return PK_OK;
}

enum pk_code pk_opt_in_words(int argc, const char *const *argv, size_t n, bool *in_words, struct pk_err *err)
{
    int i = 0;
    while (i < argc && strcmp(argv[i], "--") != 0)
        i++;
    *in_words = i < argc;
    if (i >= argc || (size_t)(argc - 1 - i) == n)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "there are arguments before and after --");
    pk_why(err, "after -- come the words of one command; without it, each argument is a command line");
    return pk_fix(err, "put all words of one command after --, or each command in quotes and omit --");
}
