/* A library that is called like one of NVIDIA's and tells the version it was built with: for test_library.c. */
#include <stddef.h>

#ifndef MADE_UP_MUTE
size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void)
{
    return MADE_UP_VERSION;
}
#endif

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
    *version = MADE_UP_VERSION;
    return 0;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned bytes);
int nvmlSystemGetNVMLVersion(char *text, unsigned bytes)
{
    const char said[] = "13.580.65";
    if (bytes < sizeof said)
        return 7;
    for (size_t i = 0; i < sizeof said; i++)
        text[i] = said[i];
    return 0;
}
