/* Bf16: oneDNN found, asked what it would use, and tried once. */
#include "device/bf16.h"

#include "base/err.h"
#include "build_config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int product_fn(char ta, char tb, long m, long n, long k, float alpha, const uint16_t *a, long lda,
                       const uint16_t *b, long ldb, float beta, float *c, long ldc);

const char *const pk_bf16_words[] = {"onednn", "widened", NULL};

static void widened(struct pk_bf16 *b, const char *why)
{
    pk_bf16_close(b);
    snprintf(b->name, sizeof b->name, "widened to fp32: %s", why);
}

#ifdef PK_HAVE_ONEDNN
enum { BF16_INSTRUCTIONS = 0x80 }; /* the bit of dnnl_cpu_isa_t that those with them share */

/* By dnnl_cpu_isa_t of oneDNN 2 and 3. */
static const char *isa_name(int isa)
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

static void open_library(struct pk_bf16 *b)
{
    static const char *const files[] = {"libdnnl.so.3", "libdnnl.so.2"};
    const bool lent = !getenv("OMP_NUM_THREADS") && !setenv("OMP_NUM_THREADS", "1", 1);
    for (size_t i = 0; i < sizeof files / sizeof *files && !b->handle; i++)
        b->handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (lent)
        unsetenv("OMP_NUM_THREADS");
}

static bool multiplies(product_fn *product)
{
    const uint16_t three = 0x4040, two = 0x4000;
    float c = 0;
    return !product('N', 'N', 1, 1, 1, 1, &three, 1, &two, 1, 0, &c, 1) && c == 6;
}

static void take_onednn(struct pk_bf16 *b, bool whatever)
{
    open_library(b);
    if (!b->handle) {
        widened(b, "oneDNN was not found; install libdnnl2");
        return;
    }
    const struct {
        int major, minor, patch;
    } * (*version)(void) = NULL;
    int (*effective_isa)(void) = NULL;
    *(void **)&version = dlsym(b->handle, "dnnl_version");
    *(void **)&effective_isa = dlsym(b->handle, "dnnl_get_effective_cpu_isa");
    b->product = dlsym(b->handle, "dnnl_gemm_bf16bf16f32");
    const int isa = effective_isa ? effective_isa() : 0;
    if (!version || !b->product || !multiplies((product_fn *)b->product))
        widened(b, "this oneDNN has no such product");
    else if (!whatever && !(isa & BF16_INSTRUCTIONS))
        widened(b, "oneDNN uses no bf16 instructions here");
    else
        snprintf(b->name, sizeof b->name, "onednn %d.%d.%d, %s%s", version()->major, version()->minor,
                 version()->patch, isa_name(isa),
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
        take_onednn(b, whatever);
#else
        widened(b, "built without oneDNN");
#endif
    if (whatever && !b->product)
        snprintf(b->warning, sizeof b->warning,
                 "PERFKIT_BF16=onednn does nothing: products of bf16 are %.150s", b->name);
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
    product_fn *product = (product_fn *)b->product;
    const int refused =
        product(g->a_trans ? 'T' : 'N', g->b_trans ? 'T' : 'N', (long)g->m, (long)g->n, (long)g->k, g->alpha,
                g->a, (long)g->lda, g->b, (long)g->ldb, g->beta, g->c, (long)g->ldc);
    pk_assert(!refused);
}
