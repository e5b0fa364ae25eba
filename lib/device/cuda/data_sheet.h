/* Data sheet: the peaks that NVIDIA states for a GPU, told as facts of the device so that what was measured stands beside them. */
#pragma once

#include "device/device.h"

/* Facts "sheet_fp32_flops_per_s", "sheet_tf32_flops_per_s" and "sheet_bf16_flops_per_s": dense products, without sparsity. None for
 * names that are not listed, parts of a GPU (MIG) among them. */
#define PK_SHEET_PREFIX "sheet_"
void pk_data_sheet(const char *gpu, pk_fact_fn *fn, void *user);
