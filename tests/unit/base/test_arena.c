/* The arena: alignment, zeroing, growth, refusal. */
#include "base/arena.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdint.h>
#include <string.h>

static jmp_buf refused_here;
static size_t refused_bytes;

static void on_oom(size_t bytes)
{
    refused_bytes = bytes;
    longjmp(refused_here, 1);
}

static void zeroed_and_aligned(void **state)
{
    struct pk_arena a = {0};
    for (size_t n = 1; n < 10000; n = n * 3 + 1) {
        unsigned char *p = pk_alloc(&a, n);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    pk_arena_free(&a);
    assert_int_equal(a.used_bytes, 0);
}

static void grows_an_array(void **state)
{
    struct pk_arena a = {0};
    size_t cap = 0, *v = NULL;
    for (size_t n = 0; n < 1000; n++) {
        v = pk_grow(&a, v, sizeof *v, n, &cap);
        v[n] = n;
    }
    for (size_t n = 0; n < 1000; n++)
        assert_int_equal(v[n], n);
    pk_arena_free(&a);
}

static void refuses_the_nth(void **state)
{
    struct pk_arena a = {0};
    pk_set_oom_handler(on_oom);
    pk_arena_fail_after(3);
    volatile int made = 0;
    if (!setjmp(refused_here)) {
        for (; made < 10; made++)
            pk_alloc(&a, 100);
    }
    assert_int_equal(made, 2);
    assert_int_equal(refused_bytes, 100);
    pk_arena_fail_after(0);
    pk_set_oom_handler(NULL);
    pk_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_and_aligned),
        cmocka_unit_test(grows_an_array),
        cmocka_unit_test(refuses_the_nth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
