/* Fuzz: the wire. Whatever bytes arrive, in whatever pieces, the reader and the collector answer and stay
 * sound. */
#include "wire/wire.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void collect_all(struct pk_wire_reader *r, struct pk_collector *c)
{
    struct pk_wire_msg msg;
    const char *problem;
    while (pk_wire_next(r, &msg))
        if (pk_collect(c, &msg, &problem)) {
            const struct pk_slice *s = pk_collected(c);
            for (size_t i = 0; i < s->n_series; i++)
                if (s->series[i].metric >= s->n_metrics || !s->series[i].integer == !s->series[i].real)
                    __builtin_trap();
            pk_collector_reset(c);
        }
}

/* The first byte says where the input is cut in two. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pk_wire_reader *r = pk_wire_reader_new();
    struct pk_collector *c = pk_collector_new();
    size_t cut = size ? data[0] % size : 0;
    pk_wire_feed(r, (const char *)data, cut);
    collect_all(r, c);
    pk_wire_feed(r, (const char *)data + cut, size - cut);
    collect_all(r, c);
    pk_collected(c);
    pk_collector_free(c);
    pk_wire_reader_free(r);
    return 0;
}
