/* Replies: a worker's replies to requests other than cases (requests of pass `calibration`), as slices, and how they are read: the
 * ceilings of a device, the self-test of a counter source, and a test that the worker responds. */
#pragma once

#include "counter/source.h"
#include "ops/ceilings/ceilings.h"
#include "wire/slice.h"

/* Experiments of such requests; any other requests the ceilings of the device or, from ranks, a sign that they respond. */
#define PK_REQUEST_SELFTEST "source-selftest" /* the variant is the source's name */
#define PK_REQUEST_ENVIRONMENT                                                                               \
    "environment" /* around a case of a peer: variant "before", then "after", the reply has the notes of environment.h */

/* A ceiling of struct pk_ceilings. */
struct pk_ceiling_row {
    const char *key, *unit;
    size_t offset;
    bool of_some;  /* devices: 0 on others, and not stored */
    bool of_curve; /* from the largest sizes: how good it is depends on how far the arrays grew */
    bool of_level; /* of a level above memory: it says nothing about how busy the host is */
};
enum { PK_CEILING_ROWS = 7 + 3 * PK_LEVEL_MEMORY };
extern const struct pk_ceiling_row pk_ceiling_rows[PK_CEILING_ROWS];

/* The variant of a request for ceilings that also wants the curve of one lane. */
#define PK_REQUEST_ONE_LANE "one-lane"

static inline double *pk_ceiling(struct pk_ceilings *c, size_t row)
{
    return (double *)((char *)c + pk_ceiling_rows[row].offset);
}

/* One value per ceiling that the device has, and the curves as a note. In the arena. */
void pk_ceilings_slice(const struct pk_ceilings *c, const struct pk_curves *curves, struct pk_arena *a,
                       struct pk_slice *out);
/* PK_E_INTERNAL when one that every device has is missing or not positive. Of a curve its lanes, points and `stop` are filled. */
enum pk_code pk_ceilings_of_slice(const struct pk_slice *slice, struct pk_ceilings *out,
                                  struct pk_curves *curves, struct pk_err *err) PK_MUST_CHECK;

/* Runs a source's self-test in this process. PK_E_USAGE for a source that this build does not have. In the arena. */
enum pk_code pk_selftest_slice(const char *source, struct pk_arena *a, struct pk_slice *out,
                               struct pk_err *err) PK_MUST_CHECK;
/* Texts in the arena. An unknown state becomes PK_SOURCE_UNAVAILABLE. */
struct pk_source_found pk_selftest_of_slice(const struct pk_slice *s, struct pk_arena *a);

/* An exact number. In the arena. */
struct pk_slice pk_number_slice(const char *name, int64_t value, struct pk_arena *a);
