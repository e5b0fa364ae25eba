/* Config: its limits, its JSON and hash, and where its chunks are. */
#include "shard/config.h"

#include "base/index.h"

#include <inttypes.h>
#include <string.h>

/* --- limits --- */

enum { ROW_BYTES_MAX = 160 };          /* of a chunk in a header */
enum { HEADER_BYTES_MAX = 100000000 }; /* safetensors' own limit */
#define DATA_BYTES_MAX (UINT64_C(1) << 60)

static const struct {
    const char *name;
    size_t at;
    uint64_t most;
} sizes[] = {
    {"samples", offsetof(struct pk_shard_config, samples), UINT64_C(1) << 40},
    {"length", offsetof(struct pk_shard_config, length), UINT64_C(1) << 32},
    {"width", offsetof(struct pk_shard_config, width), UINT64_C(1) << 32},
    {"batch", offsetof(struct pk_shard_config, batch), UINT64_C(1) << 32},
    {"shard_samples", offsetof(struct pk_shard_config, shard_samples), UINT64_C(1) << 40},
    {"chunk_bytes", offsetof(struct pk_shard_config, chunk_bytes), PK_SHARD_CHUNK_BYTES_MAX},
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint64_t *size_of(const struct pk_shard_config *c, size_t i)
{
    return (uint64_t *)((char *)(uintptr_t)c + sizes[i].at);
}

static uint64_t chunk_bytes(const struct pk_shard_config *c)
{
    return c->chunk_bytes ? c->chunk_bytes : PK_SHARD_CHUNK_BYTES;
}

static enum pk_code bad(struct pk_err *err, const char *name, uint64_t value, const char *why)
{
    pk_fail(err, PK_E_USAGE, "shards: %s %" PRIu64 " is not possible", name, value);
    pk_why(err, "%s", why);
    return pk_fix(err, "choose another %s", name);
}

static enum pk_code check_sizes(const struct pk_shard_config *c, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t i = 0; i < SIZES; i++) {
        const uint64_t x =
            sizes[i].at == offsetof(struct pk_shard_config, chunk_bytes) ? chunk_bytes(c) : *size_of(c, i);
        if (!x || x > sizes[i].most)
            return bad(err, sizes[i].name, x, pk_printf(&a, "it is from 1 to %" PRIu64, sizes[i].most));
    }
    if (chunk_bytes(c) % sizeof(float))
        return bad(err, "chunk_bytes", c->chunk_bytes,
                   "it is a multiple of 4: chunks consist of whole elements");
    return c->shard_samples % c->batch
               ? bad(err, "shard_samples", c->shard_samples, "a shard consists of whole batches")
               : PK_OK;
}

static enum pk_code check_layers(const struct pk_shard_config *c, struct pk_err *err)
{
    if (!c->n_layers || c->n_layers > PK_SHARD_LAYERS_MAX)
        return bad(err, "number of layers", c->n_layers, "it is from 1 to 4096");
    for (size_t i = 1; i < c->n_layers; i++)
        if (c->layers[i] <= c->layers[i - 1])
            return bad(err, "layer", c->layers[i], "layers are listed once each, in increasing order");
    return PK_OK;
}

enum pk_code pk_shard_config_check(const struct pk_shard_config *c, struct pk_err *err)
{
    if (check_sizes(c, err) || check_layers(c, err))
        return err->code;
    uint64_t bytes = pk_dtype_bytes(c->type);
    const uint64_t rounded = c->samples + c->batch;
    if (__builtin_mul_overflow(bytes, c->length, &bytes) || __builtin_mul_overflow(bytes, c->width, &bytes) ||
        __builtin_mul_overflow(bytes, c->n_layers, &bytes) ||
        __builtin_mul_overflow(bytes, rounded, &bytes) || bytes > DATA_BYTES_MAX)
        return bad(err, "samples", c->samples,
                   "with this length, width and number of layers they have more than 2^60 bytes");
    if (pk_shard_layout(c, 0).chunks <= HEADER_BYTES_MAX / ROW_BYTES_MAX)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "shards: %" PRIu64 " samples of length %" PRIu64 " in a shard are not possible",
            c->shard_samples, c->length);
    pk_why(err, "the table of chunks in a shard's header would have more than 100 MB");
    return pk_fix(err, "choose a smaller batch, shorter samples, or fewer layers");
}

uint64_t pk_shard_sample_bytes(const struct pk_shard_config *c)
{
    return c->length * c->width * pk_dtype_bytes(c->type);
}

uint64_t pk_shard_batch_bytes(const struct pk_shard_config *c)
{
    return c->batch * c->n_layers * pk_shard_sample_bytes(c);
}

enum pk_code pk_shard_bytes_check(const struct pk_shard_config *c, uint64_t samples, uint64_t bytes,
                                  struct pk_err *err)
{
    const uint64_t expected = samples * c->n_layers * pk_shard_sample_bytes(c);
    if (bytes == expected)
        return PK_OK;
    const double length = (double)bytes / ((double)samples * (double)c->n_layers * (double)c->width *
                                           (double)pk_dtype_bytes(c->type));
    pk_fail(err, PK_E_USAGE, "%" PRIu64 " samples of length %" PRIu64 " are %" PRIu64 " bytes, not %" PRIu64,
            samples, c->length, expected, bytes);
    pk_why(err,
           "of %zu layers, width %" PRIu64 " and %zu bytes an element; %" PRIu64
           " bytes are a length of %.5g",
           c->n_layers, c->width, pk_dtype_bytes(c->type), bytes, length);
    return pk_fix(err, "give the length, the layers and the dtype that the data has");
}

/* --- JSON --- */

const char *pk_shard_type_name(enum pk_dtype type)
{
    return type == PK_BF16 ? "BF16" : "F32";
}

bool pk_shard_is_plain(const struct pk_shard_config *c)
{
    return !c->filter && pk_codec_is_none(&c->codec);
}

struct pk_shard_config *pk_shard_config_copy(const struct pk_shard_config *c, struct pk_arena *a)
{
    struct pk_shard_config *copy = pk_new(a, struct pk_shard_config);
    unsigned *layers = pk_new_n(a, unsigned, c->n_layers);
    struct pk_shard_attribute *attributes = pk_new_n(a, struct pk_shard_attribute, c->n_attributes);
    for (size_t i = 0; i < c->n_layers; i++)
        layers[i] = c->layers[i];
    for (size_t i = 0; i < c->n_attributes; i++)
        attributes[i] = (struct pk_shard_attribute){pk_strdup(a, c->attributes[i].name),
                                                    pk_strdup(a, c->attributes[i].value)};
    *copy = *c;
    copy->layers = layers;
    copy->attributes = attributes;
    copy->chunk_bytes = chunk_bytes(c);
    copy->checksum = !pk_checksum_unavailable();
    return copy;
}

json_t *pk_shard_config_json(const struct pk_shard_config *c)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    json_t *j = json_object(), *layers = json_array(), *attributes = json_object();
    json_object_set_new(j, "dtype", json_string(pk_shard_type_name(c->type)));
    json_object_set_new(j, "codec", json_string(pk_codec_name(&c->codec, &a)));
    json_object_set_new(j, "filter", json_string(pk_byte_filter_names[c->filter]));
    for (size_t i = 0; i < c->n_layers; i++)
        json_array_append_new(layers, json_integer(c->layers[i]));
    json_object_set_new(j, "layers", layers);
    for (size_t i = 0; i < SIZES; i++)
        json_object_set_new(j, sizes[i].name, json_integer((json_int_t)*size_of(c, i)));
    json_object_set_new(j, "checksum", json_string(c->checksum ? "xxh64" : "none"));
    for (size_t i = 0; i < c->n_attributes; i++)
        json_object_set_new(attributes, c->attributes[i].name, json_string(c->attributes[i].value));
    json_object_set_new(j, "attributes", attributes);
    return j;
}

static enum pk_code invalid(struct pk_err *err, const char *member)
{
    pk_fail(err, PK_E_USAGE, "the configuration of the shards is not valid");
    pk_why(err, "its member '%s' is missing or has another type than perfkit writes", member);
    return pk_fix(err, "give a folder that perfkit wrote");
}

static enum pk_code read_layers(const json_t *list, struct pk_arena *a, struct pk_shard_config *out,
                                struct pk_err *err)
{
    const size_t n = json_array_size(list);
    if (!n || n > PK_SHARD_LAYERS_MAX)
        return invalid(err, "layers");
    unsigned *layers = pk_new_n(a, unsigned, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        const json_int_t x = json_is_integer(v) ? json_integer_value(v) : -1;
        if (x < 0 || x > INT32_MAX)
            return invalid(err, "layers");
        layers[i] = (unsigned)x;
    }
    out->layers = layers;
    out->n_layers = n;
    return PK_OK;
}

static enum pk_code read_attributes(json_t *object, struct pk_arena *a, struct pk_shard_config *out,
                                    struct pk_err *err)
{
    const size_t n = json_object_size(object);
    struct pk_shard_attribute *v = pk_new_n(a, struct pk_shard_attribute, n);
    const char *name;
    json_t *value;
    size_t i = 0;
    if (!json_is_object(object) || n > PK_SHARD_ATTRIBUTES_MAX)
        return invalid(err, "attributes");
    json_object_foreach(object, name, value)
    {
        if (!json_is_string(value))
            return invalid(err, "attributes");
        v[i++] = (struct pk_shard_attribute){pk_strdup(a, name), pk_strdup(a, json_string_value(value))};
    }
    out->attributes = v;
    out->n_attributes = n;
    return PK_OK;
}

enum pk_code pk_shard_config_read(const json_t *j, struct pk_arena *a, struct pk_shard_config *out,
                                  struct pk_err *err)
{
    const char *type = pk_json_str(j, "dtype", ""), *checksum = pk_json_str(j, "checksum", "");
    *out = (struct pk_shard_config){.type = !strcmp(type, "BF16") ? PK_BF16 : PK_FP32};
    if (strcmp(type, pk_shard_type_name(out->type)))
        return invalid(err, "dtype");
    for (size_t i = 0; i < SIZES; i++) {
        const int64_t x = pk_json_int(j, sizes[i].name, -1);
        if (x <= 0)
            return invalid(err, sizes[i].name);
        *size_of(out, i) = (uint64_t)x;
    }
    if (pk_codec_parse(pk_json_str(j, "codec", ""), &out->codec, err) ||
        pk_byte_filter_parse(pk_json_str(j, "filter", ""), &out->filter, err) ||
        read_layers(json_object_get(j, "layers"), a, out, err) ||
        read_attributes(json_object_get(j, "attributes"), a, out, err) || pk_shard_config_check(out, err))
        return err->code;
    out->checksum = !strcmp(checksum, "xxh64");
    if (!out->checksum && strcmp(checksum, "none"))
        return invalid(err, "checksum");
    if (!out->checksum || !pk_checksum_unavailable())
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "checksums xxh64 are not in this build");
    pk_why(err, "%s", pk_checksum_unavailable());
    return pk_fix(err, "build perfkit with xxhash");
}

const char *pk_shard_config_hash(const struct pk_shard_config *c, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = pk_shard_config_json(c);
    const char *text = pk_json_text(a, j, PK_JSON_CANON);
    return pk_printf(a, "%016" PRIx64, pk_fnv1a(PK_FNV1A_EMPTY, text, strlen(text)));
}

const char *pk_shard_config_difference(const json_t *there, const json_t *here, struct pk_arena *a)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)here, name, value)
    {
        const json_t *other = json_object_get(there, name);
        if (json_equal(other, value))
            continue;
        if (json_is_object(other) && json_is_object(value)) {
            const char *inner = pk_shard_config_difference(other, value, a);
            if (inner)
                return inner;
        }
        return pk_printf(a, "%.60s is %.120s there and %.120s here", name,
                         other ? pk_json_text(a, other, PK_JSON_COMPACT) : "absent",
                         pk_json_text(a, value, PK_JSON_COMPACT));
    }
    if (json_object_size(there) <= json_object_size(here))
        return NULL;
    json_object_foreach(
        (json_t *)(uintptr_t)there, name,
        value) if (!json_object_get(here, name)) return pk_printf(a, "%.60s is %.120s there and absent here",
                                                                  name,
                                                                  pk_json_text(a, value, PK_JSON_COMPACT));
    return NULL;
}

/* --- layout --- */

size_t pk_shard_pieces(const struct pk_shard_config *c, uint64_t n)
{
    return (size_t)((n * pk_shard_sample_bytes(c) + chunk_bytes(c) - 1) / chunk_bytes(c));
}

struct pk_shard_layout pk_shard_layout(const struct pk_shard_config *c, uint64_t first)
{
    const uint64_t left = c->samples - first, n = left < c->shard_samples ? left : c->shard_samples;
    return (struct pk_shard_layout){
        first, n, n * pk_shard_sample_bytes(c),
        c->n_layers * (n / c->batch * pk_shard_pieces(c, c->batch) + pk_shard_pieces(c, n % c->batch))};
}

struct pk_chunk pk_shard_piece(const struct pk_shard_config *c, uint64_t at, uint64_t n, size_t layer,
                               size_t piece)
{
    const uint64_t begin = piece * chunk_bytes(c), left = n * pk_shard_sample_bytes(c) - begin;
    return (struct pk_chunk){.layer = (uint32_t)layer,
                             .raw_at = at * pk_shard_sample_bytes(c) + begin,
                             .raw_bytes = left < chunk_bytes(c) ? left : chunk_bytes(c)};
}

const char *pk_shard_file_name(const char *hash, uint64_t first, struct pk_arena *a)
{
    return pk_printf(a, "%s-%08" PRIu64 ".safetensors", hash, first);
}
