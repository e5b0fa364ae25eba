/* Plot: numbers as bars and sparklines: blocks where the locale is UTF-8, else ASCII. */
#include "out/text.h"

#include <math.h>

/* Where v is between lo and hi, 0 to 1; in the middle when they are one. */
static double place(double v, double lo, double hi)
{
    return hi > lo ? fmin(fmax((v - lo) / (hi - lo), 0), 1) : 0.5;
}

const char *pk_text_bar(double v, double lo, double hi, unsigned width, struct pk_arena *a)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const bool blocks = !pk_terminal_is_ascii();
    struct pk_buf b = {.arena = a};
    if (!isfinite(v))
        return "";
    unsigned n = (unsigned)lround(8 * (1 + (width - 1) * place(v, lo, hi)));
    for (unsigned i = 0; i < n / 8; i++)
        pk_buf_str(&b, blocks ? "█" : "#");
    if (blocks)
        pk_buf_str(&b, eighths[n % 8]);
    return pk_buf_text(&b);
}

const char *pk_text_spark(const double *v, size_t n, double lo, double hi, struct pk_arena *a)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = "_.,-~=*#";
    const bool blocks = !pk_terminal_is_ascii();
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)lround(7 * place(v[i], lo, hi));
        if (blocks)
            pk_buf_str(&b, heights[k]);
        else
            pk_buf_char(&b, ascii[k]);
    }
    return pk_buf_text(&b);
}
