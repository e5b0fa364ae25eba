/* Cpu: threads, memory and clock of the machine itself behind the device vtable. */
#include "device/cpu/cpu.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text/buf.h"
#include "machine/bind.h"
#include "machine/machine.h"

#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

struct cpu {
    struct pk_threads *threads;
    enum pk_isa isa;
    struct pk_cpus cpus; /* none when threads are not bound */
    bool blas_open, other_open, bf16_open;
    struct pk_blas blas, other;
    struct pk_bf16 bf16;
    unsigned char *flush; /* twice the last-level cache; NULL until it is needed */
    size_t flush_bytes;
    void *beside;
};

static struct cpu *cpu_of(const struct pk_device *dev)
{
    pk_assert(dev->kind == PK_DEVICE_CPU && dev->impl);
    return dev->impl;
}

void pk_cpu_unused_cpus(const struct pk_device *dev, struct pk_cpus *out)
{
    const struct pk_cpus *all = dev->kind == PK_DEVICE_CPU ? &cpu_of(dev)->cpus : NULL;
    out->n = 0;
    if (!all || !all->n)
        return;
    const unsigned used = pk_cpu_threads(dev) < all->n ? pk_cpu_threads(dev) : 0;
    out->n = all->n - used;
    memcpy(out->v, all->v + used, out->n * sizeof *out->v);
}

static const char *cpu_unavailable(void)
{
    return NULL;
}

/* Those that options name, else all that we may use. */
static void usable_cpus(const char *list, struct pk_cpus *out)
{
    if (!list || !pk_cpus_read(list, out))
        out->n = pk_machine_cpus(out->v, PK_CPUS_MAX);
}

enum pk_code pk_cpu_threads_check(int64_t threads, const char *cpus, struct pk_err *err)
{
    struct pk_cpus usable;
    usable_cpus(cpus, &usable);
    if (threads <= usable.n)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "--threads %lld: there are fewer CPUs to use", (long long)threads);
    if (cpus)
        pk_why(err, "--bind names %u", usable.n);
    else
        pk_why(err, "affinity and control group allow %u for this process", usable.n);
    return pk_fix(err, "use --threads %u or fewer; the default is one per CPU", usable.n);
}

static enum pk_code cpu_open(struct pk_device *dev, const struct pk_device_options *opt, struct pk_err *err)
{
    struct cpu *c = pk_new(&dev->arena, struct cpu);
    dev->impl = c;
    c->isa = pk_isa_detect();
    usable_cpus(opt->cpus, &c->cpus);
    const unsigned usable = c->cpus.n, threads = opt->threads ? opt->threads : usable ? usable : 1;
    if (opt->no_bind)
        c->cpus.n = 0;
    if (threads > PK_CPUS_MAX) {
        pk_fail(err, PK_E_USAGE, "threads: %u is out of range", threads);
        pk_why(err, "the CPU device runs 1 to %d threads", PK_CPUS_MAX);
        return pk_fix(err, "%u cores can be used on this machine; omit --threads to use all", usable);
    }
    int64_t available = pk_machine_available_bytes(NULL);
    if (!opt->limit_bytes && available)
        dev->pool.limit = (size_t)(available / 10 * 9);
    if (opt->cpus)
        pk_bind_memory(&c->cpus);
    return pk_threads_start(&c->threads, &dev->arena, threads, c->cpus.v, c->cpus.n, err);
}

static void cpu_close(struct pk_device *dev)
{
    struct cpu *c = cpu_of(dev);
    pk_threads_stop(c->threads);
    if (c->blas_open)
        pk_blas_close(&c->blas);
    if (c->other_open)
        pk_blas_close(&c->other);
    if (c->bf16_open)
        pk_bf16_close(&c->bf16);
    if (c->flush)
        munmap(c->flush, c->flush_bytes);
}

static uint64_t cpu_now_ns(struct pk_device *dev)
{
    return pk_clock_ns();
}

static enum pk_code cpu_sync(struct pk_device *dev, struct pk_err *err)
{
    return PK_OK; /* work is done when its op returns */
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Large blocks are aligned to huge pages and request them: fewer TLB misses, and 512 times fewer page faults. */
static void *map_huge(size_t bytes)
{
    char *p = map(bytes + HUGE_PAGE);
    if (!p)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (before)
        munmap(p, before);
    munmap(p + before + bytes, HUGE_PAGE - before);
    madvise(p + before, bytes, MADV_HUGEPAGE); /* a hint: refused by kernels without them */
    return p + before;
}

static size_t whole_pages(size_t bytes)
{
    size_t page = bytes >= HUGE_PAGE ? HUGE_PAGE : 4096;
    return (bytes + page - 1) / page * page;
}

static void *cpu_reserve(struct pk_device *dev, size_t bytes)
{
    size_t whole = whole_pages(bytes);
    return bytes >= HUGE_PAGE ? map_huge(whole) : map(whole);
}

static void cpu_release(struct pk_device *dev, void *p, size_t bytes)
{
    munmap(p, whole_pages(bytes));
}

static enum pk_code cpu_copy(struct pk_device *dev, enum pk_lane lane, enum pk_copy dir, void *dst,
                             const void *src, size_t bytes, struct pk_err *err)
{
    memcpy(dst, src, bytes);
    return PK_OK;
}

enum { FLUSH_TASK_BYTES = 1 << 20, LINE_BYTES = 64 };

/* Reads and writes: a memset of so much would go past the caches. */
static void touch_lines(void *arg, size_t task, unsigned thread)
{
    const struct cpu *c = arg;
    volatile unsigned char *p = c->flush + task * FLUSH_TASK_BYTES;
    for (size_t i = 0; i < FLUSH_TASK_BYTES; i += LINE_BYTES)
        p[i]++;
}

static enum pk_code cpu_flush(struct pk_device *dev, struct pk_err *err)
{
    struct cpu *c = cpu_of(dev);
    if (!c->flush) {
        c->flush_bytes = ((size_t)(2 * pk_machine_cache_bytes()) / FLUSH_TASK_BYTES + 1) * FLUSH_TASK_BYTES;
        c->flush = map(c->flush_bytes);
    }
    if (!c->flush) {
        pk_fail(err, PK_E_OOM, "no memory for emptying the caches");
        return pk_why(err, "the kernel refused %zu bytes", c->flush_bytes);
    }
    pk_threads_run(c->threads, touch_lines, c, c->flush_bytes / FLUSH_TASK_BYTES);
    return PK_OK;
}

static const char *binding_text(const struct cpu *c, struct pk_arena *a)
{
    if (!c->cpus.n)
        return "off";
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, "cpus ");
    unsigned n = pk_threads_count(c->threads);
    for (unsigned i = 0; i < n; i++)
        pk_buf_printf(&b, "%s%u", i ? "," : "", c->cpus.v[i % c->cpus.n]);
    return pk_buf_text(&b);
}

static void cpu_facts(struct pk_device *dev, pk_fact_fn *fn, void *user)
{
    const struct cpu *c = cpu_of(dev);
    const struct pk_blas *b = pk_cpu_blas(dev);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    unsigned threads = pk_threads_count(c->threads), unbound = pk_threads_unbound(c->threads);
    fn(user, "threads", pk_printf(&a, "%u", threads));
    fn(user, "binding", binding_text(c, &a));
    fn(user, "isa", pk_isa_name(c->isa));
    fn(user, "blas", b->name);
    if (*b->core)
        fn(user, "blas_core", b->core);
    if (pk_cpu_other_blas(dev))
        fn(user, "blas_other", pk_cpu_other_blas(dev)->name);
    fn(user, "bf16", pk_cpu_bf16(dev)->name);
    if (*pk_cpu_bf16(dev)->warning)
        fn(user, "bf16_warning", pk_cpu_bf16(dev)->warning);
    fn(user, "limit_bytes", pk_printf(&a, "%zu", dev->pool.limit));
    if (unbound)
        fn(user, "binding_warning",
           pk_printf(&a, "%u of %u threads could not be bound to CPUs; times will vary more", unbound,
                     threads));
    if (*b->warning)
        fn(user, "blas_warning", b->warning);
}

const struct pk_device_ops pk_device_cpu = {
    .kind = "cpu",
    .summary = "this machine's processor, one bound thread per core",
    .unavailable = cpu_unavailable,
    .open = cpu_open,
    .close = cpu_close,
    .now_ns = cpu_now_ns,
    .sync = cpu_sync,
    .reserve = cpu_reserve,
    .release = cpu_release,
    .copy = cpu_copy,
    .flush = cpu_flush,
    .facts = cpu_facts,
};

void pk_cpu_parallel_for(struct pk_device *dev, pk_task_fn *fn, void *arg, size_t n_tasks)
{
    pk_threads_run(cpu_of(dev)->threads, fn, arg, n_tasks);
}

unsigned pk_cpu_threads(const struct pk_device *dev)
{
    return pk_threads_count(cpu_of(dev)->threads);
}

enum pk_isa pk_cpu_isa(const struct pk_device *dev)
{
    return cpu_of(dev)->isa;
}

void pk_cpu_lower_isa(struct pk_device *dev, enum pk_isa isa)
{
    pk_assert(isa <= pk_isa_detect());
    cpu_of(dev)->isa = isa;
}

const struct pk_blas *pk_cpu_blas(struct pk_device *dev)
{
    struct cpu *c = cpu_of(dev);
    if (!c->blas_open) {
        pk_blas_open(&c->blas, c->isa);
        c->blas_open = true;
    }
    return &c->blas;
}

const struct pk_blas *pk_cpu_other_blas(struct pk_device *dev)
{
    struct cpu *c = cpu_of(dev);
    if (!c->other_open) {
        pk_blas_open_other(&c->other, pk_cpu_blas(dev));
        c->other_open = true;
    }
    return c->other.sgemm ? &c->other : NULL;
}

void **pk_cpu_user_state(struct pk_device *dev)
{
    return &cpu_of(dev)->beside;
}

const struct pk_bf16 *pk_cpu_bf16(struct pk_device *dev)
{
    struct cpu *c = cpu_of(dev);
    if (!c->bf16_open) {
        pk_bf16_open(&c->bf16);
        c->bf16_open = true;
    }
    return &c->bf16;
}
