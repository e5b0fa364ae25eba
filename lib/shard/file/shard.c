/* Shard: chunks behind a header that is written last. */
#include "shard/file/shard.h"

enum pk_code pk_shard_begin(const struct pk_shard_config *c, const char *hash, const struct pk_folder *f,
                            uint64_t first, struct pk_shard *out, struct pk_err *err)
{
    *out = (struct pk_shard){.config = c, .layout = pk_shard_layout(c, first), .file.fd = -1};
    out->chunks = pk_new_n(&out->arena, struct pk_chunk, out->layout.chunks);
    out->data_at = pk_header_room(c, &out->layout);
    if (!f)
        return PK_OK;
    return pk_new_file_begin(f, pk_shard_file_name(hash, first, &out->arena), &out->file, err);
}

enum pk_code pk_shard_put(struct pk_shard *s, struct pk_chunk *chunk, const void *stored,
                          struct pk_stage_time stage[PK_STAGES], struct pk_err *err)
{
    const bool plain = pk_shard_is_plain(s->config);
    const struct pk_stage_time begun = pk_stage_begin();
    chunk->stored_at = plain ? chunk->layer * s->layout.layer_bytes + chunk->raw_at : s->stored_bytes;
    if (s->file.folder &&
        pk_new_file_write(&s->file, stored, chunk->stored_bytes, s->data_at + chunk->stored_at, err))
        return err->code;
    pk_stage_end(&stage[PK_STAGE_WRITE], &begun, chunk->stored_bytes);
    s->stored_bytes += chunk->stored_bytes;
    s->chunks[s->n++] = *chunk;
    return PK_OK;
}

enum pk_code pk_shard_end(struct pk_shard *s, struct pk_manifest *m, struct pk_arena *of_manifest,
                          struct pk_stage_time stage[PK_STAGES], struct pk_err *err)
{
    const struct pk_stage_time begun = pk_stage_begin();
    pk_assert(s->n == s->layout.chunks);
    if (!s->file.folder)
        return PK_OK;
    const char *header =
        pk_header_text(s->config, m->hash, &s->layout, s->chunks, s->stored_bytes, &s->arena);
    if (pk_new_file_write(&s->file, header, s->data_at, 0, err) || pk_new_file_commit(&s->file, err))
        return err->code;
    m->v = m->n < m->cap ? m->v : pk_grow(of_manifest, m->v, sizeof *m->v, m->n, &m->cap);
    m->v[m->n++] =
        (struct pk_manifest_shard){pk_shard_file_name(m->hash, s->layout.first, of_manifest), s->layout.first,
                                   s->layout.samples, s->data_at + s->stored_bytes};
    if (pk_manifest_write(s->file.folder, m, err))
        return err->code;
    pk_stage_end(&stage[PK_STAGE_SYNC], &begun, s->data_at);
    return PK_OK;
}

void pk_shard_free(struct pk_shard *s)
{
    if (s->file.folder)
        pk_new_file_abandon(&s->file);
    pk_arena_free(&s->arena);
}
