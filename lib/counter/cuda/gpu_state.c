/* GPU state: what NVML says at a moment. */
#include "counter/cuda/gpu_state.h"

#include "device/cuda/cuda.h"

#include <unistd.h>

enum { OTHERS_MAX = 256 };

static const struct held_back {
    unsigned long long bit;
    bool doubtful;
    const char *words;
} held_back[] = {
    {0x1, false, "idle"},
    {0x2, false, "clocks set by the user"},
    {0x4, true, "power cap"},
    {0x8, true, "slowdown by hardware"},
    {0x10, true, "sync boost with other GPUs"},
    {0x20, true, "thermal slowdown by software"},
    {0x40, true, "thermal slowdown by hardware"},
    {0x80, true, "power brake by hardware"},
    {0x100, false, "display clocks"},
};
enum { HELD_BACK = sizeof held_back / sizeof *held_back };

const char *pk_gpu_held_back_words(unsigned long long bits, struct pk_arena *a)
{
    const char *said = "";
    for (size_t i = 1; i < HELD_BACK; i++) { /* idle first, and left out */
        if (bits & held_back[i].bit)
            said = pk_printf(a, "%s%s%s", said, *said ? ", " : "", held_back[i].words);
        bits &= ~held_back[i].bit;
    }
    bits &= ~held_back[0].bit;
    return bits ? pk_printf(a, "%s%sunknown reasons 0x%llx", said, *said ? ", " : "", bits) : said;
}

unsigned long long pk_gpu_held_back_doubtful(unsigned long long bits)
{
    for (size_t i = 0; i < HELD_BACK; i++)
        if (!held_back[i].doubtful)
            bits &= ~held_back[i].bit;
    return bits;
}

enum pk_code pk_gpu_state_of(const struct pk_nvml *m, struct pk_device *dev, pk_nvml_device *out,
                             struct pk_err *err)
{
    return pk_nvml_check(m, m->by_pci(pk_cuda_traits(dev)->pci_id, out), "finding the GPU by its PCI id",
                         err);
}

static double clock_hz(const struct pk_nvml *m, pk_nvml_device d, int which)
{
    unsigned mhz;
    return m->clock(d, which, &mhz) ? NAN : mhz * 1e6;
}

static unsigned others_on(const struct pk_nvml *m, pk_nvml_device d)
{
    struct pk_nvml_process v[OTHERS_MAX];
    unsigned n = OTHERS_MAX, others = 0;
    if (m->processes(d, &n, v))
        return 0;
    for (unsigned i = 0; i < n && i < OTHERS_MAX; i++)
        others += v[i].pid != (unsigned)getpid();
    return others;
}

void pk_gpu_state_read(const struct pk_nvml *m, pk_nvml_device d, struct pk_gpu_state *out)
{
    unsigned milliwatts, celsius, mig = 0, pending;
    unsigned long long millijoules;
    *out = (struct pk_gpu_state){.sm_hz = clock_hz(m, d, PK_NVML_CLOCK_SM),
                                 .memory_hz = clock_hz(m, d, PK_NVML_CLOCK_MEM),
                                 .others = others_on(m, d)};
    out->watts = m->power(d, &milliwatts) ? NAN : milliwatts / 1e3;
    out->celsius = m->temperature(d, PK_NVML_TEMPERATURE_GPU, &celsius) ? NAN : celsius;
    out->joules = m->energy(d, &millijoules) ? NAN : (double)millijoules / 1e3;
    if (m->reasons(d, &out->held_back))
        out->held_back = 0;
    out->mig = m->mig_mode && !m->mig_mode(d, &mig, &pending) && mig;
}
