/* Pfm: libpfm4 behind plain numbers. Its header and the kernel's exclude each other, so this is the only file that sees it. */
#include "counter/perf/codes.h"

#include "build_config.h"

#ifdef PK_HAVE_PFM

#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>

static struct {
    bool opened;
    const char *unavailable;
    __typeof__(pfm_initialize) *initialize;
    __typeof__(pfm_get_version) *version;
    __typeof__(pfm_get_os_event_encoding) *encode;
} lib;

/* With this in the environment it encodes for processors that are not here: newer ones than it knows have their predecessor's events,
 * and presets can be tested anywhere. */
#define INACTIVE "LIBPFM_ENCODE_INACTIVE"

static int initialize(void)
{
    const bool set = getenv(INACTIVE) != NULL;
    if (!set)
        setenv(INACTIVE, "1", 1);
    int rc = lib.initialize();
    if (!set)
        unsetenv(INACTIVE);
    return rc;
}

static const char *open_library(void)
{
    void *h = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!h)
        return "libpfm4 is not installed";
    lib.initialize = (__typeof__(lib.initialize))dlsym(h, "pfm_initialize");
    lib.version = (__typeof__(lib.version))dlsym(h, "pfm_get_version");
    lib.encode = (__typeof__(lib.encode))dlsym(h, "pfm_get_os_event_encoding");
    if (!lib.initialize || !lib.version || !lib.encode)
        return "libpfm.so.4 lacks functions that perfkit calls";
    return initialize() == PFM_SUCCESS ? NULL : "libpfm4 cannot be initialised";
}

const char *pk_pfm_unavailable(void)
{
    if (!lib.opened) {
        lib.opened = true;
        lib.unavailable = open_library();
    }
    return lib.unavailable;
}

const char *pk_pfm_advice(void)
{
    return PK_INSTALL_PFM;
}

const char *pk_pfm_version(struct pk_arena *a)
{
    if (pk_pfm_unavailable())
        return "";
    const int v = lib.version();
    return pk_printf(a, "%d.%d", PFM_MAJ_VERSION(v), PFM_MIN_VERSION(v));
}

bool pk_pfm_encode(const char *name, struct pk_perf_code *out)
{
    struct perf_event_attr attr = {0};
    pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof arg};
    if (pk_pfm_unavailable() || lib.encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
        return false;
    *out = (struct pk_perf_code){attr.type, attr.config, attr.config1, attr.config2};
    return true;
}

#else

const char *pk_pfm_unavailable(void)
{
    return "perfkit was built without the header of libpfm4";
}

const char *pk_pfm_advice(void)
{
    return PK_INSTALL_PFM PK_BUILD_AGAIN;
}

const char *pk_pfm_version(struct pk_arena *a)
{
    return "";
}

bool pk_pfm_encode(const char *name, struct pk_perf_code *out)
{
    return false;
}

#endif
