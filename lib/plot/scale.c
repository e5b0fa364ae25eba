/* Scale: linear and logarithmic axes, and places for texts. */
#include "plot/scale.h"

#include <math.h>
#include <string.h>

static bool is_log(const struct pk_plot_scale *s)
{
    return s->kind == PK_SCALE_LOG || s->kind == PK_SCALE_LOG2;
}

void pk_plot_take(struct pk_plot_scale *s, double value)
{
    if (!isfinite(value) || (is_log(s) && value <= 0))
        return;
    s->lo = fmin(s->lo, value);
    s->hi = fmax(s->hi, value);
}

void pk_plot_ready(struct pk_plot_scale *s)
{
    if (s->kind == PK_SCALE_ORDINAL) {
        s->lo = -0.5;
        s->hi = (double)s->n_places - 0.5;
    } else if (!(s->lo <= s->hi)) {
        s->lo = is_log(s) ? 1 : 0;
        s->hi = is_log(s) ? 2 : 1;
    } else if (s->lo == s->hi && is_log(s)) {
        s->lo /= 2;
        s->hi *= 2;
    } else if (s->lo == s->hi) {
        s->lo -= fabs(s->lo) / 2 + (s->lo == 0);
        s->hi += fabs(s->hi) / 2 + (s->hi == 0);
    }
}

double pk_plot_place(const struct pk_plot_scale *s, double value)
{
    if (!isfinite(value) || (is_log(s) && value <= 0))
        return NAN;
    /* By halves and logarithms of each: neither the range nor the ratio of two numbers is always one. */
    const double place = is_log(s) ? (log(value) - log(s->lo)) / (log(s->hi) - log(s->lo))
                                   : (value / 2 - s->lo / 2) / (s->hi / 2 - s->lo / 2);
    return fabs(place - 0.5) < 0.5 + 1e-6 ? fmax(0, fmin(place, 1)) : NAN;
}

/* lo and hi are integers: every k-th power of two, so that there are few enough. */
static size_t powers_of_two(double lo, double hi, size_t most, double *ticks)
{
    size_t n = 0;
    const double step = fmax(1, ceil((hi - lo + 1) / (double)most));
    for (double e = lo; e <= hi && n < most; e += step)
        ticks[n++] = exp2(e);
    return n;
}

/* Multiples of 1, 2 or 5 times a power of ten. */
static size_t round_steps(double lo, double hi, size_t most, double *ticks)
{
    static const double factors[] = {1, 2, 5, 10};
    const double rough = hi / (double)most - lo / (double)most, power = pow(10, floor(log10(rough)));
    size_t n = 0, f = 0;
    while (f < 3 && factors[f] * power < rough)
        f++;
    const double step = factors[f] * power;
    for (double i = ceil(lo / step - 1e-9); i * step <= hi + 1e-9 * step && n < most; i++)
        ticks[n++] = i * step + 0.0; /* never -0 */
    return n;
}

/* Of the powers of ten, and 2 and 5 times them, those that there is room for. */
static size_t round_factors(double lo, double hi, size_t most, double *ticks)
{
    static const double every[][3] = {{1, 2, 5}, {1, 3, 0}, {1, 0, 0}};
    const int first = (int)floor(log10(lo)), last = (int)floor(log10(hi));
    for (int stride = 1;; stride++)
        for (size_t k = stride > 1 ? 2 : 0; k < 3; k++) {
            size_t n = 0, beyond = 0;
            for (int e = first; e <= last; e += stride)
                for (size_t i = 0; i < 3 && every[k][i] > 0; i++) {
                    const double v = every[k][i] * pow(10, e);
                    const bool inside = v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9);
                    if (inside && n < most)
                        ticks[n++] = v;
                    else
                        beyond += inside;
                }
            if (!beyond)
                return n;
        }
}

size_t pk_plot_ticks(const struct pk_plot_scale *s, size_t most, double ticks[PK_PLOT_TICKS])
{
    size_t n = 0;
    most = most < 1 ? 1 : most > PK_PLOT_TICKS ? PK_PLOT_TICKS : most;
    if (s->kind == PK_SCALE_LOG2)
        n = powers_of_two(ceil(log2(s->lo) - 1e-9), floor(log2(s->hi) + 1e-9), most, ticks);
    else if (s->kind == PK_SCALE_LOG)
        n = round_factors(s->lo, s->hi, most, ticks);
    else if (s->kind == PK_SCALE_LINEAR)
        n = round_steps(s->lo, s->hi, most, ticks);
    else
        for (size_t step = (s->n_places + most - 1) / most; n * step < s->n_places; n++)
            ticks[n] = (double)(n * step);
    const size_t few = s->kind == PK_SCALE_LOG2 ? 2 : 3;
    if (is_log(s) && n < few && most > 2 && s->hi < 10 * s->lo) /* hardly a factor: steps */
        n = round_steps(s->lo, s->hi, most, ticks);
    if (n >= 2 || s->kind == PK_SCALE_ORDINAL)
        return n;
    ticks[0] = s->lo;
    ticks[1] = s->hi;
    return most < 2 ? 1 : 2;
}

const char *pk_plot_tick_text(const struct pk_plot_scale *s, double value, struct pk_arena *a)
{
    if (s->kind == PK_SCALE_ORDINAL)
        return s->places[(size_t)value];
    return fabs(value) < 1e6 && value == round(value) ? pk_printf(a, "%.0f", value)
                                                      : pk_printf(a, "%.3g", value);
}

struct place_key {
    const struct pk_plot_scale *s;
    const char *text;
};

static bool is_place(const void *wanted, uint32_t place)
{
    const struct place_key *w = wanted;
    return strcmp(w->s->places[place], w->text) == 0;
}

size_t pk_plot_place_of(struct pk_plot_scale *s, const char *text, struct pk_arena *a)
{
    const struct place_key wanted = {s, text};
    s->index.arena = a;
    const uint32_t i = pk_index_row(&s->index, pk_hash_bytes(0, text, strlen(text)), is_place, &wanted,
                                    (uint32_t)s->n_places);
    if (i == s->n_places) {
        s->places = pk_grow(a, s->places, sizeof *s->places, s->n_places, &s->cap);
        s->places[s->n_places++] = text;
    }
    return i;
}
