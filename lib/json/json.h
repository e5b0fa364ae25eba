/* Json: the only place that includes jansson.h; typed getters that tolerate what is missing.
 *
 * Used by the wire protocol, the JSON writers and wherever canonical JSON text is made. The store keeps using SQLite's JSON
 * functions inside queries. Objects keep insertion order unless PK_JSON_CANON is asked for.
 * jansson refuses NaN and Inf; pk_json_real turns them into null. */
#pragma once

#include "base/arena.h"

#include <jansson.h>
#include <stdint.h>

#define PK_JSON_COMPACT (JSON_COMPACT | JSON_ENCODE_ANY)
#define PK_JSON_CANON   (JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY)

static inline void pk_json_cleanup(json_t **j)
{
    json_decref(*j);
}

#define PK_JSON_CLEANUP __attribute__((cleanup(pk_json_cleanup)))

/* A real, or null when x is not finite. */
json_t *pk_json_real(double x);

/* An array of the texts v[0..n), or of those before a NULL: with n = SIZE_MAX, of a list that ends with it. */
json_t *pk_json_texts(const char *const *v, size_t n);

/* Members of an object with a fallback for "absent or of another type". */
const char *pk_json_str(const json_t *obj, const char *key, const char *fallback);
int64_t pk_json_int(const json_t *obj, const char *key, int64_t fallback);
double pk_json_num(const json_t *obj, const char *key, double fallback);
int pk_json_bool(const json_t *obj, const char *key, int fallback);

/* Text of a value in the arena; flags as of json_dumps. */
char *pk_json_text(struct pk_arena *a, const json_t *j, size_t flags);
/* Text of a value as people read it: a string without its quotes, on or off, a number with the fewest digits that read back the same. */
const char *pk_json_value_text(struct pk_arena *a, const json_t *v);

/* A member of an object, as it stands in its text: a string with its quotes. */
struct pk_json_member {
    const char *name, *value;
    size_t name_bytes, value_bytes;
};

/* The next member of an object in the compact text that pk_json_text makes, found without building the object, where many are to be
 * looked at; *at begins as the text. False behind the last one, and for a text or a member that is not plain (a value that is an
 * object or a list, anything escaped, blanks): *at is then NULL, and json_loads is to be asked. */
bool pk_json_next_member(const char **at, struct pk_json_member *m);
