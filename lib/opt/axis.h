/* Axes: the typed parameters of an experiment, their sweeps, and the points of the sweeps.
 *
 * An axis is a row in a probe. Its text forms:
 *   list    256,1024,4096        fp32,bf16        on,off
 *   range   256:16384:*2   (multiply)    0:100:+10   (add)    both ends included when hit
 *   sizes   1MiB,25MB,1MiB:64MiB:*2      (PK_AXIS_SIZE; MB = 10^6, MiB = 2^20, bare M refused)
 *   rates   25GB,500MB                   (PK_AXIS_RATE, bytes in a second: sizes that always have a unit)
 *   files   bert,my.tree                 (PK_AXIS_FILE: the default's word, or paths)
 * Errors name the axis, the value, the allowed range or choices, and an example that works. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Those whose values are numbers come first. */
enum pk_axis_type {
    PK_AXIS_INT,
    PK_AXIS_SIZE,
    PK_AXIS_RATE,
    PK_AXIS_FLOAT,
    PK_AXIS_ENUM,
    PK_AXIS_BOOL,
    PK_AXIS_FILE
};

enum { PK_AXES_MAX = 24, PK_SWEEP_MAX = 4096, PK_POINTS_MAX = 1 << 16, PK_AXIS_FILE_BYTES_MAX = 16 << 20 };

/* INT, SIZE, RATE: i. FLOAT: f. ENUM: i = index into choices. BOOL: i = 0 or 1. FILE: s, the axis's word, or "PATH#DIGEST" with 8 hex
 * digits of the contents, so that a file that was changed is another case. */
union pk_value {
    int64_t i;
    double f;
    const char *s;
};

struct pk_point;

/* A condition: axis number `axis` of the same table, which stands above, has one of these values. */
struct pk_axis_when {
    size_t axis;
    const union pk_value *v;
    size_t n;
};

struct pk_axis {
    const char *name; /* "seq_len"; ends the table when NULL */
    enum pk_axis_type type;
    const char *unit;           /* "tokens", "bytes", NULL */
    double min, max;            /* inclusive; INT, SIZE, RATE, FLOAT */
    const char *const *choices; /* ENUM: NULL-terminated */
    const char *def;  /* default sweep, as a user would write it; FILE: one word that means no file */
    const char *born; /* the single value that was the default when the axis was added; never edited
                                   afterwards: a case whose value equals it leaves it out of its identity */
    const char *help; /* one sentence */
    bool data;        /* FILE: of any bytes and any length; else text of at most PK_AXIS_FILE_BYTES_MAX */
    bool folder;      /* FILE: a folder that is written to, which need not exist; its digest is 0 */
    /* Optional: absent from points where it answers false. It may look at axes that stand above it in the
     * table. */
    bool (*applies)(const struct pk_point *p);
    const struct pk_axis_when *when; /* optional, the same as data: absent where it does not hold */
    /* Optional, a composite axis (ENUM, model=small): for each choice, "axis=value axis=value ..." that
     * become the defaults of those axes at that point. As many as choices and in their order, NULL-terminated. It stands above the
     * axes it sets. */
    const char *const *sets;
    /* Optional: "axis=value" for another axis, which values of this axis imply unless the request sets that one as well. Of two rows
     * that disagree the later one is right. */
    const char *implies;
    /* Optional: "context length", names that people may know it by, and of ENUM what they may call its choices: as many, in their order,
     * NULL-terminated. They are suggested, never taken: an axis has one name. */
    const char *also;
    const char *const *choices_also;
};

/* A sweep: the values one axis takes, in the order written, without repeats. */
struct pk_sweep {
    const union pk_value *v;
    size_t n;
};

/* A point: a value for every axis of the table (by row index), with absent axes marked. */
struct pk_point {
    const struct pk_axis *axes;
    size_t n;
    union pk_value v[PK_AXES_MAX];
    bool absent[PK_AXES_MAX];
};

/* One value as a user writes it, or a usage error that names the axis and what it takes. Texts live in the arena. A file is read here:
 * text of at most 16 MiB in a regular file. With "#DIGEST" behind the path its contents must still have that digest. The digest of
 * data is of its length and of 16 MiB spread over it, which other weights of the same shape do not share. */
enum pk_code pk_axis_value(const struct pk_axis *axis, const char *text, struct pk_arena *a,
                           union pk_value *v, struct pk_err *err) PK_MUST_CHECK;
/* Files are the same when name and contents are, in whatever folders. */
bool pk_axis_same(const struct pk_axis *axis, union pk_value a, union pk_value b);

/* The path of a FILE axis's value; NULL when it is the axis's word. In the arena. */
const char *pk_axis_file_path(union pk_value v, struct pk_arena *a);
/* What counts of it: the word, or "NAME#DIGEST" without its folder. */
const char *pk_axis_file_name(union pk_value v);

/* Parses "256,1024" for one axis. Empty text, an empty element, a value out of range or off the list, a range
 * that does not advance, and more than PK_SWEEP_MAX values are usage errors. Fuzzed. */
enum pk_code pk_sweep_parse(const struct pk_axis *axis, const char *text, struct pk_arena *a,
                            struct pk_sweep *out, struct pk_err *err) PK_MUST_CHECK;

/* A sweep of a request: it is parsed once, and then carried in this form. */
struct pk_axis_sweep {
    size_t axis; /* index in the table */
    struct pk_sweep sweep;
    const char *text; /* as it was written: "seq_len=256:1024:*2" */
};

/* Parses "name=values". Unknown axes (with a did-you-mean) and bad values are usage errors. The text is borrowed. */
enum pk_code pk_axis_assign(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                            struct pk_axis_sweep *out, struct pk_err *err) PK_MUST_CHECK;

/* Puts s into sweeps[s->axis]; an axis that has a sweep already is a usage error. */
enum pk_code pk_sweeps_add(const struct pk_axis *axes, const struct pk_axis_sweep *s, struct pk_sweep *sweeps,
                           struct pk_err *err) PK_MUST_CHECK;
/* Every assignment of "axis=sweep axis=sweep", as probes write presets and check points. */
enum pk_code pk_sweeps_assign_all(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                                  struct pk_sweep *sweeps, struct pk_err *err) PK_MUST_CHECK;

/* "256,1024": the values of a sweep as a user would write them. In the arena. */
const char *pk_sweep_text(const struct pk_axis *axis, const struct pk_sweep *s, struct pk_arena *a);

size_t pk_axes_count(const struct pk_axis *axes);
int pk_axis_index(const struct pk_axis *axes, const char *name); /* -1 when there is none */
/* The same for names that people wrote: an unknown one is a usage error with a did-you-mean. */
enum pk_code pk_axis_find(const struct pk_axis *axes, const char *name, size_t *index,
                          struct pk_err *err) PK_MUST_CHECK;

/* Its values are numbers: they have an order and can be ranges. */
static inline bool pk_axis_ordered(const struct pk_axis *axis)
{
    return axis->type <= PK_AXIS_FLOAT;
}

/* What an axis takes, for people: "an integer from 1 to 65536 (tokens)", "one of fp32, tf32, bf16". In the arena. */
const char *pk_axis_takes(const struct pk_axis *axis, struct pk_arena *a);

/* The text of one value, as a user would write it ("64MiB" for sizes, "25GB" for rates). In the arena. */
const char *pk_axis_format(const struct pk_axis *axis, union pk_value v, struct pk_arena *a);

/* Does axis i apply at a point of which the axes above it are set? */
bool pk_axis_applies(const struct pk_point *p, size_t i);

/* Does a point have axis i? Not where its table ends before, where it does not apply, and not when it is a composite: that is a way to write the axes it
 * sets, and points that differ in nothing else are one point. */
static inline bool pk_point_has(const struct pk_point *p, size_t i)
{
    return i < p->n && !p->absent[i] && !p->axes[i].sets;
}

/* All axes that a point has as a JSON object (numbers as numbers, sizes and rates in bytes, enums and files as strings, bools
 * as booleans), keys sorted; and only those that differ from `born` (case identity), files without their folders. Texts in the
 * arena. */
const char *pk_point_json(const struct pk_point *p, struct pk_arena *a);
const char *pk_point_identity(const struct pk_point *p, struct pk_arena *a);

/* For people: "d_model=16 seq_len=256", the present axes i with which[i]; NULL = those that differ from `born`. "" = none. */
const char *pk_point_text(const struct pk_point *p, const bool *which, struct pk_arena *a);
/* Axes in which n points differ, by index; one that some lack and others have is among them. */
void pk_points_differ(const struct pk_point *const *points, size_t n, bool *differ);

/* Fills a point from a JSON object written by pk_point_json; unknown names and out-of-range values are errors
 * (workers and peers check their requests). Axes that are missing take their default's first value, or
 * are absent where they do not apply. */
enum pk_code pk_point_from_json(const struct pk_axis *axes, const json_t *obj, struct pk_arena *a,
                                struct pk_point *p, struct pk_err *err) PK_MUST_CHECK;

/* Expands blocks of sweeps to points: the cartesian product per block in row-major order (last axis fastest),
 * blocks one after the other, without repeats; composites and `applies` resolved. sweeps[b][i].n == 0 means
 * "the default of axis i". More than PK_POINTS_MAX points are a usage error. */
struct pk_grid {
    const struct pk_axis *axes;
    size_t n_axes, n_blocks;
    struct pk_sweep (*sweeps)[PK_AXES_MAX];
};
enum pk_code pk_grid_expand(const struct pk_grid *g, struct pk_arena *a, struct pk_point **points, size_t *n,
                            struct pk_err *err) PK_MUST_CHECK;

/* Filters: "seq_len>=1024,d_model=64,variant=flash|fused": all comma parts must hold; operators = != < <= >
 * >=, values of = and != may be alternatives with '|'. Names are axes or `variant`; order is for numbers
 * only. An axis that is absent from a point satisfies no part but !=. Fuzzed. */
struct pk_filter;
enum pk_code pk_filter_parse(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                             struct pk_filter **out, struct pk_err *err) PK_MUST_CHECK;
bool pk_filter_match(const struct pk_filter *f, const struct pk_point *p, const char *variant);
