/* Verify: every chunk of every shard, decoded and counted. */
#include "shard/verify.h"

#include "base/text/words.h"
#include "shard/file/header.h"
#include "shard/file/manifest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What is counted of a layer; of a shard first, so that a broken one counts nothing. */
struct layer_totals {
    uint64_t chunks, raw_bytes, stored_bytes;
    struct pk_entropy entropy;
};

struct verifier {
    const struct pk_folder *folder;
    const struct pk_manifest *manifest;
    const volatile int *stop_flag;
    struct pk_chunk_coder coder;
    char *stored, *raw;                       /* [chunk_bytes] */
    struct layer_totals *of_shard, *of_layer; /* [n_layers] */
    uint64_t *samples;                        /* [n_layers] */
};

static void add(struct layer_totals *sum, const struct layer_totals *t)
{
    sum->chunks += t->chunks;
    sum->raw_bytes += t->raw_bytes;
    sum->stored_bytes += t->stored_bytes;
    sum->entropy.elements += t->entropy.elements;
    for (size_t p = 0; p < 4; p++)
        for (size_t i = 0; i < 256; i++)
            sum->entropy.plane[p][i] += t->entropy.plane[p][i];
}

static void clear(const struct verifier *v, struct layer_totals *t)
{
    for (size_t i = 0; i < v->manifest->config->n_layers; i++)
        t[i] = (struct layer_totals){.entropy.type = v->manifest->config->type};
}

static const char *read_chunk(struct verifier *v, const struct pk_safetensors *f, const struct pk_chunk *x)
{
    struct layer_totals *t = &v->of_shard[x->layer];
    for (size_t got = 0; got < x->stored_bytes;) {
        const ssize_t n =
            pread(f->fd, v->stored + got, x->stored_bytes - got, (off_t)(f->data_at + x->stored_at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? strerror(errno) : "the file became shorter";
        got += (size_t)n;
    }
    const char *wrong = pk_chunk_decode(&v->coder, x, v->stored, v->raw);
    if (wrong)
        return wrong;
    t->chunks++;
    t->raw_bytes += x->raw_bytes;
    t->stored_bytes += x->stored_bytes;
    pk_entropy_add(&t->entropy, v->raw, x->raw_bytes / pk_dtype_bytes(t->entropy.type));
    return NULL;
}

/* Fills in what is wrong with the shard; b->why stays NULL when nothing is. `a` is for this shard, `kept` for the message. */
static void verify_shard(struct verifier *v, const struct pk_manifest_shard *s, struct pk_arena *a,
                         struct pk_arena *kept, struct pk_broken_shard *b)
{
    const struct pk_shard_config *c = v->manifest->config;
    const struct pk_shard_layout l = pk_shard_layout(c, s->first);
    PK_SAFETENSORS_CLEANUP struct pk_safetensors f = {.fd = -1};
    struct pk_chunk *chunks = NULL;
    struct pk_err err;
    size_t at = l.chunks;
    *b = (struct pk_broken_shard){.file = s->file, .layer = -1, .chunk = -1, .at = -1};
    const int64_t size = pk_folder_size(v->folder, s->file);
    if (size < 0)
        b->why = size == -1 ? "it is absent" : "it is not a regular file";
    else if ((uint64_t)size != s->file_bytes)
        b->why = pk_printf(kept, "it has %lld bytes, and the manifest says %llu", (long long)size,
                           (unsigned long long)s->file_bytes);
    else if (pk_safetensors_open(pk_printf(a, "%s/%s", v->folder->path, s->file), a, &f, &err))
        b->why = pk_printf(kept, "%s", err.why);
    else if ((b->why = pk_header_chunks(&f, c, v->manifest->hash, &l, a, &chunks, &at)))
        b->why = pk_printf(kept, "%s", b->why);
    for (size_t i = 0; !b->why && i < l.chunks && !(v->stop_flag && *v->stop_flag); i++)
        if ((b->why = read_chunk(v, &f, &chunks[i]))) {
            b->layer = c->layers[chunks[i].layer];
            b->at = (int64_t)(f.data_at + chunks[i].stored_at);
            at = i;
        }
    b->chunk = at < l.chunks ? (int64_t)at : -1;
}

static void verify_shards(struct verifier *v, struct pk_arena *a, struct pk_verify_result *out)
{
    const struct pk_manifest *m = v->manifest;
    struct pk_broken_shard *broken = pk_new_n(a, struct pk_broken_shard, m->n + 1);
    clear(v, v->of_layer);
    for (size_t i = 0; i < m->n && !(v->stop_flag && *v->stop_flag); i++) {
        PK_ARENA_CLEANUP struct pk_arena of_shard = {0};
        clear(v, v->of_shard);
        verify_shard(v, &m->v[i], &of_shard, a, &broken[out->n_broken]);
        if (broken[out->n_broken].why) {
            out->n_broken++;
            continue;
        }
        out->file_bytes += m->v[i].file_bytes;
        for (size_t k = 0; k < m->config->n_layers; k++) {
            add(&v->of_layer[k], &v->of_shard[k]);
            v->samples[k] += m->v[i].samples;
        }
    }
    out->broken = broken;
}

static enum pk_code no_manifest(const char *folder, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "%s is not a folder of shards", folder);
    pk_why(err, "it has no manifest.json");
    return pk_fix(err, "give the folder that `perfkit run extraction -a sink=FOLDER` wrote");
}

static void sum_up(const struct verifier *v, struct pk_arena *a, struct pk_verify_result *out)
{
    const struct pk_shard_config *c = v->manifest->config;
    struct pk_verify_layer *layers = pk_new_n(a, struct pk_verify_layer, c->n_layers);
    for (size_t i = 0; i < c->n_layers; i++) {
        const struct layer_totals *t = &v->of_layer[i];
        layers[i] = (struct pk_verify_layer){c->layers[i], v->samples[i],   t->chunks,
                                             t->raw_bytes, t->stored_bytes, pk_entropy_bounds(&t->entropy)};
    }
    out->layers = layers;
}

enum pk_code pk_verify(const char *folder, const volatile int *stop_flag, struct pk_arena *a,
                       struct pk_verify_result *out, struct pk_err *err)
{
    PK_FOLDER_CLEANUP struct pk_folder f = {.fd = -1};
    struct pk_manifest *m = pk_new(a, struct pk_manifest);
    *out = (struct pk_verify_result){0};
    if (pk_folder_open(folder, false, a, &f, err) || pk_manifest_read(&f, a, m, err))
        return err->code;
    const struct pk_shard_config *c = m->config;
    if (!c)
        return no_manifest(folder, err);
    struct verifier v = {.folder = &f, .manifest = m, .stop_flag = stop_flag};
    if (pk_chunk_coder_open(&c->codec, c->filter, c->type, c->chunk_bytes, a, &v.coder, err))
        return err->code;
    v.coder.checksum = c->checksum;
    v.stored = pk_alloc(a, c->chunk_bytes);
    v.raw = pk_alloc(a, c->chunk_bytes);
    v.of_shard = pk_new_n(a, struct layer_totals, c->n_layers);
    v.of_layer = pk_new_n(a, struct layer_totals, c->n_layers);
    v.samples = pk_new_n(a, uint64_t, c->n_layers);
    *out = (struct pk_verify_result){.config = c, .shards = m->n, .samples = pk_manifest_samples(m)};
    verify_shards(&v, a, out);
    pk_chunk_coder_close(&v.coder);
    sum_up(&v, a, out);
    if (!stop_flag || !*stop_flag)
        return PK_OK;
    pk_fail(err, PK_E_INTERRUPTED, "interrupted");
    pk_why(err, "a signal ended the verification");
    return pk_fix(err, "call it again");
}

const char *pk_verified_text(const struct pk_verify_result *v, struct pk_arena *a)
{
    const struct pk_shard_config *c = v->config;
    const char *text =
        pk_printf(a, "%s, filter %s, %s, %s", pk_codec_name(&c->codec, a), pk_byte_filter_names[c->filter],
                  c->checksum ? "checksums xxh64" : "no checksums", pk_plural(v->shards, "shard", a));
    if (v->samples == c->samples)
        return text;
    return pk_printf(a, "%s; not complete: %llu of %llu samples", text, (unsigned long long)v->samples,
                     (unsigned long long)c->samples);
}

enum pk_code pk_verified_outcome(const struct pk_verify_result *v, const char *folder, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_broken_shard *b = v->broken;
    if (!v->n_broken)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "%zu of %s of %s %s", v->n_broken, pk_plural(v->shards, "shard", &a), folder,
            pk_predicate(v->n_broken, "are broken", &a));
    if (b->layer >= 0)
        pk_why(err, "%s: layer %lld, chunk %lld, byte %lld: %s", b->file, (long long)b->layer,
               (long long)b->chunk, (long long)b->at, b->why);
    else
        pk_why(err, "%s: %s", b->file, b->why);
    return pk_fix(err, "remove the broken files; `perfkit run extraction` with the same options then writes "
                       "their samples again");
}
