/* Doubt: which notes are grave. */
#include "wire/doubt.h"

#include "json/json.h"

#include <string.h>

/* A note that is this word, or a list that holds it; NULL: a list of anything. */
static const struct {
    const char *key, *word;
} grave[] = {
    {"class", "slowdown"},
    {"doubts", "throttled"},
    {"doubts", "clock-fell"},
    {"doubts:gpu", NULL},
};

static bool says(const json_t *note, const char *word)
{
    const json_t *item;
    size_t i;
    if (json_is_string(note))
        return word && strcmp(json_string_value(note), word) == 0;
    json_array_foreach(note, i, item)
    {
        if (!word || says(item, word))
            return true;
    }
    return false;
}

bool pk_slice_unstable(const struct pk_slice *s)
{
    for (size_t i = 0; i < s->n_notes; i++) {
        PK_JSON_CLEANUP json_t *note = NULL;
        for (size_t g = 0; g < sizeof grave / sizeof *grave; g++) {
            if (strcmp(s->notes[i].key, grave[g].key) != 0)
                continue;
            note = note ? note : json_loads(s->notes[i].json, JSON_DECODE_ANY, NULL);
            if (says(note, grave[g].word))
                return true;
        }
    }
    return false;
}

/* False for nearly all notes, before anything is parsed: the words of doubts stand behind the first of them. */
static bool may_be_grave(const char *notes)
{
    const char *doubts = strstr(notes, "\"doubts");
    for (size_t g = 0; g < sizeof grave / sizeof *grave; g++) {
        const bool is_doubt = strncmp(grave[g].key, "doubts", 6) == 0;
        const char *from = is_doubt ? doubts : notes, *word = grave[g].word ? grave[g].word : grave[g].key;
        if (from && strstr(from, word))
            return true;
    }
    return false;
}

bool pk_notes_unstable(const char *notes)
{
    if (!may_be_grave(notes))
        return false;
    PK_JSON_CLEANUP json_t *j = json_loads(notes, 0, NULL);
    for (size_t g = 0; g < sizeof grave / sizeof *grave; g++)
        if (says(json_object_get(j, grave[g].key), grave[g].word))
            return true;
    return false;
}
