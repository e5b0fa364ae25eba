/* The shim itself: each wrong kernel or launch is noticed and said, each right one beside it is not. */
#include "ops/cuda/attention/mma.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace
{

constexpr unsigned ALL = 0xffffffffu, LOW_HALF = 0xffffu;
int failures;

void expect(bool right, const char *what)
{
    if (!right && ++failures)
        std::printf("%s\n", what);
}

/* ---- launches ---- */

__global__ void nothing(int)
{
    pk_wait_for_previous();
}

PK_KERNEL((128), bounded, int)
{
    pk_wait_for_previous();
}

template <typename F> int launch(F *kernel, dim3 grid, dim3 block, size_t shared_bytes = 0)
{
    return PK_LAUNCH(kernel, grid, block, shared_bytes, nullptr, 0);
}

void launches()
{
    constexpr size_t KIB = 1 << 10;
    expect(!launch(nothing, 1, 1024), "1024 threads were refused");
    expect(launch(nothing, 1, 1025), "1025 threads were not refused");
    expect(launch(nothing, 1, dim3(1, 1, 65)), "block.z of 65 was not refused");
    expect(launch(nothing, 1, 0), "a block without threads was not refused");
    expect(!PK_LAUNCH(bounded, 1, 128, 0, nullptr, 0), "as many threads as launch bounds say were refused");
    expect(PK_LAUNCH(bounded, 1, 160, 0, nullptr, 0), "more threads than launch bounds say were not refused");
    expect(launch(nothing, 0, 32), "a grid without blocks was not refused");
    expect(launch(nothing, 0x80000000u, 32), "grid.x of 2^31 was not refused");
    expect(!launch(nothing, dim3(1, 65535), 1), "grid.y of 65535 was refused");
    expect(launch(nothing, dim3(1, 65536), 1), "grid.y of 65536 was not refused");
    expect(launch(nothing, dim3(1, 1, 65536), 1), "grid.z of 65536 was not refused");
    expect(!launch(nothing, 1, 1, 48 * KIB), "48 KiB of shared memory were refused");
    expect(launch(nothing, 1, 1, 48 * KIB + 1), "more than 48 KiB of shared memory were not refused");
    expect(!PK_ALLOW_SHARED(nothing, 100 * KIB), "100 KiB of shared memory may not be asked for");
    expect(!launch(nothing, 1, 1, 100 * KIB), "shared memory that was asked for was refused");
    expect(launch(nothing, 1, 1, 100 * KIB + 1), "more shared memory than asked for was not refused");
    expect(PK_LAUNCH(bounded, 1, 1, 100 * KIB, nullptr, 0), "what one kernel asked for another was given");
    expect(PK_ALLOW_SHARED(nothing, 227 * KIB + 1), "more than 227 KiB may be asked for");
    pk_shim_shared_most = 163 * KIB;
    expect(PK_ALLOW_SHARED(nothing, 164 * KIB), "more shared memory than the chip has may be asked for");
}

/* ---- shared memory ---- */

/* What a block finds there; then it leaves zeros for the next. */
__global__ void read_unwritten(float *out)
{
    pk_wait_for_previous();
    __shared__ float fixed[2];
    PK_SHARED(float, asked);
    out[2 * blockIdx.x] = fixed[threadIdx.x];
    out[2 * blockIdx.x + 1] = asked[threadIdx.x];
    fixed[threadIdx.x] = asked[threadIdx.x] = 0;
}

void shared_memory()
{
    float out[4] = {};
    PK_LAUNCH(read_unwritten, 2, 1, 2 * sizeof(float), nullptr, out);
    for (float v : out)
        expect(std::isnan(v), "shared memory is what the last block left, or zeros");
}

/* ---- threads that meet ---- */

__global__ void half_ended(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x < 16)
        return;
    x[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 1);
}

__global__ void half_ends_later(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x % 32 < 16)
        x[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 1);
}

__global__ void ended_in_ballot(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x == 3)
        return;
    x[threadIdx.x] = (float)__ballot_sync(mask, true);
}

__global__ void ended_in_syncwarp(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x == 3)
        return;
    __syncwarp(mask);
    x[threadIdx.x] = 1;
}

__global__ void unnamed(float *x, unsigned mask)
{
    pk_wait_for_previous();
    x[threadIdx.x] = (float)__ballot_sync(mask, true);
}

__global__ void reads_unnamed(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x < 16)
        x[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 16);
}

__global__ void another_call(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x < 16)
        __syncwarp(mask);
    else
        x[threadIdx.x] = (float)__ballot_sync(mask, true);
}

__global__ void another_mask(float *, unsigned mask)
{
    pk_wait_for_previous();
    __syncwarp(threadIdx.x % 2 ? ALL : mask);
}

__global__ void another_barrier(float *x, unsigned)
{
    pk_wait_for_previous();
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}

__global__ void barrier_and_warp(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x == 0)
        __syncthreads();
    x[threadIdx.x] = (float)__ballot_sync(mask, true);
}

__global__ void all_meet(float *x, unsigned mask)
{
    pk_wait_for_previous();
    if (threadIdx.x >= 48 && mask == ALL) /* where no warp is called: they may end */
        return;
    __syncthreads();
    if (threadIdx.x < 16)
        x[threadIdx.x] = __shfl_xor_sync(LOW_HALF, x[threadIdx.x], 1);
    else if (threadIdx.x < 32)
        x[threadIdx.x] = (float)__ballot_sync(~LOW_HALF, true);
    __syncthreads();
}

/* ---- races: only ThreadSanitizer sees them ---- */

#ifdef PK_WATCHED
constexpr const char *RACE = "data race";
#else
constexpr const char *RACE = nullptr;
#endif

__shared__ float shared[64];

__global__ void reads_neighbour(float *x, unsigned barrier)
{
    pk_wait_for_previous();
    shared[threadIdx.x] = x[threadIdx.x];
    if (barrier)
        __syncthreads();
    x[threadIdx.x] = shared[threadIdx.x ^ 32];
}

__global__ void writes_again(float *x, unsigned barrier)
{
    pk_wait_for_previous();
    for (int turn = 0; turn < 3; turn++) {
        shared[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] += shared[threadIdx.x ^ 32];
        if (barrier)
            __syncthreads();
    }
}

/* A shuffle makes lanes wait for each other, and orders nothing that they write. */
__global__ void trusts_shuffle(float *x, unsigned barrier)
{
    pk_wait_for_previous();
    shared[threadIdx.x] = x[threadIdx.x];
    if (barrier)
        __syncwarp();
    else
        __shfl_xor_sync(ALL, x[threadIdx.x], 1);
    x[threadIdx.x] = shared[threadIdx.x ^ 1];
}

__global__ void trusts_ended(float *x, unsigned barrier)
{
    pk_wait_for_previous();
    shared[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 63 && !barrier)
        return;
    __syncthreads();
    x[threadIdx.x] = shared[63];
}

__global__ void trusts_fetch(float *x, unsigned barrier)
{
    pk_wait_for_previous();
    pk_fetch<4>(shared + threadIdx.x, x + threadIdx.x, true);
    pk_fetch_wait();
    if (barrier)
        __syncthreads();
    x[threadIdx.x] = shared[threadIdx.x ^ 32];
}

/* A copy that others' reads of the same memory are not over for. */
__global__ void fetches_early(float *x, unsigned barrier)
{
    pk_wait_for_previous();
    float v = 0;
    if (barrier)
        __syncthreads();
    if (threadIdx.x)
        v = shared[0];
    if (barrier)
        __syncthreads();
    if (!threadIdx.x)
        pk_fetch<4>(shared, x, true);
    __syncthreads();
    pk_fetch_wait();
    x[threadIdx.x] = v;
}

/* ---- the previous kernel ---- */

__global__ void never_waits(float *, unsigned)
{
}

__global__ void meets_before_it_waits(float *, unsigned)
{
    __syncthreads();
    pk_wait_for_previous();
}

__global__ void exits_before_it_waits(float *x, unsigned threads)
{
    if (threadIdx.x >= threads)
        return;
    pk_wait_for_previous();
    x[threadIdx.x] = 1;
}

__global__ void fetches_before_it_waits(float *x, unsigned)
{
    pk_fetch<4>(shared + threadIdx.x, x + threadIdx.x, true);
    pk_wait_for_previous();
}

__global__ void reads_before_it_waits(float *x, unsigned early)
{
    float v = early ? x[threadIdx.x] : 0;
    pk_wait_for_previous();
    x[threadIdx.x] = v + x[threadIdx.x];
}

__global__ void writes_before_it_waits(float *x, unsigned early)
{
    if (early)
        x[threadIdx.x] = 1;
    pk_wait_for_previous();
    x[threadIdx.x] += 1;
}

__global__ void adds(float *x, unsigned atomically)
{
    pk_wait_for_previous();
    const float v[4] = {1, 1, 1, 1};
    if (atomically)
        pk_add<4>(x, v);
    else
        *x += *v;
}

__global__ void adds_beside(float *x, unsigned off)
{
    pk_wait_for_previous();
    const float v[2] = {1, 1};
    pk_add<2>(x + off, v);
}

struct meeting {
    const char *name;
    void (*kernel)(float *, unsigned);
    unsigned threads, mask;
    const char *message; /* null: none, and the kernel ends */
};

/* Runs in a process of its own: what it wrote to stderr. */
std::string output_of(const meeting &m, int *status)
{
    int ends[2];
    std::string said;
    char some[512];
    if (pipe(ends))
        std::abort();
    const pid_t child = fork();
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        pk_shim_begin();
        alignas(16) float x[64] = {};
        std::exit(PK_LAUNCH(m.kernel, 1, m.threads, 0, nullptr, x, m.mask));
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], some, sizeof some)) > 0;)
        said.append(some, (size_t)n);
    close(ends[0]);
    waitpid(child, status, 0);
    return said;
}

void meetings()
{
    const meeting rows[] = {
        {"half of a warp has ended", half_ended, 32, ALL, "has ended"},
        {"half of a warp ends without calling", half_ends_later, 32, ALL, "waits for it"},
        {"a mask of those who are there", half_ended, 32, ~LOW_HALF, nullptr},
        {"a lane has ended before a ballot", ended_in_ballot, 32, ALL, "waits for it"},
        {"a ballot without it", ended_in_ballot, 32, ALL & ~8u, nullptr},
        {"a lane has ended before __syncwarp", ended_in_syncwarp, 32, ALL, "waits for it"},
        {"__syncwarp without it", ended_in_syncwarp, 32, ALL & ~8u, nullptr},
        {"lanes that do not exist", unnamed, 16, ALL, "does not exist"},
        {"lanes that the mask leaves out call", unnamed, 32, LOW_HALF, "not named by its mask"},
        {"a lane that the mask leaves out is read", reads_unnamed, 32, LOW_HALF, "does not name"},
        {"halves of a warp at different calls", another_call, 32, ALL, "__syncwarp"},
        {"halves of a warp with different masks", another_mask, 32, ~0x80000000u, "mask 7fffffff"},
        {"warps at different barriers", another_barrier, 64, ALL, "__syncthreads"},
        {"a lane at a barrier, its warp at a ballot", barrier_and_warp, 32, ALL, "no thread can go on"},
        {"all meet", all_meet, 64, 0, nullptr},
        {"all that are left meet", all_meet, 64, ALL, nullptr},
        {"a neighbour's value without a barrier", reads_neighbour, 64, 0, RACE},
        {"a neighbour's value", reads_neighbour, 64, 1, nullptr},
        {"what is still read is written anew", writes_again, 64, 0, RACE},
        {"what was read is written anew", writes_again, 64, 1, nullptr},
        {"a shuffle for a barrier", trusts_shuffle, 32, 0, RACE},
        {"__syncwarp", trusts_shuffle, 32, 1, nullptr},
        {"what a thread wrote that has ended", trusts_ended, 64, 0, RACE},
        {"what a thread wrote before a barrier", trusts_ended, 64, 1, nullptr},
        {"a copy that another thread waited for", trusts_fetch, 64, 0, RACE},
        {"a copy waited for, and a barrier", trusts_fetch, 64, 1, nullptr},
        {"a copy to where others read", fetches_early, 64, 0, RACE},
        {"a copy to where others have read", fetches_early, 64, 1, nullptr},
        {"no wait for the previous kernel", never_waits, 32, 0, "ends, and has not waited"},
        {"a barrier before the wait", meets_before_it_waits, 32, 0, "barrier, and has not waited"},
        {"a thread that ends without waiting", exits_before_it_waits, 32, 31, "ends, and has not waited"},
        {"threads that all wait", exits_before_it_waits, 32, 32, nullptr},
        {"a copy begun before the wait", fetches_before_it_waits, 32, 0, "copy, and has not waited"},
        {"a load before the wait", reads_before_it_waits, 32, 1, RACE},
        {"a load after the wait", reads_before_it_waits, 32, 0, nullptr},
        {"a store before the wait", writes_before_it_waits, 32, 1, RACE},
        {"a store after the wait", writes_before_it_waits, 32, 0, nullptr},
        {"additions by all threads", adds, 64, 0, RACE},
        {"atomic additions by all threads", adds, 64, 1, nullptr},
        {"an addition to two floats", adds_beside, 32, 2, nullptr},
        {"an addition to floats that are not aligned", adds_beside, 32, 1, "not aligned"},
    };
    for (const meeting &m : rows) {
        int status;
        const std::string said = output_of(m, &status);
        const bool right = m.message ? status && said.find(m.message) != std::string::npos &&
                                           said.find("test_shim.cpp") != std::string::npos
                                     : status == 0 && said.empty();
        if (!right && ++failures)
            std::printf("%s: status %d, and it said: %s\n", m.name, status, said.c_str());
    }
}

/* ---- tensor cores ---- */

/* 1 and four products, together 7/8 of the distance to the next number: rounded to the nearest it would be that number. */
__global__ void adds_little(float *x)
{
    pk_wait_for_previous();
    float d[4] = {1, 1, 1, 1};
    const uint32_t a[4] = {pk_bits(0x1p-13f), pk_bits(0x1p-13f), 0, 0};
    const uint32_t b[2] = {pk_bits(0x1.cp-13f), 0};
    pk_mma_m16n8k8(d, a, b);
    x[threadIdx.x] = d[0];
}

void additions()
{
    alignas(16) float x[4] = {0, 1, 2, 3};
    PK_LAUNCH(adds, 5, 64, 0, nullptr, x, 1u);
    for (int i = 0; i < 4; i++)
        expect(x[i] == (float)(5 * 64 + i), "an atomic addition of a thread is lost");
}

void tensor_cores()
{
    float x[32] = {};
    PK_LAUNCH(adds_little, 1, 32, 0, nullptr, x);
    for (float d : x)
        expect(d == 1, "a kernel's tensor cores do not round toward zero");
}

} // namespace

int main()
{
#ifdef PK_WATCHED
    meetings(); /* first: ThreadSanitizer watches no child of a process that has threads */
    launches();
#else
    launches(); /* first: AddressSanitizer warns once a process, at its first launch, that it knows little of makecontext */
    meetings();
#endif
    shared_memory();
    additions();
    tensor_cores();
    std::printf("%d wrong\n", failures);
    return failures != 0;
}
