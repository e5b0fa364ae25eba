/* Cuda shim: blocks in turn, threads as fibers. */
#include "cuda_shim.h"

#include <ucontext.h>

#include <cstdlib>
#include <memory>
#include <vector>

dim3 gridDim, blockDim, blockIdx, threadIdx;
int pk_shim_last;

namespace
{

/* A switch costs AddressSanitizer as much as the stack is large. */
enum { STACK_BYTES = 32 << 10, THREADS_MAX = 1024, WARP = 32 };

struct fetch {
    float *to;
    const float *from; /* null: zeros */
    int floats;
};

struct fiber {
    ucontext_t context;
    std::vector<fetch> fetches;
    std::unique_ptr<unsigned char[]> stack;
    dim3 index;
    bool done;
    unsigned waits_block, waits_warp; /* barriers passed or reached */
    uint32_t given;
    const uint32_t *a, *b; /* fragments of a product */
};

struct block {
    std::vector<fiber> fibers;
    ucontext_t scheduler;
    size_t current;
    unsigned reached; /* barriers by all live threads, as far as any has looked */
    const std::function<void()> *body;
    std::vector<unsigned char> shared;
};
block *running;

void enter()
{
    (*running->body)();
    fiber &f = running->fibers[running->current];
    f.done = true;
    swapcontext(&f.context, &running->scheduler);
}

void yield()
{
    fiber &f = running->fibers[running->current];
    swapcontext(&f.context, &running->scheduler);
    threadIdx = f.index;
}

bool arrived(size_t thread, unsigned fiber::*count, unsigned mine)
{
    const fiber &f = running->fibers[thread];
    return f.done || f.*count >= mine;
}

/* Waits until every live thread of [first, last) has reached as many barriers as the caller: one after the other, for none goes back. */
void wait_for(size_t first, size_t last, unsigned fiber::*count)
{
    const unsigned mine = ++(running->fibers[running->current].*count);
    for (size_t i = first; i < last; i++)
        while (!arrived(i, count, mine))
            yield();
}

void run_block(block &b)
{
    size_t live = b.fibers.size();
    while (live) {
        live = 0;
        for (b.current = 0; b.current < b.fibers.size(); b.current++) {
            fiber &f = b.fibers[b.current];
            if (f.done)
                continue;
            threadIdx = f.index;
            swapcontext(&b.scheduler, &f.context);
            live += !f.done;
        }
    }
}

void start(fiber &f, unsigned i, dim3 shape, ucontext_t *scheduler)
{
    f.done = false;
    f.fetches.clear();
    f.waits_block = f.waits_warp = 0;
    f.index = dim3(i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = STACK_BYTES;
    f.context.uc_link = scheduler;
    makecontext(&f.context, enter, 0);
}

} // namespace

int pk_shim_run(dim3 grid, dim3 shape, size_t shared_bytes, const std::function<void()> &body)
{
    const size_t threads = (size_t)shape.x * shape.y * shape.z;
    if (!threads || threads > THREADS_MAX || !grid.x || !grid.y || !grid.z || grid.y > 65535 ||
        grid.z > 65535)
        return 1;
    block b;
    b.fibers.resize(threads);
    for (fiber &f : b.fibers)
        f.stack.reset(new unsigned char[STACK_BYTES]);
    b.body = &body;
    running = &b;
    gridDim = grid;
    blockDim = shape;
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = dim3(x, y, z);
                b.shared.assign(shared_bytes + 64, 0xff); /* what is not written is not a number */
                b.reached = 0;
                for (unsigned i = 0; i < threads; i++)
                    start(b.fibers[i], i, shape, &b.scheduler);
                run_block(b);
            }
    running = nullptr;
    return 0;
}

unsigned char *pk_shim_shared()
{
    return reinterpret_cast<unsigned char *>(((uintptr_t)running->shared.data() + 63) / 64 * 64);
}

/* Blocks are large: the last to arrive looks at all, and the others at what it found. The next thread seldom has arrived when the
 * caller does. */
void pk_shim_barrier()
{
    block &b = *running;
    const size_t all = b.fibers.size(), self = b.current;
    const unsigned mine = ++b.fibers[self].waits_block;
    for (size_t i = 1; i < all; i++)
        while (b.reached < mine && !arrived((self + i) % all, &fiber::waits_block, mine))
            yield();
    b.reached = mine;
}

/* Lanes of the caller's warp are [first, last). */
static void warp_of_caller(size_t *first, size_t *last)
{
    *first = running->current / WARP * WARP;
    *last = *first + WARP < running->fibers.size() ? *first + WARP : running->fibers.size();
}

void pk_shim_warp_barrier()
{
    size_t first, last;
    warp_of_caller(&first, &last);
    wait_for(first, last, &fiber::waits_warp);
}

/* The hardware refuses addresses that are not aligned to the size of the copy. */
void pk_shim_fetch(float *to, const float *from, int floats)
{
    const uintptr_t bytes = (uintptr_t)floats * sizeof(float);
    if ((uintptr_t)to % bytes || (uintptr_t)from % bytes)
        std::abort();
    running->fibers[running->current].fetches.push_back({to, from, floats});
}

void pk_shim_fetch_wait()
{
    std::vector<fetch> &all = running->fibers[running->current].fetches;
    for (const fetch &f : all)
        for (int i = 0; i < f.floats; i++)
            f.to[i] = f.from ? f.from[i] : 0.0f;
    all.clear();
}

uint32_t pk_shim_exchange(uint32_t bits, unsigned from)
{
    size_t first, last;
    warp_of_caller(&first, &last);
    running->fibers[running->current].given = bits;
    wait_for(first, last, &fiber::waits_warp);
    const uint32_t got = first + from < last ? running->fibers[first + from].given : bits;
    wait_for(first, last, &fiber::waits_warp); /* nobody gives anew before all have taken */
    return got;
}

uint32_t pk_shim_ballot(bool mine)
{
    size_t first, last;
    warp_of_caller(&first, &last);
    running->fibers[running->current].given = mine;
    wait_for(first, last, &fiber::waits_warp);
    uint32_t all = 0;
    for (size_t i = first; i < last; i++)
        all |= running->fibers[i].given << (i - first);
    wait_for(first, last, &fiber::waits_warp);
    return all;
}

/* An operand of tensor cores: the last 13 bits are not looked at. */
static float tf32(uint32_t bits)
{
    return pk_shim_float(bits & ~0x1fffu);
}

/* Lane 4g + t has a: (g, t) (g+8, t) (g, t+4) (g+8, t+4); b: (t, g) (t+4, g); d: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1). Here each
 * lane makes its four sums from the fragments of those that have the operands. */
void pk_shim_mma(float *d, const uint32_t *a, const uint32_t *b)
{
    size_t first, last;
    warp_of_caller(&first, &last);
    if (last - first != WARP)
        std::abort();
    fiber &me = running->fibers[running->current];
    me.a = a, me.b = b;
    wait_for(first, last, &fiber::waits_warp);
    const size_t lane = running->current - first, g = lane / 4, t = lane % 4;
    for (size_t r = 0; r < 4; r++) {
        const size_t column = 2 * t + r % 2; /* the row is g, or g + 8 for r > 1 */
        for (size_t k = 0; k < 8; k++) {
            const fiber &row = running->fibers[first + 4 * g + k % 4];
            const fiber &col = running->fibers[first + 4 * column + k % 4];
            d[r] += tf32(row.a[r / 2 + k / 4 * 2]) * tf32(col.b[k / 4]);
        }
    }
    wait_for(first, last, &fiber::waits_warp); /* fragments are of use until all have read them */
}
