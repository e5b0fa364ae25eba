/* Known work: pages, a loop of two instructions, sleeps, and loads. */
#include "counter/perf/known_work.h"

#include "base/clock.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *pk_known_memory(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise((void *)p, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += page)
        p[i] = 1;
    return (void *)p;
}

void pk_known_memory_end(void *p, size_t bytes)
{
    munmap(p, bytes);
}

void pk_known_pages(void *unused)
{
    const size_t bytes = PK_KNOWN_PAGES * (size_t)sysconf(_SC_PAGESIZE);
    void *p = pk_known_memory(bytes);
    if (p)
        pk_known_memory_end(p, bytes);
}

void pk_known_loop(void *unused)
{
    uint64_t n = PK_KNOWN_LOOPS;
#if defined __x86_64__
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#elif defined __aarch64__
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
#error "the loop of two instructions for this processor: a subtraction that sets flags, a branch on them"
#endif
}

void pk_known_sleeps(void *unused)
{
    for (int i = 0; i < PK_KNOWN_SLEEPS; i++)
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static void compute(void)
{
    volatile double x = 1;
    for (int i = 0; i < 1000; i++)
        x = x * 1.000001 + 1e-9;
}

void pk_known_cpu_time(void *unused)
{
    const uint64_t until = pk_thread_cpu_ns() + PK_KNOWN_CPU_NS;
    while (pk_thread_cpu_ns() < until)
        compute();
}

void pk_known_load(void *ns)
{
    const uint64_t until = pk_clock_ns() + *(const uint64_t *)ns;
    while (pk_clock_ns() < until)
        compute();
}
