/* Writer: a ring of chunks between threads that encode and one that writes. */
#include "shard/writer.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "shard/file/shard.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

/* A chunk on its way. Its place in the ring is its number modulo the ring's length. */
struct job {
    bool encoded;
    struct pk_chunk chunk;
    uint64_t first; /* sample of its batch */
    size_t slot;
    bool last; /* of its batch */
    const void *from, *stored;
    void *room;
};

struct batch {
    size_t slot;
    uint64_t first, n;
};

struct encoder {
    struct pk_shard_writer *writer;
    struct pk_chunk_coder coder;
    pthread_t handle;
};

struct pk_shard_writer {
    struct pk_arena arena;
    const struct pk_shard_config *config;
    struct pk_folder folder; /* path NULL = none */
    struct pk_manifest manifest;
    struct pk_cpus cpus;
    uint64_t begins; /* pk_shard_writer_first */

    pthread_mutex_t lock;
    pthread_cond_t work, encoded, freed; /* for encoders; for the writing thread; for callers */
    bool stop, failed;
    struct pk_err err; /* when failed */

    void **slots;
    bool *in_use;
    size_t n_slots;
    struct batch *batches; /* [n_slots] a queue */
    size_t head, queued;
    size_t layer, piece; /* of the next chunk of the first batch */

    struct job *ring;
    size_t ring_n;
    uint64_t taken, written; /* numbers of chunks */
    uint64_t due;            /* sample of the next batch that is submitted */

    struct encoder *encoders;
    unsigned n_encoders, started;
    pthread_t writing;
    bool writing_started;
    struct pk_shard shard;
    bool shard_is_open;
    struct pk_shard_writer_facts facts; /* without the encoders' times */
};

/* --- encoders --- */

/* The next chunk of the first batch. */
static struct job *take(struct pk_shard_writer *w)
{
    const struct batch b = w->batches[w->head];
    struct job *j = &w->ring[w->taken++ % w->ring_n];
    const uint64_t block_bytes = w->config->batch * pk_shard_sample_bytes(w->config);
    const uint64_t at = b.first % w->config->shard_samples;
    j->chunk = pk_shard_piece(w->config, at, b.n, w->layer, w->piece);
    j->from = (const char *)w->slots[b.slot] + w->layer * block_bytes + w->piece * w->config->chunk_bytes;
    j->slot = b.slot;
    j->first = b.first;
    j->encoded = j->last = false;
    if (++w->piece < pk_shard_pieces(w->config, b.n))
        return j;
    w->piece = 0;
    if (++w->layer < w->config->n_layers)
        return j;
    w->layer = 0;
    w->head = (w->head + 1) % w->n_slots;
    w->queued--;
    j->last = true;
    return j;
}

static bool has_work(const struct pk_shard_writer *w)
{
    return w->queued && w->taken - w->written < w->ring_n && !w->failed;
}

/* A batch thread does not interrupt the one that wakes it, which is about to start the next batch: they share the CPU by time alone. */
static void settle(const struct pk_shard_writer *w)
{
    if (w->cpus.n)
        pk_bind_thread(&w->cpus);
    if (sched_getscheduler(0) == SCHED_OTHER)
        sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
}

static void *encode(void *arg)
{
    struct encoder *e = arg;
    struct pk_shard_writer *w = e->writer;
    settle(w);
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->stop && !has_work(w))
            pthread_cond_wait(&w->work, &w->lock);
        if (!has_work(w))
            break;
        struct job *j = take(w);
        pthread_mutex_unlock(&w->lock);
        j->stored = pk_chunk_encode(&e->coder, j->from, j->room, &j->chunk);
        pthread_mutex_lock(&w->lock);
        j->encoded = true;
        pthread_cond_signal(&w->encoded);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* --- the writing thread --- */

static enum pk_code write_chunk(struct pk_shard_writer *w, struct job *j, struct pk_err *err)
{
    const struct pk_folder *folder = w->folder.path ? &w->folder : NULL;
    struct pk_stage_time *stage = w->facts.stage;
    if (!w->shard_is_open) {
        if (pk_shard_begin(w->config, w->manifest.hash, folder, j->first, &w->shard, err))
            return err->code;
        w->shard_is_open = true;
    }
    if (pk_shard_put(&w->shard, &j->chunk, j->stored, stage, err))
        return err->code;
    w->facts.raw_bytes += j->chunk.raw_bytes;
    w->facts.stored_bytes += j->chunk.stored_bytes;
    w->facts.chunks++;
    if (w->shard.n < w->shard.layout.chunks)
        return PK_OK;
    if (pk_shard_end(&w->shard, &w->manifest, &w->arena, stage, err))
        return err->code;
    w->facts.samples += w->shard.layout.samples;
    w->facts.shards++;
    w->shard_is_open = false;
    pk_shard_free(&w->shard);
    return PK_OK;
}

static void fail(struct pk_shard_writer *w, const struct pk_err *err)
{
    w->failed = true;
    w->err = *err;
    pthread_cond_broadcast(&w->freed);
    pthread_cond_broadcast(&w->work);
}

static void *write_all(void *arg)
{
    struct pk_shard_writer *w = arg;
    settle(w);
    pthread_mutex_lock(&w->lock);
    while (!w->failed) {
        struct job *j = &w->ring[w->written % w->ring_n];
        struct pk_err err = {0};
        if (w->written == w->taken || !j->encoded) {
            if (w->stop && w->written == w->taken && !w->queued)
                break;
            pthread_cond_wait(&w->encoded, &w->lock);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        const enum pk_code rc = write_chunk(w, j, &err);
        pthread_mutex_lock(&w->lock);
        if (rc) {
            fail(w, &err);
            break;
        }
        w->in_use[j->slot] &= !j->last;
        w->written++;
        pthread_cond_broadcast(&w->freed);
        pthread_cond_broadcast(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* --- opening --- */

static enum pk_code other_configuration(const struct pk_shard_writer *w, const struct pk_manifest *there,
                                        struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *theirs = pk_shard_config_json(there->config),
                           *ours = pk_shard_config_json(w->config);
    pk_fail(err, PK_E_USAGE, "%s has shards of another configuration", w->folder.path);
    pk_why(err, "%s", pk_shard_config_difference(theirs, ours, &a));
    return pk_fix(err, "choose another folder, or the configuration that is there, or remove the folder");
}

/* Counts the shards that are there from the first on; the rest is written again. */
static enum pk_code check_shards(struct pk_shard_writer *w, struct pk_err *err)
{
    struct pk_manifest *m = &w->manifest;
    for (size_t i = 0; i < m->n; i++) {
        const int64_t size = pk_folder_size(&w->folder, m->v[i].file);
        if (size == -1) {
            m->n = i;
            break;
        }
        if (size < 0 || (uint64_t)size != m->v[i].file_bytes) {
            pk_fail(err, PK_E_CHECK, "the shard %s/%s is broken", w->folder.path, m->v[i].file);
            pk_why(err, "it has %" PRId64 " bytes, and the manifest says %" PRIu64, size < 0 ? 0 : size,
                   m->v[i].file_bytes);
            return pk_fix(err, "remove the file: the same command then continues with its samples");
        }
    }
    return PK_OK;
}

static enum pk_code restart(struct pk_shard_writer *w, struct pk_err *err)
{
    const size_t n = w->manifest.n;
    w->manifest.n = 0;
    if (pk_manifest_write(&w->folder, &w->manifest, err))
        return err->code;
    for (size_t i = 0; i < n; i++)
        pk_folder_remove(&w->folder, w->manifest.v[i].file);
    return PK_OK;
}

/* A shard of this configuration or the manifest, or one of them under its temporary name. */
static bool is_ours(const char *file, const char *hash)
{
    static const char shard[] = ".safetensors", temporary[] = ".tmp";
    char name[NAME_MAX + 1];
    const bool unfinished = *file == '.' && pk_ends_with(file, temporary);
    snprintf(name, sizeof name, "%s", file + unfinished);
    if (unfinished)
        name[strlen(name) - strlen(temporary)] = '\0';
    const size_t before = strlen(hash);
    return !strcmp(name, PK_MANIFEST) ||
           (!strncmp(name, hash, before) && name[before] == '-' &&
            !strcmp(name + before + 1 + strspn(name + before + 1, "0123456789"), shard));
}

void pk_shards_remove(const char *folder, const char *hash)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d && fd >= 0)
        close(fd);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_ours(e->d_name, hash))
            unlinkat(fd, e->d_name, 0);
    closedir(d);
    rmdir(folder);
}

static enum pk_code open_folder(struct pk_shard_writer *w, const struct pk_shard_writer_options *o,
                                struct pk_err *err)
{
    struct pk_manifest there;
    w->manifest = (struct pk_manifest){w->config, pk_shard_config_hash(w->config, &w->arena)};
    if (!o->folder)
        return PK_OK;
    if (pk_folder_open(o->folder, true, &w->arena, &w->folder, err) ||
        pk_manifest_read(&w->folder, &w->arena, &there, err))
        return err->code;
    if (!there.config)
        return pk_manifest_write(&w->folder, &w->manifest, err);
    if (strcmp(there.hash, w->manifest.hash))
        return other_configuration(w, &there, err);
    w->manifest = there;
    return o->restart ? restart(w, err) : check_shards(w, err);
}

static enum pk_code no_thread(struct pk_err *err, int error)
{
    pk_fail(err, PK_E_IO, "cannot start a thread that compresses");
    pk_why_errno(err, error);
    return pk_fix(err, "use fewer threads, or raise the limit on processes (ulimit -u)");
}

/* Signals are for the caller's threads. */
static enum pk_code start(struct pk_shard_writer *w, struct pk_err *err)
{
    sigset_t all, before;
    int error = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; w->started < w->n_encoders && !error; w->started += !error)
        error = pthread_create(&w->encoders[w->started].handle, NULL, encode, &w->encoders[w->started]);
    if (!error)
        error = pthread_create(&w->writing, NULL, write_all, w);
    w->writing_started = !error;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? no_thread(err, error) : PK_OK;
}

static void reserve(struct pk_shard_writer *w, const struct pk_shard_writer_options *o)
{
    struct pk_arena *a = &w->arena;
    w->n_slots = o->n_slots;
    w->slots = pk_new_n(a, void *, o->n_slots);
    w->in_use = pk_new_n(a, bool, o->n_slots);
    w->batches = pk_new_n(a, struct batch, o->n_slots);
    for (size_t i = 0; i < o->n_slots; i++)
        w->slots[i] = o->slots[i];
    w->ring_n = 2 * o->threads + 1;
    w->ring = pk_new_n(a, struct job, w->ring_n);
    for (size_t i = 0; i < w->ring_n; i++)
        w->ring[i].room = pk_alloc(a, pk_chunk_bound(&w->config->codec, w->config->chunk_bytes));
    w->encoders = pk_new_n(a, struct encoder, o->threads);
}

static enum pk_code open_all(struct pk_shard_writer *w, const struct pk_shard_writer_options *o,
                             struct pk_err *err)
{
    const struct pk_shard_config *c = w->config;
    if (open_folder(w, o, err))
        return err->code;
    w->begins = w->due = pk_manifest_samples(&w->manifest);
    reserve(w, o);
    for (; w->n_encoders < o->threads; w->n_encoders++) {
        struct encoder *e = &w->encoders[w->n_encoders];
        e->writer = w;
        if (pk_chunk_coder_open(&c->codec, c->filter, c->type, c->chunk_bytes, &w->arena, &e->coder, err))
            return err->code;
    }
    return start(w, err);
}

/* --- closing --- */

static void join(struct pk_shard_writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->work);
    pthread_cond_broadcast(&w->encoded);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->started; i++)
        pthread_join(w->encoders[i].handle, NULL);
    if (w->writing_started)
        pthread_join(w->writing, NULL);
}

static void destroy(struct pk_shard_writer *w)
{
    join(w);
    if (w->shard_is_open)
        pk_shard_free(&w->shard);
    for (unsigned i = 0; i < w->n_encoders; i++)
        pk_chunk_coder_close(&w->encoders[i].coder);
    pk_folder_close(&w->folder);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->encoded);
    pthread_cond_destroy(&w->freed);
    pthread_mutex_destroy(&w->lock);
    struct pk_arena a = w->arena;
    pk_arena_free(&a); /* w, too */
}

enum pk_code pk_shard_writer_open(struct pk_shard_writer **out, const struct pk_shard_writer_options *o,
                                  struct pk_err *err)
{
    struct pk_arena a = {0};
    pk_assert(o->threads && o->n_slots);
    if (pk_shard_config_check(o->config, err))
        return err->code;
    struct pk_shard_writer *w = pk_new(&a, struct pk_shard_writer);
    w->arena = a;
    w->config = pk_shard_config_copy(o->config, &w->arena);
    w->folder.fd = -1;
    if (o->cpus)
        w->cpus = *o->cpus;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->encoded, NULL);
    pthread_cond_init(&w->freed, NULL);
    *out = w;
    if (!open_all(w, o, err))
        return PK_OK;
    destroy(w);
    *out = NULL;
    return err->code;
}

uint64_t pk_shard_writer_first(const struct pk_shard_writer *w)
{
    return w->begins;
}

/* --- slots --- */

static bool free_slot(const struct pk_shard_writer *w, size_t *slot)
{
    for (*slot = 0; *slot < w->n_slots; ++*slot)
        if (!w->in_use[*slot])
            return true;
    return false;
}

static enum pk_code outcome(const struct pk_shard_writer *w, struct pk_err *err)
{
    if (w->failed)
        *err = w->err;
    return w->failed ? w->err.code : PK_OK;
}

enum pk_code pk_shard_writer_slot(struct pk_shard_writer *w, size_t *slot, struct pk_err *err)
{
    pthread_mutex_lock(&w->lock);
    const uint64_t begun = pk_clock_ns();
    while (!w->failed && !free_slot(w, slot))
        pthread_cond_wait(&w->freed, &w->lock);
    w->facts.full_ns += pk_clock_ns() - begun;
    if (!w->failed)
        w->in_use[*slot] = true;
    const enum pk_code rc = outcome(w, err);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

void pk_shard_writer_submit(struct pk_shard_writer *w, size_t slot, uint64_t first, uint64_t n)
{
    pthread_mutex_lock(&w->lock);
    const uint64_t left = w->config->samples - w->due;
    pk_assert(w->in_use[slot] && first == w->due &&
              n == (left < w->config->batch ? left : w->config->batch) && n);
    w->batches[(w->head + w->queued++) % w->n_slots] = (struct batch){slot, first, n};
    w->due += n;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
}

enum pk_code pk_shard_writer_drain(struct pk_shard_writer *w, struct pk_err *err)
{
    pthread_mutex_lock(&w->lock);
    while (!w->failed && (w->queued || w->written < w->taken))
        pthread_cond_wait(&w->freed, &w->lock);
    const enum pk_code rc = outcome(w, err);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

void pk_shard_writer_facts(struct pk_shard_writer *w, struct pk_shard_writer_facts *f)
{
    pthread_mutex_lock(&w->lock);
    *f = w->facts;
    for (unsigned i = 0; i < w->n_encoders; i++)
        for (size_t k = 0; k < PK_STAGES; k++)
            pk_stage_add(&f->stage[k], &w->encoders[i].coder.stage[k]);
    pthread_mutex_unlock(&w->lock);
}

enum pk_code pk_shard_writer_close(struct pk_shard_writer *w, struct pk_shard_writer_facts *f,
                                   struct pk_err *err)
{
    const enum pk_code rc = pk_shard_writer_drain(w, err);
    join(w);
    if (f)
        pk_shard_writer_facts(w, f);
    w->started = 0;
    w->writing_started = false;
    destroy(w);
    return rc;
}
