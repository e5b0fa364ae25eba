/* Fake driver: a libcuda.so.1 that takes every kernel and runs none, so that cuDNN makes its plans on a machine without a driver.
 *
 * Where the loader knows a library of this name already, cuDNN's own request for it finds this one. It wants every function below and
 * calls few; of those the answers are handles that nobody looks into. */
#include <stdio.h>

enum { SUCCESS = 0, NOT_FOUND = 500 };

char fake_driver_kernel[256]; /* the name of the last kernel that was asked for */

int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *n);
int cuGetErrorName(int error, const char **text);
int cuGetErrorString(int error, const char **text);
int cuGetExportTable(const void **table, const void *id);
int cuLibraryLoadData(void **library, const void *code, void *options, void *values, unsigned n_options,
                      void *library_options, void *library_values, unsigned n_library_options);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuLibraryGetModule(void **module, void *library);
int cuKernelGetFunction(void **function, void *kernel);

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return SUCCESS;
}

int cuDeviceGetCount(int *n)
{
    *n = 1;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **text)
{
    *text = "CUDA_FAKE";
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text)
{
    return cuGetErrorName(error, text);
}

int cuGetExportTable(const void **table, const void *id)
{
    return NOT_FOUND;
}

static char handle; /* the address is what matters */

int cuLibraryLoadData(void **library, const void *code, void *options, void *values, unsigned n_options,
                      void *library_options, void *library_values, unsigned n_library_options)
{
    *library = &handle;
    return SUCCESS;
}

int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    snprintf(fake_driver_kernel, sizeof fake_driver_kernel, "%s", name);
    *kernel = &handle;
    return SUCCESS;
}

int cuLibraryGetModule(void **module, void *library)
{
    *module = &handle;
    return SUCCESS;
}

int cuKernelGetFunction(void **function, void *kernel)
{
    *function = &handle;
    return SUCCESS;
}

#define TAKES_IT(name)                                                                                       \
    int name(void);                                                                                          \
    int name(void)                                                                                           \
    {                                                                                                        \
        return SUCCESS;                                                                                      \
    }
TAKES_IT(cuInit)
TAKES_IT(cuCtxGetCurrent)
TAKES_IT(cuCtxGetLimit)
TAKES_IT(cuCtxPopCurrent)
TAKES_IT(cuCtxPushCurrent)
TAKES_IT(cuDeviceGet)
TAKES_IT(cuKernelGetAttribute)
TAKES_IT(cuKernelSetAttribute)
TAKES_IT(cuLaunchCooperativeKernel)
TAKES_IT(cuLaunchKernel)
TAKES_IT(cuLaunchKernelEx)
TAKES_IT(cuLibraryLoadFromFile)
TAKES_IT(cuLibraryUnload)
TAKES_IT(cuLinkAddData)
TAKES_IT(cuLinkComplete)
TAKES_IT(cuLinkCreate)
TAKES_IT(cuLinkDestroy)
TAKES_IT(cuOccupancyMaxPotentialClusterSize)
TAKES_IT(cuStreamGetCtx)
