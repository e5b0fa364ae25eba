/* Members: what a member of a descriptor may be, and how one that is not is refused. */
#include "bench/own/members.h"

#include "base/text/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum pk_code pk_descriptor_refuse(const struct reading *r, const char *where, const char *fmt, ...)
{
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    pk_fail(r->err, PK_E_USAGE, "%s: the description of its experiment is refused", r->who);
    pk_why(r->err, "%s: %s", where, why);
    return pk_fix(r->err,
                  "correct the program; `perfkit help own-experiments` has what a description may contain");
}

enum pk_code pk_descriptor_list(const struct reading *r, const json_t *obj, const char *key, size_t most,
                                const json_t **list)
{
    *list = json_object_get(obj, key);
    if (*list && !json_is_array(*list))
        return pk_descriptor_refuse(r, key, "it is not a list");
    return json_array_size(*list) > most
               ? pk_descriptor_refuse(r, key, "%zu entries are more than %zu", json_array_size(*list), most)
               : PK_OK;
}

bool pk_descriptor_is_plain(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            return false;
    return true;
}

enum pk_code pk_descriptor_text(const struct reading *r, const json_t *obj, const char *where,
                                const char *key, const char *fallback, const char **out)
{
    const json_t *v = json_object_get(obj, key);
    *out = fallback;
    if (!v || json_is_null(v))
        return PK_OK;
    if (!json_is_string(v) || json_string_length(v) > PK_OWN_TEXT_MAX ||
        !pk_descriptor_is_plain(json_string_value(v), json_string_length(v)))
        return pk_descriptor_refuse(r, where,
                                    "`%s` is not a text of at most %d bytes without control characters", key,
                                    PK_OWN_TEXT_MAX);
    *out = pk_strdup(r->a, json_string_value(v));
    return PK_OK;
}

enum pk_code pk_descriptor_name(const struct reading *r, const char *where, const json_t *name,
                                enum pk_name_kind kind, const char **out)
{
#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
    static const struct {
        const char *first, *rest, *said;
    } kinds[] = {
        [PK_NAME_KEY] = {LOWER, LOWER DIGITS "_",
                         "lower-case letters, digits and _, beginning with a letter"},
        [PK_NAME_EXPERIMENT] = {LOWER UPPER DIGITS, LOWER UPPER DIGITS "._-",
                                "letters, digits and . _ -, beginning with a letter or digit"},
        [PK_NAME_WORD] = {LOWER UPPER DIGITS "_-.:+/()[]@", LOWER UPPER DIGITS "_-.:+/()[]@",
                          "letters, digits and _ - . : + / ( ) [ ] @"},
    };
    const char *s = json_string_value(name);
    const size_t n = json_string_length(name);
    if (!s || !n || n > PK_OWN_NAME_MAX || strlen(s) != n || !strchr(kinds[kind].first, *s) ||
        strspn(s, kinds[kind].rest) != n)
        return pk_descriptor_refuse(r, where, "a name is not 1 to %d characters: %s", PK_OWN_NAME_MAX,
                                    kinds[kind].said);
    *out = pk_strdup(r->a, s);
    return PK_OK;
}

enum pk_code pk_descriptor_word(const struct reading *r, const json_t *obj, const char *where,
                                const char *key, const char *const *words, size_t fallback, size_t *out)
{
    const json_t *v = json_object_get(obj, key);
    *out = fallback;
    if (!v || json_is_null(v))
        return PK_OK;
    for (*out = 0; words[*out]; ++*out)
        if (json_is_string(v) && strcmp(words[*out], json_string_value(v)) == 0)
            return PK_OK;
    return pk_descriptor_refuse(r, where, "`%s` is not one of %s", key, pk_list(words, SIZE_MAX, ", ", r->a));
}

bool pk_descriptor_is_reserved(const char *name)
{
    static const char *const names[] = {
        "variant",  "variants",    "device",      "seed",         "command",          "case",
        "status",   "message",     "others",      "uncertainty",  "speedup",          "low_ns",
        "high_ns",  "of_floor",    "speedup_low", "speedup_high", "rate_flops_per_s", "rate_bytes_per_s",
        "lives_in", "above_floor", "peak_bytes"};
    return pk_descriptor_has(names, sizeof names / sizeof *names, name);
}

bool pk_descriptor_has(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

const char *pk_descriptor_as_text(const json_t *j, const struct pk_own *own, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *copy = json_deep_copy(j);
    json_t *list = json_object_get(copy, "axes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *axis = json_array_get(list, i);
        const int at = pk_axis_index(own->probe.axes, pk_json_str(axis, "name", ""));
        json_object_set_new(axis, "born", json_string(own->probe.axes[at].born));
    }
    json_object_del(copy, "type");
    return pk_json_text(a, copy, PK_JSON_CANON);
}
