/* GPU counter names: the table of perfkit's names and the vendor's metrics, and metrics by the vendor's name. */
#include "counter/cuda/chip.h"

#include "base/text/words.h"

#include <string.h>

#define SUM(of, in, vendor, what)                                                                            \
    {                                                                                                        \
        .name = of, .unit = in, .native = vendor, .summary = what, .adds = true, .scale = 1                  \
    }
#define SUM_OR(of, in, vendor, otherwise, what)                                                              \
    {                                                                                                        \
        .name = of, .unit = in, .native = vendor, .other = otherwise, .summary = what, .adds = true,         \
        .scale = 1                                                                                           \
    }
#define SHARE(of, vendor, what)                                                                              \
    {                                                                                                        \
        .name = of, .unit = "1", .native = vendor, .summary = what, .scale = 0.01                            \
    }
#define OPS(type, vendor, otherwise)                                                                         \
    SUM_OR("gpu_tensor_" type, "ops", vendor, otherwise, "operations of tensor cores on " type)
#define LINK(of, vendor, what)                                                                               \
    {                                                                                                        \
        .name = of, .unit = "bytes", .native = vendor, .summary = what, .adds = true, .scale = 1,            \
        .outside = true                                                                                      \
    }

static const struct gpu_counter_row {
    const char *name, *unit, *native, *other; /* other: what newer or older chips call it; NULL = the same */
    const char *summary;
    bool adds;
    double scale;
    bool outside; /* as of pk_gpu_event */
} rows[] = {
    SUM("gpu_ns", "ns", "gpu__time_duration.sum", "time of the GPU in the range"),
    SUM("gpu_sm_elapsed_cycles", "cycles", "sm__cycles_elapsed.max", "cycles of the busiest multiprocessor"),
    SUM("gpu_sm_active_cycles", "cycles", "sm__cycles_active.avg",
        "cycles with work, mean of multiprocessors"),
    SHARE("gpu_occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "resident warps / maximum"),
    SUM("gpu_instructions", "1", "smsp__inst_executed.sum", "instructions of warps"),
    SHARE("gpu_issue_active", "smsp__issue_active.avg.pct_of_peak_sustained_active",
          "cycles in which an instruction was issued"),
    SUM_OR("gpu_dram_read_bytes", "bytes", "dram__bytes_read.sum", "dram__bytes_op_read.sum",
           "read from the GPU's memory"),
    SUM_OR("gpu_dram_write_bytes", "bytes", "dram__bytes_write.sum", "dram__bytes_op_write.sum",
           "written to the GPU's memory"),
    SHARE("gpu_dram_throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
          "memory traffic / its peak"),
    SHARE("gpu_tensor_active", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
          "cycles in which tensor cores worked"),
    SUM("gpu_tensor_instructions", "1", "sm__inst_executed_pipe_tensor.sum",
        "instructions of warps for tensor cores"),
    SHARE("gpu_l1_hit_rate", "l1tex__t_sector_hit_rate.pct", "sectors found in L1"),
    SUM("gpu_l1_sectors", "1", "l1tex__t_sectors.sum", "sectors of 32 bytes requested from L1"),
    SUM("gpu_l1_bytes", "bytes", "l1tex__t_bytes.sum", "bytes requested from L1"),
    SHARE("gpu_l2_hit_rate", "lts__t_sector_hit_rate.pct", "sectors found in L2"),
    SUM("gpu_l2_sectors", "1", "lts__t_sectors.sum", "sectors of 32 bytes requested from L2"),
    SUM("gpu_l2_bytes", "bytes", "lts__t_bytes.sum", "bytes requested from L2"),
    OPS("bf16", "sm__ops_path_tensor_src_bf16_dst_fp32.sum", NULL),
    OPS("fp16", "sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum"),
    OPS("fp8", "sm__ops_path_tensor_src_fp8.sum", NULL),
    OPS("tf32", "sm__ops_path_tensor_src_tf32_dst_fp32.sum", NULL),
    OPS("fp64", "sm__ops_path_tensor_src_fp64.sum", NULL),
    OPS("int8", "sm__ops_path_tensor_src_int8.sum", NULL),
    LINK("gpu_pcie_read_bytes", "pcie__read_bytes.sum", "read over PCIe"),
    LINK("gpu_pcie_write_bytes", "pcie__write_bytes.sum", "written over PCIe"),
    LINK("gpu_nvlink_received_bytes", "nvlrx__bytes.sum", "received over NVLink"),
    LINK("gpu_nvlink_sent_bytes", "nvltx__bytes.sum", "sent over NVLink"),
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct pk_event event_of(const struct gpu_counter_row *r, const char *native)
{
    return (struct pk_event){.name = r->name,
                             .unit = r->unit,
                             .summary = r->summary,
                             .source = "gpu-counters",
                             .native = native,
                             .modes = "",
                             .quality = PK_QUALITY_EXACT,
                             .note = "",
                             .kind = r->adds ? PK_EVENT_SUM : PK_EVENT_LEVEL};
}

size_t pk_gpu_events_all(struct pk_arena *a, const struct pk_event **out)
{
    struct pk_event *v = pk_new_n(a, struct pk_event, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        v[i] = event_of(&rows[i], rows[i].native);
    *out = v;
    return ROWS;
}

static const struct gpu_counter_row *row_named(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

enum pk_code pk_gpu_event_looks(const char *name, struct pk_arena *a, struct pk_err *err)
{
    const char *names[ROWS];
    /* The vendor's names are unit__what.how. */
    if (row_named(name) || (strstr(name, "__") && strchr(name, '.')))
        return PK_OK;
    for (size_t i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    pk_fail(err, PK_E_USAGE, "gpu-counters: there is no event '%.100s'", name);
    pk_why(err, "%s", pk_suggest_text(a, name, names, ROWS));
    return pk_fix(err, "perfkit list counters");
}

/* What is summed over units can be summed over occurrences. */
static struct pk_gpu_event raw_event(const char *name, const char *summary, struct pk_arena *a)
{
    const size_t n = strlen(name);
    const bool percent = strstr(name, ".pct") != NULL;
    const bool level = percent || strstr(name, ".ratio") || strstr(name, ".per_");
    return (struct pk_gpu_event){
        .event = {.name = pk_strdup(a, name),
                  .unit = "1",
                  .summary = pk_strdup(a, summary),
                  .source = "gpu-counters",
                  .native = pk_strdup(a, name),
                  .modes = "",
                  .quality = PK_QUALITY_EXACT,
                  .note = "",
                  .kind = level ? PK_EVENT_LEVEL : PK_EVENT_SUM},
        .adds = n >= 4 && !strcmp(name + n - 4, ".sum"),
        .scale = percent ? 0.01 : 1,
        .outside = !strncmp(name, "pcie", 4) || !strncmp(name, "nvl", 3),
    };
}

enum pk_code pk_gpu_event_find(const struct pk_chip_counters *k, const char *name, struct pk_arena *a,
                               struct pk_gpu_event *out, struct pk_err *err)
{
    const char *summary;
    const struct gpu_counter_row *r = row_named(name);
    if (pk_gpu_event_looks(name, a, err))
        return err->code;
    if (!r && pk_chip_has(k, name, &summary)) {
        *out = raw_event(name, summary, a);
        return PK_OK;
    }
    const char *native = !r                                           ? NULL
                         : pk_chip_has(k, r->native, NULL)            ? r->native
                         : r->other && pk_chip_has(k, r->other, NULL) ? r->other
                                                                      : NULL;
    if (native) {
        *out = (struct pk_gpu_event){
            .event = event_of(r, native), .adds = r->adds, .scale = r->scale, .outside = r->outside};
        return PK_OK;
    }
    pk_fail(err, PK_E_UNAVAILABLE, "%.100s cannot be counted", name);
    pk_why(err, "chip %s has no metric %.100s", k->name, r ? r->native : name);
    return pk_fix(err, "omit it; perfkit list counters shows what is available");
}
