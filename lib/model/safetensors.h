/* Safetensors: reads the file format in which PyTorch, JAX and others store weights (github.com/huggingface/safetensors).
 *
 *   8 bytes            length of the header, little-endian
 *   the header         JSON {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"k": "v"}}
 *   the rest           elements, row-major, little-endian; offsets count from here
 * The file is not trusted. The rules of the format are checked: every byte after the header belongs to exactly one tensor, and lengths
 * agree with shapes. An invalid file is PK_E_USAGE. Elements are read into memory of the caller, not mapped, so that a file that shrinks
 * is an error and not a signal. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

enum {
    PK_TENSOR_DIMENSIONS_MAX = 8,
    PK_SAFETENSORS_HEADER_MAX = 100000000 /* bytes, as in the library */
};

struct pk_tensor {
    const char *name;
    const char *type; /* a type of the format: "F32", "BF16" */
    size_t shape[PK_TENSOR_DIMENSIONS_MAX];
    unsigned dimensions;
    size_t elements;
    uint64_t at, bytes; /* offset after the header, and size */
};

/* A member of __metadata__. */
struct pk_safetensors_text {
    const char *name, *value;
};

struct pk_safetensors {
    const char *path;
    const struct pk_tensor *v; /* in the order of the file */
    size_t n;
    const struct pk_safetensors_text *texts;
    size_t n_texts;
    uint64_t data_at; /* of the file */
    int fd;
};

/* Opens the file and reads the header; names and rows are in `a`. Call pk_safetensors_close at the end, unless this failed. */
enum pk_code pk_safetensors_open(const char *path, struct pk_arena *a, struct pk_safetensors *out,
                                 struct pk_err *err) PK_MUST_CHECK;
void pk_safetensors_close(const struct pk_safetensors *f);
#define PK_SAFETENSORS_CLEANUP __attribute__((cleanup(pk_safetensors_close)))

/* Parses a header of n bytes that is followed by data_bytes of elements; opens no file. Fuzzed. */
enum pk_code pk_safetensors_parse(const char *path, const char *header, size_t n, uint64_t data_bytes,
                                  struct pk_arena *a, struct pk_safetensors *out,
                                  struct pk_err *err) PK_MUST_CHECK;

/* NULL when there is none. */
const struct pk_tensor *pk_safetensors_find(const struct pk_safetensors *f, const char *name);
/* The text of a member of __metadata__; NULL when there is none. */
const char *pk_safetensors_text(const struct pk_safetensors *f, const char *name);
/* "[2, 3]", for people. In the arena. */
const char *pk_tensor_shape_text(const struct pk_tensor *t, struct pk_arena *a);

/* Reads elements [first, first + n) of an F32, F16 or BF16 tensor as fp32, exactly; n is at most PK_TENSOR_PIECE. */
enum { PK_TENSOR_PIECE = 1 << 18 };
bool pk_tensor_has_floats(const struct pk_tensor *t);
enum pk_code pk_safetensors_read(const struct pk_safetensors *f, const struct pk_tensor *t, size_t first,
                                 size_t n, float *to, struct pk_err *err) PK_MUST_CHECK;
