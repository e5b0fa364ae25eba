/* Given: words into a device, or the reason why there is none. */
#include "given.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct given given_device(int argc, char **argv)
{
    enum { SKIPPED = 77, USAGE = 2 };
    const char *size = argc > 2 ? argv[2] : "";
    struct given g = {argc > 1 ? argv[1] : "cuda", !strcmp(size, "tiny"), !strcmp(size, "large")};
    struct pk_err err = {0};
    enum pk_device_kind kind;
    unsigned ordinal;
    if (pk_device_parse(g.device, &kind, &ordinal, &err) || argc > 3 || (argc == 3 && !g.tiny && !g.large)) {
        fprintf(stderr, "usage: %s [DEVICE [tiny|large]]\n", argv[0]);
        exit(USAGE);
    }
    const char *why = pk_device_unavailable(kind);
    if (why) {
        printf("skipped: device %s: %s\n", g.device, why);
        exit(SKIPPED);
    }
    return g;
}

void given_open(struct pk_device *dev, const struct given *g, const struct pk_device_options *opt)
{
    struct pk_err err = {0};
    if (pk_device_open(dev, g->device, opt, &err)) {
        fprintf(stderr, "%s\n  why: %s\n  try: %s\n", err.what, err.why, err.fix);
        exit(EXIT_FAILURE);
    }
}

void given_close(struct pk_device *dev)
{
    pk_pool_reclaim(&dev->pool, 0);
    pk_device_close(dev);
}
