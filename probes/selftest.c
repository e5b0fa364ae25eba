/* selftest: cases that end in every way a case can end. The harness's own test subject, and a small probe to
 * learn from.
 *
 * The honest variant copies `memory` bytes on the device and keeps it busy for busy_ns. The others do the
 * same and then misbehave: in their timing (slow-start, drift, ...), in their promises (check-fails, leak,
 * ...) or for good (hang, crash, exit). On the null device all times are exact: an iteration takes busy_ns
 * and what the copy takes there.
 *
 * Reading order for a first probe: the tables, then setup, run, check, teardown. The harness does the rest.
 */
#include "bench/probe.h"

#include "base/file.h"
#include "base/rng.h"
#include "bench/repeat.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

/* Rows of the tables are known by their index. */
enum { BUSY_NS, MEMORY, COPIES, INPUT };
enum { WORK, PART, TICK };
enum { HELD };

static bool is_not_busy(const struct pk_point *p)
{
    return p->v[BUSY_NS].i == 0;
}

/* The axes. `def` is the default; `born` never changes again (opt/axis.h).
 */
static const struct pk_axis axes[] = {
    [BUSY_NS] = {"busy_ns", .type = PK_AXIS_INT, .unit = "ns", .min = 0, .max = 1e10, .def = "100000",
                 .born = "100000", .help = "time for which an iteration keeps the device busy"},
    [MEMORY] = {"memory", .type = PK_AXIS_SIZE, .unit = "bytes", .min = 4, .max = 0x1p50, .def = "4KiB",
                .born = "4KiB", .help = "bytes that an iteration copies"},
    [COPIES] = {"copies", .type = PK_AXIS_INT, .min = 1, .max = 1000, .def = "1", .born = "1",
                .applies = is_not_busy, .help = "how often it copies them, where busy_ns is 0"},
    [INPUT] = {"input", .type = PK_AXIS_FILE, .def = "random", .born = "random",
               .help = "what it copies: random bytes, or those of a file, over and over"},
    {0},
};

/* Row 0 is the plain one that the others are compared with. */
enum variant {
    OK,
    SLOW_START,
    DRIFT,
    THROTTLE,
    NOISY,
    OUTLIERS,
    INSTANCES,
    REPEATED,
    OOM,
    CHECK_FAILS,
    LEAK,
    UNMARKED,
    UNENDED,
    DEVICE_ERROR,
    HANG,
    CRASH,
    EXIT
};
static const struct pk_variant variants[] = {
    [OK] = {"ok", .summary = "the same time in every iteration"},
    [SLOW_START] = {"slow-start", .summary = "the first 30 iterations take twice as long"},
    [DRIFT] = {"drift", .summary = "every iteration takes 0.1 % longer than the one before"},
    [THROTTLE] = {"throttle", .summary = "5 % slower from iteration 60 on"},
    [NOISY] = {"noisy", .summary = "normal noise of 10 %"},
    [OUTLIERS] = {"outliers", .summary = "every 17th iteration takes ten times as long"},
    [INSTANCES] = {"instances", .summary = "the region 'part' occurs three times in an iteration"},
    [REPEATED] = {"repeated", .summary = "the region 'tick' is too short for the clock, and repeated"},
    [OOM] = {"oom", .summary = "asks for more memory than there is"},
    [CHECK_FAILS] = {"check-fails", .summary = "computes a wrong result"},
    [LEAK] = {"leak", .summary = "teardown forgets an allocation"},
    [UNMARKED] = {"unmarked", .summary = "never marks its region"},
    [UNENDED] = {"unended", .summary = "begins its region and does not end it"},
    [DEVICE_ERROR] = {"device-error", .summary = "the tenth iteration fails"},
    [HANG] = {"hang", .summary = "hangs"},
    [CRASH] = {"crash", .summary = "is killed by SIGSEGV"},
    [EXIT] = {"exit", .summary = "ends its process with status 7"},
    {0},
};

static bool has_parts(const struct pk_case *c)
{
    return c->variant == INSTANCES;
}

static bool ticks(const struct pk_case *c)
{
    return c->variant == REPEATED;
}

/* What run() marks. Each gives two metrics: work_ns, work_host_ns. */
static const struct pk_region regions[] = {
    [WORK] = {"work", .summary = "the copy and the busy time"},
    [PART] = {"part", .summary = "a third of the busy time", .applies = has_parts, .inside = "work"},
    [TICK] = {"tick", .summary = "one step of a random number generator", .applies = ticks,
              .repeatable = pk_always},
    {0},
};

static const struct pk_metric metrics[] = {
    {"held_bytes", .unit = "bytes", .summary = "device memory in use during an iteration", PK_MEMORY_METRIC,
     .gauge = HELD},
    {0},
};

static const struct pk_preset presets[] = {
    {"quick", .summary = "one case per variant",
     .blocks = (const char *const[]){"busy_ns=100000 memory=4KiB", NULL}, .settings = NULL},
    {"grid", .summary = "four lengths, two sizes",
     .blocks =
         (const char *const[]){"busy_ns=20000:160000:*2 memory=4KiB", "busy_ns=20000 memory=64KiB", NULL},
     .settings = (const char *const[]){"min-samples=20", NULL}},
    {0},
};

static const struct pk_fit_row fits[] = {
    {"work_time_exponent", .metric = "work_ns", .axis = "busy_ns", .kind = PK_FIT_POWER},
    {0},
};

static const char *const check_points[] = {"busy_ns=0 memory=4", "busy_ns=0 memory=1000", NULL};
struct selftest_state {
    size_t bytes;
    unsigned char *src, *dst; /* device memory */
    unsigned char *host;      /* what src was filled with */
    int64_t iteration;
    struct pk_rng rng;
};

/* --- how long an iteration takes, relative to busy_ns --- */

static double steady(struct selftest_state *t)
{
    return 1;
}

static double slow_start(struct selftest_state *t)
{
    return t->iteration < 30 ? 2 : 1;
}

static double drift(struct selftest_state *t)
{
    return 1 + 0.001 * (double)t->iteration;
}

static double throttle(struct selftest_state *t)
{
    return t->iteration < 60 ? 1 : 1.05;
}

static double noisy(struct selftest_state *t)
{
    return exp(0.1 * pk_rng_normal(&t->rng));
}

static double outliers(struct selftest_state *t)
{
    return t->iteration % 17 == 16 ? 10 : 1;
}

/* --- what goes wrong in an iteration --- */

static enum pk_code take_too_much(struct pk_ctx *ctx, struct pk_err *err)
{
    void *p = pk_device_alloc(ctx->dev, SIZE_MAX / 4, PK_TAG_OTHER);
    pk_device_free(ctx->dev, p);
    return p ? PK_OK : pk_device_oom(ctx->dev, err);
}

static enum pk_code fail_tenth(struct pk_ctx *ctx, struct pk_err *err)
{
    const struct selftest_state *t = ctx->state;
    if (t->iteration < 9)
        return PK_OK;
    pk_fail(err, PK_E_INTERNAL, "device error in iteration %lld", (long long)t->iteration + 1);
    return pk_why(err, "the variant device-error pretends that one happened");
}

static enum pk_code hang(struct pk_ctx *ctx, struct pk_err *err)
{
    while (!err->code)
        pause();
    return err->code;
}

static enum pk_code crash(struct pk_ctx *ctx, struct pk_err *err)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return PK_OK;
}

static enum pk_code exit_process(struct pk_ctx *ctx, struct pk_err *err)
{
    _exit(7);
}

/* Rows left out behave like OK. */
static const struct behaviour {
    double (*stretch)(struct selftest_state *t);
    enum pk_code (*failure)(struct pk_ctx *ctx, struct pk_err *err);
} behaviours[] = {
    [OK] = {steady},
    [SLOW_START] = {slow_start},
    [DRIFT] = {drift},
    [THROTTLE] = {throttle},
    [NOISY] = {noisy},
    [OUTLIERS] = {outliers},
    [OOM] = {steady, take_too_much},
    [DEVICE_ERROR] = {steady, fail_tenth},
    [HANG] = {steady, hang},
    [CRASH] = {steady, crash},
    [EXIT] = {steady, exit_process},
};

/* --- what the harness calls --- */

/* All of it is live in an iteration, too. */
static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    return 2 * (int64_t)pk_pool_rounded((size_t)pk_case_int(c, MEMORY));
}

static int64_t copies(const struct pk_case *c)
{
    return c->at.absent[COPIES] ? 1 : pk_case_int(c, COPIES);
}

/* A copy reads and writes every byte; the generator's state is in memory. */
static struct pk_work work(const struct pk_case *c, unsigned region)
{
    const double bytes[] = {
        [WORK] = 2 * (double)(pk_case_int(c, MEMORY) * copies(c)), [TICK] = 2 * sizeof(struct pk_rng)};
    return (struct pk_work){.bytes = bytes[region]};
}

/* Two values of busy_ns are for tests of predictions and notes before measuring. */
static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    enum { WARNED_NS = 7, REFUSED_NS = 13 };
    int64_t ns = pk_case_int(c, BUSY_NS);
    if (ns == WARNED_NS)
        warn(user, pk_printf(a, "busy_ns=%d is shorter than a look at the clock", WARNED_NS));
    if (ns != REFUSED_NS)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "busy_ns=%d cannot be measured", REFUSED_NS);
    pk_why(err, "selftest refuses this value, to test that a run is refused");
    return pk_fix(err, "use any other value");
}

static enum pk_code fill(struct pk_ctx *ctx, struct selftest_state *t, struct pk_err *err)
{
    const char *path = pk_axis_file_path(ctx->c->at.v[INPUT], ctx->arena);
    char *text;
    size_t n = 0;
    if (path && pk_slurp(path, PK_AXIS_FILE_BYTES_MAX, ctx->arena, &text, &n, err))
        return err->code;
    t->host = pk_alloc(ctx->arena, t->bytes);
    for (size_t i = 0; i < t->bytes; i++)
        t->host[i] = n ? (unsigned char)text[i % n] : (unsigned char)pk_rng_next(&t->rng);
    return PK_OK;
}

/* Inputs are equal for equal seeds in all variants. Pointers are NULL before allocation, on which teardown relies. */
static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct selftest_state *t = pk_new(ctx->arena, struct selftest_state);
    ctx->state = t;
    t->bytes = (size_t)pk_case_int(ctx->c, MEMORY);
    t->rng.state = ctx->seed;
    t->src = pk_device_alloc(ctx->dev, t->bytes, PK_TAG_INPUT);
    t->dst = pk_device_alloc(ctx->dev, t->bytes, PK_TAG_OTHER);
    if (!t->src || !t->dst)
        return pk_device_oom(ctx->dev, err);
    if (ctx->dry)
        return PK_OK;
    enum pk_code rc = fill(ctx, t, err);
    return rc ? rc
              : pk_device_copy(ctx->dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, t->src, t->host, t->bytes,
                               err);
}

/* The region's content. */
static enum pk_code copy_and_stay_busy(struct pk_ctx *ctx, struct pk_err *err)
{
    struct selftest_state *t = ctx->state;
    const struct behaviour *b = &behaviours[ctx->c->variant];
    const double stretch = b->stretch ? b->stretch(t) : 1;
    const uint64_t ns = (uint64_t)llround((double)pk_case_int(ctx->c, BUSY_NS) * stretch);
    const size_t skipped = ctx->c->variant == CHECK_FAILS ? 1 : 0;
    enum pk_code rc = b->failure ? b->failure(ctx, err) : PK_OK;
    for (int64_t i = 0; !rc && i < copies(ctx->c); i++)
        rc = pk_device_copy(ctx->dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, t->dst, t->src + skipped,
                            t->bytes - skipped, err);
    if (rc)
        return rc;
    if (ctx->c->variant == INSTANCES) {
        for (int i = 0; i < 3; i++) {
            pk_mark_begin(ctx->dev, PART, PK_LANE_COMPUTE);
            pk_device_delay(ctx->dev, PK_LANE_COMPUTE, ns / 3);
            pk_mark_end(ctx->dev, PART, PK_LANE_COMPUTE);
        }
    } else {
        pk_device_delay(ctx->dev, PK_LANE_COMPUTE, ns);
    }
    return PK_OK;
}

static void tick(void *user)
{
    struct selftest_state *t = user;
    pk_rng_next(&t->rng);
}

/* The only timed code: no host allocation, no I/O. */
static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct selftest_state *t = ctx->state;
    if (ctx->c->variant != UNMARKED)
        pk_mark_begin(ctx->dev, WORK, PK_LANE_COMPUTE);
    enum pk_code rc = copy_and_stay_busy(ctx, err);
    if (ctx->c->variant != UNMARKED && ctx->c->variant != UNENDED)
        pk_mark_end(ctx->dev, WORK, PK_LANE_COMPUTE);
    if (ticks(ctx->c))
        pk_repeat(ctx, TICK, tick, t);
    pk_mark_bytes(ctx->dev, HELD);
    t->iteration++;
    return rc;
}

/* A copy is cheap to compare, so the real shape is compared fully as well. */
static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    const struct selftest_state *t = ctx->state;
    unsigned char *got = pk_alloc(ctx->arena, t->bytes);
    enum pk_code rc = pk_device_copy_now(ctx->dev, PK_COPY_DEVICE_TO_HOST, got, t->dst, t->bytes, err);
    for (size_t i = 0; !rc && i < t->bytes; i++)
        if (got[i] != t->host[i]) {
            pk_fail(err, PK_E_CHECK, "byte %zu of the copy is wrong", i);
            rc = pk_why(err, "it is %d and should be %d", got[i], t->host[i]);
        }
    return rc;
}

static void teardown(struct pk_ctx *ctx)
{
    struct selftest_state *t = ctx->state;
    pk_device_free(ctx->dev, t->src);
    if (ctx->c->variant != LEAK)
        pk_device_free(ctx->dev, t->dst);
}

const struct pk_probe pk_probe_selftest = {
    .name = "selftest",
    .summary = "cases that end in every way a case can end, to test perfkit itself",
    .revision = 1,
    .hidden = true,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .fits = fits,
    .check_points = check_points,
    .validate = validate,
    .predict = predict,
    .work = work,
    .setup = setup,
    .run = run,
    .check = check,
    .teardown = teardown,
};
