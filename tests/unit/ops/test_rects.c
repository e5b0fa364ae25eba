/* Rectangles on the CPU: every byte that should be copied or filled, no other, whatever the shapes and the cuts. */
#include "ops/rects.h"

#include "base/rng.h"
#include "device/cpu.h"
#include "device/null.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { UNTOUCHED = 0xa5 };

static struct pk_err err;
static struct pk_device dev;
static struct pk_arena arena;

static void on_every_cpu(void (*test)(void))
{
    for (unsigned threads = 1; threads <= 2; threads++)
        for (int isa = (int)pk_isa_detect(); isa >= 0; isa--) {
            assert_int_equal(
                pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads}, &err), PK_OK);
            pk_cpu_lower_isa(&dev, (enum pk_isa)isa);
            test();
            pk_device_close(&dev);
            pk_arena_free(&arena);
        }
}

/* A rectangle in memory of its own, with room around every row. */
static struct pk_copy2d rectangle(size_t rows, size_t row_bytes, size_t src_gap, size_t dst_gap, size_t shift)
{
    struct pk_copy2d c = {.rows = rows,
                          .row_bytes = row_bytes,
                          .src_stride = row_bytes + src_gap,
                          .dst_stride = row_bytes + dst_gap};
    struct pk_rng rng = {rows * 31 + row_bytes};
    unsigned char *src = pk_alloc(&arena, shift + (rows + 1) * c.src_stride);
    unsigned char *dst = pk_alloc(&arena, 2 * shift + (rows + 1) * c.dst_stride);
    for (size_t i = 0; i < shift + (rows + 1) * c.src_stride; i++)
        src[i] = (unsigned char)pk_rng_next(&rng);
    memset(dst, UNTOUCHED, 2 * shift + (rows + 1) * c.dst_stride);
    c.src = src + shift;
    c.dst = dst + 2 * shift;
    return c;
}

static void assert_copied(const struct pk_copy2d *c)
{
    const unsigned char *src = c->src, *dst = c->dst;
    for (size_t r = 0; r < c->rows; r++) {
        assert_memory_equal(dst + r * c->dst_stride, src + r * c->src_stride, c->row_bytes);
        for (size_t i = c->row_bytes; i < c->dst_stride; i++)
            assert_int_equal(dst[r * c->dst_stride + i], UNTOUCHED);
    }
    for (size_t i = 0; i < c->dst_stride; i++)
        assert_int_equal(dst[c->rows * c->dst_stride + i], UNTOUCHED);
}

static void copy_shapes(void)
{
    static const size_t rows[] = {0, 1, 2, 7, 300}, bytes[] = {0, 1, 3, 63, 64, 65, 129, 1000, 9001};
    struct pk_copy2d v[200];
    size_t n = 0;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++) {
            v[n++] = rectangle(rows[r], bytes[b], 0, 0, 0);
            v[n++] = rectangle(rows[r], bytes[b], 13, 0, 1);
            v[n++] = rectangle(rows[r], bytes[b], 64, 5, 7);
        }
    assert_int_equal(pk_op_copy2d(&dev, v, n, &err), PK_OK);
    for (size_t i = 0; i < n; i++)
        assert_copied(&v[i]);
}

static void copy_one_by_one(void)
{
    for (size_t rows = 0; rows < 4; rows++)
        for (size_t bytes = 0; bytes < 200; bytes += 17) {
            struct pk_copy2d c = rectangle(rows, bytes, 3, 1, bytes % 5);
            assert_int_equal(pk_op_copy2d(&dev, &c, 1, &err), PK_OK);
            assert_copied(&c);
        }
    assert_int_equal(pk_op_copy2d(&dev, NULL, 0, &err), PK_OK);
}

/* Cuts fall inside of rows and of rectangles: more than a share of everything. */
static void copy_many(void)
{
    enum { N = 20000 };
    struct pk_copy2d *v = pk_new_n(&arena, struct pk_copy2d, N);
    unsigned char *src = pk_alloc(&arena, 64 * N), *dst = pk_alloc(&arena, 64 * N);
    for (size_t i = 0; i < 64 * N; i++)
        src[i] = (unsigned char)(i * 7 + i / 64);
    memset(dst, UNTOUCHED, 64 * N);
    for (size_t i = 0; i < N; i++)
        v[i] = (struct pk_copy2d){src + 64 * i, dst + 64 * i, i % 3, i % 17, 21, 20};
    assert_int_equal(pk_op_copy2d(&dev, v, N, &err), PK_OK);
    for (size_t i = 0; i < 64 * N; i++) {
        const struct pk_copy2d *c = &v[i / 64];
        size_t row = i % 64 / 20, col = i % 64 % 20;
        bool inside = row < c->rows && col < c->row_bytes;
        assert_int_equal(dst[i], inside ? src[i / 64 * 64 + row * 21 + col] : UNTOUCHED);
    }
}

static void copy_large(void)
{
    struct pk_copy2d v[] = {rectangle(1, 3000001, 0, 0, 1), rectangle(1001, 1537, 1535, 0, 0),
                            rectangle(3, 500003, 7, 9, 3)};
    assert_int_equal(pk_op_copy2d(&dev, v, 3, &err), PK_OK);
    for (size_t i = 0; i < 3; i++)
        assert_copied(&v[i]);
}

static struct pk_fill numbers(size_t rows, size_t cols, size_t columns, uint64_t seed)
{
    struct pk_fill f = {pk_new_n(&arena, float, rows *cols + 1), rows, cols, columns, seed};
    f.dst[rows * cols] = 7;
    return f;
}

static void assert_filled(const struct pk_fill *f)
{
    for (size_t r = 0; r < f->rows; r++)
        for (size_t c = 0; c < f->cols; c++) {
            float want = pk_fill_value(f->seed, r * f->columns + c);
            assert_memory_equal(&f->dst[r * f->cols + c], &want, sizeof want);
        }
    assert_true(f->dst[f->rows * f->cols] == 7);
}

static void fill_shapes(void)
{
    static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 33, 100, 400};
    struct pk_fill v[200];
    size_t n = 0;
    for (size_t r = 0; r < sizeof sizes / sizeof *sizes; r++)
        for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
            v[n] = numbers(sizes[r], sizes[c], sizes[c], n);
            v[n + 1] = numbers(sizes[r], sizes[c], 2 * sizes[c] + 1, UINT64_MAX - n);
            n += 2;
        }
    assert_int_equal(pk_op_fill(&dev, v, n, &err), PK_OK);
    for (size_t i = 0; i < n; i++)
        assert_filled(&v[i]);
}

static void copies_of_every_shape(void **state)
{
    on_every_cpu(copy_shapes);
}

static void single_copies(void **state)
{
    on_every_cpu(copy_one_by_one);
}

static void many_tiny_copies(void **state)
{
    on_every_cpu(copy_many);
}

static void large_copies(void **state)
{
    on_every_cpu(copy_large);
}

static void fills_of_every_shape(void **state)
{
    on_every_cpu(fill_shapes);
}

/* The definition itself: another device, or a later version, must give these bits. */
static void numbers_stay_what_they_are(void **state)
{
    double sum = 0, squares = 0;
    enum { N = 100000 };
    assert_true(pk_fill_value(0, 0) == -1.0f);
    assert_true(pk_fill_value(1, 0) == 0x1.8882ap-1f);
    assert_true(pk_fill_value(42, 7) == 0x1.ade81cp-1f);
    assert_true(pk_fill_value(UINT64_MAX, (uint64_t)1 << 40) == -0x1.78e23p-3f);
    for (uint64_t i = 0; i < N; i++) {
        double x = pk_fill_value(42, i);
        assert_true(x >= -1 && x < 1);
        sum += x;
        squares += x * x;
    }
    assert_true(sum / N > -0.01 && sum / N < 0.01);
    assert_true(squares / N > 0.33 && squares / N < 0.337);
    assert_true(pk_fill_value(42, 1) != pk_fill_value(43, 1));
}

static void work_is_counted(void **state)
{
    const struct pk_copy2d c[] = {
        {.rows = 3, .row_bytes = 10}, {.rows = 0, .row_bytes = 10}, {.rows = 5, .row_bytes = 1}};
    const struct pk_fill f[] = {{.rows = 3, .cols = 7, .columns = 9}, {.rows = 0, .cols = 7}};
    assert_true(pk_work_copy2d(c, 3).bytes == 2 * 35 && pk_work_copy2d(c, 3).flops == 0);
    assert_true(pk_work_fill(f, 2).bytes == 4 * 21);
}

static void null_time_passes(void **state)
{
    struct pk_device null;
    assert_int_equal(pk_device_open(&null, "null", &(struct pk_device_options){0}, &err), PK_OK);
    char *p = pk_device_alloc(&null, 1 << 20, PK_TAG_OTHER);
    const struct pk_copy2d c = {p, p + (1 << 19), 512, 1024, 1024, 1024};
    const struct pk_fill f = {(float *)p, 1024, 256, 256, 1};
    uint64_t begin = pk_device_now_ns(&null);
    assert_int_equal(pk_op_copy2d(&null, &c, 1, &err), PK_OK);
    assert_int_equal(pk_device_now_ns(&null) - begin, (1 << 20) / PK_NULL_BYTES_PER_NS);
    assert_int_equal(pk_op_fill(&null, &f, 1, &err), PK_OK);
    assert_int_equal(pk_device_now_ns(&null) - begin, (2 << 20) / PK_NULL_BYTES_PER_NS);
    pk_device_free(&null, p);
    pk_device_close(&null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_every_shape), cmocka_unit_test(single_copies),
        cmocka_unit_test(many_tiny_copies),      cmocka_unit_test(large_copies),
        cmocka_unit_test(fills_of_every_shape),  cmocka_unit_test(numbers_stay_what_they_are),
        cmocka_unit_test(work_is_counted),       cmocka_unit_test(null_time_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
