/* Palette: the colours, and which words and notes have one. A colour repeats what the word says; it never says more. */
#include "out/text.h"

#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

static const char *const escapes[] = {
    [PK_STYLE_PLAIN] = "",       [PK_STYLE_TITLE] = "\x1b[1m",  [PK_STYLE_GOOD] = "\x1b[32m",
    [PK_STYLE_BAD] = "\x1b[31m", [PK_STYLE_DOUBT] = "\x1b[33m", [PK_STYLE_END] = "\x1b[0m"};

/* The words of columns that are states: verdicts, what a row of doctor found, how a case or a run ended. */
static const struct {
    const char *word;
    enum pk_style style;
} words[] = {
    {"faster", PK_STYLE_GOOD},
    {"ok", PK_STYLE_GOOD},
    {"OK", PK_STYLE_GOOD},
    {"yes", PK_STYLE_GOOD},
    {"complete", PK_STYLE_GOOD},
    {"equal", PK_STYLE_GOOD},
    {"good", PK_STYLE_GOOD},
    {"slower", PK_STYLE_BAD},
    {"slower-in-some", PK_STYLE_BAD},
    {"regression", PK_STYLE_BAD},
    {"bad", PK_STYLE_BAD},
    {"no", PK_STYLE_BAD},
    {"unavailable", PK_STYLE_BAD},
    {"failed", PK_STYLE_BAD},
    {"OOM", PK_STYLE_BAD},
    {"oom", PK_STYLE_BAD},
    {"timeout", PK_STYLE_BAD},
    {"not comparable", PK_STYLE_BAD},
    {"undecided", PK_STYLE_DOUBT},
    {"unreplicated", PK_STYLE_DOUBT},
    {"unstable", PK_STYLE_DOUBT},
    {"not told apart", PK_STYLE_DOUBT},
    {"warn", PK_STYLE_DOUBT},
    {"degraded", PK_STYLE_DOUBT},
    {"partly", PK_STYLE_DOUBT},
    {"skipped", PK_STYLE_DOUBT},
    {"skip", PK_STYLE_DOUBT},
    {"nothing measured", PK_STYLE_DOUBT},
    {"nothing judged", PK_STYLE_DOUBT},
    {"not reached", PK_STYLE_DOUBT},
    {"interrupted", PK_STYLE_DOUBT},
    {"running", PK_STYLE_DOUBT},
};

/* How a note begins that is a warning. */
static const char *const warnings[] = {
    "!", "noisy:", "Uncertain:", "Not measured:", "The setups differ:", "Measured on a busy host:"};

const char *pk_style_escape(enum pk_style style)
{
    return escapes[style];
}

enum pk_style pk_style_of_word(const char *word)
{
    for (size_t i = 0; i < COUNT(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].style;
    return PK_STYLE_PLAIN;
}

enum pk_style pk_style_of_note(const char *note)
{
    for (size_t i = 0; i < COUNT(warnings); i++)
        if (strncmp(note, warnings[i], strlen(warnings[i])) == 0)
            return PK_STYLE_DOUBT;
    return PK_STYLE_PLAIN;
}
