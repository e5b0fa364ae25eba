/* Header: made, and compared with what it must be. */
#include "shard/file/header.h"

#include "base/text/buf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, ALIGNMENT = 64 };

/* --- what the members are --- */

enum { MEMBERS = 11 };
struct header_member {
    const char *name, *value;
};

static const char *layers_text(const struct pk_shard_config *c, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < c->n_layers; i++)
        pk_buf_printf(&b, "%s%u", i ? "," : "", c->layers[i]);
    return pk_buf_text(&b);
}

static const char *number(uint64_t x, struct pk_arena *a)
{
    return pk_printf(a, "%" PRIu64, x);
}

static void members_of(const struct pk_shard_config *c, const char *hash, const struct pk_shard_layout *l,
                       struct pk_arena *a, struct header_member v[MEMBERS])
{
    const struct header_member all[MEMBERS] = {
        {"format", "perfkit-shard-1"},
        {"hash", hash},
        {"first_sample", number(l->first, a)},
        {"samples", number(l->samples, a)},
        {"layers", layers_text(c, a)},
        {"length", number(c->length, a)},
        {"width", number(c->width, a)},
        {"dtype", pk_shard_type_name(c->type)},
        {"codec", pk_codec_name(&c->codec, a)},
        {"filter", pk_byte_filter_names[c->filter]},
        {"checksum", c->checksum ? "xxh64" : "none"},
    };
    memcpy(v, all, sizeof all);
}

static json_t *tensor(const char *type, const uint64_t *shape, size_t n, uint64_t at, uint64_t bytes)
{
    json_t *j = json_object(), *sizes = json_array(), *offsets = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(sizes, json_integer((json_int_t)shape[i]));
    json_array_append_new(offsets, json_integer((json_int_t)at));
    json_array_append_new(offsets, json_integer((json_int_t)(at + bytes)));
    json_object_set_new(j, "dtype", json_string(type));
    json_object_set_new(j, "shape", sizes);
    json_object_set_new(j, "data_offsets", offsets);
    return j;
}

static const char *layer_name(const struct pk_shard_config *c, size_t i, struct pk_arena *a)
{
    return pk_printf(a, "layer_%u", c->layers[i]);
}

/* --- written --- */

static const char *json_of(const struct pk_shard_config *c, const char *hash, const struct pk_shard_layout *l,
                           const char *rows, uint64_t stored_bytes, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_object();
    json_t *metadata = json_object();
    struct header_member members[MEMBERS];
    const uint64_t shape[] = {l->samples, c->length, c->width};
    members_of(c, hash, l, a, members);
    for (size_t i = 0; i < MEMBERS; i++)
        json_object_set_new(metadata, members[i].name, json_string(members[i].value));
    json_object_set_new(metadata, "chunks", json_string(rows));
    json_object_set_new(j, "__metadata__", metadata);
    for (size_t i = 0; pk_shard_is_plain(c) && i < c->n_layers; i++)
        json_object_set_new(
            j, layer_name(c, i, a),
            tensor(pk_shard_type_name(c->type), shape, 3, i * l->layer_bytes, l->layer_bytes));
    if (!pk_shard_is_plain(c))
        json_object_set_new(j, "chunks", tensor("U8", &stored_bytes, 1, 0, stored_bytes));
    return pk_json_text(a, j, PK_JSON_COMPACT);
}

/* As many digits as the largest of a kind. */
static size_t digits(uint64_t x)
{
    return x < 10 ? 1 : 1 + digits(x / 10);
}

size_t pk_header_room(const struct pk_shard_config *c, const struct pk_shard_layout *l)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const uint64_t all = l->layer_bytes * c->n_layers;
    const size_t row =
        digits(c->n_layers) + digits(l->layer_bytes) + 3 * digits(c->chunk_bytes) + digits(all) + 16 + 7;
    const size_t n = LENGTH_BYTES + strlen(json_of(c, "0123456789abcdef", l, "", all, &a)) + row * l->chunks;
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

const char *pk_header_text(const struct pk_shard_config *c, const char *hash, const struct pk_shard_layout *l,
                           const struct pk_chunk *chunks, uint64_t stored_bytes, struct pk_arena *a)
{
    const size_t room = pk_header_room(c, l), n = room - LENGTH_BYTES;
    struct pk_buf rows = {.arena = a};
    char *text = pk_alloc(a, room);
    for (size_t i = 0; i < l->chunks; i++)
        pk_buf_printf(&rows, "%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 ";",
                      chunks[i].layer, chunks[i].raw_at, chunks[i].raw_bytes, chunks[i].stored_at,
                      chunks[i].stored_bytes, chunks[i].coded_bytes, chunks[i].checksum);
    const char *json = json_of(c, hash, l, pk_buf_text(&rows), stored_bytes, a);
    pk_assert(strlen(json) <= n);
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        text[i] = (char)(n >> 8 * i & 255);
    memset(text + LENGTH_BYTES, ' ', n);
    memcpy(text + LENGTH_BYTES, json, strlen(json));
    return text;
}

/* --- read --- */

static bool tensors_fit(const struct pk_safetensors *f, const struct pk_shard_config *c,
                        const struct pk_shard_layout *l, struct pk_arena *a)
{
    const uint64_t shape[] = {l->samples, c->length, c->width};
    for (size_t i = 0; pk_shard_is_plain(c) && i < c->n_layers; i++) {
        const struct pk_tensor *t = pk_safetensors_find(f, layer_name(c, i, a));
        if (!t || strcmp(t->type, pk_shard_type_name(c->type)) || t->dimensions != 3 ||
            t->at != i * l->layer_bytes)
            return false;
        for (size_t d = 0; d < 3; d++)
            if (t->shape[d] != shape[d])
                return false;
    }
    return pk_shard_is_plain(c) ? f->n == c->n_layers
                                : f->n == 1 && !strcmp(f->v[0].name, "chunks") && !strcmp(f->v[0].type, "U8");
}

/* Reads a row; false when it is none. */
static bool read_row(const char **text, struct pk_chunk *x)
{
    uint64_t v[7];
    for (size_t i = 0; i < 7; i++) {
        char *end;
        if (**text == ' ' || **text == '-' || **text == '+' || !**text)
            return false;
        v[i] = strtoull(*text, &end, i < 6 ? 10 : 16);
        if (end == *text || *end != (i < 6 ? ' ' : ';'))
            return false;
        *text = end + 1;
    }
    *x = (struct pk_chunk){(uint32_t)v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
    return v[0] <= UINT32_MAX;
}

/* NULL, or how a chunk differs from the one that is due; *stored is the end of the one before, and then its own. */
static const char *wrong_place(const struct pk_shard_config *c, const struct pk_shard_layout *l,
                               const struct pk_chunk *x, const struct pk_chunk *due, uint64_t *stored)
{
    const bool plain = pk_shard_is_plain(c);
    if (x->layer != due->layer || x->raw_at != due->raw_at || x->raw_bytes != due->raw_bytes)
        return "its table has another chunk there than its configuration";
    if (x->coded_bytes > x->raw_bytes || x->stored_bytes > x->raw_bytes ||
        x->raw_bytes - x->coded_bytes > x->stored_bytes || (plain && x->stored_bytes != x->raw_bytes))
        return "its table has sizes there that do not agree";
    if (x->stored_at != (plain ? x->layer * l->layer_bytes + x->raw_at : *stored))
        return "its table has a chunk there that does not begin where the one before ends";
    *stored += x->stored_bytes;
    return NULL;
}

static const char *read_rows(const char *text, const struct pk_shard_config *c,
                             const struct pk_shard_layout *l, struct pk_chunk *chunks, size_t *at,
                             uint64_t *stored)
{
    *stored = 0;
    *at = 0;
    for (uint64_t block = 0; block < l->samples; block += c->batch) {
        const uint64_t left = l->samples - block, n = left < c->batch ? left : c->batch;
        for (size_t layer = 0; layer < c->n_layers; layer++)
            for (size_t piece = 0; piece < pk_shard_pieces(c, n); piece++, ++*at) {
                const struct pk_chunk due = pk_shard_piece(c, block, n, layer, piece);
                if (!read_row(&text, &chunks[*at]))
                    return "its table of chunks ends there or is not valid";
                const char *wrong = wrong_place(c, l, &chunks[*at], &due, stored);
                if (wrong)
                    return wrong;
            }
    }
    return *text ? "its table has more chunks than its configuration" : NULL;
}

const char *pk_header_chunks(const struct pk_safetensors *f, const struct pk_shard_config *c,
                             const char *hash, const struct pk_shard_layout *l, struct pk_arena *a,
                             struct pk_chunk **chunks, size_t *at)
{
    struct header_member members[MEMBERS];
    uint64_t stored;
    members_of(c, hash, l, a, members);
    *at = l->chunks;
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *value = pk_safetensors_text(f, members[i].name);
        if (!value || strcmp(value, members[i].value))
            return pk_printf(a, "its header has %.40s %.60s instead of %.60s", members[i].name,
                             value ? value : "nowhere", members[i].value);
    }
    const char *rows = pk_safetensors_text(f, "chunks");
    if (!rows || strlen(rows) / 16 < l->chunks)
        return "its header has no table with all of its chunks";
    if (!tensors_fit(f, c, l, a))
        return "its tensors are not those of its configuration";
    *chunks = pk_new_n(a, struct pk_chunk, l->chunks);
    const char *wrong = read_rows(rows, c, l, *chunks, at, &stored);
    if (wrong)
        return wrong;
    *at = l->chunks;
    return pk_shard_is_plain(c) || stored == f->v[0].bytes ? NULL : "its chunks do not fill its tensor";
}
