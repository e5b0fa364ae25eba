/* Roofline: the lower of two roofs, and how near the work came to it. */
#include "bench/record/counters.h"

#include <math.h>
#include <string.h>

static const char group[] = "roofline", declared[] = "declared";

/* What follows from the work; NaN with why where it is not known. */
struct roofline_point {
    double intensity, flops_per_s, attainable_flops_per_s, share_of_roof, memory_bound;
    const char *why;
};

static struct roofline_point roofline_point_of(const struct pk_roofline_work *w,
                                               const struct pk_ceilings *top)
{
    const double flops = w->flops.value, bytes = w->bytes.value;
    struct roofline_point s = {.intensity = bytes > 0 ? flops / bytes : NAN,
                               .flops_per_s = 1e9 * flops / w->time_ns,
                               .attainable_flops_per_s = NAN,
                               .share_of_roof = NAN,
                               .memory_bound = NAN};
    if (!(top->fp32_flops_per_s > 0) || !(top->memory_bytes_per_s > 0))
        s.why = "the device's ceilings are not measured: perfkit doctor --ceilings";
    else if (w->tensor_flops > 0)
        s.why = "the peak rate of tensor cores depends on the type, which declared work does not contain";
    if (s.why)
        return s;
    const bool of_level = !strcmp(w->bytes.source, declared) && w->bandwidth > 0;
    const double bandwidth = of_level ? w->bandwidth : top->memory_bytes_per_s;
    const double computing = flops / top->fp32_flops_per_s, moving = bytes / bandwidth;
    s.attainable_flops_per_s =
        bytes > 0 ? fmin(top->fp32_flops_per_s, bandwidth * s.intensity) : top->fp32_flops_per_s;
    s.share_of_roof = 1e9 * fmax(computing, moving) / w->time_ns;
    s.memory_bound = moving > computing;
    return s;
}

static struct pk_counter_row amount_row(const char *name, const struct pk_roofline_amount *a)
{
    return (struct pk_counter_row){.group = group,
                                   .name = name,
                                   .unit = name,
                                   .value = a->value,
                                   .source = a->source,
                                   .native = a->native,
                                   .quality = a->approximate ? "approximate" : "exact",
                                   .modes = "",
                                   .note = ""};
}

size_t pk_roofline_rows(const struct pk_roofline_work *w, const struct pk_ceilings *top, int64_t case_id,
                        const char *region, struct pk_counter_row out[PK_ROOFLINE_ROWS])
{
    if (!(w->time_ns > 0) || !(w->flops.value + w->bytes.value > 0))
        return 0;
    const struct roofline_point s = roofline_point_of(w, top);
    const char *why = s.why ? s.why : "";
    const char *doubt = w->flops.approximate || w->bytes.approximate ? "its counts are approximate" : "";
    if (strcmp(w->flops.source, declared) && strcmp(w->bytes.source, declared) &&
        w->flops.plan != w->bytes.plan)
        doubt = "FLOPs and bytes were counted in different passes";
    const struct {
        const char *name, *unit, *native;
        double value;
        const char *unknown;
    } derived[] = {
        {"intensity", "flops/byte", "flops / bytes", s.intensity, "bytes is 0"},
        {"flops_per_s", "flops/s", "1e9 * flops / time_ns", s.flops_per_s, ""},
        {"attainable_flops_per_s", "flops/s", "min(peak_flops_per_s, peak_bytes_per_s * flops / bytes)",
         s.attainable_flops_per_s, why},
        {"share_of_roof", "1", "1e9 * max(flops / peak_flops_per_s, bytes / peak_bytes_per_s) / time_ns",
         s.share_of_roof, why},
        {"memory_bound", "1", "bytes / peak_bytes_per_s > flops / peak_flops_per_s", s.memory_bound, why},
    };
    size_t n = 0;
    out[n++] = amount_row("flops", &w->flops);
    out[n++] = amount_row("bytes", &w->bytes);
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        out[n++] = (struct pk_counter_row){.group = group,
                                           .name = derived[i].name,
                                           .unit = derived[i].unit,
                                           .value = derived[i].value,
                                           .source = "formula",
                                           .native = derived[i].native,
                                           .quality = *doubt ? "approximate" : "derived",
                                           .modes = "",
                                           .note = isnan(derived[i].value) ? derived[i].unknown : doubt};
    for (size_t i = 0; i < n; i++) {
        out[i].case_id = case_id;
        out[i].region = region;
    }
    return n;
}
