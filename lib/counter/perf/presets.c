/* Presets: the tables. */
#include "counter/perf/codes.h"

#include "base/file.h"
#include "base/text/words.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define EXACT             .quality = PK_QUALITY_EXACT, .note = ""
#define APPROXIMATE(text) .quality = PK_QUALITY_APPROXIMATE, .note = text
#define CHOSEN            APPROXIMATE("the kernel chooses the event for each processor")
#define HARDWARE(what)    .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##what
#define CACHE(which, op, result)                                                                             \
    .type = PERF_TYPE_HW_CACHE,                                                                              \
    .config = PERF_COUNT_HW_CACHE_##which | PERF_COUNT_HW_CACHE_OP_##op << 8 |                               \
              PERF_COUNT_HW_CACHE_RESULT_##result << 16,                                                     \
    CHOSEN
#define NONE .type = -1, EXACT

const struct pk_counter_preset pk_presets[] = {
    {"cycles", "1", "clock cycles of the cores while not halted", HARDWARE(CPU_CYCLES), EXACT},
    {"instructions", "1", "instructions retired", HARDWARE(INSTRUCTIONS), EXACT},
    {"ref_cycles", "1", "cycles at the nominal clock while not halted", HARDWARE(REF_CPU_CYCLES), EXACT},
    {"branches", "1", "branches retired", HARDWARE(BRANCH_INSTRUCTIONS), EXACT},
    {"branch_misses", "1", "mispredicted branches", HARDWARE(BRANCH_MISSES), EXACT},
    {"loads", "1", "load instructions", CACHE(L1D, READ, ACCESS)},
    {"stores", "1", "store instructions", CACHE(L1D, WRITE, ACCESS)},
    {"l1d_fills", "1", "lines brought into the first-level data cache", CACHE(L1D, READ, MISS)},
    {"l2_reads", "1", "data reads of the second-level cache", NONE},
    {"l2_read_misses", "1", "data reads that the second-level cache did not serve", NONE},
    {"llc_references", "1", "accesses to the last-level cache", HARDWARE(CACHE_REFERENCES), CHOSEN},
    {"llc_misses", "1", "accesses that the last-level cache did not serve", HARDWARE(CACHE_MISSES), CHOSEN},
    {"llc_load_misses", "1", "loads that memory served", CACHE(LL, READ, MISS)},
    {"dtlb_walks", "1", "page walks for data", CACHE(DTLB, READ, MISS)},
    {"itlb_walks", "1", "page walks for code", CACHE(ITLB, READ, MISS)},
    {"sp_flops", "flops", "floating-point operations in single precision", NONE},
    {"dp_flops", "flops", "floating-point operations in double precision", NONE},
    {"memory_read_bytes", "bytes", "bytes that the cores got from memory", NONE},
    {"topdown_slots", "1", "pipeline slots for micro-operations", NONE},
    {"topdown_retiring_slots", "1", "pipeline slots that did useful work", NONE},
    {"topdown_frontend_slots", "1", "pipeline slots left empty because no instructions arrived", NONE},
    {"topdown_backend_slots", "1", "pipeline slots left empty while waiting for data or units", NONE},
    {"amx_busy_cycles", "1", "cycles in which the matrix unit works", NONE},
    {NULL},
};

#define INTEL "skx icx icl spr"
#define AMD   "amd64_fam17h_zen2 amd64_fam19h_zen3 amd64_fam19h_zen4"
#define ARM   "arm_n1 arm_n2 arm_v1 arm_v2"

#define FP(n, bits) "FP_ARITH_INST_RETIRED:" bits "_" n
#define FLOPS(n, a, b, c)                                                                                    \
    FP(n, "SCALAR")                                                                                          \
    " + " a "*" FP("PACKED_" n, "128B") " + " b "*" FP("PACKED_" n, "256B") " + " c                          \
                                                                            "*" FP("PACKED_" n, "512B")
#define FILLS "ANY_DATA_CACHE_FILLS_FROM_SYSTEM"

const struct pk_native pk_natives[] = {
    {"cycles", INTEL, "CPU_CLK_UNHALTED:THREAD_P", EXACT},
    {"cycles", AMD, "CYCLES_NOT_IN_HALT", EXACT},
    {"cycles", ARM, "CPU_CYCLES", EXACT},
    {"instructions", INTEL, "INST_RETIRED:ANY_P", EXACT},
    {"instructions", AMD, "RETIRED_INSTRUCTIONS", EXACT},
    {"instructions", ARM, "INST_RETIRED", EXACT},
    {"ref_cycles", INTEL, "UNHALTED_REFERENCE_CYCLES", EXACT},
    {"branches", INTEL, "BR_INST_RETIRED:ALL_BRANCHES", EXACT},
    {"branches", AMD, "RETIRED_BRANCH_INSTRUCTIONS", EXACT},
    {"branches", ARM, "BR_RETIRED", EXACT},
    {"branch_misses", INTEL, "BR_MISP_RETIRED:ALL_BRANCHES", EXACT},
    {"branch_misses", AMD, "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", EXACT},
    {"branch_misses", ARM, "BR_MIS_PRED_RETIRED", EXACT},
    {"loads", INTEL, "MEM_INST_RETIRED:ALL_LOADS", EXACT},
    {"loads", AMD, "LS_DISPATCH:LD_DISPATCH", APPROXIMATE("dispatched, not retired")},
    {"loads", ARM, "LD_SPEC", APPROXIMATE("includes speculative ones")},
    {"stores", INTEL, "MEM_INST_RETIRED:ALL_STORES", EXACT},
    {"stores", AMD, "LS_DISPATCH:STORE_DISPATCH", APPROXIMATE("dispatched, not retired")},
    {"stores", ARM, "ST_SPEC", APPROXIMATE("includes speculative ones")},
    {"l1d_fills", INTEL, "L1D:REPLACEMENT", EXACT},
    {"l1d_fills", "amd64_fam19h_zen3",
     FILLS ":LCL_L2:INT_CACHE:EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:MEM_IO_RMT", EXACT},
    {"l1d_fills", "amd64_fam19h_zen4",
     FILLS
     ":LCL_L2:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:FAR_CACHE_NEAR_FAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
     EXACT},
    {"l1d_fills", ARM, "L1D_CACHE_REFILL", EXACT},
    {"l2_reads", INTEL, "L2_RQSTS:ALL_DEMAND_DATA_RD", EXACT},
    {"l2_reads", AMD, "REQUESTS_TO_L2_GROUP1:RD_BLK_L", APPROXIMATE("with prefetches")},
    {"l2_reads", ARM, "L2D_CACHE", APPROXIMATE("with writes")},
    {"l2_read_misses", INTEL, "L2_RQSTS:DEMAND_DATA_RD_MISS", EXACT},
    {"l2_read_misses", AMD, "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C",
     APPROXIMATE("with stores")},
    {"l2_read_misses", ARM, "L2D_CACHE_REFILL", APPROXIMATE("with writes")},
    {"llc_references", "skx spr", "LONGEST_LAT_CACHE:REFERENCE", EXACT},
    {"llc_references", "icx icl", "LONGEST_LAT_CACHE:REFERENCES", EXACT},
    {"llc_references", ARM, "LL_CACHE_RD", APPROXIMATE("reads alone")},
    {"llc_misses", INTEL, "LONGEST_LAT_CACHE:MISS", EXACT},
    {"llc_misses", ARM, "LL_CACHE_MISS_RD", APPROXIMATE("reads alone")},
    {"memory_read_bytes", INTEL, "64*LONGEST_LAT_CACHE:MISS",
     APPROXIMATE("lines that the last cache missed, without what its own prefetcher fetched")},
    {"memory_read_bytes", "amd64_fam19h_zen3", "64*" FILLS ":MEM_IO_LCL:MEM_IO_RMT",
     APPROXIMATE("lines that memory or devices filled into L1, without what was prefetched into L2")},
    {"memory_read_bytes", "amd64_fam19h_zen4", "64*" FILLS ":DRAM_IO_NEAR:DRAM_IO_FAR",
     APPROXIMATE("lines that memory or devices filled into L1, without what was prefetched into L2")},
    {"memory_read_bytes", ARM, "64*LL_CACHE_MISS_RD",
     APPROXIMATE("lines missed by the last cache, reads only")},
    {"topdown_slots", "skx", "4*CPU_CLK_UNHALTED:THREAD_P", EXACT},
    {"topdown_slots", "icx icl spr", "TOPDOWN:SLOTS_P", EXACT},
    {"topdown_retiring_slots", "skx", "UOPS_RETIRED:RETIRE_SLOTS", EXACT},
    {"topdown_retiring_slots", "icx icl spr", "UOPS_RETIRED:SLOTS", EXACT},
    {"topdown_frontend_slots", INTEL, "IDQ_UOPS_NOT_DELIVERED:CORE",
     APPROXIMATE("with what was dropped after a wrong prediction")},
    {"topdown_backend_slots", "icx icl spr", "TOPDOWN:BACKEND_BOUND_SLOTS", EXACT},
    {"llc_load_misses", INTEL, "MEM_LOAD_RETIRED:L3_MISS", EXACT},
    {"llc_load_misses", "amd64_fam19h_zen3", FILLS ":MEM_IO_LCL:MEM_IO_RMT",
     APPROXIMATE("fills, with those of prefetches and devices")},
    {"llc_load_misses", "amd64_fam19h_zen4", FILLS ":DRAM_IO_NEAR:DRAM_IO_FAR",
     APPROXIMATE("fills, with those of prefetches and devices")},
    {"llc_load_misses", ARM, "LL_CACHE_MISS_RD", APPROXIMATE("includes speculative ones")},
    {"dtlb_walks", INTEL, "DTLB_LOAD_MISSES:WALK_COMPLETED + DTLB_STORE_MISSES:WALK_COMPLETED", EXACT},
    {"dtlb_walks", AMD,
     "L1_DTLB_MISS:TLB_RELOAD_4K_L2_MISS:TLB_RELOAD_2M_L2_MISS:TLB_RELOAD_1G_L2_MISS:"
     "TLB_RELOAD_COALESCED_PAGE_MISS",
     EXACT},
    {"dtlb_walks", ARM, "DTLB_WALK", EXACT},
    {"itlb_walks", INTEL, "ITLB_MISSES:WALK_COMPLETED", EXACT},
    {"itlb_walks", "amd64_fam17h_zen2", "L1_ITLB_MISS_L2_ITLB_MISS:IF4K:IF2M:IF1G", EXACT},
    {"itlb_walks", "amd64_fam19h_zen3 amd64_fam19h_zen4",
     "L1_ITLB_MISS_L2_ITLB_MISS:IF4K:IF2M:IF1G:COALESCED4K", EXACT},
    {"itlb_walks", ARM, "ITLB_WALK", EXACT},
    {"sp_flops", INTEL, FLOPS("SINGLE", "4", "8", "16"), EXACT},
    {"sp_flops", AMD, "RETIRED_SSE_AVX_FLOPS:ANY", APPROXIMATE("single and double precision together")},
    {"dp_flops", INTEL, FLOPS("DOUBLE", "2", "4", "8"), EXACT},
    {"dp_flops", AMD, "RETIRED_SSE_AVX_FLOPS:ANY", APPROXIMATE("single and double precision together")},
    {"amx_busy_cycles", "spr", "EXE:AMX_BUSY", EXACT},
    {NULL},
};

const struct pk_pmu pk_pmus[] = {
    /* vendor, family, first and last model, libpfm's name, alias of */
    {"GenuineIntel", 6, 85, 85, "skx", ""},
    {"GenuineIntel", 6, 106, 106, "icx", ""},
    {"GenuineIntel", 6, 108, 108, "icx", ""},
    {"GenuineIntel", 6, 125, 126, "icl", ""},
    {"GenuineIntel", 6, 143, 143, "spr", ""},
    {"GenuineIntel", 6, 207, 207, "spr",
     "Sapphire Rapids"}, /* Emerald Rapids: libpfm 4.13 does not know it */
    {"AuthenticAMD", 0x17, 0x30, 0xff, "amd64_fam17h_zen2", ""},
    {"AuthenticAMD", 0x19, 0x00, 0x0f, "amd64_fam19h_zen3", ""},
    {"AuthenticAMD", 0x19, 0x20, 0x5f, "amd64_fam19h_zen3", ""},
    {"AuthenticAMD", 0x19, 0x10, 0x1f, "amd64_fam19h_zen4", ""},
    {"AuthenticAMD", 0x19, 0x60, 0x7f, "amd64_fam19h_zen4", ""},
    {"AuthenticAMD", 0x19, 0xa0, 0xaf, "amd64_fam19h_zen4", ""},
    {"AuthenticAMD", 0x1a, 0x00, 0x2f, "amd64_fam19h_zen4",
     "Zen 4"}, /* Zen 5, unknown likewise: of these presets it has the same events and masks */
    {"AuthenticAMD", 0x1a, 0x40, 0x4f, "amd64_fam19h_zen4", "Zen 4"},
    {"AuthenticAMD", 0x1a, 0x60, 0x7f, "amd64_fam19h_zen4", "Zen 4"},
    {"0x41", -1, 0xd0c, 0xd0c, "arm_n1", ""},
    {"0x41", -1, 0xd49, 0xd49, "arm_n2", ""},
    {"0x41", -1, 0xd40, 0xd40, "arm_v1", ""},
    {"0x41", -1, 0xd4f, 0xd4f, "arm_v2", ""},
    {NULL},
};

static int number(const char *cpuinfo, const char *key, struct pk_arena *a)
{
    const char *text = pk_file_field(cpuinfo, key, ':', a);
    return text ? (int)strtol(text, NULL, 0) : -1;
}

const struct pk_pmu *pk_pmu_of(const char *root, struct pk_arena *a, const char **what)
{
    const char *cpuinfo = pk_file_text(root, "proc/cpuinfo", a);
    *what = "an unknown processor";
    if (!cpuinfo)
        return NULL;
    const char *arm = pk_file_field(cpuinfo, "CPU implementer", ':', a);
    const char *vendor = arm ? arm : pk_file_field(cpuinfo, "vendor_id", ':', a);
    const int family = arm ? -1 : number(cpuinfo, "cpu family", a);
    const int model = number(cpuinfo, arm ? "CPU part" : "model", a);
    if (!vendor)
        return NULL;
    *what = arm ? pk_printf(a, "implementer %s, part %#x", arm, (unsigned)model)
                : pk_printf(a, "%s, family %d, model %d", vendor, family, model);
    for (const struct pk_pmu *p = pk_pmus; p->vendor; p++)
        if (!strcmp(p->vendor, vendor) && p->family == family && model >= p->first_model &&
            model <= p->last_model)
            return p;
    return NULL;
}

const struct pk_native *pk_native_of(const char *preset, const char *pmu)
{
    for (const struct pk_native *n = pk_natives; n->preset; n++)
        if (!strcmp(n->preset, preset) && pk_has_part(n->pmus, strlen(n->pmus), ' ', pmu))
            return n;
    return NULL;
}
