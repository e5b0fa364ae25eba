/* Clients benchmark: a kernel of some 10 us timed by the C client, by a native probe, and by a plain loop between two looks at the clock, in
 * turns. Each figure is a median; a ratio is the median of those of the rounds.
 *
 *     bench-clients [check]
 *
 * With `check` it exits 1 when the client's figure is more than 2 % off the native one or the plain one. */
#include "client/perfkit.h"

#include "clients_kernel.h"
#include "timed.h"

#include "bench/measure/measure.h"
#include "stats/stats.h"

#include <math.h>

enum { ROUNDS = 41, SAMPLES = 150 };

static void by_client(perfkit_case *c)
{
    pk_kernel();
}

static double client_ns(const perfkit_experiment *e)
{
    static const char request[] =
        "{\"experiment\":\"kernel\",\"variant\":\"kernel\",\"device\":\"cpu\",\"axes\":{}}";
    const perfkit_rule rule = {.min_samples = SAMPLES,
                               .max_samples = SAMPLES,
                               .max_time_ns = INT64_MAX,
                               .warmup = -1,
                               .max_noise = 0};
    perfkit_series s = {0};
    perfkit_case c;
    double median;
    perfkit_case_of(e, request, &c);
    perfkit_measure(&c, e->variants[0].run, 1, &rule, &s);
    perfkit_noise(s.ns + 1 + s.cut, s.n - 1 - s.cut, &median);
    median /= (double)s.reps;
    free(s.ns);
    free(s.host_ns);
    return median;
}

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *e)
{
    return PK_OK;
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *e)
{
    pk_mark_begin(ctx->dev, 0, PK_LANE_COMPUTE);
    pk_kernel();
    pk_mark_end(ctx->dev, 0, PK_LANE_COMPUTE);
    return PK_OK;
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    return (struct pk_work){0};
}

static double native_ns(struct pk_device *dev)
{
    static const struct pk_axis axes[] = {{0}};
    static const struct pk_variant variants[] = {{"kernel", .summary = "the kernel"}, {0}};
    static const struct pk_region regions[] = {{"kernel", .summary = "the kernel"}, {0}};
    static const struct pk_probe probe = {.name = "kernel",
                                          .axes = axes,
                                          .variants = variants,
                                          .regions = regions,
                                          .setup = setup,
                                          .run = run,
                                          .work = work};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_case c = {.probe = &probe, .at = {.axes = axes}};
    const struct pk_measure m = {
        .c = &c,
        .dev = dev,
        .invocation = 1,
        .seed = 1,
        .stop = {.min_samples = SAMPLES, .max_samples = SAMPLES, .max_time_ns = INT64_MAX, .warmup = -1}};
    struct pk_slice s;
    double median = NAN;
    pk_measure_case(&m, &a, &s);
    for (size_t i = 0; i < s.n_series; i++) {
        const struct pk_series *r = &s.series[i];
        if (strcmp(s.metrics[r->metric].name, "kernel_ns") == 0 && r->phase == PK_PHASE_STEADY) {
            perfkit_noise(r->integer, r->n, &median);
            median /= (double)r->reps;
        }
    }
    return median;
}

static double plain_ns(void)
{
    int64_t ns[SAMPLES];
    double median;
    for (int i = 0; i < SAMPLES; i++)
        ns[i] = pk_kernel_ns();
    perfkit_noise(ns, SAMPLES, &median);
    return median;
}

int main(int argc, char **argv)
{
    const struct pk_device_options options = {.threads = 1, .no_bind = true};
    struct pk_device dev;
    perfkit_experiment *e = perfkit_new("kernel", "");
    double client[ROUNDS], to_native[ROUNDS], to_plain[ROUNDS];
    perfkit_variant(e, "kernel", by_client, "");
    must(pk_device_open(&dev, "cpu", &options, &err));
    for (int i = 0; i < ROUNDS; i++) {
        client[i] = client_ns(e);
        to_native[i] = client[i] / native_ns(&dev);
        to_plain[i] = client[i] / plain_ns();
    }
    const double native = pk_median_of(to_native, ROUNDS), plain = pk_median_of(to_plain, ROUNDS);
    printf("kernel by the C client: %.0f ns; / by a native probe: %.4f; / by a plain loop: %.4f\n",
           pk_median_of(client, ROUNDS), native, plain);
    pk_device_close(&dev);
    free(e);
    return argc > 1 && !(fabs(native - 1) < 0.02 && fabs(plain - 1) < 0.02);
}
