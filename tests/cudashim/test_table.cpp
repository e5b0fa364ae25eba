/* Patches of a table on the host shim: every entry that is named gets its value, no other changes; at, below and over a block. */
#include "check.h"

#include <numeric>

namespace
{

void patches(size_t entries, size_t n)
{
    std::vector<uint64_t> table(entries);
    std::vector<size_t> order(entries);
    std::vector<pk_table_patch> v;
    for (uint64_t &x : table)
        x = pk_rng_next(&rng);
    std::iota(order.begin(), order.end(), 0);
    pk_rng_shuffle(&rng, order.data(), entries);
    std::vector<uint64_t> want = table;
    for (size_t i = 0; i < n; i++) {
        v.push_back({order[i], pk_rng_next(&rng) << 32 | i});
        want[order[i]] = v[i].value;
    }
    expect_launched(pk_k_table_patch(nullptr, table.data(), v.data(), n), "table", n);
    for (size_t i = 0; i < entries; i++)
        expect(table[i] == want[i], 1, 0, "table", n, i);
}

} // namespace

int main()
{
    for (size_t n : {1, 2, 255, 256, 257, 1000})
        for (size_t entries : {n, n + 1, 3 * n})
            patches(entries, n);
    return report();
}
