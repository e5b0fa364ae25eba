/* Safetensors: the named tensors of a file as PyTorch, JAX and others keep weights in (github.com/huggingface/safetensors).
 *
 *   8 bytes            length of the header, little-endian
 *   the header         JSON {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"k": "v"}}
 *   the rest           elements, row-major, little-endian; offsets count from here
 * The file is a stranger's. What the format promises is required: every byte behind the header belongs to one tensor, lengths agree with
 * shapes. What is wrong is PK_E_USAGE. Elements are read into memory of the caller's, never mapped: a file that shrinks meanwhile is an
 * error and no signal. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

enum {
    PK_TENSOR_DIMENSIONS_MAX = 8,
    PK_SAFETENSORS_HEADER_MAX = 100000000 /* bytes, as in the library */
};

struct pk_tensor {
    const char *name;
    const char *type; /* "F32", "BF16": one of the format's */
    size_t shape[PK_TENSOR_DIMENSIONS_MAX];
    unsigned dimensions;
    size_t elements;
    uint64_t at, bytes; /* behind the header */
};

struct pk_safetensors {
    const char *path;
    const struct pk_tensor *v; /* by place in the file */
    size_t n;
    uint64_t data_at; /* of the file */
    int fd;
};

/* Reads the header; names and rows are in `a`. pk_safetensors_close afterwards, unless it failed. */
enum pk_code pk_safetensors_open(const char *path, struct pk_arena *a, struct pk_safetensors *out,
                                 struct pk_err *err) PK_MUST_CHECK;
void pk_safetensors_close(const struct pk_safetensors *f);
#define PK_SAFETENSORS_CLEANUP __attribute__((cleanup(pk_safetensors_close)))

/* The same from a header's text, before data_bytes of elements; nothing is open. Fuzzed. */
enum pk_code pk_safetensors_parse(const char *path, const char *header, size_t n, uint64_t data_bytes,
                                  struct pk_arena *a, struct pk_safetensors *out,
                                  struct pk_err *err) PK_MUST_CHECK;

/* NULL when there is none. */
const struct pk_tensor *pk_safetensors_find(const struct pk_safetensors *f, const char *name);
/* "[2, 3]", for people. In the arena. */
const char *pk_tensor_shape_text(const struct pk_tensor *t, struct pk_arena *a);

/* Elements [first, first + n) to fp32: of F32, F16 and BF16, exactly; n is at most PK_TENSOR_PIECE. */
enum { PK_TENSOR_PIECE = 1 << 18 };
bool pk_tensor_has_floats(const struct pk_tensor *t);
enum pk_code pk_safetensors_read(const struct pk_safetensors *f, const struct pk_tensor *t, size_t first,
                                 size_t n, float *to, struct pk_err *err) PK_MUST_CHECK;
