/* Kernel names: what a GPU's kernel is called for people, and which family it is of, from its symbol. */
#pragma once

#include "base/arena.h"
#include "device/trace.h"

/* By patterns of perfkit's own files and of cuBLAS, cuDNN, NCCL, CUB and PyTorch: the first that fits; PK_FAMILY_OTHER when none does. */
enum pk_kernel_family pk_kernel_family_of(const char *symbol);

/* perfkit's own as file and function, "softmax.cu:forward_long", without what changes from build to build; another's nested name
 * without template arguments, "cublasLt::splitKreduce_kernel"; a name that is not mangled is its own. In the arena. */
const char *pk_kernel_name(const char *symbol, struct pk_arena *a);
