/* Curve: the rule of growth, and what the sizes say of each level. */
#include "ops/ceilings/curve.h"

#include "base/clock.h"

#include <math.h>

const char *const pk_level_names[PK_LEVELS] = {"L1", "L2", "L3", "between", "memory"};
const char *const pk_curve_stops[PK_CURVE_STOPS] = {"flat", "room", "time"};

static const double flat_within = 1.05;

double pk_curve_rate(const struct pk_curve_point *p)
{
    double best = 0;
    for (size_t s = PK_STREAM_COPY; s < PK_STREAMS; s++)
        best = fmax(best, p->rate[s]);
    return best;
}

static double best_of(const struct pk_curve_point *p, size_t n)
{
    double best = 0;
    for (size_t i = 0; i < n; i++)
        best = fmax(best, pk_curve_rate(&p[i]));
    return best;
}

static double last_cache(const struct pk_curve_source *s)
{
    double most = 0;
    for (size_t i = 0; i < PK_LEVEL_BETWEEN; i++)
        most = fmax(most, s->cache_bytes[i]);
    return most;
}

/* The smallest cache that has room for them. */
static enum pk_memory_level level_of(const struct pk_curve_source *s, size_t bytes)
{
    size_t i = 0;
    while (i < PK_LEVEL_BETWEEN && (double)bytes > s->cache_bytes[i])
        i++;
    return (enum pk_memory_level)i;
}

/* The last three sizes, when all of them are large enough to prove something; NULL = they are not. */
static struct pk_curve_point *window(const struct pk_curve_source *s, struct pk_curve *c)
{
    struct pk_curve_point *w = &c->points[c->n] - PK_CURVE_WINDOW;
    const bool proof = c->n >= PK_CURVE_WINDOW && w->bytes >= s->least_bytes &&
                       (double)w->bytes >= PK_CURVE_CACHES * last_cache(s);
    return proof ? w : NULL;
}

static bool is_flat(const struct pk_curve_point *w)
{
    const double best = best_of(w, PK_CURVE_WINDOW);
    for (size_t i = 0; i < PK_CURVE_WINDOW; i++)
        if (pk_curve_rate(&w[i]) * flat_within < best)
            return false;
    return true;
}

/* Those that are slower than the fastest, once more. */
static enum pk_code measure_slow_again(const struct pk_curve_source *s, struct pk_curve_point *w,
                                       struct pk_err *err)
{
    const double best = best_of(w, PK_CURVE_WINDOW);
    for (size_t i = 0; i < PK_CURVE_WINDOW; i++)
        if (pk_curve_rate(&w[i]) * flat_within < best && s->measure(s->user, w[i].bytes, w[i].rate, err))
            return err->code;
    return PK_OK;
}

/* Adds the points; stop is set. */
static enum pk_code grow(const struct pk_curve_source *s, struct pk_curve *c, struct pk_err *err)
{
    const uint64_t begin = pk_clock_ns();
    uint64_t spent = 0, last_ns = 0; /* a size takes about twice as long as the one before */
    for (size_t bytes = s->first_bytes; c->n < PK_CURVE_POINTS; bytes *= 2) {
        struct pk_curve_point *p = &c->points[c->n], *w;
        if (bytes > s->most_bytes && c->n)
            return PK_OK;
        if ((double)bytes > last_cache(s) && c->n && spent + 2 * last_ns >= s->time_ns) {
            c->stop = PK_CURVE_NO_TIME;
            return PK_OK;
        }
        *p = (struct pk_curve_point){.bytes = bytes, .level = level_of(s, bytes)};
        if (s->measure(s->user, bytes, p->rate, err))
            return err->code == PK_E_OOM && c->n ? PK_OK : err->code;
        c->n++;
        if ((w = window(s, c)) && !is_flat(w) && measure_slow_again(s, w, err))
            return err->code;
        if (w && is_flat(w)) {
            c->stop = PK_CURVE_FLAT;
            return PK_OK;
        }
        last_ns = pk_clock_ns() - begin - spent;
        spent += last_ns;
    }
    return PK_OK;
}

enum pk_code pk_curve_grow(const struct pk_curve_source *s, struct pk_curve *c, struct pk_err *err)
{
    *c = (struct pk_curve){.lanes = s->lanes, .stop = PK_CURVE_NO_ROOM};
    if (grow(s, c, err))
        return err->code;
    const size_t proved = c->stop == PK_CURVE_FLAT ? PK_CURVE_WINDOW : 1;
    const struct pk_curve_point *of_memory = &c->points[c->n - proved];
    c->memory_bytes_per_s = best_of(of_memory, proved);
    for (size_t i = 0; i < proved; i++)
        c->copy_bytes_per_s = fmax(c->copy_bytes_per_s, of_memory[i].rate[PK_STREAM_COPY]);
    size_t from = c->n - proved;
    while (from && c->points[from - 1].level == PK_LEVEL_BETWEEN &&
           pk_curve_rate(&c->points[from - 1]) <= flat_within * c->memory_bytes_per_s)
        from--;
    for (size_t i = from; i < c->n; i++)
        if (c->points[i].level == PK_LEVEL_BETWEEN)
            c->points[i].level = PK_LEVEL_MEMORY;
    return PK_OK;
}
