/* Doctor, state of the machine: what makes timings vary. Advice is given only where a disturbance was found; turbo, SMT and huge
 * pages are reported without advice. */
#include "cmd/doctor/doctor.h"

#include "base/clock.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "machine/bind.h"
#include "machine/state.h"

#include <math.h>
#include <string.h>

#define ARENA(d) ((d)->app->arena)
#define SPIN_NS  (50 * PK_NS_PER_MS)

/* Of the CPUs that we may use. */
static struct pk_state state_now(struct doctor *d, struct pk_cpus *cpus)
{
    struct pk_state s;
    cpus->n = pk_machine_cpus(cpus->v, PK_CPUS_MAX);
    pk_state_read(NULL, cpus->v, cpus->n, ARENA(d), &s);
    return s;
}

struct pk_check_result pk_check_state(struct doctor *d, int which)
{
    struct pk_cpus cpus;
    const char *text = state_now(d, &cpus).text[which];
    return (struct pk_check_result){FOUND_OK, *text ? text : "not shown here", NULL};
}

struct pk_check_result pk_check_virtualisation(struct doctor *d, int which)
{
    if (strcmp(d->machine.virt, "none") == 0)
        return (struct pk_check_result){FOUND_OK, "none", NULL};
    return (struct pk_check_result){
        FOUND_WARN, *d->machine.virt ? d->machine.virt : "unknown",
        "other guests disturb measurements: use more --invocations, or bare metal; "
        "the L3 belongs to the host"};
}

/* Power management moves the clock while we measure. */
struct pk_check_result pk_check_governor(struct doctor *d, int which)
{
    struct pk_check_result f = pk_check_state(d, PK_STATE_GOVERNOR);
    if (*d->machine.governor && strcmp(d->machine.governor, "performance") != 0)
        return (struct pk_check_result){FOUND_WARN, f.found, "sudo cpupower frequency-set -g performance"};
    return f;
}

struct pk_check_result pk_check_cgroup(struct doctor *d, int which)
{
    struct pk_cpus cpus;
    struct pk_limits l;
    const double stops = state_now(d, &cpus).value[PK_STATE_QUOTA_STOPS];
    pk_machine_limits("/", &l);
    if (!(l.cpus > 0))
        return (struct pk_check_result){
            FOUND_OK, pk_printf(ARENA(d), "%s usable, no quota", pk_plural(cpus.n, "CPU", ARENA(d))), NULL};
    const char *so_far =
        isnan(stops) ? "" : pk_printf(ARENA(d), ", which stopped it %.0f times so far", stops);
    return (struct pk_check_result){
        FOUND_WARN,
        pk_printf(ARENA(d), "%s usable, %.4g by the control group's quota%s",
                  pk_plural(cpus.n, "CPU", ARENA(d)), l.cpus, so_far),
        "a quota stops threads in the middle of a sample: assign whole CPUs (cpuset) instead"};
}

struct pk_check_result pk_check_steal(struct doctor *d, int which)
{
    struct pk_cpus cpus;
    const double steal_ns = state_now(d, &cpus).value[PK_STATE_STEAL_NS];
    if (isnan(steal_ns))
        return (struct pk_check_result){FOUND_NO, "/proc/stat cannot be read", NULL};
    struct timespec up;
    clock_gettime(CLOCK_BOOTTIME, &up);
    const double share = steal_ns / (((double)up.tv_sec + 1) * (double)PK_NS_PER_S * cpus.n);
    const char *found =
        pk_printf(ARENA(d), "%.2f %% of the time since boot was taken by the host", share * 100);
    if (share < 0.01)
        return (struct pk_check_result){FOUND_OK, found, NULL};
    return (struct pk_check_result){FOUND_WARN, found,
                                    "affected samples are marked disturbed; a quieter host helps more"};
}

/* While one thread of ours keeps a CPU busy. */
struct pk_check_result pk_check_pressure(struct doctor *d, int which)
{
    struct pk_cpus cpus;
    struct pk_noise n = {0};
    const struct pk_state before = state_now(d, &cpus);
    pk_noise_probe(SPIN_NS, &n);
    const struct pk_state after = state_now(d, &cpus);
    const double ns = (double)(after.at_ns - before.at_ns);
    double share[2];
    for (int i = 0; i < 2; i++) {
        const enum pk_state_value v = i ? PK_STATE_PRESSURE_MEMORY_NS : PK_STATE_PRESSURE_CPU_NS;
        share[i] = (after.value[v] - before.value[v]) / ns;
    }
    if (isnan(share[0]))
        return (struct pk_check_result){FOUND_OK, "not shown here", NULL};
    const char *found = pk_printf(ARENA(d), "waited for a CPU %.0f %% of 50 ms, for memory %.0f %%",
                                  share[0] * 100, share[1] * 100);
    if (share[0] <= 0.05 && !(share[1] > 0.01))
        return (struct pk_check_result){FOUND_OK, found, NULL};
    return (struct pk_check_result){FOUND_WARN, found,
                                    "other processes are running: measure when they have ended (see `top`)"};
}

struct pk_check_result pk_check_noise(struct doctor *d, int which)
{
    char gap[32];
    struct pk_noise n = {0};
    pk_noise_probe(SPIN_NS, &n);
    const char *found = pk_printf(ARENA(d), "%.2f %% of 50 ms lost to interruptions, longest gap %s",
                                  pk_noise_lost(&n) * 100, pk_format_ns((double)n.worst_ns, gap, sizeof gap));
    if (pk_noise_lost(&n) <= 0.05)
        return (struct pk_check_result){FOUND_OK, found, NULL};
    return (struct pk_check_result){
        FOUND_WARN, found, "use medians of more processes (--invocations); a quieter machine helps more"};
}
