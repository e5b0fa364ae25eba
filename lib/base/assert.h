/* Assertions that stay on in every build: a broken invariant is a bug in perfkit, never bad input.
 * pk_assert prints one line on stderr through pk_assert_fail and aborts: the only place in lib/ that does. */
#pragma once

#define pk_assert(cond)                                                                                      \
    do {                                                                                                     \
        if (__builtin_expect(!(cond), 0))                                                                    \
            pk_assert_fail(#cond, __FILE__, __LINE__);                                                       \
    } while (0)

_Noreturn void pk_assert_fail(const char *cond, const char *file, int line);
