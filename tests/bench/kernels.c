/* Kernels: a program of four small kernels that reports their times (docs/protocol.md), for gates that are tried for real.
 *
 * `kernels EXTRA` times a copy of each in which every EXTRA-th unit of work is done twice: 20 makes it 5 % slower; 0 nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A sample is a third of a millisecond: most fit between two preemptions of a busy machine. */
enum { N = 96, CHASE = 1 << 14, TRIAD = 1 << 15, SAMPLES = 151, UNITS = 20 };

static double x[N * N], y[N * N], z[N * N], a[TRIAD], b[TRIAD], c[TRIAD];
static uint32_t next[CHASE];
static volatile double kept;

static void triad(void)
{
    for (size_t i = 0; i < TRIAD; i++)
        a[i] = b[i] + 1.5 * c[i];
    kept = a[TRIAD / 2];
}

static void product(void)
{
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < N; k++)
            for (size_t j = 0; j < N; j++)
                z[i * N + j] += x[i * N + k] * y[k * N + j];
    kept = z[N];
}

static void chase(void)
{
    static uint32_t at;
    for (size_t i = 0; i < 1 << 11; i++)
        at = next[at];
    kept = at;
}

static void branches(void)
{
    uint64_t state = 1, sum = 0;
    for (size_t i = 0; i < 1 << 11; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (state >> 63)
            sum += state >> 33;
        else
            sum ^= state;
    }
    kept = (double)sum;
}

static const struct {
    const char *name;
    void (*unit)(void);
} kernels[] = {{"triad", triad}, {"product", product}, {"chase", chase}, {"branches", branches}};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t time_of(void (*unit)(void), int extra)
{
    const int64_t began = now_ns();
    for (int i = 0; i < UNITS; i++) {
        unit();
        if (extra && i % extra == 0)
            unit();
    }
    return now_ns() - began;
}

static void prepare(void)
{
    for (size_t i = 0; i < N * N; i++)
        x[i] = y[i] = (double)(i % 7) / 7;
    for (size_t i = 0; i < TRIAD; i++)
        b[i] = c[i] = (double)(i % 5);
    for (uint32_t i = 0; i < CHASE; i++)
        next[i] = (i * 5 + 1) % CHASE; /* one cycle: Hull and Dobell */
}

static void report(FILE *wire, size_t k, int extra)
{
    fprintf(wire,
            "{\"type\":\"case\",\"variant\":\"%s\"}\n"
            "{\"type\":\"metric\",\"name\":\"unit_ns\",\"unit\":\"ns\",\"direction\":\"lower\"}\n"
            "{\"type\":\"samples\",\"metric\":\"unit_ns\",\"reps\":%d,\"values\":[",
            kernels[k].name, UNITS);
    time_of(kernels[k].unit, extra); /* warm-up */
    for (int i = 0; i < SAMPLES; i++)
        fprintf(wire, "%s%lld", i ? "," : "", (long long)time_of(kernels[k].unit, extra));
    fprintf(wire, "]}\n{\"type\":\"status\",\"status\":\"ok\"}\n");
}

int main(int argc, char **argv)
{
    const char *fd = getenv("PERFKIT_WIRE_FD");
    FILE *wire = fd ? fdopen(atoi(fd), "w") : stdout;
    if (!wire || argc != 2)
        return 2;
    prepare();
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        report(wire, k, atoi(argv[1]));
    return fclose(wire) != 0;
}
