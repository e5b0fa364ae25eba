"""The checks of machine code can fail: small kernels that nvcc compiles the way the build does, all at once."""
import os
import subprocess

import bandwidth
import cubin
import figures
import pytest
import resources
import waits

SPILLS = """
__global__ void __launch_bounds__(1024) NAME(const float *x, float *y)
{
    float v[128];
#pragma unroll
    for (int i = 0; i < 128; i++)
        v[i] = x[i * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 128; i++)
        y[i * 1024 + threadIdx.x] = v[127 - i] * v[i];
}
"""
NO_BOUNDS = "__global__ void NAME(float *y) { y[threadIdx.x] = 1; }"
BOUNDS = "__global__ void __launch_bounds__(256) NAME(float *y) { y[threadIdx.x] = 1; }"

# Of four packs: each is used before the next is loaded, or not.
LOADS = """
__global__ void __launch_bounds__(256) NAME(const float4 *x, float4 *y)
{
    float4 v[4];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = x[i * 256 + threadIdx.x];
        WAIT
    }
    for (int i = 0; i < 4; i++)
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
    v[0].x = __shfl_xor_sync(~0u, sum, 1);
    y[threadIdx.x] = v[0];
}
"""


# What a kernel does before it waits for the previous one, and in which order.
ACCESSES = {"LDG": "early = x[i];", "STG": "x[i] = 1;", "RED": "atomicAdd(x + i, 1);", "ATOMG": "early = atomicAdd(x + i, 1);",
            "UBLKCP": """
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%0];" ::"r"(to), "l"(x));
#endif""",
            "LDGSTS": "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" ::\"r\"(to), \"l\"(x + i));",
            "LD": "asm volatile(\"ld.s32 %0, [%1];\" : \"=r\"(early) : \"l\"(x + i));",
            "ST": "asm volatile(\"st.s32 [%0], %1;\" ::\"l\"(x + i), \"r\"(to));",
            "ATOM": "asm volatile(\"atom.add.s32 %0, [%1], 1;\" : \"=r\"(early) : \"l\"(x + i));"}
WAITS = """
__global__ void __launch_bounds__(256) NAME(int *x)
{
    __shared__ int shared[256];
    const int i = threadIdx.x, to = (int)__cvta_generic_to_shared(shared + i);
    int early = 0;
    shared[i] = to;
    BEFORE
#if __CUDA_ARCH__ >= 900
    WAIT
#endif
    x[i + 256] = early + shared[255 - i];
}
"""
WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'

# Each kernel by its name.
SOURCES = {"spills": SPILLS, "no_bounds": NO_BOUNDS, "bounds": BOUNDS,
           "together": LOADS.replace("WAIT", ""), "in_turn": LOADS.replace("WAIT", "y[i] = v[i];"),
           "waits": WAITS.replace("BEFORE", "").replace("WAIT", WAIT), "never_waits": WAITS.replace("BEFORE", "").replace("WAIT", ""),
           **{"early_" + name: WAITS.replace("BEFORE", access).replace("WAIT", WAIT) for name, access in ACCESSES.items()}}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Gives the machine code of one of SOURCES, for each architecture."""
    folder = tmp_path_factory.mktemp("kernels")
    source, built = folder / "kernels.cu", folder / "kernels.o"
    source.write_text("\n".join('extern "C" ' + text.strip().replace("NAME", name) for name, text in SOURCES.items()))
    command = os.environ["NVCC_COMMAND"].split("\n") + ["-c", str(source), "-o", str(built)]
    env = {**os.environ, "CCACHE_DISABLE": "1"}  # it compares the source as one architecture sees it
    subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    every = cubin.kernels(str(built))

    def of(name):
        found = [k for k in every if k.name == name]
        assert len(found) == len(every) // len(SOURCES), [k.name for k in every]
        return found

    return of


def violations(kernels):
    return [what for k in kernels for what in resources.violations(k)]


def test_a_small_kernel_passes(compiled):
    kernels = compiled("bounds")
    assert violations(kernels) == []
    assert {k.threads for k in kernels} == {256}


def test_spilled_registers_are_found(compiled):
    found = violations(compiled("spills"))
    assert found and all("bytes of stack" in what for what in found)


def test_missing_launch_bounds_are_found(compiled):
    assert set(violations(compiled("no_bounds"))) == {"no __launch_bounds__"}


def test_a_block_that_does_not_fit_is_found():
    kernel = cubin.Kernel("k", 90, 65, 1024, 0, (48 << 10) + 1, [])
    assert list(resources.violations(kernel)) == ["1024 threads of 72 registers are more than 65536",
                                                  "49153 bytes of static shared memory are more than 49152"]


def test_loads_that_wait_for_each_other_are_counted(compiled):
    assert {cubin.loads_in_flight(k) for k in compiled("together")} == {4}
    assert {cubin.loads_in_flight(k) for k in compiled("in_turn")} == {1}
    assert {cubin.loads_first(k) for k in compiled("together")} == {4}


def test_accesses_before_the_wait_are_found(compiled):
    found = lambda name: {what for k in compiled(name) for what in waits.violations(k)}
    assert found("waits") == set()
    assert found("never_waits") == {"does not wait"}
    for name in ACCESSES:
        assert found("early_" + name) == {name + " before it waits"}


def test_a_kernel_of_a_table_that_is_missing_is_found():
    assert list(bandwidth.late_loads([])) == [f"{part}: no such kernel" for part, _, _ in bandwidth.LEAST]


TABLE = """
| kernel | code | for | dynamic KiB | registers | blocks × warps | loads | instructions | measured |
|---|---|---|---|---|---|---|---|---|
| one | `_Z4held` | 4 | 100 | 64 → 32 | 1 × 8 → 2 × 8 | 0 | %s | – |
"""


def test_a_kernel_that_is_worse_than_its_row_is_found():
    kernel = cubin.Kernel("_Z4held", 90, 32, 256, 0, 0, [1] * 41 + [cubin.NOP] * 7)
    wrong = lambda instructions, k: list(figures.violations(figures.rows(TABLE % instructions)[0], [k]))
    assert wrong("12 → 10.2", kernel) == wrong("10.3", kernel) == []
    assert wrong("10.2 → 10.1", kernel) == ["_Z4held: instructions 10.2, not 10.2 → 10.1"]
    assert wrong("11", kernel._replace(registers=48, shared=20 << 10)) == [
        "_Z4held: registers 48, not 64 → 32", "_Z4held: blocks × warps 1 × 8, not 1 × 8 → 2 × 8"]
    assert wrong("11", kernel._replace(name="other")) == ["_Z4held: 0 kernels have this in their name"]
    assert figures.per(kernel._replace(code=[0x223, 0x223, 1]), "FFMA") == 1.5
    assert figures.main(os.devnull) == 1, "a page without a table"
