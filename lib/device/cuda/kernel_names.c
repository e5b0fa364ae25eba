/* Kernel names: the table of patterns, and as much of the C++ ABI's mangling as names need. */
#include "device/trace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Found anywhere in the symbol, case-insensitive. Specific patterns come before general ones: flash kernels of other libraries are
 * templates over gemm parts, and a gemm of cuDNN names its epilogue. */
static const struct pattern {
    const char *part;
    enum pk_kernel_family family;
} patterns[] = {
    /* perfkit's own, by file */
    {"_softmax_cu_", PK_FAMILY_SOFTMAX},
    {"_flash_forward_", PK_FAMILY_ATTENTION},
    {"_flash_backward_", PK_FAMILY_ATTENTION},
    {"_elementwise_cu_", PK_FAMILY_ELEMENTWISE},
    {"_rects_cu_", PK_FAMILY_COPY},
    {"_embed_cu_", PK_FAMILY_ELEMENTWISE},
    {"_gated_cu_", PK_FAMILY_ELEMENTWISE},
    {"_heads_cu_", PK_FAMILY_ELEMENTWISE},
    {"_norm_cu_", PK_FAMILY_NORM},
    {"_norm_backward_cu_", PK_FAMILY_NORM},
    {"_loss_cu_", PK_FAMILY_LOSS},
    /* NCCL */
    {"nccl", PK_FAMILY_COMM},
    {"all_reduce", PK_FAMILY_COMM},
    /* fused attention: cuDNN, PyTorch, others */
    {"flash", PK_FAMILY_ATTENTION},
    {"fmha", PK_FAMILY_ATTENTION},
    {"sdpa", PK_FAMILY_ATTENTION},
    {"attention", PK_FAMILY_ATTENTION},
    /* optimizers and losses before what they are made of */
    {"adam", PK_FAMILY_OPTIMIZER},
    {"sgd", PK_FAMILY_OPTIMIZER},
    {"optimizer", PK_FAMILY_OPTIMIZER},
    {"cross_entropy", PK_FAMILY_LOSS},
    {"crossentropy", PK_FAMILY_LOSS},
    {"nll_loss", PK_FAMILY_LOSS},
    {"nllloss", PK_FAMILY_LOSS},
    {"softmax", PK_FAMILY_SOFTMAX},
    {"layer_norm", PK_FAMILY_NORM},
    {"layernorm", PK_FAMILY_NORM},
    {"rms_norm", PK_FAMILY_NORM},
    {"rmsnorm", PK_FAMILY_NORM},
    {"batch_norm", PK_FAMILY_NORM},
    {"batchnorm", PK_FAMILY_NORM},
    {"group_norm", PK_FAMILY_NORM},
    {"bn_fw", PK_FAMILY_NORM},
    {"bn_bw", PK_FAMILY_NORM},
    /* products: cuBLAS since Hopper, before, and its helpers; CUTLASS; cuDNN's */
    {"nvjet", PK_FAMILY_GEMM},
    {"gemm", PK_FAMILY_GEMM},
    {"gemv", PK_FAMILY_GEMM},
    {"splitkreduce", PK_FAMILY_GEMM},
    {"cutlass", PK_FAMILY_GEMM},
    {"xmma", PK_FAMILY_GEMM},
    {"cublas", PK_FAMILY_GEMM},
    {"dot_kernel", PK_FAMILY_GEMM},
    /* moving */
    {"memcpy", PK_FAMILY_COPY},
    {"memset", PK_FAMILY_COPY},
    {"transpose", PK_FAMILY_COPY},
    {"catarraybatchedcopy", PK_FAMILY_COPY},
    {"copy", PK_FAMILY_COPY},
    {"elementwise", PK_FAMILY_ELEMENTWISE},
    {"pointwise", PK_FAMILY_ELEMENTWISE},
    {"triton_poi", PK_FAMILY_ELEMENTWISE},
};

enum pk_kernel_family pk_kernel_family_of(const char *symbol)
{
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (strcasestr(symbol, patterns[i].part))
            return patterns[i].family;
    return PK_FAMILY_OTHER;
}

/* <length><characters>; false at anything else, template arguments among them. */
static bool component(const char **at, const char **name, size_t *n)
{
    char *after;
    if (!isdigit((unsigned char)**at))
        return false;
    *n = strtoul(*at, &after, 10);
    if (*n == 0 || strnlen(after, *n) < *n)
        return false;
    *name = after;
    *at = after + *n;
    return true;
}

/* nvcc calls the namespace of a file's own _GLOBAL__N__<hash>_<length>_<file>_<hash>: the file as people know it, "softmax.cu". */
static const char *file_of(const char *name, size_t n, struct pk_arena *a)
{
    static const char start[] = "_GLOBAL__N__";
    const char *text = pk_strndup(a, name, n), *at = text + sizeof start - 1;
    char *file;
    if (n < sizeof start || strncmp(text, start, sizeof start - 1))
        return NULL;
    at += strcspn(at, "_");
    const size_t length = *at ? strtoul(at + 1, &file, 10) : 0;
    if (!length || *file != '_' || strlen(file + 1) < length)
        return NULL;
    file = pk_strndup(a, file + 1, length);
    char *dot = strrchr(file, '_');
    if (dot && !strcmp(dot, "_cu"))
        *dot = '.';
    return file;
}

const char *pk_kernel_name(const char *symbol, struct pk_arena *a)
{
    const char *at = symbol + 2, *text = NULL, *name;
    size_t n;
    if (strncmp(symbol, "_Z", 2) != 0)
        return pk_strdup(a, symbol);
    at += *at == 'N';
    while (component(&at, &name, &n)) {
        const char *file = file_of(name, n, a);
        const char *part = file ? pk_printf(a, "%s:", file) : pk_strndup(a, name, n);
        const bool joined = text && !strchr(text, ':') && !file;
        text = !text
                   ? part
                   : pk_printf(a, "%s%s%s", text, joined || text[strlen(text) - 1] != ':' ? "::" : "", part);
    }
    return text ? text : pk_strdup(a, symbol);
}
