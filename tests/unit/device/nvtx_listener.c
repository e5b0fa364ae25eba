/* NVTX listener: what a profiler is to NVTX, for test_range.c: writes ranges down as they begin and end. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

char nvtx_ranges[4096];

static nvtxRangeId_t begin(const char *name)
{
    static nvtxRangeId_t last;
    const size_t n = strlen(nvtx_ranges);
    snprintf(nvtx_ranges + n, sizeof nvtx_ranges - n, "+%s ", name);
    return ++last;
}

static void end(nvtxRangeId_t range)
{
    const size_t n = strlen(nvtx_ranges);
    snprintf(nvtx_ranges + n, sizeof nvtx_ranges - n, "-%d ", (int)range);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE_RangeStartA] = (NvtxFunctionPointer)begin;
    *table[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)end;
    return 1;
}
