/* GPU sources through made-up CUPTI and NVML: counts by region, every refusal in words, traces, states. */
#include "../device/fake_cuda.h"
#include "bench/measure/measure.h"
#include "bench/worker/environment.h"
#include "counter/breakdown.h"
#include "counter/cuda/gpu_trace.h"
#include "counter/cuda/nvml/gpu_state.h"
#include "counter/sources.h"
#include "counter/tracing.h"
#include "device/cuda/cuda.h"
#include "device/lane.h"
#include "fake_cupti.h"
#include "json/json.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { REGION = 3 };

static struct pk_arena arena;
static struct pk_err err;
static struct pk_device dev;
static const struct pk_counter_env fakes = {
    .root = "/nowhere", .cupti = &fake_cupti_table, .nvml = &fake_nvml_table};

static pid_t peer; /* a process that was started by this one, as peers and ranks are */

static int start_peer(void **state)
{
    peer = fork();
    if (!peer) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        for (;;)
            pause();
    }
    return peer < 0;
}

static int end_peer(void **state)
{
    return kill(peer, SIGKILL) || waitpid(peer, NULL, 0) != peer;
}

static uint64_t host_ns(struct pk_device *d)
{
    return fake_cupti.host_ns;
}

/* A GPU whose host's clock is the test's. */
static int open_gpu(void **state)
{
    static struct pk_device_ops clocked;
    const struct pk_device_options none = {0};
    fake_cuda_reset();
    fake_cupti_reset();
    fake_nvml = (struct fake_nvml){.gpus = 1, .peer = peer};
    pk_cuda_use(&fake_cuda_api);
    assert_int_equal(pk_device_open(&dev, "cuda", &none, &err), 0);
    clocked = *dev.ops;
    clocked.now_ns = host_ns;
    dev.ops = &clocked;
    return 0;
}

static int close_gpu(void **state)
{
    fake_cupti.n_records = 0; /* they are gone with the test */
    pk_tracing_end();
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    pk_arena_free(&arena);
    assert_int_equal(fake_cupti.live_hosts + fake_cupti.live_profilers + fake_cupti.subscribers +
                         fake_cupti.enabled_kinds,
                     0);
    assert_int_equal(fake_nvml.live, 0);
    return 0;
}

static const struct pk_source_plan *plan_of(const struct pk_source *s, const char *const *names, size_t n)
{
    const struct pk_source_plan *plans;
    size_t n_plans;
    if (s->plan(s, &fakes, names, n, &arena, &plans, &n_plans, &err))
        fail_msg("%s: %s", err.what, err.why);
    assert_int_equal(n_plans, 1);
    return plans;
}

/* An iteration with a region in it, as often as the source wants; how often that was, 0 when it failed. */
static unsigned iterate(const struct pk_source *s, void *h, unsigned regions)
{
    bool again = true;
    unsigned n = 0;
    for (; again; n++) {
        bool was = pk_timed_region(true); /* nothing is allocated */
        if (s->start(h, &err)) {
            pk_timed_region(was);
            return 0;
        }
        for (unsigned i = 0; i < regions; i++) {
            s->mark(h, REGION, false);
            s->mark(h, REGION, true);
        }
        pk_timed_region(was);
        if (s->stop(h, &again, &err))
            return 0;
    }
    return n;
}

static const char *const two[] = {"gpu_dram_read_bytes", "gpu_occupancy"};

static void counts_by_region(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    struct pk_reading r[2];
    void *h;
    fake_cupti.passes = 3;
    const struct pk_source_plan *p = plan_of(s, two, 2);
    assert_int_equal(p->passes, 3);
    assert_string_equal(p->events[0].native, "dram__bytes_read.sum");
    assert_int_equal(s->open(&fakes, p, &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate(s, h, 1), 4);    /* the first one counts ranges */
    assert_int_equal(fake_cupti.n_ranges, 3); /* before, in and after the region */
    assert_int_equal(fake_cupti.sized_for, 3);
    assert_int_equal(s->read(h, REGION, r, &err), 0);
    assert_int_equal(r[0].integer, 200); /* the second range */
    assert_false(r[0].is_real);
    assert_true(r[1].is_real && !r[1].unavailable);
    assert_float_equal(r[1].real, 0.5, 1e-12); /* percent */
    assert_int_equal(s->read(h, -1, r, &err), 0);
    assert_int_equal(r[0].integer, 600);
    assert_true(r[1].unavailable); /* no share is the sum of three */
    assert_int_equal(s->read(h, REGION + 1, r, &err), 0);
    assert_true(r[0].unavailable && r[1].unavailable);
    assert_int_equal(iterate(s, h, 0), 3); /* a second iteration, without regions */
    assert_int_equal(s->read(h, -1, r, &err), 0);
    assert_int_equal(r[0].integer, 100);
    assert_float_equal(r[1].real, 0.5, 1e-12);
    s->close(h);
}

enum { INNER = PK_REGIONS_MAX - 1 };

/* REGION with INNER in it; how often the source wanted it, 0 when it failed. */
static unsigned iterate_nested(const struct pk_source *s, void *h)
{
    bool again = true;
    unsigned n = 0;
    for (; again; n++) {
        if (s->start(h, &err))
            return 0;
        s->mark(h, REGION, false);
        s->mark(h, INNER, false);
        s->mark(h, INNER, true);
        s->mark(h, REGION, true);
        if (s->stop(h, &again, &err))
            return 0;
    }
    return n;
}

/* Ranges lie side by side, and count for all regions that are open: REGION has its second to fourth, INNER the third. */
static void an_outer_region_counts_what_is_inside(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    struct pk_reading r[2];
    void *h;
    fake_cupti.max_ranges = 5;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate_nested(s, h), 2);
    assert_int_equal(fake_cupti.n_ranges, 5);
    assert_int_equal(s->read(h, REGION, r, &err), 0);
    assert_int_equal(r[0].integer, 200 + 300 + 400);
    assert_true(r[1].unavailable);
    assert_string_equal(r[1].why, "a share over several pieces cannot be computed");
    assert_int_equal(s->read(h, INNER, r, &err), 0);
    assert_int_equal(r[0].integer, 300);
    assert_false(r[1].unavailable);
    assert_int_equal(s->read(h, -1, r, &err), 0);
    assert_int_equal(r[0].integer, 100 + 200 + 300 + 400 + 500);
    s->close(h);
}

/* Five ranges, of which the profiler takes three at once: tried with five, counted by two, in three parts of two passes each. */
static void ranges_beyond_the_limit_are_counted_in_parts(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    struct pk_reading r[2];
    void *h;
    fake_cupti.max_ranges = 3;
    fake_cupti.passes = 2;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    for (unsigned sample = 0; sample < 2; sample++) {
        fake_cupti.pushes = 0;
        assert_int_equal(iterate_nested(s, h), sample ? 6 : 7);
        assert_int_equal(fake_cupti.pushes, 2 * 5);
        assert_int_equal(fake_cupti.sized_for, 2);
        assert_int_equal(s->read(h, REGION, r, &err), 0);
        assert_int_equal(r[0].integer, 200 + 300 + 400);
        assert_int_equal(s->read(h, -1, r, &err), 0);
        assert_int_equal(r[0].integer, 100 + 200 + 300 + 400 + 500);
    }
    s->close(h);
}

static void a_profiler_that_takes_no_range_is_told(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    void *h;
    fake_cupti.max_ranges = 0;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate_nested(s, h), 0);
    assert_string_equal(err.what, "choosing the counters does not work here");
    assert_non_null(strstr(err.why, "another profiler"));
    assert_non_null(strstr(err.why, "more ranges than it takes"));
    s->close(h);
}

static void repetitions_that_differ_are_an_error(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    bool again;
    void *h;
    fake_cupti.max_ranges = 5;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate(s, h, 1), 2);
    assert_int_equal(iterate(s, h, 2), 0);
    assert_string_equal(err.why, "one had 3 ranges, another 5, and counters need equal ones");
    s->close(h);
    fake_cupti.passes = 2;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    for (unsigned i = 0; i < 3; i++) { /* counts three ranges; a pass of three; a pass of one */
        assert_int_equal(s->start(h, &err), 0);
        for (unsigned k = 0; k < (i < 2); k++) {
            s->mark(h, REGION, false);
            s->mark(h, REGION, true);
        }
        assert_int_equal(s->stop(h, &again, &err), i < 2 ? PK_OK : PK_E_INTERNAL);
    }
    assert_string_equal(err.what, "the work differs from one repetition to the next");
    assert_string_equal(err.why, "one had 3 ranges, another 1, and counters need equal ones");
    s->close(h);
}

/* As of a MIG instance that shares the unit. */
static void not_a_number_is_unavailable(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    struct pk_reading r[2];
    void *h;
    fake_cupti.share = NAN;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate(s, h, 0), 2);
    assert_int_equal(s->read(h, -1, r, &err), 0);
    assert_true(r[1].unavailable && !r[0].unavailable);
    assert_string_equal(r[1].why, "CUPTI returned NaN, as on a MIG instance for units that it shares");
    s->close(h);
}

static void dropped_ranges_are_an_error(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    void *h;
    fake_cupti.drop_ranges = 2;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate(s, h, 1), 0);
    assert_string_equal(err.what, "the GPU's counts are incomplete");
    assert_string_equal(err.why, "2 of 3 ranges were dropped");
    s->close(h);
}

/* What a begin or end cannot answer is told at the end, and nothing is counted after it. */
static void a_failed_range_is_told(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    void *h;
    assert_int_equal(s->open(&fakes, plan_of(s, two, 2), &dev, &arena, &h, &err), 0);
    fake_cupti.fail_in = "pop";
    fake_cupti.fail_with = CUPTI_ERROR_UNKNOWN;
    assert_int_equal(iterate(s, h, 1), 0);
    assert_string_equal(err.what, "ending a range failed");
    assert_string_equal(err.why, "CUPTI_ERROR_MADE_UP (999)");
    s->close(h);
}

static const struct refusal {
    CUptiResult rc;
    const char *why, *fix; /* parts of the message */
} refusals[] = {
    {35, "lets only administrators read counters", "NVreg_RestrictProfilingToAdminUsers=0"},
    {35, "RmProfilingAdminOnly: 1", "--cap-add=SYS_ADMIN"},
    {39, "another profiler is active in this process", "end nsys, ncu, cuda-gdb, compute-sanitizer"},
    {26, "another profiler or DCGM is using the GPU's counters", "dcgmi profile --pause"},
    {7, "most likely by another profiler", "unset CUDA_INJECTION64_PATH"},
    {7, "more ranges than it takes", "mark fewer regions in an iteration"},
    {15, "the driver is too old for this CUPTI", "update the NVIDIA driver"},
    {33, "virtual one (vGPU)", "ask the hypervisor's administrator to enable profiling for this vGPU"},
    {40, "virtual one (vGPU) without the permission", "ask the hypervisor's administrator"},
    {41, "confidential computing", "it cannot be enabled on this machine"},
    {42, "mining processor", "it cannot be enabled on this machine"},
    {43, "MIG instance", "nvidia-smi -mig 0"},
    {44, "SLI mode", "switch SLI off"},
    {45, "Windows Subsystem for Linux", "it cannot be enabled on this machine"},
    {46, "does not know the chip", "use a newer CUPTI"},
    {8, "no memory for it on the GPU", "choose smaller sizes"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

static void assert_refused(const struct refusal *r, enum pk_code rc)
{
    char code[16];
    snprintf(code, sizeof code, "(%d)", r->rc);
    assert_int_equal(rc, PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.what, "does not work here"));
    assert_non_null(strstr(err.why, r->why));
    assert_non_null(strstr(err.why, code));
    assert_int_equal(err.number, r->rc);
    assert_int_equal(pk_found_error(&err, &arena).error, r->rc);
    assert_non_null(strstr(err.fix, r->fix));
}

static void every_refusal_of_counters_in_words(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    const struct pk_source_plan *p = plan_of(s, two, 2);
    static const char *const steps[] = {"initialize", "device_supported", "availability", "profiler_enable"};
    for (size_t i = 0; i < REFUSALS; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            void *h = NULL;
            fake_cupti.fail_in = steps[k];
            fake_cupti.fail_with = refusals[i].rc;
            assert_refused(&refusals[i], s->open(&fakes, p, &dev, &arena, &h, &err));
            assert_null(h);
            assert_int_equal(fake_cupti.live_hosts + fake_cupti.live_profilers, 0);
        }
}

static void unsupported_configurations_by_field(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    const struct pk_source_plan *p = plan_of(s, two, 2);
    CUpti_Profiler_DeviceSupported_Params *d = &fake_cupti.supported;
    const struct {
        CUpti_Profiler_Support_Level *field;
        const char *why;
    } fields[] = {{&d->vGpu, "vGPU"},  {&d->confidentialCompute, "confidential"},
                  {&d->sli, "SLI"},    {&d->wsl, "Windows"},
                  {&d->cmp, "mining"}, {&d->architecture, "this GPU or driver does not support it"}};
    d->isSupported = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        void *h;
        *fields[i].field = CUPTI_PROFILER_CONFIGURATION_DISABLED;
        assert_int_equal(s->open(&fakes, p, &dev, &arena, &h, &err), PK_E_UNAVAILABLE);
        assert_non_null(strstr(err.why, fields[i].why));
        *fields[i].field = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    }
}

static void no_context_no_profiler(void **state)
{
    void *h;
    const struct pk_source_plan *p = plan_of(&pk_source_gpu_counters, two, 2);
    fake_cupti.no_context = true; /* the fake aborts where the real one crashes */
    assert_int_equal(p->source->open(&fakes, p, &dev, &arena, &h, &err), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "this thread has no CUDA context");
}

/* Named by the driver before anything is asked of it. */
static void for_administrators_only(void **state)
{
    char root[] = "/tmp/perfkit-test-XXXXXX";
    assert_non_null(mkdtemp(root));
    const char *folder = pk_printf(&arena, "%s/proc/driver/nvidia", root);
    assert_int_equal(mkdir(pk_printf(&arena, "%s/proc", root), 0755) ||
                         mkdir(pk_printf(&arena, "%s/proc/driver", root), 0755) || mkdir(folder, 0755) ||
                         chmod(root, 0755),
                     0);
    FILE *f = fopen(pk_printf(&arena, "%s/params", folder), "w");
    fputs("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nPreserveVideoMemoryAllocations: 0\n", f);
    fclose(f);
    struct pk_counter_env env = fakes;
    env.root = root;
    const bool root_user = geteuid() == 0;
    if (root_user)
        assert_int_equal(seteuid(65534), 0);
    struct pk_source_found found = pk_source_gpu_counters.check(&pk_source_gpu_counters, &env, &arena);
    struct pk_source_found trace = pk_source_gpu_trace.check(&pk_source_gpu_trace, &env, &arena);
    if (root_user)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(found.state, PK_SOURCE_UNAVAILABLE);
    assert_int_equal(found.error, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    assert_non_null(strstr(found.why, "administrators"));
    assert_non_null(strstr(found.fix, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_int_equal(trace.state, PK_SOURCE_OK); /* tracing is allowed all the same */
    f = fopen(pk_printf(&arena, "%s/params", folder), "w");
    fputs("RmProfilingAdminOnly: 0\n", f);
    fclose(f);
    assert_int_equal(pk_source_gpu_counters.check(&pk_source_gpu_counters, &env, &arena).state, PK_SOURCE_OK);
    assert_int_equal(unlink(pk_printf(&arena, "%s/params", folder)) || rmdir(folder) ||
                         rmdir(pk_printf(&arena, "%s/proc/driver", root)) ||
                         rmdir(pk_printf(&arena, "%s/proc", root)) || rmdir(root),
                     0);
}

static void names_that_are_not_counted(void **state)
{
    const struct pk_source_plan *plans;
    size_t n;
    static const char *const typo[] = {"gpu_dram_reads_bytes"}, *const raw[] = {"sm__nonsense.sum"},
                             *const good[] = {"sm__anything.sum", "pcie__read_bytes.sum"};
    const struct pk_source *s = &pk_source_gpu_counters;
    assert_int_equal(s->plan(s, &fakes, typo, 1, &arena, &plans, &n, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "gpu_dram_read_bytes"));
    assert_int_equal(s->plan(s, &fakes, raw, 1, &arena, &plans, &n, &err), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "chip MADEUP has no metric sm__nonsense.sum");
    struct pk_counter_env second = fakes;
    second.gpu = 1;
    assert_int_equal(s->plan(s, &second, raw, 1, &arena, &plans, &n, &err), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "chip SECOND has no metric sm__nonsense.sum");
    assert_int_equal(s->plan(s, &fakes, good, 2, &arena, &plans, &n, &err), 0);
    assert_int_equal(n, 2); /* links share no configuration with the chip */
    assert_string_equal(plans[0].events[0].name, "sm__anything.sum");
    assert_string_equal(plans[1].events[0].name, "pcie__read_bytes.sum");
}

/* Planned and counted on the chosen one of two GPUs with different chips. */
static void counts_on_the_chosen_gpu(void **state)
{
    const struct pk_source *s = &pk_source_gpu_counters;
    const struct pk_source_plan *plans;
    const struct pk_device_options none = {0};
    struct pk_counter_env second = fakes;
    size_t n;
    void *h;
    pk_device_close(&dev);
    fake_cuda.devices = 2;
    second.gpu = 1;
    assert_int_equal(pk_device_open(&dev, "cuda:1", &none, &err), 0);
    assert_int_equal(s->plan(s, &second, two, 2, &arena, &plans, &n, &err), 0);
    assert_string_equal(fake_cupti.chip, "SECOND");
    fake_cupti.chip = NULL;
    assert_int_equal(s->open(&second, plans, &dev, &arena, &h, &err), 0);
    assert_true(iterate(s, h, 1) > 0);
    assert_string_equal(fake_cupti.chip, "SECOND");
    assert_int_equal(fake_cupti.device, 1);
    s->close(h);
}

/* --- traces --------------------------------------------------------------------------------------------------------- */

static CUpti_ActivityKernel10 kernel(const char *name, uint32_t correlation, uint64_t start, uint64_t end)
{
    return (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                    .name = name,
                                    .correlationId = correlation,
                                    .start = start,
                                    .end = end,
                                    .streamId = 7,
                                    .gridX = 5,
                                    .gridY = 1,
                                    .gridZ = 1,
                                    .blockX = 128,
                                    .blockY = 1,
                                    .blockZ = 1,
                                    .registersPerThread = 168,
                                    .staticSharedMemory = 1024,
                                    .dynamicSharedMemory = 4096,
                                    .localMemoryPerThread = 16};
}

static CUpti_ActivityAPI call(uint32_t correlation, uint64_t start)
{
    return (CUpti_ActivityAPI){
        .kind = CUPTI_ACTIVITY_KIND_RUNTIME, .correlationId = correlation, .start = start};
}

static void add_record(const void *r, size_t bytes)
{
    fake_cupti.records[fake_cupti.n_records] = r;
    fake_cupti.record_bytes[fake_cupti.n_records++] = bytes;
}
#define RECORD(x) add_record(&(x), sizeof(x))

static void kernels_with_their_regions(void **state)
{
    struct pk_tracing *t;
    const struct pk_trace *trace;
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_start(t, &err), 0);
    pk_mark_begin(&dev, REGION, PK_LANE_COMPUTE);
    pk_mark_end(&dev, REGION, PK_LANE_COMPUTE);
    struct pk_mark *m = &dev.marks.v[0];
    m->begin_host_ns = 1000;
    m->end_host_ns = 2000;
    pk_trace_add(&dev, "gemm", PK_FAMILY_ATTENTION_MATMUL, 1400, (struct pk_declared){3000, 200});
    dev.trace->v[0].end_ns = 1600;
    const CUpti_ActivityAPI in = call(41, 1500), after = call(42, 2500);
    /* asked for within the region, ran long after it */
    const CUpti_ActivityKernel10
        gemm = kernel("sm90_xmma_gemm_bf16bf16_tn", 41, 9000, 9100),
        soft = kernel("_ZN43_GLOBAL__N__ac3b0356_10_softmax_cu_827f4cb512forward_longIfEEvPKT_PS1_mm", 42,
                      9100, 9150);
    const CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                        .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                        .bytes = 4096,
                                        .start = 8000,
                                        .end = 8500,
                                        .correlationId = 43};
    const CUpti_ActivityMemset4 fill = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET, .bytes = 64, .start = 8600, .end = 8610, .correlationId = 41};
    RECORD(gemm);
    RECORD(in);
    RECORD(copy);
    RECORD(soft);
    RECORD(after);
    RECORD(fill);
    fake_cupti.host_ns = 10000;
    assert_int_equal(pk_tracing_stop(t, &trace, &err), 0);
    assert_int_equal(trace->n, 4);
    assert_int_equal(trace->dropped, 0);
    /* by when they were asked for: not known, within, within, after */
    assert_string_equal(trace->v[0].name, "copy host to device");
    assert_int_equal(trace->v[0].region, PK_NO_REGION);
    assert_int_equal(trace->v[0].copied_bytes, 4096);
    assert_int_equal(trace->v[1].region, REGION);
    assert_int_equal(trace->v[2].region, REGION);
    const struct pk_kernel *g = strcmp(trace->v[1].name, "fill") ? &trace->v[1] : &trace->v[2];
    assert_string_equal(g->name, "sm90_xmma_gemm_bf16bf16_tn");
    assert_int_equal(g->family,
                     PK_FAMILY_ATTENTION_MATMUL); /* its op's: a name of the library's does not tell */
    assert_int_equal(trace->ops->n, 1);
    assert_int_equal(trace->ops->v[0].region, REGION);
    assert_in_range(g->begin_ns, 9000 - 1, 9000 + 1);
    assert_int_equal(g->grid[0], 5);
    assert_int_equal(g->needs.registers, 168);
    assert_int_equal(g->needs.static_bytes, 1024);
    assert_int_equal(g->needs.dynamic_bytes, 4096);
    assert_int_equal(g->needs.local_bytes, 16);
    assert_float_equal(g->needs.occupancy, 0.1875, 1e-12); /* 3 blocks of 128 threads on an H100 */
    assert_string_equal(g->needs.limited_by, "registers");
    assert_int_equal(trace->v[0].needs.registers, 0); /* a copy */
    assert_int_equal(g->lane, 7);
    assert_string_equal(trace->v[3].name, "softmax.cu:forward_long");
    assert_int_equal(trace->v[3].family, PK_FAMILY_SOFTMAX);
    assert_int_equal(trace->v[3].region, PK_NO_REGION);
    pk_tracing_close(t);
    assert_int_equal(fake_cupti.finalised, 0); /* the next trace goes on with it */
    pk_tracing_end();
    assert_int_equal(fake_cupti.enabled_kinds, 0);
    assert_int_equal(fake_cupti.finalised, 1);
    pk_tracing_end();
    assert_int_equal(fake_cupti.finalised, 1);
}

/* A trace pass of one case, as a worker makes it. */
static void the_breakdown_has_the_launches(void **state)
{
    struct pk_slice s;
    const char *breakdown = "";
    struct pk_case c = {.probe = pk_probe_find("selftest")};
    json_t *axes = json_pack("{s:i, s:i, s:s}", "busy_ns", 1000, "memory", 4096, "input", "random");
    assert_int_equal(pk_point_from_json(c.probe->axes, axes, &arena, &c.at, &err), PK_OK);
    json_decref(axes);
    CUpti_ActivityKernel10 small = kernel("gemm", 1, 100, 300), large = kernel("gemm", 2, 400, 900);
    const CUpti_ActivityMemset4 fill = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET, .bytes = 64, .start = 10, .end = 20};
    large.registersPerThread = 32;
    large.localMemoryPerThread = 0;
    CUpti_ActivityOverhead3 full = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                    .overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL,
                                    .start = 500,
                                    .end = 500 + 30,
                                    .overheadData = &full};
    CUpti_ActivityOverhead3 own = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                   .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION,
                                   .start = 500,
                                   .end = 700};
    CUpti_ActivityOverhead3 before = own, untimed = own;
    before.start = 400; /* the iteration is at 500, where the host's clock stands */
    untimed.start = untimed.end = 0;
    RECORD(small);
    RECORD(large);
    RECORD(fill);
    RECORD(full);
    RECORD(own);
    RECORD(before);
    RECORD(untimed);
    pk_measure_case(&(struct pk_measure){.c = &c,
                                         .dev = &dev,
                                         .pass = PK_PASS_TRACE,
                                         .counter_env = &fakes,
                                         .seed = 1,
                                         .stop = {.min_samples = 1, .max_samples = 1, .warmup = 0}},
                    &arena, &s);
    if (s.status)
        fail_msg("%s", s.message);
    for (size_t i = 0; i < s.n_notes; i++)
        if (!strcmp(s.notes[i].key, "breakdown"))
            breakdown = s.notes[i].json;
    const char *launch = strstr(breakdown, "\"launch\"");
    assert_non_null(launch);
    assert_null(strstr(launch + 1, "\"launch\"")); /* a fill has none */
    assert_non_null(strstr(launch, "\"grid\":[5,1,1]"));
    assert_non_null(strstr(launch, "\"block\":[128,1,1]"));
    assert_non_null(strstr(launch, "\"registers\":32")); /* the longest call's */
    assert_non_null(strstr(launch, "\"static_bytes\":1024"));
    assert_non_null(strstr(launch, "\"occupancy\":1.0"));
    assert_null(strstr(launch, "limited_by"));
    const char *overhead = strstr(breakdown, "\"overhead\"");
    assert_non_null(overhead);
    assert_non_null(strstr(overhead, "{\"kind\":\"instrumentation\",\"calls\":1,\"time_ns\":200}"));
    assert_non_null(strstr(overhead, "{\"kind\":\"command buffer full\",\"calls\":1,\"time_ns\":30}"));
    assert_non_null(strstr(breakdown, "\"host_ns\":"));
}

/* An older CUPTI, or a GPU whose driver does not have them. */
static void a_trace_without_overheads_is_one(void **state)
{
    struct pk_tracing *t;
    const struct pk_trace *trace;
    const CUpti_ActivityKernel10 k = kernel("gemm", 1, 100, 300);
    fake_cupti.no_overheads = true;
    RECORD(k);
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_start(t, &err), 0);
    assert_int_equal(pk_tracing_stop(t, &trace, &err), 0);
    assert_int_equal(trace->n, 1);
    pk_tracing_close(t);
}

enum { SECOND = REGION + 1 };

/* Two regions in a graph, of 10 and 30 us on the lane, with a copy in the second. */
static struct pk_graph *capture(char *p)
{
    struct pk_graph *g = NULL;
    struct CUstream_st *stream = pk_cuda_stream(&dev, PK_LANE_COMPUTE);
    for (int captured = 0; captured < 2; captured++) { /* events are made by the first */
        if (captured)
            assert_int_equal(pk_graph_begin(&dev, &err), 0);
        pk_marks_clear(&dev.marks);
        pk_mark_begin(&dev, REGION, PK_LANE_COMPUTE);
        fake_cuda_work(stream, 10000);
        pk_mark_end(&dev, REGION, PK_LANE_COMPUTE);
        pk_mark_begin(&dev, SECOND, PK_LANE_COMPUTE);
        assert_int_equal(pk_device_copy(&dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, p + 64, p, 64, &err), 0);
        fake_cuda_work(stream, 30000 - FAKE_COPY_NS);
        pk_mark_end(&dev, SECOND, PK_LANE_COMPUTE);
        if (captured)
            assert_int_equal(pk_graph_end(&dev, PK_OK, &g, &err), 0);
    }
    return g;
}

/* One case: what runs in each region is its, and so is what was declared. */
static void trace_replay(struct pk_graph *g)
{
    struct pk_tracing *t;
    const struct pk_trace *trace;
    struct pk_breakdown b;
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_start(t, &err), 0);
    assert_int_equal(pk_graph_replay(&dev, g, &err), 0);
    fake_cupti.host_ns += 200000;
    for (size_t i = 0; i < dev.marks.n; i++) { /* as the harness does */
        dev.marks.v[i].begin_host_ns = 1000;
        dev.marks.v[i].end_host_ns = 2000;
    }
    assert_int_equal(pk_tracing_stop(t, &trace, &err), 0);
    assert_int_equal(trace->n, 2);
    for (size_t i = 0; i < trace->n; i++)
        assert_int_equal(trace->v[i].region, strcmp(trace->v[i].name, "norm") ? SECOND : REGION);
    pk_breakdown_make(trace, &arena, &b);
    assert_true(b.whole);
    assert_int_equal(b.n_regions, 3); /* the whole, and both */
    for (size_t i = 0; i < b.n_families; i++) {
        const struct pk_family_time *f = &b.families[i];
        if (f->region == REGION)
            assert_in_range(f->time_ns, 9800 - 1, 9800 + 1);
        if (f->region == SECOND && f->family == PK_FAMILY_GEMM)
            assert_in_range(f->time_ns, 28800 - 1, 28800 + 1);
        if (f->region == SECOND && f->family != PK_FAMILY_GEMM)
            assert_true(f->declared.bytes == 128 && !f->calls);
    }
    pk_tracing_close(t);
}

/* The second case of the process as well, in spite of CUPTI. */
static void a_replayed_graph_has_its_regions(void **state)
{
    char *p = pk_device_alloc(&dev, 128, PK_TAG_OTHER);
    struct pk_graph *g = capture(p);
    const CUpti_ActivityAPI launch = call(41, 1500);
    CUpti_ActivityKernel10 first = kernel("norm", 41, 70100, 79900), gemm = kernel("gemm", 41, 81100, 109900);
    first.graphId = gemm.graphId = 5;
    RECORD(launch);
    RECORD(gemm);
    RECORD(first);
    trace_replay(g);
    trace_replay(g);
    pk_graph_free(&dev, g);
    pk_device_free(&dev, p);
}

/* 20 short regions, one of 400 ms, 20 short ones; in each a kernel, from 1 us after its begin to 1 us before its end. */
static void clocks_of_events_and_records_may_drift(void **state)
{
    enum { SHORT = 20, ALL = 2 * SHORT + 1, SHORT_NS = 5000, LONG_NS = 400000000, LAUNCH_NS = 1000 };
    static const double drifts[] = {0, 45e-6, -45e-6}; /* of records; of events 50e-6 and -50e-6 */
    struct CUstream_st *stream = pk_cuda_stream(&dev, PK_LANE_COMPUTE);
    struct pk_kernel v[ALL];
    for (size_t d = 0; d < 2 * sizeof drifts / sizeof *drifts; d++) {
        const double drift = drifts[d / 2];
        double at = 0;
        fake_cuda.drift_ppm *= -1;
        pk_marks_clear(&dev.marks);
        for (unsigned i = 0; i < ALL; i++) {
            const double length = i == SHORT ? LONG_NS : SHORT_NS;
            const double begin = (at + LAUNCH_NS) * (1 + drift),
                         end = (at + length - LAUNCH_NS) * (1 + drift);
            pk_mark_begin(&dev, i, PK_LANE_COMPUTE);
            fake_cuda_work(stream, (uint64_t)length);
            pk_mark_end(&dev, i, PK_LANE_COMPUTE);
            dev.marks.v[i].begin_host_ns = 1000;
            dev.marks.v[i].end_host_ns = 2000;
            v[i] = (struct pk_kernel){.launched_ns = 1500,
                                      .begin_ns = 7000000000 + (uint64_t)begin,
                                      .end_ns = 7000000000 + (uint64_t)end};
            at += length;
        }
        pk_breakdown_replayed(v, ALL, &dev);
        for (int i = 0; i < ALL; i++)
            if (v[i].region != i)
                fail_msg("drifts %g and %g ppm: kernel %d is of region %d", drift * 1e6, fake_cuda.drift_ppm,
                         i, v[i].region);
    }
}

static void dropped_records_are_counted(void **state)
{
    struct pk_tracing *t;
    const struct pk_trace *trace;
    const CUpti_ActivityKernel10 k = kernel("k", 1, 10, 20);
    assert_int_equal(pk_tracing_open(&fakes, &dev, 2, &arena, &t, &err), 0);
    fake_cupti.drop_records = 5;
    for (int i = 0; i < 3; i++)
        RECORD(k);
    assert_int_equal(pk_tracing_start(t, &err), 0);
    assert_int_equal(pk_tracing_stop(t, &trace, &err), 0);
    assert_int_equal(trace->n, 2);
    assert_int_equal(trace->dropped, 6); /* five by CUPTI, one by us */
    pk_tracing_close(t);
    static const char *const names[] = {"gpu_kernels"};
    void *h;
    const struct pk_source_plan *p = plan_of(&pk_source_gpu_trace, names, 1);
    assert_int_equal(p->source->open(&fakes, p, &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate(p->source, h, 0), 0);
    assert_string_equal(err.what, "the GPU's trace is incomplete");
    p->source->close(h);
}

static void trace_as_a_source(void **state)
{
    static const char *const names[] = {"gpu_kernels",      "gpu_busy_ns",       "gpu_gap_ns",
                                        "gpu_copied_bytes", "gpu_host_bound_ns", "gpu_launch_ns"};
    const CUpti_ActivityKernel10 a = kernel("a", 1, 100, 200), b = kernel("b", 2, 150, 250),
                                 c = kernel("c", 3, 300, 310);
    const CUpti_ActivityAPI in_inner = call(1, 1250), in_outer = call(2, 1500);
    struct pk_reading r[6];
    void *h;
    const struct pk_source_plan *p = plan_of(&pk_source_gpu_trace, names, 6);
    pk_mark_begin(&dev, REGION, PK_LANE_COMPUTE);
    pk_mark_begin(&dev, INNER, PK_LANE_COMPUTE);
    pk_mark_end(&dev, INNER, PK_LANE_COMPUTE);
    pk_mark_end(&dev, REGION, PK_LANE_COMPUTE);
    dev.marks.v[0].begin_host_ns = 1000;
    dev.marks.v[0].end_host_ns = 2000;
    dev.marks.v[1].begin_host_ns = 1200;
    dev.marks.v[1].end_host_ns = 1300;
    RECORD(in_inner);
    RECORD(in_outer);
    RECORD(a);
    RECORD(b);
    RECORD(c);
    assert_int_equal(p->source->open(&fakes, p, &dev, &arena, &h, &err), 0);
    assert_int_equal(iterate(p->source, h, 1), 1);
    assert_int_equal(p->source->read(h, -1, r, &err), 0);
    assert_int_equal(r[0].integer, 3);
    assert_int_equal(r[1].integer, 160);
    assert_int_equal(r[2].integer, 50);
    assert_int_equal(r[3].integer, 0);
    assert_int_equal(r[4].integer + r[5].integer, 0); /* the launch of c, after the gap, is not known */
    assert_int_equal(p->source->read(h, REGION, r, &err), 0);
    assert_int_equal(r[0].integer, 2);
    assert_int_equal(r[1].integer, 150);
    assert_int_equal(p->source->read(h, INNER, r, &err), 0);
    assert_int_equal(r[0].integer, 1); /* and is the outer one's, too */
    p->source->close(h);
}

static void every_refusal_of_traces_in_words(void **state)
{
    for (size_t i = 0; i < REFUSALS; i++) {
        struct pk_tracing *t;
        fake_cupti.fail_in = i % 2 ? "subscribe" : "enable_kind";
        fake_cupti.fail_with = refusals[i].rc;
        assert_refused(&refusals[i], pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err));
        assert_int_equal(fake_cupti.subscribers, 0);
    }
}

/* One iteration with these records; while it lasts, the host's clock goes on and CUPTI's is set. */
static enum pk_code trace_iteration(uint64_t elapsed_ns, int64_t set_ns, const struct pk_trace **trace)
{
    struct pk_tracing *t;
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_start(t, &err), 0);
    fake_cupti.host_ns += elapsed_ns;
    fake_cupti.ahead_ns += set_ns;
    const enum pk_code rc = pk_tracing_stop(t, trace, &err);
    pk_tracing_close(t);
    return rc;
}

/* CUPTI's clock is slewed by 40 us in 100 ms: what a record is ahead by depends on when it was made. */
static void times_are_the_hosts(void **state)
{
    fake_cupti.drift_ppm = 400;
    const struct pk_trace *trace;
    const uint64_t began = fake_cupti.host_ns, half = began + 50000000, all = began + 100000000;
    const CUpti_ActivityKernel10 first = kernel("first", 1, began, began + 10000),
                                 middle = kernel("middle", 2, half, half + 5000),
                                 last = kernel("last", 3, all - 40000, all - 30000);
    RECORD(first);
    RECORD(middle);
    RECORD(last);
    assert_int_equal(trace_iteration(100000000, 0, &trace), 0);
    assert_int_equal(trace->n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct pk_kernel *k = &trace->v[i];
        const uint64_t expected = !strcmp(k->name, "first")    ? began
                                  : !strcmp(k->name, "middle") ? half
                                                               : all - 40000;
        assert_in_range(k->begin_ns, expected - 20, expected + 20);
    }
}

/* A kernel of the warm-up may still run when the trace starts: its record belongs to no iteration. */
static void kernels_launched_before_are_not_traced(void **state)
{
    struct pk_tracing *t;
    const struct pk_trace *trace;
    const CUpti_ActivityKernel10 before = kernel("before", 1, 10, 20), in = kernel("in", 2, 30, 40);
    fake_cupti.running = &before;
    fake_cupti.running_bytes = sizeof before;
    fake_cupti.running_waits = fake_cuda.host_waits;
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_start(t, &err), 0);
    fake_cupti.n_records = 0;
    RECORD(in);
    assert_int_equal(pk_device_sync(&dev, &err), 0);
    assert_int_equal(pk_tracing_stop(t, &trace, &err), 0);
    assert_int_equal(trace->n, 1);
    assert_string_equal(trace->v[0].name, "in");
    pk_tracing_close(t);
}

static void a_clock_that_is_set_is_told(void **state)
{
    const struct pk_trace *trace;
    const CUpti_ActivityKernel10 k = kernel("k", 1, 10, 20);
    RECORD(k);
    assert_int_equal(trace_iteration(1000000, -3000000, &trace), PK_E_INTERNAL);
    assert_string_equal(err.what, "the system's clock was set while the GPU was traced");
    assert_string_equal(err.why, "it moved by -3.000 ms, and CUPTI's times use it");
    assert_int_equal(trace_iteration(1000000, 0, &trace), 0);
    fake_cupti.fail_in = "timestamp";
    fake_cupti.fail_with = CUPTI_ERROR_UNKNOWN;
    struct pk_tracing *t;
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_start(t, &err), PK_E_INTERNAL);
    assert_string_equal(err.what, "reading its clock failed");
    pk_tracing_close(t);
}

static void kernels_without_times_are_dropped(void **state)
{
    const struct pk_trace *trace;
    const CUpti_ActivityKernel10 whole = kernel("k", 1, 10, 20), begun = kernel("k", 2, 30, 0),
                                 ended = kernel("k", 3, 0, 40);
    RECORD(whole);
    RECORD(begun);
    RECORD(ended);
    assert_int_equal(trace_iteration(1000, 0, &trace), 0);
    assert_int_equal(trace->n, 1);
    assert_int_equal(trace->dropped, 2);
}

static void a_trace_without_records_is_an_error(void **state)
{
    const struct pk_trace *trace;
    assert_int_equal(trace_iteration(1000, 0, &trace), PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "the GPU's trace is empty");
}

static void one_trace_at_a_time(void **state)
{
    struct pk_tracing *t, *second;
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &t, &err), 0);
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &second, &err), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.why, "this process already has an open trace"));
    pk_tracing_close(t);
    assert_int_equal(pk_tracing_open(&fakes, &dev, 8, &arena, &second, &err), 0);
    pk_tracing_close(second);
}

/* Why doctor tries each source in a process of its own. */
static void there_are_no_counters_after_the_last_trace(void **state)
{
    const struct pk_trace *trace;
    const CUpti_ActivityKernel10 k = kernel("k", 1, 10, 20);
    const struct pk_source *s = &pk_source_gpu_counters;
    const struct pk_source_plan *p = plan_of(s, two, 2);
    void *h;
    RECORD(k);
    assert_int_equal(trace_iteration(1000, 0, &trace), 0);
    assert_int_equal(s->open(&fakes, p, &dev, &arena, &h, &err), 0);
    s->close(h);
    pk_tracing_end();
    assert_int_equal(s->open(&fakes, p, &dev, &arena, &h, &err), PK_E_INTERNAL);
    assert_string_equal(err.what, "starting the profiler failed");
}

static void names_and_families(void **state)
{
    static const struct {
        const char *symbol, *name;
        enum pk_kernel_family family;
    } of[] = {
        {"_ZN47_GLOBAL__N__fcea33ae_14_elementwise_cu_19fe63595scaleIffEEvfPKT_PT0_m", "elementwise.cu:scale",
         PK_FAMILY_ELEMENTWISE},
        {"_ZN49_GLOBAL__N__d36d86e4_16_flash_forward_cu_ddd04a7e7forwardI4tileEEv12pk_attention",
         "flash_forward.cu:forward", PK_FAMILY_ATTENTION},
        {"_ZN50_GLOBAL__N__36dd9e9a_17_flash_backward_cu_75776c9910of_queriesINS_11tile_"
         "3xtf32ILi128ELi1ELi16EEEEEv12pk_attention",
         "flash_backward.cu:of_queries", PK_FAMILY_ATTENTION},
        {"_ZN40_GLOBAL__N__31ce8949_8_rects_cu_0e496e9f10copy_tableEPK13pk_copy_piecem",
         "rects.cu:copy_table", PK_FAMILY_COPY},
        {"_ZN44_GLOBAL__N__03eefe1f_11_ceilings_cu_8541e15f4peakINS_11exponentialELi8EEEvPfm",
         "ceilings.cu:peak", PK_FAMILY_OTHER},
        {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiEEvv", "cublasLt::splitKreduce_kernel",
         PK_FAMILY_GEMM},
        {"_ZN49_GLOBAL__N__0c5a9a3a_16_norm_backward_cu_5f1f3f1a4rowsEPf", "norm_backward.cu:rows",
         PK_FAMILY_NORM},
        {"_ZN39_GLOBAL__N__0c5a9a3a_7_loss_cu_5f1f3f1a6log_ofEPf", "loss.cu:log_of", PK_FAMILY_LOSS},
        {"_Z10axpy_smallPf", "axpy_small", PK_FAMILY_OTHER},
        {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
         PK_FAMILY_GEMM},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16",
         "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", PK_FAMILY_ATTENTION},
        {"_Z29ncclDevKernel_AllReduce_Sum_f", "ncclDevKernel_AllReduce_Sum_f", PK_FAMILY_COMM},
        {"_ZN2at6native12_GLOBAL__N_119cunn_SoftMaxForwardILi8EEEvv",
         "at::native::_GLOBAL__N_1::cunn_SoftMaxForward", PK_FAMILY_SOFTMAX},
        {"multi_tensor_apply_kernel_adamw", "multi_tensor_apply_kernel_adamw", PK_FAMILY_OPTIMIZER},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi", "at::native::vectorized_elementwise_kernel",
         PK_FAMILY_ELEMENTWISE},
        {"vectorized_layer_norm_kernel", "vectorized_layer_norm_kernel", PK_FAMILY_NORM},
        {"nll_loss_forward_reduce", "nll_loss_forward_reduce", PK_FAMILY_LOSS},
        {"_Z", "_Z", PK_FAMILY_OTHER},
        {"_ZN999x", "_ZN999x", PK_FAMILY_OTHER},
        {"", "", PK_FAMILY_OTHER},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        assert_string_equal(pk_kernel_name(of[i].symbol, &arena), of[i].name);
        assert_string_equal(pk_family_names[pk_kernel_family_of(of[i].symbol)],
                            pk_family_names[of[i].family]);
    }
}

/* --- states --------------------------------------------------------------------------------------------------------- */

static void state_of_the_gpu(void **state)
{
    static const char *const names[] = {"gpu_sm_clock_hz", "gpu_watts",     "gpu_celsius",
                                        "gpu_joules",      "gpu_held_back", "gpu_other_processes"};
    struct pk_reading r[6];
    void *h;
    fake_nvml.held_back = 0x4;
    fake_nvml.others = 2;
    const struct pk_source_plan *p = plan_of(&pk_source_gpu_state, names, 6);
    assert_int_equal(p->source->open(&fakes, p, &dev, &arena, &h, &err), 0);
    assert_string_equal(fake_nvml.asked_pci, pk_cuda_traits(&dev)->pci_id);
    bool again;
    assert_int_equal(p->source->start(h, &err), 0);
    fake_nvml.held_back = 0x40;
    assert_int_equal(p->source->stop(h, &again, &err), 0);
    assert_false(again);
    assert_int_equal(p->source->read(h, -1, r, &err), 0);
    assert_float_equal(r[0].real, 1.98e9, 1);
    assert_float_equal(r[1].real, 412, 1e-9);
    assert_float_equal(r[2].real, 61, 1e-9);
    assert_true(r[3].unavailable); /* milliseconds mean nothing */
    assert_int_equal(r[4].integer, 0x44);
    assert_int_equal(r[5].integer, 2);
    fake_nvml.no_power = true;
    assert_int_equal(p->source->stop(h, &again, &err), 0);
    assert_int_equal(p->source->read(h, -1, r, &err), 0);
    assert_true(r[1].unavailable); /* not 0 W */
    p->source->close(h);
}

/* NVML of a container tells ids of the host's, of which ours are some. */
static void ids_that_are_the_hosts_say_nothing(void **state)
{
    static const char *const names[] = {"gpu_other_processes"};
    struct pk_gpu_environment s = {.env = &fakes};
    struct pk_slice slice = {.status = PK_ST_OK};
    struct pk_reading r;
    bool again;
    void *h;
    fake_nvml.others = 3;
    for (int reason = 0; reason < 2; reason++) {
        fake_nvml.ids_of_the_host = !reason;
        fake_nvml.processes_rc = reason ? PK_NVML_INSUFFICIENT_SIZE : 0;
        const struct pk_source_plan *p = plan_of(&pk_source_gpu_state, names, 1);
        assert_int_equal(p->source->open(&fakes, p, &dev, &arena, &h, &err), 0);
        assert_int_equal(p->source->start(h, &err), 0);
        assert_int_equal(p->source->stop(h, &again, &err), 0);
        assert_int_equal(p->source->read(h, -1, &r, &err), 0);
        assert_true(r.unavailable);
        assert_string_equal(r.why,
                            "NVML does not show which processes are perfkit's: in a container it reports the "
                            "process ids of the host");
        p->source->close(h);
        slice.n_notes = 0;
        pk_gpu_environment_before(&s, &dev);
        pk_gpu_environment_after(&s, &dev, &arena, &slice);
        assert_int_equal(slice.n_notes, 1); /* no doubts */
        assert_non_null(strstr(slice.notes[0].json, "\"other_processes\":[null,null]"));
    }
    pk_gpu_environment_end(&s);
}

/* As a worker sees its siblings: here the child is the worker. */
static void processes_of_the_same_run_are_no_others(void **state)
{
    int status;
    const pid_t worker = fork();
    if (!worker) {
        struct pk_gpu_state seen;
        fake_nvml.others = 1;
        pk_gpu_state_read(&fake_nvml_table, NULL, &seen);
        _exit(seen.others_known ? (int)seen.others : 99);
    }
    assert_int_equal(waitpid(worker, &status, 0), worker);
    assert_int_equal(WEXITSTATUS(status), 1);
}

/* Bits are of the moment: what held the clocks back only while it worked is in totals. */
static void time_held_back_is_a_difference(void **state)
{
    static const char *const names[] = {"gpu_held_by_power_cap_ns", "gpu_held_by_heat_ns"};
    struct pk_gpu_state before = {.at_ns = 1000000}, after = {.at_ns = 2000000};
    struct pk_reading r[2];
    bool again;
    void *h;
    fake_nvml.held_ns = 5000000;
    const struct pk_source_plan *p = plan_of(&pk_source_gpu_state, names, 2);
    assert_int_equal(p->source->open(&fakes, p, &dev, &arena, &h, &err), 0);
    assert_int_equal(p->source->start(h, &err), 0);
    fake_nvml.held_ns = 5700000;
    assert_int_equal(p->source->stop(h, &again, &err), 0);
    assert_int_equal(p->source->read(h, -1, r, &err), 0);
    assert_float_equal(r[0].real, 700000, 1e-6);
    assert_true(r[1].unavailable); /* not 0 */
    p->source->close(h);
    before.held_ns[0] = 5000000;
    after.held_ns[0] = 5005000; /* half a percent */
    after.held_ns[2] = NAN;
    assert_string_equal(pk_gpu_held_between(&before, &after, &arena), "");
    after.held_ns[0] = 5120000;
    after.held_ns[4] = 1000000;
    assert_string_equal(pk_gpu_held_between(&before, &after, &arena),
                        "power cap for 12 % of the time, power brake by hardware for 100 % of the time");
}

static void reasons_in_words(void **state)
{
    assert_string_equal(pk_gpu_held_back_words(0, &arena), "");
    assert_string_equal(pk_gpu_held_back_words(1, &arena), "");
    assert_string_equal(pk_gpu_held_back_words(0x24, &arena), "power cap, thermal slowdown by software");
    assert_string_equal(pk_gpu_held_back_words(0x1008, &arena),
                        "slowdown by hardware, unknown reasons 0x1000");
    assert_int_equal(pk_gpu_held_back_doubtful(0x1 | 0x2 | 0x100), 0);
    assert_int_equal(pk_gpu_held_back_doubtful(0x2 | 0x80), 0x80);
}

static void states_that_doctor_tells(void **state)
{
    struct pk_source_found f = pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena);
    assert_int_equal(f.state, PK_SOURCE_OK);
    assert_string_equal(f.why, "driver 580.65, 1 GPU; the first: 1980 MHz, 412 W, 61 C");
    fake_nvml.held_back = 0x21;
    f = pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena);
    assert_int_equal(f.state, PK_SOURCE_DEGRADED);
    assert_non_null(strstr(f.why, "clocks reduced by thermal slowdown by software"));
    fake_nvml.others = 1;
    f = pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena);
    assert_int_equal(f.state, PK_SOURCE_DEGRADED);
    assert_non_null(strstr(f.why, "; 1 other process computes on it"));
    assert_non_null(strstr(f.fix, "nvidia-smi"));
    fake_nvml.others = 2;
    assert_non_null(strstr(pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena).why,
                           "; 2 other processes compute on it"));
    fake_nvml.ids_of_the_host = true;
    fake_nvml.held_back = 0;
    f = pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena);
    assert_int_equal(f.state, PK_SOURCE_OK);
    assert_non_null(strstr(f.why, "whether other processes compute on it is not known here"));
    fake_nvml.gpus = 0;
    assert_int_equal(pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena).state,
                     PK_SOURCE_UNAVAILABLE);
    fake_nvml.init_rc = 9;
    f = pk_source_gpu_state.check(&pk_source_gpu_state, &fakes, &arena);
    assert_string_equal(f.why, "NVML: Made-up Error (9)");
    assert_int_equal(f.error, 9);
}

static const char *const usages[] = {"gpu_power_watts", "gpu_sm_busy", "gpu_warps_active", "gpu_tensor_busy",
                                     "gpu_dram_used"};

/* An iteration that lasts until the thread has read so many moments in it, or 1 s; the readings. */
static json_t *use_gpu(const struct pk_source *s, int moments, struct pk_reading *r)
{
    struct pk_counter_env env = fakes;
    void *h;
    bool again;
    env.usage_ns = 100000;
    const struct pk_source_plan *p = plan_of(s, usages, 5);
    assert_int_equal(s->open(&env, p, &dev, &arena, &h, &err), 0);
    assert_int_equal(s->start(h, &err), 0);
    const struct timespec moment = {0, 200000};
    const int before = fake_nvml.powers;
    for (int i = 0; i < 5000 && fake_nvml.powers < before + moments; i++)
        nanosleep(&moment, NULL);
    assert_int_equal(s->stop(h, &again, &err), 0);
    assert_int_equal(s->read(h, -1, r, &err), 0);
    json_t *rows = s->moments(h);
    s->close(h);
    assert_int_equal(fake_nvml.gpm_live, 0);
    return rows;
}

static void usage_over_time(void **state)
{
    const struct pk_source *s = &pk_source_gpu_usage;
    struct pk_reading r[5];
    fake_nvml.busy = 40;
    assert_int_equal(s->check(s, &fakes, &arena).state, PK_SOURCE_OK);
    json_t *rows = use_gpu(s, 6, r);
    assert_true(json_array_size(rows) >= 3);
    json_int_t last = -1;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        assert_int_equal(json_array_size(row), 6);
        assert_true(json_integer_value(json_array_get(row, 0)) > last);
        last = json_integer_value(json_array_get(row, 0));
        assert_float_equal(json_real_value(json_array_get(row, 2)), 0.40, 1e-12);
        assert_true(json_is_null(json_array_get(row, 4)));
        assert_float_equal(json_real_value(json_array_get(row, 5)), 0.43, 1e-12);
    }
    json_decref(rows);
    assert_float_equal(r[0].real, 412, 1e-9); /* the mean power, where the driver has no instant one */
    assert_float_equal(r[1].real, 0.40, 1e-12);
    assert_float_equal(r[2].real, 0.41, 1e-12);
    assert_true(r[3].unavailable && !r[4].unavailable);
}

/* A GPU before Hopper, and a driver without the functions: power alone. */
static void usage_without_gpm_is_power(void **state)
{
    const struct pk_source *s = &pk_source_gpu_usage;
    struct pk_reading r[5];
    fake_nvml.no_gpm = true;
    assert_int_equal(s->check(s, &fakes, &arena).state, PK_SOURCE_DEGRADED);
    json_decref(use_gpu(s, 6, r));
    assert_true(!r[0].unavailable && r[1].unavailable && r[4].unavailable);
    assert_non_null(strstr(r[1].why, "does not report it"));
    struct pk_nvml without = fake_nvml_table;
    without.gpm_support = NULL;
    struct pk_counter_env env = fakes;
    env.nvml = &without;
    assert_int_equal(s->check(s, &env, &arena).state, PK_SOURCE_DEGRADED);
    fake_nvml.gpus = 0;
    assert_int_equal(s->check(s, &fakes, &arena).state, PK_SOURCE_UNAVAILABLE);
}

static const char *told_by_doctor(const struct pk_counter_env *env)
{
    const char *why = pk_source_gpu_state.selftest(&pk_source_gpu_state, env, &arena).why;
    const char *topology = strstr(why, "; NUMA");
    return topology ? topology : "";
}

/* Of four GPUs, the first three joined by NVLink; each two share a switch. The kernel knows the nodes of two. */
static void doctor_tells_how_gpus_are_joined(void **state)
{
    char root[] = "/tmp/perfkit-test-XXXXXX";
    assert_non_null(mkdtemp(root));
    struct pk_counter_env env = fakes;
    env.root = root;
    const char *command =
        pk_printf(&arena,
                  "cd %s && mkdir -p sys/bus/pci/devices/0000:3b:00.0 sys/bus/pci/devices/0000:3e:00.0 && "
                  "echo 0 >sys/bus/pci/devices/0000:3b:00.0/numa_node && echo -1 "
                  ">sys/bus/pci/devices/0000:3e:00.0/numa_node",
                  root);
    assert_int_equal(system(command), 0);
    fake_nvml.gpus = 4;
    fake_nvml.joined = 3;
    fake_nvml.p2p_status = 1;
    assert_string_equal(
        told_by_doctor(&env),
        "; NUMA node by GPU: 0 ? ? ?; active NVLinks: 4 4 4 0; GPU 0-1 and 2 more pairs: NVLink, P2P; "
        "GPU 0-3 and 1 more pair: the link between NUMA nodes, no P2P: the chipset does not support "
        "it; GPU 2-3: one PCIe switch, no P2P: the chipset does not support it");
    fake_nvml.gpus = 1;
    fake_nvml.joined = 0;
    assert_string_equal(told_by_doctor(&env), "; NUMA node by GPU: 0; active NVLinks: 0");
    assert_int_equal(system(pk_printf(&arena, "rm -r %s/sys && rmdir %s", root, root)), 0);
}

/* Functions that this driver lacks, or that this GPU refuses. */
static void doctor_tells_what_an_old_driver_knows(void **state)
{
    fake_nvml.gpus = 2;
    fake_nvml.old_driver = true;
    assert_string_equal(
        told_by_doctor(&fakes),
        "; NUMA node by GPU: ? ?; active NVLinks: 0 0; GPU 0-1: an unknown path, P2P not known");
    struct pk_nvml without = fake_nvml_table;
    without.pci = NULL;
    without.p2p = NULL;
    without.ancestor = NULL;
    without.nvlink = NULL;
    struct pk_counter_env env = fakes;
    env.nvml = &without;
    assert_string_equal(told_by_doctor(&env),
                        "; NUMA node by GPU: ? ?; active NVLinks: not known; GPU 0-1: an unknown "
                        "path, P2P not known");
    fake_nvml.init_rc = 9;
    assert_string_equal(told_by_doctor(&fakes), "");
}

static void cases_get_the_state_around_them(void **state)
{
    struct pk_gpu_environment s = {.env = &fakes};
    struct pk_slice slice = {.status = PK_ST_OK}, failed = {.status = PK_ST_FAILED};
    pk_gpu_environment_before(&s, &dev);
    pk_gpu_environment_after(&s, &dev, &arena, &failed);
    assert_int_equal(failed.n_notes, 0);
    pk_gpu_environment_after(&s, &dev, &arena, &slice);
    assert_int_equal(slice.n_notes, 1);
    assert_string_equal(slice.notes[0].key, "state:gpu");
    assert_non_null(strstr(slice.notes[0].json, "\"sm_clock_hz\":[1980000000.0,1980000000.0]"));
    assert_non_null(strstr(slice.notes[0].json, "\"held_back\":[\"\",\"\"]"));
    assert_non_null(strstr(slice.notes[0].json, "\"other_processes\":[0,0]"));
    fake_nvml.held_back = 0x4;
    pk_gpu_environment_before(&s, &dev);
    fake_nvml.held_back = 0x40;
    fake_nvml.others = 1;
    pk_gpu_environment_after(&s, &dev, &arena, &slice);
    assert_int_equal(slice.n_notes, 3);
    assert_string_equal(slice.notes[2].key, "doubts:gpu");
    assert_non_null(strstr(slice.notes[2].json, "clocks were reduced (power cap"));
    assert_non_null(strstr(slice.notes[2].json, "other processes used the GPU"));
    fake_nvml.held_back = 0;
    fake_nvml.others = 0;
    pk_gpu_environment_before(&s, &dev);
    fake_nvml.held_ns += 1000000000000; /* while nobody asked */
    slice = (struct pk_slice){.status = PK_ST_OK};
    pk_gpu_environment_after(&s, &dev, &arena, &slice);
    assert_non_null(strstr(slice.notes[0].json, "\"held_by_power_cap_ns\":["));
    assert_null(strstr(slice.notes[0].json, "held_by_thermal_ns"));
    assert_non_null(strstr(slice.notes[1].json, "were reduced (power cap for 100 % of the time)"));
    pk_gpu_environment_end(&s);
}

static void without_nvml_there_are_no_notes(void **state)
{
    struct pk_gpu_environment s = {.env = &fakes};
    struct pk_slice slice = {.status = PK_ST_OK};
    fake_nvml.init_rc = 9;
    pk_gpu_environment_before(&s, &dev);
    pk_gpu_environment_after(&s, &dev, &arena, &slice);
    assert_int_equal(slice.n_notes, 0);
    pk_gpu_environment_end(&s);
}

int main(void)
{
#define GPU(test) cmocka_unit_test_setup_teardown(test, open_gpu, close_gpu)
    const struct CMUnitTest tests[] = {
        GPU(counts_by_region),
        GPU(an_outer_region_counts_what_is_inside),
        GPU(ranges_beyond_the_limit_are_counted_in_parts),
        GPU(a_profiler_that_takes_no_range_is_told),
        GPU(repetitions_that_differ_are_an_error),
        GPU(not_a_number_is_unavailable),
        GPU(dropped_ranges_are_an_error),
        GPU(a_failed_range_is_told),
        GPU(every_refusal_of_counters_in_words),
        GPU(unsupported_configurations_by_field),
        GPU(no_context_no_profiler),
        GPU(for_administrators_only),
        GPU(names_that_are_not_counted),
        GPU(counts_on_the_chosen_gpu),
        GPU(kernels_with_their_regions),
        GPU(the_breakdown_has_the_launches),
        GPU(a_trace_without_overheads_is_one),
        GPU(a_replayed_graph_has_its_regions),
        GPU(clocks_of_events_and_records_may_drift),
        GPU(dropped_records_are_counted),
        GPU(trace_as_a_source),
        GPU(every_refusal_of_traces_in_words),
        GPU(times_are_the_hosts),
        GPU(a_clock_that_is_set_is_told),
        GPU(kernels_without_times_are_dropped),
        GPU(kernels_launched_before_are_not_traced),
        GPU(a_trace_without_records_is_an_error),
        GPU(one_trace_at_a_time),
        GPU(there_are_no_counters_after_the_last_trace),
        GPU(names_and_families),
        GPU(state_of_the_gpu),
        GPU(ids_that_are_the_hosts_say_nothing),
        GPU(processes_of_the_same_run_are_no_others),
        GPU(reasons_in_words),
        GPU(states_that_doctor_tells),
        GPU(usage_over_time),
        GPU(usage_without_gpm_is_power),
        GPU(doctor_tells_how_gpus_are_joined),
        GPU(doctor_tells_what_an_old_driver_knows),
        GPU(cases_get_the_state_around_them),
        GPU(time_held_back_is_a_difference),
        GPU(without_nvml_there_are_no_notes),
    };
    return cmocka_run_group_tests(tests, start_peer, end_peer);
}
