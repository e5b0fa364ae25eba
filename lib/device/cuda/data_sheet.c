/* Data sheet: the peaks that NVIDIA states, rows by the name that the driver gives. */
#include "device/cuda/cuda.h"

#include <string.h>

/* From NVIDIA's data sheets of the A100, the H100 and the H200; where one counts sparsity, half of it. */
#define A100      "19.5e12", "156e12", "312e12"
#define H100_PCIE "51.2e12", "378e12", "756e12"
#define H100_SXM  "66.9e12", "494.7e12", "989.4e12"

static const struct {
    const char *gpu, *fp32, *tf32, *bf16;
} rows[] = {
    {"NVIDIA A100-PCIE-40GB", A100}, {"NVIDIA A100-SXM4-40GB", A100}, {"NVIDIA A100-SXM4-80GB", A100},
    {"NVIDIA A100 80GB PCIe", A100}, {"NVIDIA H100 PCIe", H100_PCIE}, {"NVIDIA H100 80GB HBM3", H100_SXM},
    {"NVIDIA H200", H100_SXM},
};

void pk_data_sheet(const char *gpu, pk_fact_fn *fn, void *user)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(gpu, rows[i].gpu) != 0)
            continue;
        fn(user, PK_SHEET_PREFIX "fp32_flops_per_s", rows[i].fp32);
        fn(user, PK_SHEET_PREFIX "tf32_flops_per_s", rows[i].tf32);
        fn(user, PK_SHEET_PREFIX "bf16_flops_per_s", rows[i].bf16);
    }
}
