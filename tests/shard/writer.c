/* Shard writer: writes synthetic activations, so that tests can read, kill and starve it.
 *
 *     shard-writer FOLDER CODEC FILTER F32|BF16 SAMPLES BATCH SHARD_SAMPLES LENGTH WIDTH THREADS SLOTS [restart]
 * Element i of sample s of layer l is ((7919 s + 104729 l + 31 i) mod 4093) / 64, in bf16 its upper half. Layers are 3, 5 and 8. Prints a
 * line "first N" when it begins, and one of facts at the end; an error in three parts and status 1. */
#include "shard/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, SLOTS_MAX = 8 };
static const unsigned layers[LAYERS] = {3, 5, 8};

static void fill(const struct pk_shard_config *c, char *slot, uint64_t first)
{
    const uint64_t elements = c->length * c->width;
    for (size_t l = 0; l < LAYERS; l++)
        for (uint64_t s = 0; s < c->batch; s++)
            for (uint64_t i = 0; i < elements; i++) {
                const float x = (float)((7919 * (first + s) + 104729 * layers[l] + 31 * i) % 4093) / 64;
                char bits[4];
                memcpy(bits, &x, sizeof bits);
                const size_t n = pk_dtype_bytes(c->type);
                memcpy(slot + ((l * c->batch + s) * elements + i) * n, bits + sizeof bits - n, n);
            }
}

static enum pk_code write_batches(struct pk_shard_writer *w, const struct pk_shard_config *c, char **slots,
                                  struct pk_err *err)
{
    for (uint64_t first = pk_shard_writer_first(w); first < c->samples; first += c->batch) {
        size_t slot;
        if (pk_shard_writer_slot(w, &slot, err))
            return err->code;
        fill(c, slots[slot], first);
        pk_shard_writer_submit(w, slot, first, c->samples - first < c->batch ? c->samples - first : c->batch);
    }
    return PK_OK;
}

static int refused(const struct pk_err *err)
{
    fprintf(stderr, "%d\n%s\n%s\n%s\n", err->code, err->what, err->why, err->fix);
    return 1;
}

int main(int argc, char **argv)
{
    struct pk_err err = {0};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_shard_writer *w;
    struct pk_shard_writer_facts f;
    if (argc < 12)
        return 2;
    uint64_t v[7];
    for (size_t i = 0; i < 7; i++)
        v[i] = strtoull(argv[5 + i], NULL, 10);
    const struct pk_shard_attribute attributes[] = {{"data", "synthetic"}};
    struct pk_shard_config c = {.type = strcmp(argv[4], "BF16") ? PK_FP32 : PK_BF16,
                                .layers = layers,
                                .n_layers = LAYERS,
                                .samples = v[0],
                                .batch = v[1],
                                .shard_samples = v[2],
                                .length = v[3],
                                .width = v[4],
                                .chunk_bytes = 4096,
                                .attributes = attributes,
                                .n_attributes = 1};
    char *slots[SLOTS_MAX];
    if (pk_codec_parse(argv[2], &c.codec, &err) || pk_byte_filter_parse(argv[3], &c.filter, &err) ||
        pk_shard_config_check(&c, &err))
        return refused(&err);
    for (size_t i = 0; i < v[6] && i < SLOTS_MAX; i++)
        slots[i] = pk_alloc(&a, pk_shard_batch_bytes(&c));
    const struct pk_shard_writer_options o = {.config = &c,
                                              .folder = strcmp(argv[1], "-") ? argv[1] : NULL,
                                              .restart = argc > 12,
                                              .threads = (unsigned)v[5],
                                              .slots = (void *const *)slots,
                                              .n_slots = v[6] < SLOTS_MAX ? v[6] : SLOTS_MAX};
    if (pk_shard_writer_open(&w, &o, &err))
        return refused(&err);
    printf("first %" PRIu64 "\n", pk_shard_writer_first(w));
    fflush(stdout);
    const enum pk_code rc = write_batches(w, &c, slots, &err);
    struct pk_err last;
    if (pk_shard_writer_close(w, &f, &last) || rc)
        return refused(rc ? &err : &last);
    printf("samples %" PRIu64 " raw %" PRIu64 " stored %" PRIu64 " chunks %" PRIu64 " shards %" PRIu64 "\n",
           f.samples, f.raw_bytes, f.stored_bytes, f.chunks, f.shards);
    for (size_t i = 0; i < PK_STAGES; i++)
        printf("%s %" PRIu64 " %" PRIu64 "\n", pk_stage_names[i], f.stage[i].count, f.stage[i].bytes);
    return 0;
}
