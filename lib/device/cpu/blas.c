/* Blas: find the library, set its core type and one thread, and read back what it chose; of oneDNN for bf16 what it would use. */
#include "device/cpu/blas.h"

#include "base/arena.h"
#include "base/err.h"
#include "build_config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum pk_isa pk_isa_detect(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return PK_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return PK_ISA_AVX2;
#endif
    return PK_ISA_BASELINE;
}

const char *pk_isa_name(enum pk_isa isa)
{
    static const char *const name[PK_ISAS] = {"baseline", "avx2", "avx512"};
    return name[isa];
}

/* --- fp32 ----------------------------------------------------------------------------------------------------------- */

typedef void cblas_sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                            int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef int dnnl_sgemm_fn(char ta, char tb, long m, long n, long k, float alpha, const float *a, long lda,
                          const float *b, long ldb, float beta, float *c, long ldc);

const char *const pk_blas_words[] = {"openblas", "onednn", "own", NULL};

enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

/* The pthread build by its Debian path first: the system's choice may be the OpenMP build. */
static const char *const openblas_files[] = {"/usr/lib/" PK_MULTIARCH "/openblas-pthread/libopenblas.so.0",
                                             "libopenblas.so.0", "libopenblas.so", NULL};

#ifdef PK_HAVE_ONEDNN
static const char *const onednn_files[] = {"libdnnl.so.3", "libdnnl.so.2", NULL};
#endif

enum { FILE_NAME_MOST = 64 };

/* OpenBLAS cores that use all of an instruction set; the first is the one that is requested. */
static const char *const cores[PK_ISAS][5] = {
    [PK_ISA_AVX2] = {"Haswell", "Zen", "Excavator"},
    [PK_ISA_AVX512] = {"SkylakeX", "Cooperlake", "SapphireRapids"},
};

static const char *wanted_core(enum pk_isa isa)
{
#if defined(__x86_64__)
    if (isa == PK_ISA_AVX2 && __builtin_cpu_is("amd"))
        return "Zen";
#endif
    return cores[isa][0];
}

static bool core_fits(enum pk_isa isa, const char *core)
{
    if (!cores[isa][0])
        return true;
    for (const char *const *c = cores[isa]; *c; c++)
        if (!strcasecmp(*c, core))
            return true;
    return false;
}

/* The file of the newest version in a folder whose name begins so: "libdnnl.so.3" -> "libdnnl.so.3.6"; "" = none. */
static void newest_file(const char *folder, const char *begin, char name[FILE_NAME_MOST])
{
    DIR *d = opendir(folder);
    *name = 0;
    for (const struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, begin, strlen(begin)) && strlen(e->d_name) < FILE_NAME_MOST &&
            strverscmp(e->d_name, name) > 0)
            snprintf(name, FILE_NAME_MOST, "%.*s", FILE_NAME_MOST - 1, e->d_name);
    if (d)
        closedir(d);
}

/* Where distributions give the library a longer name (Debian 13: libdnnl.so.3.6), the folders that dlopen searches are looked through. */
static void *open_longer_name(const char *begin)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    void *self = dlopen(NULL, RTLD_NOW), *h = NULL;
    Dl_serinfo size, *folders = NULL;
    if (self && !dlinfo(self, RTLD_DI_SERINFOSIZE, &size)) {
        folders = pk_alloc(&a, size.dls_size);
        *folders = size;
    }
    for (unsigned i = 0; folders && !dlinfo(self, RTLD_DI_SERINFO, folders) && !h && i < size.dls_cnt; i++) {
        char name[FILE_NAME_MOST];
        newest_file(folders->dls_serpath[i].dls_name, begin, name);
        if (*name)
            h = dlopen(pk_printf(&a, "%s/%s", folders->dls_serpath[i].dls_name, name), RTLD_NOW | RTLD_LOCAL);
    }
    if (self)
        dlclose(self);
    return h;
}

static void *open_first(const char *const *files, bool longer_names)
{
    void *h = NULL;
    for (; !h && *files; files++) {
        h = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
        if (!h && longer_names)
            h = open_longer_name(*files);
    }
    return h;
}

/* Sets an environment variable the library reads while it is loaded, unless the user did. True when it has to
 * be taken back. */
static bool lend_env(const char *name, const char *value)
{
    if (!value || getenv(name))
        return false;
    return setenv(name, value, 1) == 0;
}

static void *load_openblas(enum pk_isa isa)
{
    const char *own[] = {secure_getenv("PERFKIT_OPENBLAS"), NULL};
    bool core = lend_env("OPENBLAS_CORETYPE", wanted_core(isa));
    bool threads = lend_env("OPENBLAS_NUM_THREADS", "1");
    void *h = open_first(own[0] ? own : openblas_files, false);
    if (core)
        unsetenv("OPENBLAS_CORETYPE");
    if (threads)
        unsetenv("OPENBLAS_NUM_THREADS");
    return h;
}

static void read_core(struct pk_blas *b, enum pk_isa isa)
{
    const char *(*corename)(void) = (const char *(*)(void))dlsym(b->handle, "openblas_get_corename");
    if (!corename)
        return;
    snprintf(b->core, sizeof b->core, "%s", corename());
    if (!core_fits(isa, b->core))
        snprintf(b->warning, sizeof b->warning,
                 "OpenBLAS uses its %s kernels on a CPU with %s, so GEMM is slower than it could be; "
                 "set OPENBLAS_CORETYPE=%s",
                 b->core, pk_isa_name(isa), wanted_core(isa));
}

static bool try_openblas(struct pk_blas *b, enum pk_isa isa)
{
    b->handle = load_openblas(isa);
    b->sgemm = b->handle ? dlsym(b->handle, "cblas_sgemm") : NULL;
    if (!b->sgemm)
        return false;
    b->kind = PK_BLAS_OPENBLAS;
    void (*set_threads)(int) = (void (*)(int))dlsym(b->handle, "openblas_set_num_threads");
    if (set_threads)
        set_threads(1);
    const char *(*config)(void) = (const char *(*)(void))dlsym(b->handle, "openblas_get_config");
    const char *text = config ? config() : "OpenBLAS of unknown version";
    int version = (int)strcspn(text + strlen("OpenBLAS "), " ");
    snprintf(b->name, sizeof b->name, "openblas %.*s", version, text + strlen("OpenBLAS "));
    read_core(b, isa);
    return true;
}

#ifdef PK_HAVE_ONEDNN
static void *load_onednn(void)
{
    bool threads = lend_env("OMP_NUM_THREADS", "1");
    void *h = open_first(onednn_files, true);
    if (threads)
        unsetenv("OMP_NUM_THREADS");
    return h;
}

/* Writes "onednn 2.6.3"; false when the library does not report its version. */
static bool onednn_name(void *handle, char *name, size_t cap)
{
    const struct {
        int major, minor, patch;
    } * (*version)(void) = NULL;
    *(void **)&version = dlsym(handle, "dnnl_version");
    if (version)
        snprintf(name, cap, "onednn %d.%d.%d", version()->major, version()->minor, version()->patch);
    return version != NULL;
}

static bool try_onednn(struct pk_blas *b, enum pk_isa isa)
{
    b->handle = load_onednn();
    b->sgemm = b->handle ? dlsym(b->handle, "dnnl_sgemm") : NULL;
    if (!b->sgemm)
        return false;
    b->kind = PK_BLAS_ONEDNN;
    onednn_name(b->handle, b->name, sizeof b->name);
    return true;
}
#endif

static const struct {
    const char *name;
    bool (*open)(struct pk_blas *b, enum pk_isa isa);
} libraries[] = {
    {"openblas", try_openblas},
#ifdef PK_HAVE_ONEDNN
    {"onednn", try_onednn},
#endif
};

void pk_blas_open(struct pk_blas *b, enum pk_isa isa)
{
    const char *only = secure_getenv("PERFKIT_BLAS");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        if (only && strcmp(only, libraries[i].name))
            continue;
        *b = (struct pk_blas){.kind = PK_BLAS_OWN};
        if (libraries[i].open(b, isa))
            return;
        pk_blas_close(b);
    }
    *b = (struct pk_blas){.kind = PK_BLAS_OWN};
    if (only && !strcmp(only, "own")) {
        snprintf(b->name, sizeof b->name, "own (PERFKIT_BLAS=own)");
        return;
    }
    snprintf(b->name, sizeof b->name, "own (no BLAS library found)");
    snprintf(b->warning, sizeof b->warning,
             "no %s library could be opened, so GEMM uses perfkit's own kernels; " PK_INSTALL_BLAS,
             only ? only : "BLAS");
}

void pk_blas_open_other(struct pk_blas *b, const struct pk_blas *first)
{
    *b = (struct pk_blas){.kind = PK_BLAS_OWN};
#ifdef PK_HAVE_ONEDNN
    if (first->kind == PK_BLAS_OPENBLAS && !secure_getenv("PERFKIT_BLAS") && !try_onednn(b, PK_ISA_BASELINE))
        pk_blas_close(b);
#endif
}

void pk_blas_close(struct pk_blas *b)
{
    if (b->handle)
        dlclose(b->handle);
    *b = (struct pk_blas){.kind = PK_BLAS_OWN};
}

void pk_blas_sgemm(const struct pk_blas *b, const struct pk_sgemm *g)
{
    pk_assert(b->sgemm);
    if (b->kind == PK_BLAS_ONEDNN) {
        dnnl_sgemm_fn *f = (dnnl_sgemm_fn *)b->sgemm;
        f(g->a_trans ? 'T' : 'N', g->b_trans ? 'T' : 'N', (long)g->m, (long)g->n, (long)g->k, g->alpha, g->a,
          (long)g->lda, g->b, (long)g->ldb, g->beta, g->c, (long)g->ldc);
        return;
    }
    cblas_sgemm_fn *f = (cblas_sgemm_fn *)b->sgemm;
    f(CBLAS_ROW_MAJOR, g->a_trans ? CBLAS_TRANS : CBLAS_NO_TRANS, g->b_trans ? CBLAS_TRANS : CBLAS_NO_TRANS,
      (int)g->m, (int)g->n, (int)g->k, g->alpha, g->a, (int)g->lda, g->b, (int)g->ldb, g->beta, g->c,
      (int)g->ldc);
}

/* --- bf16 ----------------------------------------------------------------------------------------------------------- */

typedef int bf16_product_fn(char ta, char tb, long m, long n, long k, float alpha, const uint16_t *a,
                            long lda, const uint16_t *b, long ldb, float beta, float *c, long ldc);

const char *const pk_bf16_words[] = {"onednn", "widened", NULL};

static void widened(struct pk_bf16 *b, const char *why)
{
    pk_bf16_close(b);
    snprintf(b->name, sizeof b->name, "widened to fp32: %s", why);
}

#ifdef PK_HAVE_ONEDNN
enum { BF16_INSTRUCTIONS = 0x80 }; /* the bit of dnnl_cpu_isa_t that those with them share */

/* By dnnl_cpu_isa_t of oneDNN 2 and 3. */
static const char *dnnl_isa_name(int isa)
{
    static const struct {
        int bits;
        const char *name;
    } names[] = {{0x3e7, "avx512_core_amx"},
                 {0xe7, "avx512_core_bf16"},
                 {0x67, "avx512_core_vnni"},
                 {0x27, "avx512_core"},
                 {0x7, "avx2"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((isa & names[i].bits) == names[i].bits)
            return names[i].name;
    return "an older instruction set";
}

static bool multiplies(bf16_product_fn *product)
{
    const uint16_t three = 0x4040, two = 0x4000;
    float c = 0;
    return !product('N', 'N', 1, 1, 1, 1, &three, 1, &two, 1, 0, &c, 1) && c == 6;
}

static void open_bf16_onednn(struct pk_bf16 *b, bool whatever)
{
    char name[sizeof b->name - 48];
    b->handle = load_onednn();
    if (!b->handle) {
        widened(b, "oneDNN was not found; " PK_INSTALL_ONEDNN);
        return;
    }
    int (*effective_isa)(void) = NULL;
    *(void **)&effective_isa = dlsym(b->handle, "dnnl_get_effective_cpu_isa");
    b->product = dlsym(b->handle, "dnnl_gemm_bf16bf16f32");
    const int isa = effective_isa ? effective_isa() : 0;
    if (!onednn_name(b->handle, name, sizeof name) || !b->product ||
        !multiplies((bf16_product_fn *)b->product))
        widened(b, "this oneDNN has no such product");
    else if (!whatever && !(isa & BF16_INSTRUCTIONS))
        widened(b, "oneDNN uses no bf16 instructions here");
    else
        snprintf(b->name, sizeof b->name, "%s, %s%s", name, dnnl_isa_name(isa),
                 isa & BF16_INSTRUCTIONS ? "" : " without bf16 instructions");
}
#endif

static bool cpu_has_bf16(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

void pk_bf16_open(struct pk_bf16 *b)
{
    const char *only = secure_getenv("PERFKIT_BF16");
    const bool whatever = only && !strcmp(only, "onednn");
    *b = (struct pk_bf16){0};
    if (only && !strcmp(only, "widened"))
        widened(b, "PERFKIT_BF16=widened");
    else if (!whatever && !cpu_has_bf16())
        widened(b, "this CPU has no bf16 instructions");
    else
#ifdef PK_HAVE_ONEDNN
        open_bf16_onednn(b, whatever);
#else
        widened(b, "built without oneDNN");
#endif
    if (whatever && !b->product)
        snprintf(b->warning, sizeof b->warning,
                 "PERFKIT_BF16=onednn does nothing: products of bf16 are %.150s", b->name);
    else if (!b->product)
        snprintf(b->widened, sizeof b->widened,
                 "products of bf16 are %.159s: bf16 saves memory here, not time", b->name);
}

void pk_bf16_close(struct pk_bf16 *b)
{
    if (b->handle)
        dlclose(b->handle);
    *b = (struct pk_bf16){0};
}

void pk_bf16_gemm(const struct pk_bf16 *b, const struct pk_bf16_gemm *g)
{
    pk_assert(b->product);
    bf16_product_fn *product = (bf16_product_fn *)b->product;
    const int refused =
        product(g->a_trans ? 'T' : 'N', g->b_trans ? 'T' : 'N', (long)g->m, (long)g->n, (long)g->k, g->alpha,
                g->a, (long)g->lda, g->b, (long)g->ldb, g->beta, g->c, (long)g->ldc);
    pk_assert(!refused);
}
