/* Op checks: rectangles, as images of memory that a plain loop on the host makes too. */
#include "op_checks.h"

#include "base/rng.h"
#include "ops/ops.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { UNTOUCHED = 0xa5, MOST = 200, SIZES = 9 };

/* Rectangles of a host image: addresses are offsets until the image is there. */
struct image {
    struct pk_copy2d *v;
    size_t n, src_bytes, dst_bytes;
};

/* A rectangle with room around every row, each image's next byte after the `shift`. */
static void add(struct image *m, size_t rows, size_t row_bytes, size_t src_gap, size_t dst_gap, size_t shift)
{
    struct pk_copy2d *c = &m->v[m->n++];
    *c = (struct pk_copy2d){.src = (void *)(m->src_bytes + shift),
                            .dst = (void *)(m->dst_bytes + 2 * shift),
                            .rows = rows,
                            .row_bytes = row_bytes,
                            .src_stride = row_bytes + src_gap,
                            .dst_stride = row_bytes + dst_gap};
    /* each begins on a boundary of 64 bytes, then shifted */
    m->src_bytes += (shift + (rows + 1) * c->src_stride + 127) / 64 * 64;
    m->dst_bytes += (2 * shift + (rows + 1) * c->dst_stride + 127) / 64 * 64;
}

static void copy_plainly(const struct image *m, const unsigned char *src, unsigned char *dst)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t r = 0; r < m->v[i].rows; r++)
            memcpy(dst + (uintptr_t)m->v[i].dst + r * m->v[i].dst_stride,
                   src + (uintptr_t)m->v[i].src + r * m->v[i].src_stride, m->v[i].row_bytes);
}

/* By launches of a few, or by a table. */
static enum pk_code copy(struct trial *t, const struct pk_copy2d *v, size_t n, bool by_table)
{
    struct pk_copies c;
    if (!by_table)
        return pk_op_copy2d(t->dev, v, n, &t->err);
    enum pk_code rc = pk_copies_make(t->dev, v, n, &c, &t->err);
    if (!rc)
        rc = pk_op_copies(t->dev, &c, &t->err);
    if (!rc)
        rc = pk_device_sync(t->dev, &t->err);
    pk_copies_free(t->dev, &c);
    return rc;
}

/* n where there is none; looked for only where memcmp finds one */
static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t i = memcmp(a, b, n) ? 0 : n;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* Copies to an image of its own that holds `before`, and has to hold `after`. */
static void check_copied(struct trial *t, const struct image *m, const unsigned char *from,
                         const unsigned char *before, const unsigned char *after, bool by_table)
{
    unsigned char *to = trial_bytes(t, before, m->dst_bytes + 1);
    struct pk_copy2d *v = pk_new_n(&t->arena, struct pk_copy2d, m->n + 1);
    for (size_t i = 0; i < m->n; i++) {
        v[i] = m->v[i];
        v[i].src = from + (uintptr_t)m->v[i].src;
        v[i].dst = to + (uintptr_t)m->v[i].dst;
    }
    trial_ran(t, "copy2d", copy(t, v, m->n, by_table));
    const unsigned char *got = trial_fetch(t, to, m->dst_bytes + 1);
    const size_t i = first_difference(got, after, m->dst_bytes + 1);
    if (i <= m->dst_bytes)
        fail_msg("copy2d of %zu rectangles%s with %s: byte %zu is %02x, not %02x", m->n,
                 by_table ? " by a table" : "", t->label, i, got[i], after[i]);
}

static void check_image(struct trial *t, const struct image *m)
{
    struct pk_rng rng = {m->n * 31 + m->src_bytes};
    unsigned char *src = pk_alloc(&t->arena, m->src_bytes + 1);
    unsigned char *before = pk_alloc(&t->arena, m->dst_bytes + 1),
                  *after = pk_alloc(&t->arena, m->dst_bytes + 1);
    for (size_t i = 0; i <= m->src_bytes; i += 8) {
        const uint64_t bytes = pk_rng_next(&rng);
        memcpy(src + i, &bytes, m->src_bytes + 1 - i < 8 ? m->src_bytes + 1 - i : 8);
    }
    memset(before, UNTOUCHED, m->dst_bytes + 1);
    memset(after, UNTOUCHED, m->dst_bytes + 1);
    copy_plainly(m, src, after);
    const unsigned char *from = trial_bytes(t, src, m->src_bytes + 1);
    for (int by_table = 0; by_table < 2; by_table++)
        check_copied(t, m, from, before, after, by_table);
    trial_end(t);
}

static void every_shape(struct trial *t)
{
    static const size_t rows[] = {0, 1, 2, 7, 300}, bytes[SIZES] = {0, 1, 3, 63, 64, 65, 129, 1000, 9001};
    struct image m = {.v = (struct pk_copy2d[MOST]){{0}}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t b = 0; b < SIZES; b++) {
            add(&m, rows[r], bytes[b], 0, 0, 0);
            add(&m, rows[r], bytes[b], 13, 0, 1);
            add(&m, rows[r], bytes[b], 64, 5, 7);
        }
    check_image(t, &m);
}

static void one_by_one(struct trial *t)
{
    for (size_t rows = 0; rows < 4; rows++)
        for (size_t bytes = 0; bytes < 200; bytes += 17) {
            struct image m = {.v = (struct pk_copy2d[1]){{0}}};
            add(&m, rows, bytes, 3, 1, bytes % 5);
            check_image(t, &m);
        }
    check_image(t, &(struct image){0});
}

/* Cuts fall inside of rows and of rectangles: more than a share of everything. */
static void many(struct trial *t)
{
    enum { N = 20000 };
    struct pk_copy2d *v = pk_new_n(&t->arena, struct pk_copy2d, N);
    for (size_t i = 0; i < N; i++)
        v[i] = (struct pk_copy2d){(void *)(64 * i), (void *)(64 * i), i % 3, i % 17, 21, 20};
    check_image(t, &(struct image){v, N, (size_t)64 * N, (size_t)64 * N});
}

static void large(struct trial *t)
{
    struct image m = {.v = (struct pk_copy2d[3]){{0}}};
    add(&m, 1, 3000001, 0, 0, 1);
    add(&m, 1001, 1537, 1535, 0, 0);
    add(&m, 3, 500003, 7, 9, 3);
    check_image(t, &m);
}

void check_copies(struct trial *t, enum op_size upto)
{
    one_by_one(t);
    if (upto == OPS_TINY)
        return;
    every_shape(t);
    many(t);
    large(t);
}

/* Between two rectangles an element stays untouched. */
static void check_fills_of(struct trial *t, enum pk_dtype type)
{
    static const size_t sizes[SIZES] = {0, 1, 2, 15, 16, 17, 33, 100, 400};
    struct pk_fill v[2 * SIZES * SIZES];
    size_t n = 0, floats = 0;
    for (size_t i = 0; i < SIZES * SIZES; i++) {
        const size_t rows = sizes[i / SIZES], cols = sizes[i % SIZES];
        v[n] = (struct pk_fill){NULL, rows, cols, cols, n, type};
        v[n + 1] = (struct pk_fill){NULL, rows, cols, 2 * cols + 1, UINT64_MAX - n, type};
        n += 2;
        floats += 2 * (rows * cols + 1);
    }
    const size_t size = pk_dtype_bytes(type), bytes = floats * size;
    unsigned char *want = pk_alloc(&t->arena, bytes);
    memset(want, UNTOUCHED, bytes);
    unsigned char *device = trial_bytes(t, want, bytes);
    size_t at = 0; /* an element is left between two */
    for (size_t i = 0; i < n; at += v[i].rows * v[i].cols + 1, i++) {
        v[i].dst = device + at * size;
        for (size_t k = 0; k < v[i].rows * v[i].cols; k++) {
            const float x = pk_fill_value(v[i].seed, k / v[i].cols * v[i].columns + k % v[i].cols);
            const uint16_t narrow = pk_bf16_of_float(x);
            memcpy(want + (at + k) * size, type == PK_BF16 ? (const void *)&narrow : &x, size);
        }
    }
    trial_ran(t, "fill", pk_op_fill(t->dev, v, n, &t->err));
    const unsigned char *got = trial_fetch(t, device, bytes);
    const size_t i = first_difference(got, want, bytes);
    if (i < bytes)
        fail_msg("fill of %zu bytes an element with %s: byte %zu is %02x, not %02x", size, t->label, i,
                 got[i], want[i]);
    trial_end(t);
}

void check_fills(struct trial *t)
{
    check_fills_of(t, PK_FP32);
    check_fills_of(t, PK_BF16);
}
