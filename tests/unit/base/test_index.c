/* The index: rows by content, with equal hashes and without. */
#include "base/index.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

enum { ROWS = 1000 };

static uint64_t content[ROWS];

static bool same(const void *wanted, uint32_t row)
{
    return content[row] == *(const uint64_t *)wanted;
}

/* Each content twice: the second time its row is found. `mask` makes hashes collide. */
static void find_all(uint64_t mask)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_index x = {.arena = &a};
    uint32_t n = 0;
    for (uint64_t i = 0; i < 2 * ROWS; i++) {
        uint64_t c = i % ROWS * i % ROWS + 7 * (i % ROWS) % 13;
        if (n < ROWS)
            content[n] = c;
        uint32_t row = pk_index_row(&x, pk_hash(0, c) & mask, same, &c, n);
        assert_true(row <= n && content[row] == c);
        n += row == n;
        assert_int_equal(x.n, n);
    }
}

static void rows_are_found(void **state)
{
    find_all(UINT64_MAX);
}

static void equal_hashes_are_told_apart(void **state)
{
    find_all(3);
    find_all(0);
}

static void hashes_depend_on_everything(void **state)
{
    assert_true(pk_hash(0, 1) != pk_hash(0, 2));
    assert_true(pk_hash(1, 0) != pk_hash(0, 1));
    assert_true(pk_hash(pk_hash(0, 1), 2) != pk_hash(pk_hash(0, 2), 1));
    assert_true(pk_hash_bytes(0, "ab", 2) != pk_hash_bytes(0, "ba", 2));
    assert_true(pk_hash_bytes(0, "a\0", 2) != pk_hash_bytes(0, "a", 1));
    assert_true(pk_hash_bytes(pk_hash_bytes(0, "a", 1), "bc", 2) !=
                pk_hash_bytes(pk_hash_bytes(0, "ab", 2), "c", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found),
        cmocka_unit_test(equal_hashes_are_told_apart),
        cmocka_unit_test(hashes_depend_on_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
