/* Doctor, rows: each checks one facility and reports what was found, what is missing, and how to enable it. */
#include "cmd/doctor/doctor.h"

#include "base/build.h"
#include "base/text/units.h"
#include "bench/client/checks.h"
#include "build_config.h"
#include "device/cpu/blas.h"
#include "device/cuda/library.h"
#include "machine/machine.h"
#include "machine/software/software.h"
#include "machine/state.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define ARENA(d) ((d)->app->arena)

static const char *bytes_text(int64_t bytes, struct pk_arena *a)
{
    char *text = pk_alloc(a, 32);
    return bytes > 0 ? pk_format_bytes(bytes, text, 32) : "unknown";
}

static struct pk_check_result check_cpu(struct doctor *d, int which)
{
    const struct pk_machine *m = &d->machine;
    const bool guest = *m->virt && strcmp(m->virt, "none") != 0;
    const char *found = pk_printf(
        ARENA(d), "%s, %s; sockets %u, cores %u, threads %u, NUMA nodes %u; L2 %s, L3 %s%s", m->cpu_model,
        m->isa, m->sockets, m->cores, m->threads, m->numa_nodes, bytes_text(m->l2_bytes, ARENA(d)),
        bytes_text(m->l3_bytes, ARENA(d)), guest ? " as the hypervisor reports them" : "");
    if (!m->cores || !*m->cpu_model)
        return (struct pk_check_result){FOUND_WARN, found, "/proc and /sys cannot be read: mount them"};
    return (struct pk_check_result){FOUND_OK, found, NULL};
}

static struct pk_check_result check_ram(struct doctor *d, int which)
{
    struct pk_limits l;
    pk_machine_limits("/", &l);
    int64_t available = pk_machine_available_bytes("/");
    const char *limit = l.memory_bytes ? pk_printf(ARENA(d), ", control group's limit %s",
                                                   bytes_text(l.memory_bytes, ARENA(d)))
                                       : "";
    if (available <= 0)
        return (struct pk_check_result){FOUND_WARN, "/proc/meminfo cannot be read", "mount /proc"};
    return (struct pk_check_result){FOUND_OK,
                                    pk_printf(ARENA(d), "%s available%s; a worker may take %s",
                                              bytes_text(available, ARENA(d)), limit,
                                              bytes_text(available / 10 * 9, ARENA(d))),
                                    NULL};
}

/* The facts of the CPU device that say how it computes. */
struct blas_facts {
    struct pk_arena *arena;
    const char *blas, *core, *other, *bf16, *warning;
};

static void take_fact(void *user, const char *key, const char *value)
{
    struct blas_facts *f = user;
    const char **slot = !strcmp(key, "blas")           ? &f->blas
                        : !strcmp(key, "blas_core")    ? &f->core
                        : !strcmp(key, "blas_other")   ? &f->other
                        : !strcmp(key, "bf16")         ? &f->bf16
                        : !strcmp(key, "blas_warning") ? &f->warning
                        : !strcmp(key, "bf16_warning") ? &f->warning
                                                       : NULL;
    if (slot)
        *slot = pk_strdup(f->arena, value);
}

static struct pk_check_result check_blas(struct doctor *d, int which)
{
    struct blas_facts f = {.arena = ARENA(d)};
    const struct pk_device_options one = {.threads = 1, .no_bind = true};
    struct pk_device dev;
    struct pk_err err;
    if (pk_device_open(&dev, "cpu", &one, &err))
        return (struct pk_check_result){FOUND_NO, pk_strdup(ARENA(d), err.what),
                                        pk_strdup(ARENA(d), err.fix)};
    pk_device_facts(&dev, take_fact, &f);
    pk_device_close(&dev);
    const char *found = pk_printf(ARENA(d), "%s%s%s%s%s; bf16: %s", f.blas ? f.blas : "own",
                                  f.core ? ", core " : "", f.core ? f.core : "",
                                  f.other ? "; where it is faster " : "", f.other ? f.other : "", f.bf16);
    return (struct pk_check_result){f.warning ? FOUND_WARN : FOUND_OK, found, f.warning};
}

static struct pk_check_result check_clock(struct doctor *d, int which)
{
    struct pk_clock_facts c;
    pk_machine_clock("/", ARENA(d), &c);
    const char *found = pk_printf(ARENA(d), "%s, resolution %llu ns, a reading costs %llu ns",
                                  *c.source ? c.source : "unknown source",
                                  (unsigned long long)c.resolution_ns, (unsigned long long)c.cost_ns);
    if (c.cost_ns <= 100)
        return (struct pk_check_result){FOUND_OK, found, NULL};
    return (struct pk_check_result){FOUND_WARN, found,
                                    "a clocksource read in user mode (tsc) costs 20 to 30 ns"};
}

static struct pk_check_result check_store(struct doctor *d, int which)
{
    const char *path;
    struct pk_err err;
    bool network;
    if (pk_store_path(ARENA(d), d->app->globals->db, &path, &err))
        return (struct pk_check_result){FOUND_NO, pk_strdup(ARENA(d), err.what),
                                        pk_strdup(ARENA(d), err.fix)};
    if (pk_store_try(path, &err))
        return (struct pk_check_result){FOUND_NO, pk_printf(ARENA(d), "%s: %s", err.what, err.why),
                                        pk_strdup(ARENA(d), err.fix)};
    const char *fs = pk_machine_filesystem(path, ARENA(d), &network);
    const char *found = pk_printf(ARENA(d), "%s (%s)", path, fs);
    if (!network)
        return (struct pk_check_result){FOUND_OK, found, NULL};
    return (struct pk_check_result){FOUND_WARN, found,
                                    "a network file system: slow, and locks may fail; --db on a local disk"};
}

static struct pk_check_result check_numpy(struct doctor *d, int which)
{
    const char *chosen = secure_getenv("PERFKIT_PYTHON"), *python = chosen ? chosen : "python3";
    const char *version = pk_machine_python_module(python, "numpy", ARENA(d));
    if (version)
        return (struct pk_check_result){
            FOUND_OK, pk_printf(ARENA(d), "numpy %s: --peer numpy-attention", version), NULL};
    return (struct pk_check_result){
        FOUND_NO, pk_printf(ARENA(d), "%s has no numpy: the NumPy peer cannot run", python),
        chosen ? "install it there, or unset PERFKIT_PYTHON"
               : PK_INSTALL_NUMPY ", or set PERFKIT_PYTHON to a Python that has it"};
}

static struct pk_check_result feature(const char *name)
{
    const struct pk_feature *f = pk_feature(name);
    return (struct pk_check_result){f->unavailable ? FOUND_NO : FOUND_OK,
                                    f->unavailable ? f->unavailable : f->summary, f->enable};
}

static struct pk_check_result check_cuda(struct doctor *d, int which)
{
    const char *reason = pk_device_unavailable(PK_DEVICE_CUDA);
    const struct pk_feature *f = pk_feature("cuda");
    if (f->unavailable || !reason)
        return feature("cuda");
    return (struct pk_check_result){FOUND_NO, reason,
                                    "install the NVIDIA driver; in a container: --gpus all"};
}

static struct pk_check_result check_library(struct doctor *d, int which)
{
#ifdef PK_HAVE_CUDA
    struct pk_library l;
    struct pk_err err;
    if (pk_library_open(which, NULL, ARENA(d), &l, &err))
        return (struct pk_check_result){FOUND_NO, pk_strdup(ARENA(d), err.why), pk_strdup(ARENA(d), err.fix)};
    const int folder = (int)(strrchr(l.path, '/') - l.path);
    const char *found =
        pk_printf(ARENA(d), "%s %s in %.*s", pk_library_name(which), l.version, folder, l.path);
    pk_library_close(&l);
    return (struct pk_check_result){FOUND_OK, found, NULL};
#else
    return feature("cuda");
#endif
}

static struct pk_check_result check_mpi(struct doctor *d, int which)
{
    struct pk_mpi_found f;
    struct pk_err err;
    char took[32];
    if (pk_feature("mpi")->unavailable && !secure_getenv("PERFKIT_MPI"))
        return feature("mpi");
    if (pk_mpi_check(&pk_stop_flag, ARENA(d), &f, &err))
        return (struct pk_check_result){FOUND_NO, "not tried: a signal stopped perfkit", NULL};
    if (!f.library)
        return (struct pk_check_result){FOUND_NO, f.why, NULL};
    return (struct pk_check_result){FOUND_OK,
                                    pk_printf(ARENA(d), "%s: two ranks started in %s", f.library,
                                              pk_format_ns((double)f.ns, took, sizeof took)),
                                    NULL};
}

/* The second library of matrix products besides OpenBLAS; none with PERFKIT_BLAS. */
static struct pk_check_result check_onednn(struct doctor *d, int which)
{
    struct pk_blas b;
    if (pk_feature("onednn")->unavailable)
        return feature("onednn");
    if (secure_getenv("PERFKIT_BLAS"))
        return (struct pk_check_result){FOUND_NO, "not searched: PERFKIT_BLAS names the library to use",
                                        NULL};
    pk_blas_open_other(&b, &(struct pk_blas){.kind = PK_BLAS_OPENBLAS});
    const bool found = b.kind == PK_BLAS_ONEDNN;
    const char *name = pk_strdup(ARENA(d), b.name);
    pk_blas_close(&b);
    return found ? (struct pk_check_result){FOUND_OK, name, NULL}
                 : (struct pk_check_result){
                       FOUND_NO,
                       "libdnnl.so was not found: fp32 products use one library, and bf16 is widened to fp32",
                       PK_INSTALL_ONEDNN};
}

const struct pk_doctor_row pk_doctor_rows[] = {
    {"cpu", check_cpu},
    {"virtualisation", pk_check_virtualisation},
    {"governor", pk_check_governor},
    {"turbo", pk_check_state, PK_STATE_TURBO},
    {"smt", pk_check_state, PK_STATE_SMT},
    {"thp", pk_check_state, PK_STATE_THP},
    {"cgroup", pk_check_cgroup},
    {"steal", pk_check_steal},
    {"pressure", pk_check_pressure},
    {"noise", pk_check_noise},
    {"ram", check_ram},
    {"blas", check_blas},
    {"clock", check_clock},
    {"store", check_store},
    {"numpy", check_numpy},
    {"cuda", check_cuda},
    {"cublaslt", check_library, PK_LIB_CUBLASLT},
    {"cudnn", check_library, PK_LIB_CUDNN},
    {"nccl", check_library, PK_LIB_NCCL},
    {"cupti", check_library, PK_LIB_CUPTI},
    {"nvml", check_library, PK_LIB_NVML},
    {"mpi", check_mpi},
    {"onednn", check_onednn},
    {NULL, NULL},
};
