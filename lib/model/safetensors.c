/* Safetensors: a header taken apart with suspicion, and elements widened. */
#include "model/safetensors.h"

#include "base/err.h"
#include "base/file.h"
#include "ops/dtype.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- elements --- */

/* IEEE half precision. */
static float of_half(uint16_t x)
{
    const int exponent = x >> 10 & 31;
    const float fraction = (float)(x & 1023), sign = x >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction > 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf(1024 + fraction, exponent - 25) : ldexpf(fraction, -24));
}

/* x holds n narrow elements at its end, and n wide ones afterwards. */
static void widen(float *x, size_t n, float (*one)(uint16_t))
{
    const char *narrow = (const char *)x + n * sizeof(uint16_t);
    for (size_t i = 0; i < n; i++) {
        uint16_t v;
        memcpy(&v, narrow + i * sizeof v, sizeof v);
        x[i] = one(v);
    }
}

static float of_bfloat(uint16_t x)
{
    return pk_bf16_to_float(x);
}

/* Those that are read have a way to fp32. */
static const struct element_type {
    const char *name;
    unsigned bytes;
    bool floats;
    float (*widen)(uint16_t);
} types[] = {
    {"F32", 4, true},
    {"BF16", 2, true, of_bfloat},
    {"F16", 2, true, of_half},
    {"F64", 8},
    {"I64", 8},
    {"U64", 8},
    {"I32", 4},
    {"U32", 4},
    {"I16", 2},
    {"U16", 2},
    {"F8_E4M3", 1},
    {"F8_E5M2", 1},
    {"I8", 1},
    {"U8", 1},
    {"BOOL", 1},
};

static const struct element_type *type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

bool pk_tensor_has_floats(const struct pk_tensor *t)
{
    return type_of(t->type)->floats;
}

static enum pk_code read_whole(const struct pk_safetensors *f, void *to, size_t bytes, uint64_t at,
                               struct pk_err *err)
{
    for (size_t got = 0; got < bytes;) {
        const ssize_t n = pread(f->fd, (char *)to + got, bytes - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            const int error = errno;
            pk_fail(err, PK_E_IO, "%s cannot be read to its end", f->path);
            if (n)
                pk_why_errno(err, error);
            else
                pk_why(err, "it became shorter after it was opened");
            return pk_fix(err, "do not change the file during the measurement");
        }
        got += (size_t)n;
    }
    return PK_OK;
}

enum pk_code pk_safetensors_read(const struct pk_safetensors *f, const struct pk_tensor *t, size_t first,
                                 size_t n, float *to, struct pk_err *err)
{
    const struct element_type *type = type_of(t->type);
    pk_assert(type->floats && n <= PK_TENSOR_PIECE && first + n <= t->elements);
    char *end = (char *)(to + n) - n * type->bytes;
    enum pk_code rc =
        read_whole(f, end, n * type->bytes, f->data_at + t->at + (uint64_t)first * type->bytes, err);
    if (!rc && type->widen)
        widen(to, n, type->widen);
    return rc;
}

/* --- the header --- */

struct header_reader {
    const char *path;
    uint64_t data_bytes;
    struct pk_arena *a;
    struct pk_err *err;
};

static enum pk_code corrupt(const char *path, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s is not a valid safetensors file", path);
    pk_why(err, "%s", why);
    return pk_fix(err, "write it again: safetensors.torch.save_file(model.state_dict(), PATH)");
}

static enum pk_code bad_tensor(const struct header_reader *r, const char *name, const char *why)
{
    return corrupt(r->path, pk_printf(r->a, "tensor '%.100s' %s", name, why), r->err);
}

/* x = a list's member as a size; false when it is none. */
static bool size_at(const json_t *list, size_t i, uint64_t *x)
{
    const json_t *v = json_array_get(list, i);
    *x = json_is_integer(v) ? (uint64_t)json_integer_value(v) : UINT64_MAX;
    return *x <= INT64_MAX;
}

/* Shape and number of elements; false when there are more than there could be. */
static bool read_shape(const json_t *shape, struct pk_tensor *t)
{
    t->dimensions = (unsigned)json_array_size(shape);
    t->elements = 1;
    if (!json_is_array(shape) || json_array_size(shape) > PK_TENSOR_DIMENSIONS_MAX)
        return false;
    for (unsigned i = 0; i < t->dimensions; i++) {
        uint64_t x;
        if (!size_at(shape, i, &x) || __builtin_mul_overflow(t->elements, (size_t)x, &t->elements))
            return false;
        t->shape[i] = (size_t)x;
    }
    return true;
}

static enum pk_code read_tensor(const struct header_reader *r, const char *name, const json_t *row,
                                struct pk_tensor *t)
{
    const json_t *offsets = json_object_get(row, "data_offsets");
    const struct element_type *type = type_of(pk_json_str(row, "dtype", ""));
    uint64_t end, bytes;
    *t = (struct pk_tensor){.name = pk_strdup(r->a, name)};
    if (!type)
        return bad_tensor(r, name, "has an unknown dtype");
    if (!read_shape(json_object_get(row, "shape"), t))
        return bad_tensor(r, name, "has no shape of at most 8 sizes");
    if (json_array_size(offsets) != 2 || !size_at(offsets, 0, &t->at) || !size_at(offsets, 1, &end) ||
        end < t->at)
        return bad_tensor(r, name, "has no data_offsets [begin, end]");
    t->type = type->name;
    t->bytes = end - t->at;
    if (__builtin_mul_overflow(t->elements, (uint64_t)type->bytes, &bytes) || bytes != t->bytes)
        return bad_tensor(r, name, "has data_offsets that its shape and dtype do not have");
    return PK_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct pk_tensor *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Checks that tensors are contiguous, from the first byte to the last. */
static enum pk_code check_places(const struct header_reader *r, struct pk_tensor *v, size_t n)
{
    uint64_t end = 0;
    qsort(v, n, sizeof *v, by_place);
    for (size_t i = 0; i < n; i++) {
        if (v[i].at != end)
            return bad_tensor(r, v[i].name, "does not begin where the one before it ends");
        end += v[i].bytes;
    }
    if (end == r->data_bytes)
        return PK_OK;
    return corrupt(r->path,
                   pk_printf(r->a, "its tensors need %llu bytes after the header, and the file has %llu%s",
                             (unsigned long long)end, (unsigned long long)r->data_bytes,
                             end > r->data_bytes ? ": it is truncated" : ""),
                   r->err);
}

/* The texts of __metadata__; what is not a text is left out. */
static size_t read_texts(const json_t *j, struct pk_arena *a, struct pk_safetensors_text **out)
{
    json_t *metadata = json_object_get(j, "__metadata__"), *value;
    const char *name;
    size_t n = 0;
    *out = pk_new_n(a, struct pk_safetensors_text, json_object_size(metadata));
    json_object_foreach(metadata, name, value) if (json_is_string(value))(*out)[n++] =
        (struct pk_safetensors_text){pk_strdup(a, name), pk_strdup(a, json_string_value(value))};
    return n;
}

enum pk_code pk_safetensors_parse(const char *path, const char *header, size_t n, uint64_t data_bytes,
                                  struct pk_arena *a, struct pk_safetensors *out, struct pk_err *err)
{
    const struct header_reader r = {path, data_bytes, a, err};
    json_error_t why;
    PK_JSON_CLEANUP json_t *j = json_loadb(header, n, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(j))
        return corrupt(path,
                       j ? "its header is not a JSON object"
                         : pk_printf(a, "its header is not JSON: %.150s", why.text),
                       err);
    struct pk_tensor *v = pk_new_n(a, struct pk_tensor, json_object_size(j));
    size_t tensors = 0;
    const char *name;
    json_t *row;
    json_object_foreach(j, name, row)
    {
        if (!strcmp(name, "__metadata__"))
            continue;
        if (read_tensor(&r, name, row, &v[tensors++]))
            return err->code;
    }
    struct pk_safetensors_text *texts;
    const size_t n_texts = read_texts(j, a, &texts);
    *out = (struct pk_safetensors){
        .path = path, .v = v, .n = tensors, .texts = texts, .n_texts = n_texts, .fd = -1};
    return check_places(&r, v, tensors);
}

/* --- the file --- */

static enum pk_code read_header(struct pk_safetensors *f, uint64_t file_bytes, struct pk_arena *a,
                                struct pk_err *err)
{
    unsigned char length[8] = {0};
    uint64_t n = 0;
    if (file_bytes < sizeof length)
        return corrupt(f->path, "it has fewer than 8 bytes", err);
    if (read_whole(f, length, sizeof length, 0, err))
        return err->code;
    for (size_t i = sizeof length; i-- > 0;)
        n = n << 8 | length[i];
    if (n > PK_SAFETENSORS_HEADER_MAX)
        return corrupt(f->path, "its first 8 bytes are not the length of a header, which has at most 100 MB",
                       err);
    if (n > file_bytes - sizeof length)
        return corrupt(f->path, "it ends before the end of its header: it is truncated", err);
    char *header = pk_alloc(a, n + 1);
    if (read_whole(f, header, n, sizeof length, err))
        return err->code;
    const struct pk_safetensors opened = *f;
    const uint64_t data_at = sizeof length + n;
    if (pk_safetensors_parse(f->path, header, n, file_bytes - data_at, a, f, err))
        return err->code;
    f->fd = opened.fd;
    f->data_at = data_at;
    return PK_OK;
}

enum pk_code pk_safetensors_open(const char *path, struct pk_arena *a, struct pk_safetensors *out,
                                 struct pk_err *err)
{
    PK_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return pk_unreadable(path, "safetensors file", err);
    if (!S_ISREG(st.st_mode))
        return corrupt(path, "it is not a regular file", err);
    *out = (struct pk_safetensors){.path = pk_strdup(a, path), .fd = fd};
    if (read_header(out, (uint64_t)st.st_size, a, err)) {
        out->fd = -1;
        return err->code;
    }
    fd = -1;
    return PK_OK;
}

void pk_safetensors_close(const struct pk_safetensors *f)
{
    if (f->path && f->fd >= 0)
        close(f->fd);
}

const struct pk_tensor *pk_safetensors_find(const struct pk_safetensors *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->v[i].name, name))
            return &f->v[i];
    return NULL;
}

const char *pk_safetensors_text(const struct pk_safetensors *f, const char *name)
{
    for (size_t i = 0; i < f->n_texts; i++)
        if (!strcmp(f->texts[i].name, name))
            return f->texts[i].value;
    return NULL;
}

const char *pk_tensor_shape_text(const struct pk_tensor *t, struct pk_arena *a)
{
    const char *text = "";
    for (unsigned i = 0; i < t->dimensions; i++)
        text = pk_printf(a, "%s%s%zu", text, i ? ", " : "", t->shape[i]);
    return pk_printf(a, "[%s]", text);
}
