/* Slice: the words for statuses, phases and passes, and the notes that forbid a verdict. */
#include "wire/slice.h"

#include "json/json.h"

#include <string.h>

const char *const pk_status_words[] = {
    [PK_ST_OK] = "ok",
    [PK_ST_OOM] = "oom",
    [PK_ST_TIMEOUT] = "timeout",
    [PK_ST_SKIPPED] = "skipped",
    [PK_ST_FAILED] = "failed",
    [PK_ST_INTERRUPTED] = "interrupted",
    [PK_ST_INTERRUPTED + 1] = NULL,
};
const char *const pk_phase_words[] = {
    [PK_PHASE_FIRST] = "first",         [PK_PHASE_WARMUP] = "warmup", [PK_PHASE_STEADY] = "steady",
    [PK_PHASE_DISTURBED] = "disturbed", [PK_PHASES] = NULL,
};
const char *const pk_pass_words[] = {
    [PK_PASS_TIMING] = "timing", [PK_PASS_COUNTER] = "counter", [PK_PASS_TRACE] = "trace",
    [PK_PASS_MEMORY] = "memory", [PK_PASS_POWER] = "power",     [PK_PASS_OTHER] = "calibration",
    [PK_PASS_OTHER + 1] = NULL,
};

/* The index of a word in a list that ends with NULL; -1 = none. */
static int index_of(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

const char *pk_status_name(enum pk_status s)
{
    return pk_status_words[s];
}

const char *pk_phase_name(enum pk_phase p)
{
    return pk_phase_words[p];
}

const char *pk_pass_name(enum pk_pass p)
{
    return pk_pass_words[p];
}

bool pk_status_parse(const char *name, enum pk_status *s)
{
    const int i = index_of(pk_status_words, name);
    if (i >= 0)
        *s = (enum pk_status)i;
    return i >= 0;
}

bool pk_phase_parse(const char *name, enum pk_phase *p)
{
    const int i = index_of(pk_phase_words, name);
    if (i >= 0)
        *p = (enum pk_phase)i;
    return i >= 0;
}

bool pk_pass_parse(const char *name, enum pk_pass *p)
{
    const int i = index_of(pk_pass_words, name);
    if (i >= 0)
        *p = (enum pk_pass)i;
    return i >= 0;
}

void pk_slice_add_notes(struct pk_slice *s, const struct pk_note *notes, size_t n, struct pk_arena *a)
{
    struct pk_note *all = pk_new_n(a, struct pk_note, s->n_notes + n);
    for (size_t i = 0; i < s->n_notes; i++)
        all[i] = s->notes[i];
    for (size_t i = 0; i < n; i++)
        all[s->n_notes++] = notes[i];
    s->notes = all;
}

void pk_slice_set_warmup(struct pk_slice *s, struct pk_arena *a)
{
    struct pk_series *series = pk_new_n(a, struct pk_series, s->n_series + 1);
    for (size_t i = 0; i < s->n_series; i++) {
        series[i] = s->series[i];
        if (series[i].phase == PK_PHASE_STEADY)
            series[i].phase = PK_PHASE_WARMUP;
    }
    s->series = series;
}

/* A note that is this word, or a list that holds it; NULL: a list of anything. */
static const struct {
    const char *key, *word;
} unstable_notes[] = {
    {"class", "slowdown"},
    {"doubts", "throttled"},
    {"doubts", "clock-fell"},
    {"doubts:gpu", NULL},
};

static bool note_has_word(const json_t *note, const char *word)
{
    const json_t *item;
    size_t i;
    if (json_is_string(note))
        return word && strcmp(json_string_value(note), word) == 0;
    json_array_foreach(note, i, item)
    {
        if (!word || note_has_word(item, word))
            return true;
    }
    return false;
}

bool pk_slice_unstable(const struct pk_slice *s)
{
    for (size_t i = 0; i < s->n_notes; i++) {
        PK_JSON_CLEANUP json_t *note = NULL;
        for (size_t g = 0; g < sizeof unstable_notes / sizeof *unstable_notes; g++) {
            if (strcmp(s->notes[i].key, unstable_notes[g].key) != 0)
                continue;
            note = note ? note : json_loads(s->notes[i].json, JSON_DECODE_ANY, NULL);
            if (note_has_word(note, unstable_notes[g].word))
                return true;
        }
    }
    return false;
}

/* Fast for nearly all notes, without parsing: the words of doubts follow the first "doubts". */
bool pk_notes_unstable(const char *notes)
{
    const char *doubts = strstr(notes, "\"doubts");
    bool may_be = false;
    for (size_t g = 0; g < sizeof unstable_notes / sizeof *unstable_notes && !may_be; g++) {
        const char *from = strncmp(unstable_notes[g].key, "doubts", 6) == 0 ? doubts : notes;
        may_be =
            from && strstr(from, unstable_notes[g].word ? unstable_notes[g].word : unstable_notes[g].key);
    }
    if (!may_be)
        return false;
    PK_JSON_CLEANUP json_t *j = json_loads(notes, 0, NULL);
    for (size_t g = 0; g < sizeof unstable_notes / sizeof *unstable_notes; g++)
        if (note_has_word(json_object_get(j, unstable_notes[g].key), unstable_notes[g].word))
            return true;
    return false;
}
