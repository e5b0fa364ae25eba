/* Errors: one type, three parts.
 *
 * A function that can fail returns enum pk_code and takes a caller-owned struct pk_err. The message is
 * written once, where the cause is known, in three parts that cmd/frame/message.c prints one per line:
 *   what   what failed, with the value            ("axis seq_len: 0 is out of range")
 *   why    the reason                             ("seq_len is an integer from 1 to 1048576")
 *   fix    what the user can do                   ("-a seq_len=256,1024"; message.c puts the word in front)
 * The library never prints and never exits. errno texts go through pk_why(), never bare.
 * err is never NULL.
 * Not thread safe on one struct; each thread brings its own. */
#pragma once

/* A broken invariant is a bug in perfkit, never bad input: one line on stderr and abort(), in every build. */
#define pk_assert(cond)                                                                                      \
    do {                                                                                                     \
        if (__builtin_expect(!(cond), 0))                                                                    \
            pk_assert_fail(#cond, __FILE__, __LINE__);                                                       \
    } while (0)

_Noreturn void pk_assert_fail(const char *cond, const char *file, int line);

#define PK_MUST_CHECK   __attribute__((warn_unused_result))
#define PK_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Codes name what a caller may act upon; cmd/frame/message.c maps them to the documented exit statuses. */
enum pk_code {
    PK_OK = 0,
    PK_E_INTERNAL = -1,       /* a bug, or a library broke its contract      -> exit 1 */
    PK_E_IO = -2,             /* files, pipes, the store                     -> exit 1 */
    PK_E_CHECK = -3,          /* a result did not match its reference        -> exit 1 */
    PK_E_USAGE = -4,          /* options, names, values                      -> exit 2 */
    PK_E_REGRESSION = -5,     /* gate                                        -> exit 3 */
    PK_E_UNDECIDED = -6,      /* gate, compare --exit-code                   -> exit 4 */
    PK_E_NOT_COMPARABLE = -7, /*                                             -> exit 5 */
    PK_E_NOTHING = -8,        /* nothing measured, or object not found -> exit 6 */
    PK_E_UNAVAILABLE = -9,    /* this build or machine cannot do it          -> exit 6 */
    PK_E_OOM = -10,           /* device memory limit reached: a row, not an exit        */
    PK_E_TIMEOUT = -11,       /* a case took too long: a row, not an exit               */
    PK_E_SKIPPED = -12,       /* a combination that does not apply: a row, not an exit  */
    PK_E_INTERRUPTED = -13,   /* SIGINT, SIGTERM, SIGHUP, SIGQUIT            -> exit 130 */
};

struct pk_err {
    enum pk_code code;
    char what[512];
    char why[512];
    char fix[512];
    int number; /* the errno or the library's error code; 0 = none */
};

/* Starts an error: sets code and what, clears why, fix and number. Returns code, for `return pk_fail(...)`. */
enum pk_code pk_fail(struct pk_err *err, enum pk_code code, const char *fmt, ...) PK_PRINTF(3, 4);

/* Add a part to the error that pk_fail started. Return err->code, so that the last call can be the return value. */
enum pk_code pk_why(struct pk_err *err, const char *fmt, ...) PK_PRINTF(2, 3);
enum pk_code pk_fix(struct pk_err *err, const char *fmt, ...) PK_PRINTF(2, 3);

/* Adds why a system call failed: the text of errno value e, with EFBIG also the limit that was reached (ulimit -f). Sets err->number to
 * e. EINTR makes the error PK_E_INTERRUPTED, because only signals that end perfkit have handlers. */
enum pk_code pk_why_errno(struct pk_err *err, int e);

/* Puts "prefix: " before `what`. Returns err->code. */
enum pk_code pk_within(struct pk_err *err, const char *fmt, ...) PK_PRINTF(2, 3);

/* Receives a message that is not an error: one sentence, valid during the call. */
typedef void pk_warn_fn(void *user, const char *text);
