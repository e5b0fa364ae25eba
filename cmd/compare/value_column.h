/* Value column: heading, display unit and key of a column whose unit is known only from the store. */
#pragma once

#include "out/out.h"

/* "ns" -> "_ns", "flops/s" -> "_flops_per_s", "1" -> "". */
const char *pk_key_tail(const char *unit, struct pk_arena *a);

/* Gives a column of figures its key and heading ("base" -> "base_ns", "Base" -> "Base (ms)") and its scale; least: the smallest figure
 * of the table, which is to keep its digits. */
void pk_value_column(struct pk_column *col, const char *unit, double least, struct pk_arena *a);
