/* Members: reading and refusing the members of a descriptor. For the files of this folder. */
#pragma once

#include "bench/own/own.h"

struct reading {
    struct pk_arena *a;
    struct pk_own *own;
    const char *who;
    struct pk_err *err;
};

/* PK_E_USAGE: `where` is the member ("axes[2]"), the rest the reason. */
enum pk_code pk_descriptor_refuse(const struct reading *r, const char *where, const char *fmt, ...)
    PK_PRINTF(3, 4);

/* An array of at most `most`; absent is empty. */
enum pk_code pk_descriptor_list(const struct reading *r, const json_t *obj, const char *key, size_t most,
                                const json_t **list) PK_MUST_CHECK;
/* A string without control characters; `fallback` where it is absent. */
enum pk_code pk_descriptor_text(const struct reading *r, const json_t *obj, const char *where,
                                const char *key, const char *fallback, const char **out) PK_MUST_CHECK;

/* No control characters. */
bool pk_descriptor_is_plain(const char *s, size_t n);

/* What names may be made of: SQL and options have those of axes and metrics; those of experiments stand in messages, too; words are
 * values that people type, in lists and filters. */
enum pk_name_kind { PK_NAME_KEY, PK_NAME_EXPERIMENT, PK_NAME_WORD };
enum pk_code pk_descriptor_name(const struct reading *r, const char *where, const json_t *name,
                                enum pk_name_kind kind, const char **out) PK_MUST_CHECK;
/* One of a list of words, by its index. */
enum pk_code pk_descriptor_word(const struct reading *r, const json_t *obj, const char *where,
                                const char *key, const char *const *words, size_t fallback,
                                size_t *out) PK_MUST_CHECK;
bool pk_descriptor_has(const char *const *names, size_t n, const char *name);

/* Canonical, with the `born` of every axis of `own`, so that a later descriptor can follow this one. */
const char *pk_descriptor_as_text(const json_t *j, const struct pk_own *own, struct pk_arena *a);

/* What filters and tables call otherwise: no axis and no metric of a program has such a name. */
bool pk_descriptor_is_reserved(const char *name);

/* axes.c */
enum pk_code pk_descriptor_axes(struct reading *r, const json_t *j) PK_MUST_CHECK;
