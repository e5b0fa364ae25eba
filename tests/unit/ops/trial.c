/* Trial: arrays with guards, and the comparison. */
#include "trial.h"

#include "base/rng.h"
#include "reference.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { GUARD = 0xa5, GUARD_BYTES = PK_POOL_ALIGN, POISON = 0xff };

static void must(struct trial *t, enum pk_code rc)
{
    if (rc)
        fail_msg("%s: %s", t->err.what, t->err.why);
}

static void copy(struct trial *t, enum pk_copy dir, void *dst, const void *src, size_t bytes)
{
    must(t, pk_device_copy(t->dev, PK_LANE_COMPUTE, dir, dst, src, bytes, &t->err));
    must(t, pk_device_sync(t->dev, &t->err));
}

void *trial_bytes(struct trial *t, const void *contents, size_t bytes)
{
    const size_t all = bytes + 2 * GUARD_BYTES;
    unsigned char *image = pk_alloc(&t->arena, all);
    memset(image, GUARD, GUARD_BYTES);
    memset(image + GUARD_BYTES + bytes, GUARD, GUARD_BYTES);
    if (contents)
        memcpy(image + GUARD_BYTES, contents, bytes);
    else
        memset(image + GUARD_BYTES, POISON, bytes);
    unsigned char *base = pk_device_alloc(t->dev, all, PK_TAG_OTHER);
    assert_non_null(base);
    assert_true(t->n < sizeof t->array / sizeof *t->array);
    t->array[t->n].base = base;
    t->array[t->n++].bytes = bytes;
    copy(t, PK_COPY_HOST_TO_DEVICE, base, image, all);
    return base + GUARD_BYTES;
}

float *trial_input(struct trial *t, const float *host, size_t n)
{
    return trial_bytes(t, host, n * sizeof *host);
}

void *trial_stored(struct trial *t, enum pk_dtype type, float *host, size_t n)
{
    if (type == PK_FP32)
        return trial_input(t, host, n);
    uint16_t *narrow = pk_new_n(&t->arena, uint16_t, n);
    for (size_t i = 0; i < n; i++)
        host[i] = pk_bf16_to_float(narrow[i] = pk_bf16_of_float(host[i]));
    return trial_bytes(t, narrow, n * sizeof *narrow);
}

float *trial_output(struct trial *t, size_t n)
{
    return trial_bytes(t, NULL, n * sizeof(float));
}

/* A prime, so that no two rows of a shape begin alike. Drawing all numbers was half of a large trial's time. */
enum { PERIOD = 65521, SEEDS = 64 };

/* The first n numbers of a seed or more, drawn once. */
static const float *drawn_from(uint64_t seed, size_t n)
{
    static struct {
        struct pk_rng r;
        size_t n;
        float v[PERIOD];
    } kept[SEEDS];
    assert_true(seed < SEEDS);
    if (!kept[seed].n)
        kept[seed].r = (struct pk_rng){seed};
    for (; kept[seed].n < n; kept[seed].n++)
        kept[seed].v[kept[seed].n] = (float)pk_rng_normal(&kept[seed].r);
    return kept[seed].v;
}

float *trial_random(struct trial *t, size_t n, uint64_t seed)
{
    const size_t own = n < PERIOD ? n : PERIOD;
    float *p = pk_new_n(&t->arena, float, n);
    memcpy(p, drawn_from(seed, own), own * sizeof *p);
    for (size_t i = own; i < n; i++)
        p[i] = p[i - PERIOD];
    return p;
}

void *trial_fetch(struct trial *t, const void *device, size_t bytes)
{
    void *p = pk_alloc(&t->arena, bytes);
    copy(t, PK_COPY_DEVICE_TO_HOST, p, device, bytes);
    return p;
}

const float *trial_wide(struct trial *t, enum pk_dtype type, const void *device, size_t n)
{
    float *wide = pk_new_n(&t->arena, float, n);
    memcpy(wide, trial_fetch(t, device, n * pk_dtype_bytes(type)), n * pk_dtype_bytes(type));
    if (type == PK_BF16)
        pk_bf16_widen(wide, n);
    return wide;
}

static void give_back(struct trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        pk_device_free(t->dev, t->array[i].base);
    t->n = 0;
    pk_arena_free(&t->arena);
}

void trial_ran(struct trial *t, const char *op, enum pk_code rc)
{
    if (rc == PK_E_UNAVAILABLE) {
        print_message("%s: %s, %s\n", op, t->err.what, t->err.why);
        give_back(t);
        skip();
    }
    if (rc)
        fail_msg("%s with %s: %s: %s", op, t->label, t->err.what, t->err.why);
}

double trial_error(struct trial *t, const float *device, const double *want, size_t n)
{
    return pk_reference_error(trial_fetch(t, device, n * sizeof *device), want, n);
}

double trial_allowed(enum pk_dtype operands, enum pk_math math, enum pk_dtype result, size_t terms)
{
    const bool tensor_cores = operands == PK_BF16 || math != PK_MATH_IEEE;
    const double sums = (tensor_cores ? 32 : 8) * 0x1p-23 * sqrt((double)terms + 16);
    const double of_operands = operands == PK_FP32 && math == PK_MATH_TF32 ? 8 * 0x1p-11 : 0;
    return sums + of_operands + (result == PK_BF16 ? 0x1p-8 : 0);
}

void trial_close(struct trial *t, const char *what, enum pk_dtype type, const void *device,
                 const double *want, size_t n, double allowed)
{
    const double error = pk_reference_error(trial_wide(t, type, device, n), want, n);
    if (error > allowed)
        fail_msg("%s with %s: error %g, allowed %g", what, t->label, error, allowed);
}

void trial_near(struct trial *t, const char *what, const float *device, const double *want, size_t n,
                size_t terms)
{
    trial_close(t, what, PK_FP32, device, want, n, trial_allowed(PK_FP32, PK_MATH_IEEE, PK_FP32, terms));
}

static bool guarded(const unsigned char *guard)
{
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (guard[i] != GUARD)
            return false;
    return true;
}

void trial_end(struct trial *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const size_t bytes = t->array[i].bytes;
        const unsigned char *all = trial_fetch(t, t->array[i].base, bytes + 2 * GUARD_BYTES);
        if (!guarded(all) || !guarded(all + GUARD_BYTES + bytes))
            fail_msg("%s wrote %s array %zu of %zu bytes", t->label,
                     guarded(all) ? "behind the end of" : "before", i, bytes);
    }
    give_back(t);
}
