/* Tokens: a mapped file, or numbers from a seed. */
#include "model/epoch/tokens.h"

#include "base/file.h"
#include "base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A regular file with at least one byte. A pipe is not waited for. */
static enum pk_code open_regular(const char *path, int *fd, size_t *bytes, struct pk_err *err)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &st))
        return pk_unreadable(path, "file", err);
    *bytes = (size_t)st.st_size;
    if (!S_ISREG(st.st_mode)) {
        pk_fail(err, PK_E_USAGE, "%s is not a regular file", path);
        pk_why(err, "a pipe, a device or a folder has no size");
        return pk_fix(err, "copy its contents to a file, and give that file");
    }
    if (*bytes)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "%s is empty", path);
    pk_why(err, "there is nothing to make tokens of, or to train on");
    return pk_fix(err, "give a file with at least one byte");
}

size_t pk_tokens_width(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".u32") ? 4 : 2;
}

enum pk_code pk_tokens_open(struct pk_tokens *t, const char *path, uint64_t seed, size_t vocab, size_t seq,
                            struct pk_err *err)
{
    PK_CLEANUP_FD int fd = -1;
    *t = (struct pk_tokens){.path = path, .seed = seed, .vocab = vocab, .seq = seq};
    if (!path)
        return PK_OK;
    if (open_regular(path, &fd, &t->bytes, err))
        return err->code;
    t->width = pk_tokens_width(path);
    t->n = t->bytes / t->width;
    if (t->bytes % t->width) {
        pk_fail(err, PK_E_USAGE, "%s does not have a whole number of tokens", path);
        pk_why(err, "it has %zu bytes, and a token has %zu", t->bytes, t->width);
        return pk_fix(
            err, "make it by `perfkit make-tokens TEXT -o FILE`; a file with tokens of 4 bytes must be named "
                 "NAME.u32");
    }
    void *map = mmap(NULL, t->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return pk_unreadable(path, "file", err);
    t->map = map;
    return PK_OK;
}

void pk_tokens_close(struct pk_tokens *t)
{
    if (t->map)
        munmap((void *)(uintptr_t)t->map, t->bytes);
    t->map = NULL;
}

static uint32_t token_at(const struct pk_tokens *t, size_t i)
{
    const unsigned char *x = t->map + i * t->width;
    const uint32_t low = x[0] | (uint32_t)x[1] << 8;
    return t->width == 2 ? low : low | (uint32_t)x[2] << 16 | (uint32_t)x[3] << 24;
}

enum pk_code pk_tokens_check(const struct pk_tokens *t, size_t samples, struct pk_err *err)
{
    if (!t->path)
        return PK_OK;
    const size_t has = (t->n - 1) / t->seq;
    if (has < samples) {
        pk_fail(err, PK_E_USAGE, "%s has %zu samples, not %zu", t->path, has, samples);
        pk_why(err,
               "it has %zu tokens, a sample of %zu tokens needs one more as its last target, and validation "
               "has samples of its own",
               t->n, t->seq);
        return pk_fix(err, has > 1 ? "reduce --samples, --validation or --seq-len"
                                   : "give a larger file, or reduce --seq-len");
    }
    for (size_t i = 0; i <= samples * t->seq; i++) {
        const uint32_t token = token_at(t, i);
        if (token < t->vocab)
            continue;
        pk_fail(err, PK_E_USAGE, "%s: token %zu, at byte %zu, is %u", t->path, i, i * t->width, token);
        pk_why(err, "the vocabulary has the tokens 0 to %zu", t->vocab - 1);
        return pk_fix(err, "increase --vocab; a file with tokens of 4 bytes must be named NAME.u32");
    }
    return PK_OK;
}

void pk_tokens_sample(const struct pk_tokens *t, size_t i, int32_t *tokens, int32_t *targets)
{
    struct pk_rng rng = {pk_rng_mix(t->seed + i + 1)};
    const double vocab = (double)t->vocab;
    int32_t next = t->map ? (int32_t)token_at(t, i * t->seq) : (int32_t)(pk_rng_uniform(&rng) * vocab);
    for (size_t k = 0; k < t->seq; k++) {
        tokens[k] = next;
        next = t->map ? (int32_t)token_at(t, i * t->seq + k + 1) : (int32_t)(pk_rng_uniform(&rng) * vocab);
        targets[k] = next;
    }
}

enum pk_code pk_tokens_write(const char *text, size_t width, FILE *out, size_t *n, struct pk_err *err)
{
    unsigned char in[1 << 13], wide[4 * sizeof in] = {0};
    PK_CLEANUP_FD int fd = -1;
    size_t bytes;
    ssize_t got;
    *n = 0;
    if (open_regular(text, &fd, &bytes, err))
        return err->code;
    while ((got = read(fd, in, sizeof in)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            wide[(size_t)i * width] = in[i];
        *n += (size_t)got;
        if (fwrite(wide, width, (size_t)got, out) != (size_t)got) {
            pk_fail(err, PK_E_IO, "cannot write the tokens");
            pk_why_errno(err, errno);
            return pk_fix(err, "free space, or give another file with -o");
        }
    }
    return got < 0 ? pk_unreadable(text, "file", err) : PK_OK;
}
