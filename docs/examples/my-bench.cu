/* My experiment: one kernel with blocks of several sizes, on a GPU.
 *
 *     nvcc -O2 my-bench.cu -o my-bench    with -I and the folder of perfkit_cuda.h, where it is not installed
 *     perfkit run ./my-bench              measures it; ./my-bench prints a line for each case
 */
#include "perfkit_cuda.h"

static float *x, *y;
static int64_t n;
static unsigned threads;

__global__ void copied(const float *in, float *out, int64_t count)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i];
}

static void setup(perfkit_case *c)
{
    n = perfkit_int(c, "n");
    threads = (unsigned)perfkit_int(c, "threads");
    x = (float *)perfkit_cuda_alloc(c, (size_t)n * sizeof *x);
    y = (float *)perfkit_cuda_alloc(c, (size_t)n * sizeof *y);
    if (x && y && perfkit_cuda_ok(c, cudaMemset(x, 0x3f, (size_t)n * sizeof *x), "filling x")) /* 0x3f3f3f3f is 0.747 */
        perfkit_cuda_ok(c, cudaMemset(y, 0, (size_t)n * sizeof *y), "filling y");
}

static void kernel(perfkit_case *c)
{
    (void)c;
    copied<<<(unsigned)((n + threads - 1) / threads), threads, 0, perfkit_stream()>>>(x, y, n);
}

static void copy(perfkit_case *c)
{
    (void)c;
    cudaMemcpyAsync(y, x, (size_t)n * sizeof *x, cudaMemcpyDeviceToDevice, perfkit_stream());
}

/* Before anything is timed: the last element, which a wrong grid would leave out. */
static void check(perfkit_case *c)
{
    float in = 0, out = 0;
    if (perfkit_cuda_ok(c, cudaMemcpy(&in, x + n - 1, sizeof in, cudaMemcpyDeviceToHost), "reading x") &&
        perfkit_cuda_ok(c, cudaMemcpy(&out, y + n - 1, sizeof out, cudaMemcpyDeviceToHost), "reading y"))
        perfkit_near(c, "the last element", out, in);
}

static void work(perfkit_case *c)
{
    c->bytes = 8.0 * (double)perfkit_int(c, "n");
}

int main(int argc, char **argv)
{
    perfkit_experiment *e = perfkit_new("my-bench", "how many threads a block should have");
    perfkit_axis(e, "n", PERFKIT_INT, "1048576,67108864", "elements");
    perfkit_axis(e, "threads", PERFKIT_INT, "128,256,512", "");
    perfkit_variant(e, "copy", copy, "a copy by the driver");
    perfkit_variant(e, "kernel", kernel, "an element a thread");
    e->setup = setup;
    e->check = check;
    e->work = work;
    e->yardstick = "copy";
    return perfkit_cuda_main(e, argc, argv);
}
