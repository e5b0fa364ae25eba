/* Isolated selftest: tests that fail in each way that a GPU makes them fail, for test_isolated.py. `broken` stands for a CUDA context: once
 * true, no other test of its process can pass. */
#include "isolated.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool broken;

static int open_device(void **state)
{
    return broken ? -1 : 0;
}

static void passes(void **state)
{
    print_message("process %d\n", (int)getpid());
}

static void passes_too(void **state)
{
    passes(state);
}

static void breaks_it_on_purpose(void **state)
{
    broken = true;
    isolated_renew();
}

static void works_again(void **state)
{
    assert_false(broken);
}

static void breaks_the_device(void **state)
{
    broken = true;
    fail_msg("an illegal address");
}

static void aborts(void **state)
{
    abort();
}

static void hangs(void **state)
{
    pause();
}

static void skips(void **state)
{
    skip();
}

static void leaves(void **state)
{
    _exit(0);
}

static void passes_at_the_end(void **state)
{
    passes(state);
}

static void leaks(void)
{
    _exit(23);
}

/* `none` is a machine without the device, `leaks` a leak checker's status at the end. */
static void begin(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "leaks"))
        atexit(leaks);
    if (argc > 1 && !strcmp(argv[1], "none")) {
        printf("skipped: no device\n");
        exit(77);
    }
}

int main(int argc, char **argv)
{
#define ON_DEVICE(f) cmocka_unit_test_setup(f, open_device)
    const struct CMUnitTest tests[] = {ON_DEVICE(passes),
                                       ON_DEVICE(passes_too),
                                       ON_DEVICE(breaks_it_on_purpose),
                                       ON_DEVICE(works_again),
                                       ON_DEVICE(breaks_the_device),
                                       ON_DEVICE(aborts),
                                       ON_DEVICE(hangs),
                                       ON_DEVICE(skips),
                                       ON_DEVICE(leaves),
                                       ON_DEVICE(passes_at_the_end)};
    const size_t n = argc > 1 ? 2 : sizeof tests / sizeof *tests;
    return isolated_run(tests, n, begin, argc, argv);
}
