/* Json: typed getters over jansson. */
#include "json/json.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *pk_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *pk_json_texts(const char *const *v, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n && v[i]; i++)
        json_array_append_new(array, json_string(v[i]));
    return array;
}

const char *pk_json_str(const json_t *obj, const char *key, const char *fallback)
{
    const json_t *v = json_object_get(obj, key);
    return json_is_string(v) ? json_string_value(v) : fallback;
}

int64_t pk_json_int(const json_t *obj, const char *key, int64_t fallback)
{
    const json_t *v = json_object_get(obj, key);
    return json_is_integer(v) ? json_integer_value(v) : fallback;
}

double pk_json_num(const json_t *obj, const char *key, double fallback)
{
    const json_t *v = json_object_get(obj, key);
    return json_is_number(v) ? json_number_value(v) : fallback;
}

int pk_json_bool(const json_t *obj, const char *key, int fallback)
{
    const json_t *v = json_object_get(obj, key);
    return json_is_boolean(v) ? json_is_true(v) : fallback;
}

char *pk_json_text(struct pk_arena *a, const json_t *j, size_t flags)
{
    size_t n = json_dumpb(j, NULL, 0, flags);
    char *s = pk_alloc(a, n + 1);
    pk_assert(json_dumpb(j, s, n, flags) == n);
    return s;
}

const char *pk_json_value_text(struct pk_arena *a, const json_t *v)
{
    if (json_is_string(v))
        return pk_strdup(a, json_string_value(v));
    if (json_is_boolean(v))
        return json_is_true(v) ? "on" : "off";
    size_t digits = 6;
    while (json_is_real(v) && digits < 17 &&
           strtod(pk_json_text(a, v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits)), NULL) !=
               json_real_value(v))
        digits++;
    return pk_json_text(a, v, PK_JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
}

/* Behind a string without escapes; NULL when this is none. */
static const char *string_end(const char *s)
{
    if (*s != '"')
        return NULL;
    s += 1 + strcspn(s + 1, "\"\\");
    return *s == '"' ? s + 1 : NULL;
}

bool pk_json_next_member(const char **at, struct pk_json_member *m)
{
    const char *p = *at;
    if (strcmp(p, "}") == 0 || strcmp(p, "{}") == 0)
        return false;
    *at = NULL;
    if (*p != '{' && *p != ',')
        return false;
    const char *name = p + 1, *colon = string_end(name);
    if (!colon || *colon != ':')
        return false;
    const char *value = colon + 1, *end = string_end(value);
    if (*value != '"')
        end = value + strspn(value, "0123456789+-.eEtrufalsn"); /* a number, true, false or null */
    if (!end || end == value || (*end != ',' && *end != '}'))
        return false;
    *m = (struct pk_json_member){name + 1, value, (size_t)(colon - name) - 2, (size_t)(end - value)};
    *at = end;
    return true;
}
