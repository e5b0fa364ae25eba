/* My experiment: a sum of floats by one accumulator and by four.
 *
 *     cc -O2 my-bench.c -o my-bench    with -I and the folder of perfkit.h, where it is not installed; C++ compilers take it, too
 *     perfkit run ./my-bench           measures it; ./my-bench prints a line for each case
 */
#include "perfkit.h"

static float *x, total;
static int64_t n;

static void setup(perfkit_case *c)
{
    n = perfkit_int(c, "n");
    x = (float *)perfkit_alloc(c, (size_t)n * sizeof *x);
    for (int64_t i = 0; x && i < n; i++)
        x[i] = (float)(i % 8);
}

static void one(perfkit_case *c)
{
    float s = 0;
    (void)c;
    for (int64_t i = 0; i < n; i++)
        s += x[i];
    total = s;
}

static void four(perfkit_case *c)
{
    float s[4] = {0, 0, 0, 0};
    (void)c;
    for (int64_t i = 0; i + 3 < n; i += 4)
        for (int k = 0; k < 4; k++)
            s[k] += x[i + k];
    total = s[0] + s[1] + s[2] + s[3];
}

static void check(perfkit_case *c)
{
    perfkit_near(c, "the sum", total, 3.5 * (double)n);
}

static void work(perfkit_case *c)
{
    c->flops = (double)perfkit_int(c, "n");
    c->bytes = 4 * c->flops;
}

int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("my-bench", "what the order of a sum costs");
    perfkit_axis(e, "n", PERFKIT_INT, "4096,65536", "elements");
    perfkit_variant(e, "one", one, "one accumulator: each addition waits for the one before");
    perfkit_variant(e, "four", four, "four accumulators");
    e->setup = setup;
    e->check = check;
    e->work = work;
    e->yardstick = "one";
    return perfkit_main(e, argc, argv);
}
