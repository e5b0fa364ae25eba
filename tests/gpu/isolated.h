/* Isolated: cmocka tests of which each may break its device or its process.
 *
 * The tests run one after the other in a child process, which alone opens the device. A test that fails, crashes or is not over in time
 * ends that child, and a new one goes on with the next test: an error that makes a CUDA context useless costs one test, and the start of
 * the driver is paid again only then. Lines are cmocka's; of a test that took its process with it the parent writes "[  FAILED  ] NAME".
 *
 * PK_TEST_SECONDS limits each test, 120 by default; under a sanitizer everything takes a hundred times as long. With 0 there is no limit and
 * no child: all tests run in the process that was started, for a debugger or a profiler. */
#pragma once

#include <stddef.h>

struct CMUnitTest;

/* Called in the process that runs the tests, before the first: reads the command line. May exit, e.g. with 77: then so does the program. */
typedef void isolated_begin_fn(int argc, char **argv);

/* For a test that breaks its device on purpose: its process ends after it, and the next test runs in a new one. */
void isolated_renew(void);

/* The exit status of main: EXIT_SUCCESS when no test failed. */
int isolated_run(const struct CMUnitTest *tests, size_t n, isolated_begin_fn *begin, int argc, char **argv);
