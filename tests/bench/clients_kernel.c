/* Clients' kernel: some 10 us of arithmetic that waits for itself, in a library that programs in C and in Python call. */
#include "clients_kernel.h"

#include <time.h>

static volatile double sink;

void pk_kernel(void)
{
    double x = 1.5;
    for (int i = 0; i < 7500; i++)
        x = x * 0.999 + 0.25;
    sink = x;
}

int64_t pk_kernel_ns(void)
{
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    pk_kernel();
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return (int64_t)(ended.tv_sec - began.tv_sec) * 1000000000 + ended.tv_nsec - began.tv_nsec;
}
