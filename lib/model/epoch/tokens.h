/* Tokens: the samples of a training: seq_len tokens and the same shifted by one, from a file or from a seed.
 *
 * A file has nothing but unsigned little-endian integers: of 4 bytes if its name ends in .u32, else of 2 bytes. It is mapped, not read:
 * sample i is its tokens [i seq, (i + 1) seq], of which the last one is a target only. A file must not become shorter while it is mapped. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>
#include <stdio.h>

struct pk_tokens {
    const char *path; /* NULL: seeded, as many samples as are wanted */
    uint64_t seed;
    size_t vocab, seq;
    const unsigned char *map;
    size_t bytes, width, n; /* n tokens of `width` bytes */
};

/* path NULL: seeded. The path lives as long as *t. PK_E_USAGE for a file that is not regular, is empty, or does not have a whole number of
 * tokens. */
enum pk_code pk_tokens_open(struct pk_tokens *t, const char *path, uint64_t seed, size_t vocab, size_t seq,
                            struct pk_err *err) PK_MUST_CHECK;
void pk_tokens_close(struct pk_tokens *t);

/* PK_E_USAGE if the file has fewer samples, or one of their tokens is outside the vocabulary: names the token and its place. */
enum pk_code pk_tokens_check(const struct pk_tokens *t, size_t samples, struct pk_err *err) PK_MUST_CHECK;

/* Sample i: t->seq tokens and targets. Allocates nothing; may be called by several threads. */
void pk_tokens_sample(const struct pk_tokens *t, size_t i, int32_t *tokens, int32_t *targets);

/* The bytes of a token in a file of this name: 4 if it ends in .u32, else 2. */
size_t pk_tokens_width(const char *path);

/* The byte tokenizer: every byte of a text is a token of `width` bytes, 0 to 255; *n of them. PK_E_USAGE for a text that is not a regular
 * file or is empty. */
enum pk_code pk_tokens_write(const char *text, size_t width, FILE *out, size_t *n,
                             struct pk_err *err) PK_MUST_CHECK;
