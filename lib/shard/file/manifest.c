/* Manifest: JSON that is read with suspicion and replaced as a whole. */
#include "shard/file/manifest.h"

#include <inttypes.h>
#include <string.h>

static const char name[] = PK_MANIFEST, format[] = "perfkit-shards-1";
enum { BYTES_MAX = 256 << 20 };

static enum pk_code invalid(const char *path, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s is not a valid manifest of shards", path);
    pk_why(err, "%s", why);
    return pk_fix(
        err,
        "give a folder that perfkit wrote; without its manifest the shards can still be read as safetensors");
}

static enum pk_code read_shard(const char *path, const json_t *row, struct pk_arena *a, struct pk_manifest *m,
                               struct pk_err *err)
{
    const uint64_t first = pk_manifest_samples(m);
    const char *file = pk_shard_file_name(m->hash, first, a);
    if (first >= m->config->samples)
        return invalid(path, "it lists more samples than its configuration has", err);
    const struct pk_shard_layout l = pk_shard_layout(m->config, first);
    const int64_t bytes = pk_json_int(row, "file_bytes", -1);
    if (strcmp(pk_json_str(row, "file", ""), file) ||
        pk_json_int(row, "first_sample", -1) != (int64_t)first ||
        pk_json_int(row, "samples", -1) != (int64_t)l.samples || bytes < 0)
        return invalid(path,
                       pk_printf(a, "its shard %zu is not %s with samples %" PRIu64 " to %" PRIu64, m->n,
                                 file, first, first + l.samples - 1),
                       err);
    m->v[m->n++] = (struct pk_manifest_shard){file, first, l.samples, (uint64_t)bytes};
    return PK_OK;
}

enum pk_code pk_manifest_parse(const char *path, const char *text, size_t n, struct pk_arena *a,
                               struct pk_manifest *out, struct pk_err *err)
{
    json_error_t why;
    PK_JSON_CLEANUP json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    struct pk_shard_config *config = pk_new(a, struct pk_shard_config);
    if (!json_is_object(j))
        return invalid(path, j ? "it is not a JSON object" : pk_printf(a, "it is not JSON: %.150s", why.text),
                       err);
    if (strcmp(pk_json_str(j, "format", ""), format))
        return invalid(path, pk_printf(a, "its format is not %s", format), err);
    if (pk_shard_config_read(json_object_get(j, "config"), a, config, err))
        return pk_within(err, "%s", path);
    const json_t *shards = json_object_get(j, "shards");
    *out = (struct pk_manifest){config, pk_shard_config_hash(config, a)};
    if (strcmp(pk_json_str(j, "hash", ""), out->hash))
        return invalid(path, "its hash is not that of its configuration", err);
    out->cap = json_array_size(shards);
    out->v = pk_new_n(a, struct pk_manifest_shard, out->cap);
    for (size_t i = 0; i < out->cap; i++)
        if (read_shard(path, json_array_get(shards, i), a, out, err))
            return err->code;
    return PK_OK;
}

enum pk_code pk_manifest_read(const struct pk_folder *f, struct pk_arena *a, struct pk_manifest *out,
                              struct pk_err *err)
{
    char *text;
    size_t n;
    *out = (struct pk_manifest){0};
    if (pk_folder_read(f, name, BYTES_MAX, a, &text, &n, err))
        return err->code;
    return text ? pk_manifest_parse(pk_printf(a, "%s/%s", f->path, name), text, n, a, out, err) : PK_OK;
}

enum pk_code pk_manifest_write(const struct pk_folder *f, const struct pk_manifest *m, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *j = json_object();
    json_t *shards = json_array();
    struct pk_new_file file;
    json_object_set_new(j, "format", json_string(format));
    json_object_set_new(j, "hash", json_string(m->hash));
    json_object_set_new(j, "config", pk_shard_config_json(m->config));
    json_object_set_new(j, "shards", shards);
    for (size_t i = 0; i < m->n; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "file", json_string(m->v[i].file));
        json_object_set_new(row, "first_sample", json_integer((json_int_t)m->v[i].first));
        json_object_set_new(row, "samples", json_integer((json_int_t)m->v[i].samples));
        json_object_set_new(row, "file_bytes", json_integer((json_int_t)m->v[i].file_bytes));
        json_array_append_new(shards, row);
    }
    const char *text = pk_json_text(&a, j, JSON_INDENT(1));
    if (pk_new_file_begin(f, name, &file, err) || pk_new_file_write(&file, text, strlen(text), 0, err) ||
        pk_new_file_write(&file, "\n", 1, strlen(text), err))
        return err->code;
    return pk_new_file_commit(&file, err);
}

uint64_t pk_manifest_samples(const struct pk_manifest *m)
{
    return m->n ? m->v[m->n - 1].first + m->v[m->n - 1].samples : 0;
}
