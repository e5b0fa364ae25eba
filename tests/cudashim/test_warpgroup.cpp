/* The shim's warpgroup: operands and fragments where the PTX ISA has them, copies and barriers, and what a kernel may not do with them. */
#include "check.h"
#include "ops/cuda/attention/wgmma.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace
{

constexpr unsigned ROWS = 64, COLUMNS = 64, DEEP = 16;

/* Small integers: every sum is exact. */
float a_at(unsigned row, unsigned k)
{
    return (float)((row * 5 + k * 3) % 17) - 8;
}

float b_at(unsigned column, unsigned k)
{
    return (float)((column * 7 + k) % 13) - 6;
}

double want(unsigned row, unsigned column)
{
    double sum = 0;
    for (unsigned k = 0; k < DEEP; k++)
        sum += (double)a_at(row, k) * b_at(column, k);
    return sum;
}

/* Core matrices of 8 lines of 16 bytes, in this order: "no swizzle, K-major" of the PTX ISA (matrix descriptor). */
struct order {
    unsigned along_k, along_lines; /* bytes from one to the next: leading and stride dimension byte offset */
};

void put(unsigned char *to, const order &o, unsigned line, unsigned k, float x)
{
    const uint16_t half = pk_shim_f16(x);
    std::memcpy(to + k / 8 * o.along_k + line / 8 * o.along_lines + line % 8 * 16 + k % 8 * 2, &half,
                sizeof half);
}

uint64_t described(const unsigned char *at, const order &o)
{
    return (uint64_t)pk_shared_address(at) >> 4 | (uint64_t)o.along_k >> 4 << 16 |
           (uint64_t)o.along_lines >> 4 << 32;
}

__global__ void products(float *out, bool in_registers, order o)
{
    pk_wait_for_previous();
    PK_SHARED(unsigned char, a);
    unsigned char *b = a + ROWS * DEEP * 2;
    const unsigned thread = threadIdx.x, warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
    for (unsigned i = thread; i < ROWS * DEEP; i += 128)
        put(a, o, i / DEEP, i % DEEP, a_at(i / DEEP, i % DEEP));
    for (unsigned i = thread; i < COLUMNS * DEEP; i += 128)
        put(b, o, i / DEEP, i % DEEP, b_at(i / DEEP, i % DEEP));
    __syncthreads();
    float d[COLUMNS / 2];
    uint32_t registers[4];
    for (unsigned r = 0; r < 4; r++) {
        const unsigned row = 16 * warp + g + r % 2 * 8, k = 2 * t + r / 2 * 8;
        registers[r] = pk_f16_two(a_at(row, k), a_at(row, k + 1));
    }
    pk_wgmma_begin();
    for (int twice = 0; twice < 2; twice++)
        if (in_registers)
            pk_wgmma(d, registers, described(b, o), twice);
        else
            pk_wgmma(d, described(a, o), described(b, o), twice);
    pk_wgmma_end(d);
    for (unsigned i = 0; i < COLUMNS / 2; i++)
        out[(16 * warp + g + i / 2 % 2 * 8) * COLUMNS + i / 4 * 8 + 2 * t + i % 2] = d[i];
}

void check_products()
{
    for (bool in_registers : {false, true})
        for (const order &o : {order{128, 256}, order{ROWS * 16, 128}}) {
            results out(ROWS * COLUMNS);
            float *const to = out.data();
            expect_launched(PK_LAUNCH(products, 1, 128, 2 * ROWS * DEEP * 2, nullptr, to, in_registers, o),
                            "products", o.along_k);
            for (unsigned i = 0; i < ROWS * COLUMNS; i++)
                expect(out[i], 2 * want(i / COLUMNS, i % COLUMNS), 0, "product, twice", o.along_k, i);
        }
}

/* Warp 0 copies `phases` times, each when warp 1 has read what was copied before; early: warp 1 does not wait. */
__global__ void copies(float *out, const float *from, unsigned phases, bool early)
{
    pk_wait_for_previous();
    struct place {
        float x[4];
        uint64_t here, done;
    };
    PK_SHARED(place, m);
    if (threadIdx.x == 0) {
        m->x[0] = 7;
        pk_bar_init(&m->here, 1);
        pk_bar_init(&m->done, 1);
        pk_bar_made();
    }
    __syncthreads();
    for (unsigned i = 0; i < phases; i++) {
        if (threadIdx.x == 0) {
            pk_bar_wait(&m->done, (i + 1) % 2);
            pk_bar_expect(&m->here, sizeof m->x);
            pk_copy_bulk(m->x, from + 4 * i, sizeof m->x, &m->here);
        }
        if (threadIdx.x == 32) {
            if (!early)
                pk_bar_wait(&m->here, i % 2);
            for (unsigned e = 0; e < 4; e++)
                out[4 * i + e] = m->x[e];
            pk_bar_arrive(&m->done);
        }
    }
}

void check_copies()
{
    constexpr unsigned PHASES = 5;
    alignas(16) float from[4 * PHASES];
    for (unsigned i = 0; i < 4 * PHASES; i++)
        from[i] = (float)i;
    results out(4 * PHASES), early(4);
    float *const to = out.data(), *const to_early = early.data();
    expect_launched(PK_LAUNCH(copies, 1, 64, 64, nullptr, to, from, PHASES, false), "copies", PHASES);
    for (unsigned i = 0; i < 4 * PHASES; i++)
        expect(out[i], i, 0, "copied", PHASES, i);
    if (WATCHED)
        return; /* a data race */
    expect_launched(PK_LAUNCH(copies, 1, 64, 64, nullptr, to_early, from, 1, true), "copies", 1);
    if (!std::isnan(early[0]) && failures++ < 10)
        std::printf("before anybody has waited for a copy there is %g\n", early[0]);
}

/* ---- what a kernel may not do ---- */

__global__ void without_begin(int)
{
    pk_wait_for_previous();
    float d[32];
    pk_wgmma(d, 0, 0, false);
}

__global__ void with_swizzle(int)
{
    pk_wait_for_previous();
    float d[32];
    pk_wgmma_begin();
    pk_wgmma(d, (uint64_t)1 << 62, 0, false);
    pk_wgmma_end(d);
}

__global__ void other_operands(int)
{
    pk_wait_for_previous();
    float d[32];
    pk_wgmma_begin();
    pk_wgmma(d, 0, threadIdx.x == 3, false);
    pk_wgmma_end(d);
}

__global__ void without_barrier(int)
{
    pk_wait_for_previous();
    PK_SHARED(uint64_t, bar);
    pk_bar_wait(bar, 0);
}

__global__ void too_many(int)
{
    pk_wait_for_previous();
    PK_SHARED(uint64_t, bar);
    if (threadIdx.x == 0) {
        pk_bar_init(bar, 1);
        pk_bar_expect(bar, 16); /* which never come */
        pk_bar_arrive(bar);
    }
}

__global__ void never_ends(int)
{
    pk_wait_for_previous();
    PK_SHARED(uint64_t, bar);
    if (threadIdx.x == 0)
        pk_bar_init(bar, 2);
    __syncthreads();
    if (threadIdx.x == 0)
        pk_bar_arrive(bar);
    pk_bar_wait(bar, 0);
}

__global__ void not_aligned(int)
{
    pk_wait_for_previous();
    PK_SHARED(uint64_t, bar);
    if (threadIdx.x == 0) {
        pk_bar_init(bar, 1);
        pk_copy_bulk(bar + 1, bar + 2, 16, bar);
    }
}

void check_abort(void (*kernel)(int), const char *message)
{
    int ends[2], status = 0;
    std::fflush(stdout);
    if (pipe(ends))
        return;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        PK_LAUNCH(kernel, 1, 128, 64, nullptr, 0);
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char some[256];
    for (ssize_t n; (n = read(ends[0], some, sizeof some)) > 0;)
        said.append(some, (size_t)n);
    close(ends[0]);
    waitpid(child, &status, 0);
    if ((!WIFSIGNALED(status) || said.find(message) == std::string::npos) && failures++ < 10)
        std::printf("status %d, should be an abort that says \"%s\": %s\n", status, message, said.c_str());
}

/* Every fp16 number is itself; halves of the last place go to the even neighbour. */
void check_halves()
{
    for (unsigned bits = 0; bits < 1 << 16; bits++)
        if ((bits & 0x7c00) != 0x7c00)
            expect(pk_shim_f16(pk_shim_of_f16((uint16_t)bits)), bits, 0, "fp16", 16, bits);
    const struct {
        float x;
        uint16_t bits;
    } rows[] = {{1 + 0x1p-11f, 0x3c00}, {1 + 0x3p-11f, 0x3c02}, {0x1p-25f, 0},   {0x3p-25f, 2},
                {65519, 0x7bff},        {65520, 0x7c00},        {-65520, 0xfc00}};
    for (const auto &r : rows)
        expect(pk_shim_f16(r.x), r.bits, 0, "rounded to fp16", 16, r.bits);
}

} // namespace

int main()
{
    check_halves();
    if (!SANITIZED) { /* which say more than the message of an abort */
        check_abort(without_begin, "without pk_wgmma_begin");
        check_abort(with_swizzle, "swizzle");
        check_abort(other_operands, "other products than lane 0");
        check_abort(without_barrier, "has not made");
        check_abort(too_many, "more arrive at a barrier");
        check_abort(never_ends, "no thread can go on");
        check_abort(not_aligned, "a copy of 16 bytes");
    }
    check_products();
    check_copies();
    return report();
}
