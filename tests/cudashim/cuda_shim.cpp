/* Cuda shim: blocks in turn, threads as fibers, and a message and an abort where a kernel does what CUDA does not define. */
#include "cuda_shim.h"
#include "tensor_core.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

dim3 gridDim, blockDim, blockIdx, threadIdx;
size_t pk_shim_shared_most = 227 << 10;
bool pk_shim_sampled;
unsigned pk_shim_every, pk_shim_spared;

/* Where a stack stopped: on x86-64 its stack pointer, below which lie the registers that a call preserves and the address to go on at.
 * swapcontext calls the kernel for the signal mask, and AddressSanitizer's cleans the whole stack, at each of millions of switches. */
#ifdef __x86_64__
using place = void *;
extern "C" void pk_shim_switch(place *from, place *to);
asm(".text\n"
    "pk_shim_switch:\n"
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rsp, (%rdi)\n"
    "mov (%rsi), %rsp\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
    "ret\n");

static void begin_at(place *at, unsigned char *stack, size_t bytes, void (*life)())
{
    enum { PRESERVED = 6, ABOVE = 2 }; /* the address of life, and a word that aligns its frame */
    void **const top = reinterpret_cast<void **>(((uintptr_t)stack + bytes) / 16 * 16);
    std::fill(top - ABOVE - PRESERVED, top, nullptr);
    top[-ABOVE] = reinterpret_cast<void *>(life);
    *at = top - ABOVE - PRESERVED;
}
#else
using place = ucontext_t;

static void pk_shim_switch(place *from, place *to)
{
    swapcontext(from, to);
}

static void begin_at(place *at, unsigned char *stack, size_t bytes, void (*life)())
{
    getcontext(at);
    at->uc_stack.ss_sp = stack;
    at->uc_stack.ss_size = bytes;
    makecontext(at, life, 0);
}
#endif

/* All variables that are __shared__; where ThreadSanitizer is linked, what it offers for fibers. None of it need be there. */
extern "C" {
#define PK_OPTIONAL __attribute__((weak))
extern unsigned char __start_pk_shared[] PK_OPTIONAL, __stop_pk_shared[] PK_OPTIONAL;
void *__tsan_get_current_fiber() PK_OPTIONAL;
void *__tsan_create_fiber(unsigned) PK_OPTIONAL;
void __tsan_switch_to_fiber(void *, unsigned) PK_OPTIONAL;
void __tsan_acquire(void *) PK_OPTIONAL;
void __tsan_release(void *) PK_OPTIONAL;
void __tsan_write_range(void *, size_t) PK_OPTIONAL;
void __tsan_read_range(void *, size_t) PK_OPTIONAL;

/* There are no other threads whose races an exit would have to await for a second. */
const char *__tsan_default_options()
{
    return "atexit_sleep_ms=0";
}
}

namespace
{

enum { STACK_BYTES = 32 << 10, WARP = 32 };
constexpr unsigned char POISON = 0xff; /* a NaN as a number of any type */

struct fetch {
    float *to;
    const float *from; /* null: zeros */
    int floats;
};

/* What a lane gives to a call that its warp makes together, and what it gets. */
struct exchange {
    uint32_t given, got;
    unsigned from;
    float *d;
    const uint32_t *a, *b; /* fragments of a product */
};

struct fiber {
    place stopped;
    std::unique_ptr<unsigned char[]> stack;
    void *as_thread; /* ThreadSanitizer's */
    std::vector<fetch> fetches;
    dim3 index;
    bool done, waits;
    bool asleep;       /* waits, and is woken to look again */
    bool waited;       /* for the previous kernel, in this block */
    pk_shim_site site; /* of the last call that waits */
    unsigned mask;     /* of that call; 0 for a barrier of the block */
    void *meeting;
    exchange x;
};

struct block {
    place scheduler;
    void *as_thread;
    size_t threads, live, current;
    size_t at_barrier;    /* threads */
    pk_shim_site barrier; /* that they are at */
    void *meeting;
    const pk_shim_kernel *kernel;
    const pk_shim_body *body;
    unsigned char *before, *after; /* stand for this block following the last one, and the next one this */
    unsigned char *shared;
};

/* Lanes of a warp that wait at one call with one mask, the last that were counted: who comes there next need not look at the others. */
struct party {
    pk_shim_site site;
    unsigned mask;
    size_t here; /* 0: nobody was counted, or one of them has gone on or ended */
    void *meeting;
};

/* Kept from launch to launch, those of the last one at the end; two launches after each other have different ones, so that ThreadSanitizer does
 * not take what one has waited for as known to the other. It makes them as `origin`, which knows nothing that the host wrote after its
 * beginning, and takes a millisecond for each. */
std::vector<std::unique_ptr<fiber>> fibers;
size_t rest; /* fibers of the last launch */
void *origin;
block *running;
party parties[1024 / WARP];
std::map<const void *, size_t> allowed_shared; /* by kernel */

/* Places in memory that stand for a meeting each: a barrier, or a call of a warp. */
unsigned char meetings[1 << 12], previous_kernel;
size_t meetings_made;
uint64_t blocks_run;

void *new_meeting()
{
    return &meetings[meetings_made++ % sizeof meetings];
}

fiber &caller()
{
    return *fibers[running->current];
}

__attribute__((noreturn, format(printf, 1, 0))) void vwrong(const char *format, va_list arguments)
{
    std::fprintf(stderr, "kernel, block (%u, %u, %u): ", blockIdx.x, blockIdx.y, blockIdx.z);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    std::abort();
}

__attribute__((noreturn, format(printf, 1, 2))) void wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vwrong(format, arguments);
}

/* A kernel does nothing that others see before it has waited for the previous one. */
void must_have_waited(const fiber &f, const char *what)
{
    if (!f.waited)
        wrong("thread %zu %s, and has not waited for the previous kernel; launched at %s:%d",
              running->current, what, running->kernel->file, running->kernel->line);
}

bool same(const pk_shim_site &a, const pk_shim_site &b)
{
    return a.line == b.line && (a.file == b.file || !std::strcmp(a.file, b.file)) &&
           (a.call == b.call || !std::strcmp(a.call, b.call));
}

/* Switches are no synchronisation: ThreadSanitizer sees fibers as threads that run at the same time. */
void become(void *as_thread)
{
    constexpr unsigned NO_SYNC = 1;
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(as_thread, NO_SYNC);
}

void switch_to(place *from, place *to, void *as_thread)
{
    become(as_thread);
    pk_shim_switch(from, to);
}

void acquire(void *at)
{
    if (__tsan_acquire)
        __tsan_acquire(at);
}

void release(void *at)
{
    if (__tsan_release)
        __tsan_release(at);
}

void to_scheduler(fiber &f)
{
    switch_to(&f.stopped, &running->scheduler, running->as_thread);
}

void wait(fiber &f)
{
    while (f.waits)
        to_scheduler(f);
    threadIdx = f.index;
}

/* Those who wait at the barrier go on when no other thread is left. */
void open_barrier()
{
    block &b = *running;
    if (!b.at_barrier || b.at_barrier < b.live)
        return;
    b.at_barrier = 0;
    for (size_t i = 0; i < b.threads; i++)
        fibers[i]->waits = false;
}

size_t first_lane()
{
    return running->current / WARP * WARP;
}

size_t lanes()
{
    return std::min<size_t>(WARP, running->threads - first_lane());
}

void exited(fiber &f)
{
    const size_t first = first_lane(), lane = running->current - first;
    f.done = true;
    parties[first / WARP].here = 0;
    running->live--;
    for (size_t i = 0; i < lanes(); i++)
        if (fibers[first + i]->waits && fibers[first + i]->mask >> lane & 1)
            wrong("thread %zu ends, but lane %zu of its warp waits for it in %s at %s:%d", running->current,
                  i, fibers[first + i]->site.call, fibers[first + i]->site.file,
                  fibers[first + i]->site.line);
    open_barrier();
}

/* A site of PK_SHIM_WITHOUT, "FILE:LINE FILE:LINE...": its barriers are left out once. */
struct attempt {
    const char *site;
    int line; /* 0: at the first barrier of all, and none is left out */
    bool done;
    bool is(const pk_shim_site &of) const
    {
        const char *const folder = std::strrchr(of.file, '/');
        return line == of.line &&
               std::string(folder ? folder + 1 : of.file) + ":" + std::to_string(line) == site;
    }
};
std::vector<attempt> attempts;
const attempt *without;
size_t threads_without; /* of the largest block with such a barrier */

void read_attempts()
{
    char *left = std::getenv("PK_SHIM_WITHOUT");
    while (const char *const site = strsep(&left, " "))
        if (const char *const line = std::strrchr(site, ':'))
            attempts.push_back({site, std::atoi(line + 1), false});
}

/* A process of its own goes on without the barriers of a site from the first of them on, and barriers.py sees whether it notices that; this one
 * waits for it, and goes on with them. ThreadSanitizer needs longer for its start and for fibers than most of these processes run: they
 * inherit both. A fork that it sees ends its watch, so that this one it does not see: no other thread holds a lock of it. */
void try_without(attempt &a)
{
    a.done = true;
    std::fflush(nullptr);
    const auto child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!child) {
        without = &a;
        return;
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        std::abort();
    std::fprintf(stderr, "\nwithout %s: %s\n", a.site, status ? "noticed" : "unnoticed");
}

bool left_out(const pk_shim_site &site)
{
    for (attempt &a : attempts)
        if (!without && !a.done && (!a.line || a.is(site)))
            try_without(a);
    if (!without || !without->is(site))
        return false;
    threads_without = std::max(threads_without, running->threads);
    return true;
}

/* A fiber's whole life: it runs the body once a block. */
void live()
{
    for (;;) {
        fiber &f = caller();
        acquire(running->before);
        running->body->call(running->body->with);
        must_have_waited(f, "ends");
        release(running->after);
        exited(f);
        to_scheduler(f);
    }
}

/* The first so many fibers are not of the last launch. */
void take_fibers(size_t threads)
{
    void *const as_thread = __tsan_get_current_fiber ? __tsan_get_current_fiber() : nullptr;
    if (origin)
        become(origin);
    while (fibers.size() < threads + rest) {
        fibers.emplace(fibers.begin(), new fiber());
        fiber &f = *fibers.front();
        f.stack.reset(new unsigned char[STACK_BYTES]);
        f.as_thread = __tsan_create_fiber ? __tsan_create_fiber(0) : nullptr;
        begin_at(&f.stopped, f.stack.get(), STACK_BYTES, live);
    }
    if (origin) {
        release(&origin);
        become(as_thread);
        acquire(&origin); /* main, at exit, knows who made what it frees */
    }
}

/* Nobody can go on: the first who waits, and one who waits elsewhere. */
__attribute__((noreturn)) void deadlock()
{
    const fiber *first = nullptr;
    for (size_t i = 0; i < running->threads; i++) {
        const fiber &f = *fibers[i];
        if (f.done)
            continue;
        if (!first)
            first = &f;
        if (!same(first->site, f.site) || first->mask != f.mask)
            wrong("no thread can go on: %s at %s:%d waits for threads that are at %s at %s:%d",
                  first->site.call, first->site.file, first->site.line, f.site.call, f.site.file,
                  f.site.line);
    }
    wrong("no thread can go on: %s at %s:%d", first->site.call, first->site.file, first->site.line);
}

void run_threads(block &b)
{
    while (b.live) {
        bool went_on = false;
        for (b.current = 0; b.current < b.threads; b.current++) {
            fiber &f = caller();
            if (f.done || f.waits)
                continue;
            went_on = true;
            threadIdx = f.index;
            switch_to(&b.scheduler, &f.stopped, f.as_thread);
        }
        if (!went_on)
            deadlock();
    }
}

/* Shared memory as the block before may have left it, or any other. Not by memset: AddressSanitizer has its own between variables. */
__attribute__((no_sanitize("address", "thread"))) void poison(unsigned char *from, const unsigned char *end)
{
    for (volatile unsigned char *p = from; p < end; p++)
        *p = POISON;
}

void run_block(block &b, size_t shared_bytes)
{
    constexpr auto WIDEST = std::align_val_t(64);
    alignas(64) static unsigned char watched[227 << 10]; /* that the host allocates is nothing to wait for */
    b.shared =
        __tsan_create_fiber ? watched : static_cast<unsigned char *>(::operator new(shared_bytes, WIDEST));
    poison(b.shared, b.shared + shared_bytes);
    poison(__start_pk_shared, __stop_pk_shared);
    b.live = b.threads;
    blocks_run++;
    for (unsigned i = 0; i < b.threads; i++) {
        fiber &f = *fibers[i];
        f.done = f.waits = f.asleep = f.waited = false;
        f.fetches.clear();
        f.index = dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y);
    }
    for (party &p : parties)
        p.here = 0;
    run_threads(b);
    if (!__tsan_create_fiber)
        ::operator delete(b.shared, WIDEST);
}

/* A launch that a GPU refuses: why, and its cudaError_t. */
int refusal(const pk_shim_kernel &kernel, dim3 grid, dim3 shape, size_t shared_bytes)
{
    enum { INVALID_VALUE = 1, INVALID_CONFIGURATION = 9, OUT_OF_RESOURCES = 701 };
    constexpr size_t UNASKED = 48 << 10;
    const size_t threads = (size_t)shape.x * shape.y * shape.z;
    const auto asked = allowed_shared.find(kernel.address);
    const size_t most = asked == allowed_shared.end() ? UNASKED : std::max(UNASKED, asked->second);
    const struct {
        bool wrong;
        int code;
        const char *why;
    } rules[] = {
        {!grid.x || !grid.y || !grid.z, INVALID_CONFIGURATION, "the grid has no blocks"},
        {grid.x > INT32_MAX, INVALID_CONFIGURATION, "grid.x is over 2^31 - 1"},
        {grid.y > 65535 || grid.z > 65535, INVALID_CONFIGURATION, "grid.y or grid.z is over 65535"},
        {!threads, INVALID_CONFIGURATION, "a block has no threads"},
        {threads > 1024 || shape.z > 64, INVALID_CONFIGURATION,
         "a block has more than 1024 threads, or block.z is over 64"},
        {threads > kernel.most_threads, OUT_OF_RESOURCES,
         "a block has more threads than the kernel's launch bounds"},
        {shared_bytes > most, INVALID_VALUE, "more shared memory than 48 KiB or what was asked for"},
    };
    for (const auto &rule : rules)
        if (rule.wrong) {
            std::fprintf(stderr, "launch refused: %s\n", rule.why);
            return rule.code;
        }
    return 0;
}

} // namespace

bool pk_shim_begin()
{
    if (__tsan_create_fiber)
        origin = __tsan_create_fiber(0);
    return true;
}

int pk_shim_run(const pk_shim_kernel &kernel, dim3 grid, dim3 shape, size_t shared_bytes,
                const pk_shim_body &body)
{
    const int refused = refusal(kernel, grid, shape, shared_bytes);
    if (refused)
        return refused;
    [[maybe_unused]] static const bool read = (read_attempts(), true);
    const uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    const bool sampled = pk_shim_sampled && !pk_shim_spared;
    const uint64_t most = pk_shim_every && !pk_shim_spared ? pk_shim_every : 1,
                   step =
                       sampled && blocks > 3 ? (blocks - 1) / 2 : most; /* the first, the middle, the last */
    pk_shim_spared -= pk_shim_spared > 0;
    block b = {};
    b.threads = (size_t)shape.x * shape.y * shape.z;
    const auto order = std::make_unique<unsigned char[]>(2); /* not known from a launch before */
    b.kernel = &kernel;
    b.body = &body;
    b.before = &order[0];
    b.after = &order[1];
    b.as_thread = __tsan_get_current_fiber ? __tsan_get_current_fiber() : nullptr;
    running = &b;
    take_fibers(b.threads);
    gridDim = grid;
    blockDim = shape;
    release(&previous_kernel);
    for (uint64_t i = 0; i < blocks; i += step) {
        if (sampled && step > 1 && i + step >= blocks)
            i = blocks - 1;
        blockIdx =
            dim3((unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y), (unsigned)(i / grid.x / grid.y));
        run_block(b, shared_bytes);
        std::swap(b.before, b.after);
    }
    acquire(b.before);
    running = nullptr;
    rest = b.threads;
    std::rotate(fibers.begin(), fibers.begin() + (ptrdiff_t)rest, fibers.end());
    static size_t printed;
    if (threads_without > printed)
        std::fprintf(stderr, "without a barrier in a block of %zu threads\n", printed = threads_without);
    return 0;
}

int pk_shim_allow_shared(const void *kernel, size_t bytes)
{
    if (bytes > pk_shim_shared_most)
        return 1; /* cudaErrorInvalidValue */
    allowed_shared[kernel] = bytes;
    return 0;
}

unsigned char *pk_shim_shared()
{
    return running->shared;
}

void pk_shim_wait_for_previous(const pk_shim_site &site)
{
    caller().waited = true;
    if (!left_out(site))
        acquire(&previous_kernel);
}

/* Threads that are still running have to come to the same barrier; those that have ended are not waited for, as since compute capability
 * 7.0. CUDA allows a barrier in conditional code only where the condition is the same for the whole block: another barrier is not it. */
void pk_shim_barrier(const pk_shim_site &site)
{
    block &b = *running;
    fiber &f = caller();
    must_have_waited(f, "is at a barrier");
    if (left_out(site))
        return;
    if (!b.at_barrier)
        b.barrier = site, b.meeting = new_meeting();
    else if (!same(b.barrier, site))
        wrong("thread %zu is at %s at %s:%d, others are at %s:%d", b.current, site.call, site.file, site.line,
              b.barrier.file, b.barrier.line);
    f.site = site;
    f.mask = 0;
    f.meeting = b.meeting;
    f.waits = true;
    b.at_barrier++;
    release(f.meeting);
    open_barrier();
    wait(f);
    acquire(f.meeting);
}

/* Those who are where the caller is. */
static party counted(size_t first, size_t self)
{
    const fiber &me = caller();
    party p = {me.site, me.mask, 0, nullptr};
    for (size_t i = 0; i < WARP; i++) {
        if (!(me.mask >> i & 1))
            continue;
        if (i >= lanes() || fibers[first + i]->done)
            wrong("%s at %s:%d names lane %zu, which %s", me.site.call, me.site.file, me.site.line, i,
                  i >= lanes() ? "does not exist" : "has ended");
        const fiber &f = *fibers[first + i];
        const bool here = f.waits && f.mask == me.mask && same(f.site, me.site);
        if (f.waits && !here && f.mask >> self & 1)
            wrong("lane %zu is at %s at %s:%d (mask %08x), lane %zu at %s at %s:%d (mask %08x)", self,
                  me.site.call, me.site.file, me.site.line, me.mask, i, f.site.call, f.site.file, f.site.line,
                  f.mask);
        if (here && i != self)
            p.meeting = f.meeting;
        p.here += here;
    }
    if (!p.meeting)
        p.meeting = new_meeting();
    return p;
}

/* The caller waits until every lane that the mask names is at the same call with the same mask; the last to come serves all. No lane that is
 * named may have ended: CUDA does not wait for such a one, and leaves undefined what is read from it. */
static fiber &meet(unsigned mask, const pk_shim_site &site, const exchange &x, void (*serve)(size_t first))
{
    const size_t first = first_lane(), self = running->current - first;
    fiber &me = caller();
    must_have_waited(me, site.call);
    if (!(mask >> self & 1))
        wrong("lane %zu is at %s at %s:%d and not named by its mask %08x", self, site.call, site.file,
              site.line, mask);
    me.site = site;
    me.mask = mask;
    me.x = x;
    me.waits = true;
    party &p = parties[first / WARP];
    if (p.here && p.mask == mask && same(p.site, site))
        p.here++;
    else
        p = counted(first, self);
    me.meeting = p.meeting;
    if (p.here == (size_t)__builtin_popcount(mask)) {
        serve(first);
        for (size_t i = 0; i < lanes(); i++)
            if (mask >> i & 1)
                fibers[first + i]->waits = false;
        p.here = 0;
    }
    return me;
}

/* Of these calls this one alone orders what lanes read and write. */
void pk_shim_warp_barrier(unsigned mask, const pk_shim_site &site)
{
    if (left_out(site))
        return;
    fiber &me = meet(mask, site, {}, [](size_t) {});
    release(me.meeting);
    wait(me);
    acquire(me.meeting);
}

/* The hardware refuses addresses that are not aligned to the size of the copy. */
void pk_shim_fetch(float *to, const float *from, int floats)
{
    const uintptr_t bytes = (uintptr_t)floats * sizeof(float);
    if ((uintptr_t)to % bytes || (uintptr_t)from % bytes)
        wrong("a copy of %d bytes from %p to %p", (int)bytes, (const void *)from, (void *)to);
    must_have_waited(caller(), "begins a copy");
    if (__tsan_write_range) /* from now on, and when it is waited for */
        __tsan_write_range(to, bytes);
    caller().fetches.push_back({to, from, floats});
}

void pk_shim_fetch_wait()
{
    std::vector<fetch> &all = caller().fetches;
    for (const fetch &f : all) {
        const size_t bytes = (size_t)f.floats * sizeof(float);
        if (__tsan_write_range) {
            __tsan_write_range(f.to, bytes);
            if (f.from)
                __tsan_read_range(const_cast<float *>(f.from), bytes);
        }
        for (int i = 0; i < f.floats; i++)
            f.to[i] = f.from ? f.from[i] : 0.0f;
    }
    all.clear();
}

void pk_shim_may_add(const float *to, int floats, const pk_shim_site &site)
{
    if ((uintptr_t)to % ((uintptr_t)floats * sizeof(float)))
        wrong("%s at %s:%d adds to %d floats at %p, which are not aligned", site.call, site.file, site.line,
              floats, (const void *)to);
    must_have_waited(caller(), "adds");
}

uint32_t pk_shim_exchange(unsigned mask, uint32_t bits, unsigned from, const pk_shim_site &site)
{
    if (!(mask >> from % WARP & 1))
        wrong("%s at %s:%d reads lane %u, which its mask %08x does not name", site.call, site.file, site.line,
              from % WARP, mask);
    exchange x = {};
    x.given = bits;
    x.from = from % WARP;
    fiber &me = meet(mask, site, x, [](size_t first) {
        const unsigned named = caller().mask;
        for (size_t i = 0; i < WARP; i++)
            if (named >> i & 1)
                fibers[first + i]->x.got = fibers[first + fibers[first + i]->x.from]->x.given;
    });
    wait(me);
    return me.x.got;
}

uint32_t pk_shim_ballot(unsigned mask, bool mine, const pk_shim_site &site)
{
    exchange x = {};
    x.given = mine;
    fiber &me = meet(mask, site, x, [](size_t first) {
        const unsigned named = caller().mask;
        uint32_t votes = 0;
        for (size_t i = 0; i < WARP; i++)
            if (named >> i & 1)
                votes |= fibers[first + i]->x.given << i;
        for (size_t i = 0; i < WARP; i++)
            if (named >> i & 1)
                fibers[first + i]->x.got = votes;
    });
    wait(me);
    return me.x.got;
}

/* Lane 4g + t has a: (g, t) (g+8, t) (g, t+4) (g+8, t+4); b: (t, g) (t+4, g); d: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1). */
static void multiply(size_t first)
{
    pk_term rows[16][8];
    pk_terms columns[8];
    for (size_t lane = 0; lane < WARP; lane++) {
        const exchange &x = fibers[first + lane]->x;
        const size_t g = lane / 4, t = lane % 4;
        for (size_t i = 0; i < 4; i++)
            rows[g + i % 2 * 8][t + i / 2 * 4] = pk_tf32_decoded(x.a[i]);
        for (size_t i = 0; i < 2; i++)
            pk_terms_set(columns[t + i * 4], (int)g, pk_tf32_decoded(x.b[i]));
    }
    for (size_t row = 0; row < 16; row++) {
        float sums[PK_COLUMNS_AT_ONCE];
        const auto at = [&](size_t column) -> float & {
            return fibers[first + row % 8 * 4 + column / 2]->x.d[row / 8 * 2 + column % 2];
        };
        for (size_t column = 0; column < PK_COLUMNS_AT_ONCE; column++)
            sums[column] = at(column);
        pk_tensor_core_add(rows[row], columns, sums);
        for (size_t column = 0; column < PK_COLUMNS_AT_ONCE; column++)
            at(column) = sums[column];
    }
}

void pk_shim_mma(float *d, const uint32_t *a, const uint32_t *b)
{
    exchange x = {};
    x.d = d, x.a = a, x.b = b;
    wait(meet(0xffffffff, {"mma.sync", __FILE__, __LINE__}, x, multiply));
}

void pk_shim_sleep(const pk_shim_site &site)
{
    fiber &f = caller();
    f.site = site;
    f.mask = 0;
    f.asleep = f.waits = true;
    wait(f);
}

void pk_shim_wake_all()
{
    for (size_t i = 0; i < running->threads; i++)
        if (fibers[i]->asleep)
            fibers[i]->asleep = fibers[i]->waits = false;
}

void pk_shim_meet(const pk_shim_site &site, void (*serve)(size_t first))
{
    wait(meet(0xffffffff, site, {}, serve));
}

size_t pk_shim_thread(const char *what)
{
    must_have_waited(caller(), what);
    return running->current;
}

uint64_t pk_shim_block()
{
    return blocks_run;
}

bool pk_shim_left_out(const pk_shim_site &site)
{
    return left_out(site);
}

void pk_shim_acquire(void *at)
{
    acquire(at);
}

void pk_shim_release(void *at)
{
    release(at);
}

void pk_shim_writes(void *at, size_t bytes)
{
    if (__tsan_write_range)
        __tsan_write_range(at, bytes);
}

void pk_shim_reads(const void *at, size_t bytes)
{
    if (__tsan_read_range)
        __tsan_read_range(const_cast<void *>(at), bytes);
}

void pk_shim_wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vwrong(format, arguments);
}
