/* Slice: the words for statuses, phases and passes. */
#include "wire/slice.h"

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
    [PK_PASS_TIMING] = "timing",      [PK_PASS_COUNTER] = "counter", [PK_PASS_TRACE] = "trace",
    [PK_PASS_MEMORY] = "memory",      [PK_PASS_POWER] = "power",     [PK_PASS_CALIBRATION] = "calibration",
    [PK_PASS_CALIBRATION + 1] = NULL,
};

/* Index of a word in a list, or -1. */
static int find(const char *const *words, const char *word)
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
    int i = find(pk_status_words, name);
    if (i >= 0)
        *s = (enum pk_status)i;
    return i >= 0;
}

bool pk_phase_parse(const char *name, enum pk_phase *p)
{
    int i = find(pk_phase_words, name);
    if (i >= 0)
        *p = (enum pk_phase)i;
    return i >= 0;
}

bool pk_pass_parse(const char *name, enum pk_pass *p)
{
    int i = find(pk_pass_words, name);
    if (i >= 0)
        *p = (enum pk_pass)i;
    return i >= 0;
}
