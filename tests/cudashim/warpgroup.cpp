/* Warpgroup: barriers that count bytes, copies that end late, products of warps. */
#include "warpgroup.h"
#include "tensor_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

namespace
{

enum { WARP = 32, WARPGROUP = 128, K = 16 };

struct bulk_copy {
    void *to;
    const void *from;
    unsigned bytes;
};

struct barrier {
    uint64_t block; /* that made it: shared memory does not last */
    unsigned count, missing;
    int64_t bytes; /* expected and not there */
    unsigned phase;
    std::vector<bulk_copy> copies;
    unsigned char clock[2]; /* of the even and the odd phases, for ThreadSanitizer */
};

std::map<const uint64_t *, barrier> barriers;

barrier &made(const uint64_t *bar, const char *what)
{
    pk_shim_thread(what);
    const auto found = barriers.find(bar);
    if (found == barriers.end() || found->second.block != pk_shim_block())
        pk_shim_wrong("%s at a barrier that this block has not made", what);
    return found->second;
}

void end_phase(barrier &b)
{
    if (b.missing || b.bytes)
        return;
    b.missing = b.count;
    b.phase++;
    pk_shim_wake_all();
}

void arrive(barrier &b, unsigned bytes)
{
    if (!b.missing)
        pk_shim_wrong("more arrive at a barrier than its %u", b.count);
    pk_shim_release(&b.clock[b.phase % 2]);
    b.bytes += bytes;
    b.missing--;
    end_phase(b);
}

/* Not by memcpy, which ThreadSanitizer watches: it is told of copies otherwise. */
void set_words(void *to, const void *from, unsigned bytes)
{
    auto *const x = static_cast<volatile uint64_t *>(to);
    const auto *const y = static_cast<const volatile uint64_t *>(from);
    for (unsigned i = 0; i < bytes / sizeof *x; i++)
        x[i] = y ? y[i] : ~(uint64_t)0; /* a NaN of any type */
}

void end_copies(barrier &b)
{
    for (const bulk_copy &c : b.copies) {
        set_words(c.to, c.from, c.bytes);
        b.bytes -= c.bytes;
    }
    if (!b.copies.empty()) {
        b.copies.clear();
        end_phase(b);
    }
}

struct product {
    float *d;
    unsigned columns;
    bool from_registers, add;
    uint32_t a[4];
    uint64_t lines, b;
};

/* Of each thread: what it has begun, and whether registers were given to the tensor cores before. */
std::vector<product> begun[1024];
bool fenced[1024];

/* Line `line` of an operand in shared memory: two chunks of 8 halves. */
void decode(uint64_t lines, unsigned line, pk_term *to)
{
    const auto bytes = [&](unsigned at) { return (unsigned)(lines >> at & 0x3fff) << 4; };
    const unsigned begin = bytes(0), along_k = bytes(16), along_lines = bytes(32);
    if (lines >> 49)
        pk_shim_wrong("an operand %016llx with swizzle or a base offset", (unsigned long long)lines);
    for (unsigned chunk = 0; chunk < 2; chunk++) {
        const unsigned char *at =
            pk_shim_shared() + begin + chunk * along_k + line / 8 * along_lines + line % 8 * 16;
        uint16_t halves[8];
        pk_shim_reads(at, sizeof halves);
        std::memcpy(halves, at, sizeof halves);
        for (unsigned i = 0; i < 8; i++)
            to[8 * chunk + i] = pk_fp16_decoded(halves[i]);
    }
}

/* Row `row` of the warp's 16, from the registers of the four lanes that have it. */
void gather(size_t first, size_t which, unsigned row, pk_term *to)
{
    for (unsigned k = 0; k < K; k++) {
        const product &p = begun[first + row % 8 * 4 + k % 8 / 2][which];
        to[k] = pk_fp16_decoded((uint16_t)(p.a[row / 8 + k / 8 * 2] >> 16 * (k % 2)));
    }
}

void multiply(size_t first, size_t which)
{
    const product &p = begun[first][which];
    pk_term a[16][K];
    std::vector<pk_terms> b(p.columns / PK_COLUMNS_AT_ONCE * K);
    for (unsigned row = 0; row < 16; row++)
        if (p.from_registers)
            gather(first, which, row, a[row]);
        else
            decode(p.lines, (unsigned)(first % WARPGROUP) / WARP * 16 + row, a[row]);
    for (unsigned column = 0; column < p.columns; column++) {
        pk_term line[K];
        decode(p.b, column, line);
        for (unsigned k = 0; k < K; k++)
            pk_terms_set(b[column / PK_COLUMNS_AT_ONCE * K + k], column % PK_COLUMNS_AT_ONCE, line[k]);
    }
    for (unsigned row = 0; row < 16; row++)
        for (unsigned left = 0; left < p.columns; left += PK_COLUMNS_AT_ONCE) {
            float sums[PK_COLUMNS_AT_ONCE];
            const auto at = [&](unsigned column) -> float & {
                return begun[first + row % 8 * 4 + column / 2][which]
                    .d[left / 8 * 4 + row / 8 * 2 + column % 2];
            };
            for (unsigned column = 0; column < PK_COLUMNS_AT_ONCE; column++)
                sums[column] = p.add ? at(column) : 0.0f;
            pk_tensor_core_add16(a[row], &b[left / PK_COLUMNS_AT_ONCE * K], sums);
            for (unsigned column = 0; column < PK_COLUMNS_AT_ONCE; column++)
                at(column) = sums[column];
        }
}

bool alike(const product &a, const product &b)
{
    return a.columns == b.columns && a.from_registers == b.from_registers && a.add == b.add &&
           a.lines == b.lines && a.b == b.b;
}

void multiply_all(size_t first)
{
    for (size_t lane = 0; lane < WARP; lane++)
        if (!std::equal(begun[first].begin(), begun[first].end(), begun[first + lane].begin(),
                        begun[first + lane].end(), alike))
            pk_shim_wrong("lane %zu has other products than lane 0", lane);
    for (size_t i = 0; i < begun[first].size(); i++)
        multiply(first, i);
    for (size_t lane = 0; lane < WARP; lane++) {
        begun[first + lane].clear();
        fenced[first + lane] = false;
    }
}

} // namespace

unsigned pk_shared_address(const void *p)
{
    return (unsigned)(static_cast<const unsigned char *>(p) - pk_shim_shared());
}

void pk_bar_init(uint64_t *bar, unsigned count)
{
    pk_shim_thread("makes a barrier");
    barriers[bar] = {};
    barrier &b = barriers[bar];
    b.block = pk_shim_block();
    b.count = b.missing = count;
}

void pk_bar_arrive(uint64_t *bar)
{
    arrive(made(bar, "arrives"), 0);
}

void pk_bar_expect(uint64_t *bar, unsigned bytes)
{
    arrive(made(bar, "expects bytes"), bytes);
}

void pk_shim_bar_wait(uint64_t *bar, unsigned parity, const pk_shim_site &site)
{
    barrier &b = made(bar, "waits");
    if (pk_shim_left_out(site))
        return;
    for (end_copies(b); b.phase % 2 == parity; end_copies(b))
        pk_shim_sleep(site);
    pk_shim_acquire(&b.clock[parity]);
}

void pk_copy_bulk(void *to, const void *from, unsigned bytes, uint64_t *bar)
{
    barrier &b = made(bar, "copies");
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16 || bytes % 16)
        pk_shim_wrong("a copy of %u bytes from %p to %p", bytes, from, to);
    pk_shim_writes(to, bytes);
    pk_shim_reads(from, bytes);
    pk_shim_release(&b.clock[b.phase % 2]);
    set_words(to, nullptr, bytes);
    b.copies.push_back({to, from, bytes});
    pk_shim_wake_all();
}

void pk_wgmma_begin()
{
    fenced[pk_shim_thread("begins a product")] = true;
}

void pk_shim_wgmma(float *d, unsigned columns, const uint32_t *a, uint64_t lines, uint64_t b, bool add)
{
    const size_t thread = pk_shim_thread("multiplies");
    if (!fenced[thread])
        pk_shim_wrong("a product without pk_wgmma_begin");
    product p = {d, columns, a != nullptr, add, {}, lines, b};
    if (a)
        std::copy(a, a + 4, p.a);
    begun[thread].push_back(p);
}

void pk_shim_wgmma_end()
{
    pk_shim_meet({"wgmma", __FILE__, __LINE__}, multiply_all);
}

uint16_t pk_shim_f16(float x)
{
    const uint32_t bits = pk_shim_bits(x);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const double size = std::fabs((double)x);
    if (std::isnan(x))
        return 0x7fff;
    if (size >= 65520) /* half of the last place above the largest */
        return sign | 0x7c00;
    const int exponent = std::max((int)(bits >> 23 & 0xff) - 127, -14);
    const double units = std::nearbyint(std::ldexp(size, 10 - exponent)); /* up to 2048, the next exponent */
    return sign | (uint16_t)(((exponent + 14) << 10) + (int)units);
}

float pk_shim_of_f16(uint16_t bits)
{
    return (float)pk_fp16_decoded(bits).value;
}
