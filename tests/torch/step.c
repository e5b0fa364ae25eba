/* Step: a transformer's steps from a safetensors file, for a comparison with another implementation.
 *
 * step WEIGHTS TOKENS GRADIENTS VARIANT STEPS LAYERS WIDTH HEADS FF VOCAB BATCH SEQ
 * TOKENS: int32, those of the batch and then their targets. Prints the loss of every step; the gradients of the first go to the file
 * GRADIENTS as fp32, in the layout of lib/model/transformer/config.h. */
#include "device/cpu/cpu.h"
#include "model/transformer/transformer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pk_err err;

static void must(enum pk_code rc)
{
    if (!rc)
        return;
    fprintf(stderr, "%s: %s\n", err.what, err.why);
    exit(1);
}

static void *file(const char *path, const char *mode, void *x, size_t bytes)
{
    FILE *f = fopen(path, mode);
    if (!f || (*mode == 'r' ? fread(x, 1, bytes, f) : fwrite(x, 1, bytes, f)) != bytes || fclose(f)) {
        fprintf(stderr, "%s\n", path);
        exit(1);
    }
    return x;
}

static void make_steps(struct pk_transformer *t, int steps, const char *gradients)
{
    for (int i = 0; i < steps; i++) {
        float loss;
        must(pk_transformer_forward(t, true, &err));
        must(pk_transformer_backward(t, &err));
        if (!i)
            file(gradients, "w", t->g, t->layout.elements * sizeof *t->g);
        must(pk_transformer_update(t, &err));
        must(pk_transformer_loss(t, &loss, &err));
        printf("%.9g\n", (double)loss);
    }
}

int main(int argc, char **argv)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_SAFETENSORS_CLEANUP struct pk_safetensors weights = {0};
    size_t size[7];
    if (argc != 13)
        return 2;
    for (int i = 0; i < 7; i++)
        size[i] = strtoul(argv[6 + i], NULL, 10);
    const bool fused = !strcmp(argv[4], "compiled");
    const struct pk_transformer_config c = {.layers = size[0],
                                            .width = size[1],
                                            .heads = size[2],
                                            .ff = size[3],
                                            .vocab = size[4],
                                            .batch = size[5],
                                            .seq = size[6],
                                            .fused = fused,
                                            .attention = fused ? PK_ATTENTION_FLASH : PK_ATTENTION_VANILLA};
    const size_t n = pk_transformer_tokens(&c);
    int32_t *tokens = file(argv[2], "r", pk_new_n(&a, int32_t, 2 * n), 2 * n * sizeof *tokens);
    struct pk_device dev;
    struct pk_transformer t;
    must(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 2, .no_bind = true}, &err));
    must(pk_transformer_open(&t, &dev, &c, PK_NEEDS_OPTIMIZER, &a, &err));
    must(pk_safetensors_open(argv[1], &a, &weights, &err));
    must(pk_transformer_weights_fit(&weights, &c, &err));
    must(pk_transformer_fill(&t, &(struct pk_origin){.file = &weights}, &err));
    must(pk_transformer_batch(&t, tokens, tokens + n, &err));
    make_steps(&t, atoi(argv[5]), argv[3]);
    pk_transformer_close(&t);
    pk_device_close(&dev);
    return 0;
}
