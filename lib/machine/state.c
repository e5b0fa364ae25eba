/* State: readings of /proc and /sys by rows, their JSON, and the rules of doubt. */
#include "machine/state.h"

#include "base/clock.h"
#include "base/file.h"
#include "machine/parts.h"
#include "json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_OF(table) (sizeof(table) / sizeof *(table))

/* A clock is read by asking every CPU: of many, these suffice. */
enum { CLOCKS_READ = 64 };

struct state_reader {
    const char *root;
    const unsigned *cpus;
    unsigned n;
    struct pk_arena *a;
    struct pk_quota_stops quota;
};

static double read_load(const struct state_reader *r, const char *of)
{
    const char *text = pk_file_text(r->root, "proc/loadavg", r->a);
    return text ? strtod(text, NULL) : NAN;
}

static double read_frequency(const struct state_reader *r, const char *of)
{
    double sum = 0;
    unsigned n = r->n < CLOCKS_READ ? r->n : CLOCKS_READ, n_read = 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t khz;
        if (!pk_file_int(r->root,
                         pk_printf(r->a, "sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", r->cpus[i]),
                         &khz))
            continue;
        sum += (double)khz * 1000;
        n_read++;
    }
    return n_read ? sum / n_read : NAN;
}

static double read_steal(const struct state_reader *r, const char *of)
{
    const char *text = pk_file_text(r->root, "proc/stat", r->a);
    const int64_t ticks = text ? pk_steal_ticks(text, r->cpus, r->n) : -1;
    const long hz = sysconf(_SC_CLK_TCK);
    return ticks >= 0 && hz > 0 ? (double)ticks * ((double)PK_NS_PER_S / (double)hz) : NAN;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds. */
static double read_pressure(const struct state_reader *r, const char *of)
{
    const char *text = pk_file_text(r->root, pk_printf(r->a, "proc/pressure/%s", of), r->a);
    const char *some = text ? pk_file_field(text, "some", 0, r->a) : NULL;
    const char *total = some ? strstr(some, "total=") : NULL;
    return total ? strtod(total + strlen("total="), NULL) * 1000 : NAN;
}

static double read_quota(const struct state_reader *r, const char *of)
{
    const struct pk_quota_stops *q = &r->quota;
    return q->known ? (double)(!strcmp(of, "ns") ? q->stopped_ns : q->stops) : NAN;
}

/* Every CPU counts its own core's and its package's. */
static double read_thermal(const struct state_reader *r, const char *of)
{
    static const char *const counts[] = {"core", "package"};
    double sum = NAN;
    for (unsigned i = 0; i < r->n; i++)
        for (size_t k = 0; k < N_OF(counts); k++) {
            int64_t n;
            if (pk_file_int(r->root,
                            pk_printf(r->a, "sys/devices/system/cpu/cpu%u/thermal_throttle/%s_throttle_count",
                                      r->cpus[i], counts[k]),
                            &n))
                sum = (isnan(sum) ? 0 : sum) + (double)n;
        }
    return sum;
}

static const struct {
    const char *name;
    double (*read)(const struct state_reader *r, const char *of);
    const char *of; /* pressure of what; stops of the quota or their ns */
} values[PK_STATE_VALUES] = {
    [PK_STATE_LOAD] = {"load", read_load},
    [PK_STATE_FREQUENCY_HZ] = {"frequency_hz", read_frequency},
    [PK_STATE_STEAL_NS] = {"steal_ns", read_steal},
    [PK_STATE_PRESSURE_CPU_NS] = {"pressure_cpu_ns", read_pressure, "cpu"},
    [PK_STATE_PRESSURE_MEMORY_NS] = {"pressure_memory_ns", read_pressure, "memory"},
    [PK_STATE_PRESSURE_IO_NS] = {"pressure_io_ns", read_pressure, "io"},
    [PK_STATE_QUOTA_STOPS] = {"quota_stops", read_quota, "stops"},
    [PK_STATE_QUOTA_STOPPED_NS] = {"quota_stopped_ns", read_quota, "ns"},
    [PK_STATE_THERMAL_STOPS] = {"thermal_stops", read_thermal},
};

static const char *const texts[PK_STATE_TEXTS] = {
    [PK_STATE_GOVERNOR] = "governor",
    [PK_STATE_TURBO] = "turbo",
    [PK_STATE_SMT] = "smt",
    [PK_STATE_THP] = "thp",
};

void pk_state_read(const char *root, const unsigned *cpus, unsigned n, struct pk_arena *a, struct pk_state *s)
{
    PK_ARENA_CLEANUP struct pk_arena files = {0};
    struct state_reader r = {.root = root, .cpus = cpus, .n = n, .a = &files};
    *s = (struct pk_state){.at_ns = pk_clock_ns()};
    pk_quota_stops_read(root, &r.quota); /* for two values: it looks in many files */
    s->text[PK_STATE_GOVERNOR] = pk_policy_governor(root, a);
    s->text[PK_STATE_TURBO] = pk_policy_turbo(root);
    s->text[PK_STATE_SMT] = pk_policy_smt(root);
    s->text[PK_STATE_THP] = pk_policy_thp(root, a);
    for (size_t i = 0; i < PK_STATE_VALUES; i++)
        s->value[i] = values[i].read(&r, values[i].of);
}

/* --- as JSON -------------------------------------------------------------------------------------------------------- */

static void set_pair(json_t *out, const char *name, double before, double after)
{
    if (!isnan(before) || !isnan(after))
        json_object_set_new(out, name, json_pack("[o, o]", pk_json_real(before), pk_json_real(after)));
}

const char *pk_state_json(const struct pk_state_span *s, struct pk_arena *a)
{
    static const char *const gaps[PK_GAP_CLASSES] = {"noise_gaps_1us", "noise_gaps_10us", "noise_gaps_100us",
                                                     "noise_gaps_1ms", "noise_gaps_10ms"};
    const struct pk_noise *before = &s->noise_before, *after = &s->noise_after;
    const bool probed = before->spun_ns || after->spun_ns;
    PK_JSON_CLEANUP json_t *out = json_object();
    for (size_t i = 0; i < PK_STATE_TEXTS; i++)
        if (*s->before.text[i] || *s->after.text[i])
            json_object_set_new(out, texts[i], json_pack("[s, s]", s->before.text[i], s->after.text[i]));
    for (size_t i = 0; i < PK_STATE_VALUES; i++)
        set_pair(out, values[i].name, s->before.value[i], s->after.value[i]);
    if (probed) {
        set_pair(out, "noise_lost", pk_noise_lost(before), pk_noise_lost(after));
        set_pair(out, "noise_worst_ns", (double)before->worst_ns, (double)after->worst_ns);
    }
    for (size_t i = 0; probed && i < PK_GAP_CLASSES; i++)
        set_pair(out, gaps[i], (double)before->gaps[i], (double)after->gaps[i]);
    return pk_json_text(a, out, PK_JSON_CANON);
}

/* --- doubts --------------------------------------------------------------------------------------------------------- */

enum measure {
    SHARE_OF_TIME,     /* of the time that passed */
    SHARE_OF_CPU_TIME, /* of that of all CPUs that measured */
    COUNT,
    FALL /* relative to before */
};

/* v_doubt says the limits in words. */
static const struct {
    const char *word;
    enum pk_state_value value;
    enum measure measure;
    double limit; /* more is doubtful */
} rules[] = {
    {.word = "stolen", .value = PK_STATE_STEAL_NS, .measure = SHARE_OF_CPU_TIME, .limit = 0.01},
    {.word = "crowded", .value = PK_STATE_PRESSURE_CPU_NS, .measure = SHARE_OF_TIME, .limit = 0.05},
    {.word = "short-of-memory",
     .value = PK_STATE_PRESSURE_MEMORY_NS,
     .measure = SHARE_OF_TIME,
     .limit = 0.01},
    {.word = "quota", .value = PK_STATE_QUOTA_STOPS, .measure = COUNT, .limit = 0},
    {.word = "throttled", .value = PK_STATE_THERMAL_STOPS, .measure = COUNT, .limit = 0},
    {.word = "clock-fell", .value = PK_STATE_FREQUENCY_HZ, .measure = FALL, .limit = 0.05},
};
_Static_assert(N_OF(rules) + 1 == PK_DOUBTS, "the last is noise");

static const double noise_limit = 0.05;

static double measured(const struct pk_state_span *s, enum pk_state_value v, enum measure m)
{
    const double before = s->before.value[v], after = s->after.value[v];
    const double ns = (double)(s->after.at_ns - s->before.at_ns);
    switch (m) {
    case SHARE_OF_TIME:
        return (after - before) / ns;
    case SHARE_OF_CPU_TIME:
        return (after - before) / (ns * s->n_cpus);
    case COUNT:
        return after - before;
    case FALL:
        return 1 - after / before;
    }
    return NAN;
}

size_t pk_state_doubts(const struct pk_state_span *s, const char *words[PK_DOUBTS + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < N_OF(rules); i++)
        if (measured(s, rules[i].value, rules[i].measure) > rules[i].limit) /* never of NaN */
            words[n++] = rules[i].word;
    if (pk_noise_lost(&s->noise_before) > noise_limit || pk_noise_lost(&s->noise_after) > noise_limit)
        words[n++] = "noisy";
    words[n] = NULL;
    return n;
}
