/* Table: entries exchanged one after the other: there are thousands at most, less than it takes to wake a thread for. */
#include "ops/cpu/cpu_ops.h"

enum pk_code pk_cpu_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                size_t n, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++)
        table[v[i].index] = v[i].value;
    return PK_OK;
}
