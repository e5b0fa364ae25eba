"""The checks of machine code can fail: small kernels that nvcc compiles the way the build does."""
import os
import subprocess

import bandwidth
import cubin
import pytest
import resources
import waits

SPILLS = """
__global__ void __launch_bounds__(1024) kernel(const float *x, float *y)
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
NO_BOUNDS = "__global__ void kernel(float *y) { y[threadIdx.x] = 1; }"
BOUNDS = "__global__ void __launch_bounds__(256) kernel(float *y) { y[threadIdx.x] = 1; }"

# Of four packs: each is used before the next is loaded, or not.
LOADS = """
__global__ void __launch_bounds__(256) kernel(const float4 *x, float4 *y)
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
            "LDGSTS": "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" ::\"r\"(to), \"l\"(x + i));",
            "LD": "asm volatile(\"ld.s32 %0, [%1];\" : \"=r\"(early) : \"l\"(x + i));",
            "ST": "asm volatile(\"st.s32 [%0], %1;\" ::\"l\"(x + i), \"r\"(to));",
            "ATOM": "asm volatile(\"atom.add.s32 %0, [%1], 1;\" : \"=r\"(early) : \"l\"(x + i));"}
WAITS = """
__global__ void __launch_bounds__(256) kernel(int *x)
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


@pytest.fixture
def compiled(tmp_path):
    def of(source):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        command = os.environ["NVCC_COMMAND"].split("\n") + ["-c", str(path), "-o", str(tmp_path / "kernel.o")]
        env = {**os.environ, "CCACHE_DISABLE": "1"}  # it compares the source as one architecture sees it
        subprocess.run(command, check=True, capture_output=True, text=True, env=env)
        return cubin.kernels(str(tmp_path / "kernel.o"))

    return of


def violations(kernels):
    assert kernels
    return [what for k in kernels for what in resources.violations(k)]


def test_a_small_kernel_passes(compiled):
    kernels = compiled(BOUNDS)
    assert violations(kernels) == []
    assert {(k.name, k.threads) for k in kernels} == {("_Z6kernelPf", 256)}


def test_spilled_registers_are_found(compiled):
    assert all("bytes of stack" in what for what in violations(compiled(SPILLS)))


def test_missing_launch_bounds_are_found(compiled):
    assert set(violations(compiled(NO_BOUNDS))) == {"no __launch_bounds__"}


def test_a_block_that_does_not_fit_is_found():
    kernel = cubin.Kernel("k", 90, 65, 1024, 0, (48 << 10) + 1, [])
    assert list(resources.violations(kernel)) == ["1024 threads of 72 registers are more than 65536",
                                                  "49153 bytes of static shared memory are more than 49152"]


def test_loads_that_wait_for_each_other_are_counted(compiled):
    together, in_turn = (compiled(LOADS.replace("WAIT", wait)) for wait in ("", "y[i] = v[i];"))
    assert {cubin.loads_in_flight(k) for k in together} == {4}
    assert {cubin.loads_in_flight(k) for k in in_turn} == {1}
    assert {cubin.loads_first(k) for k in together} == {4}


def test_accesses_before_the_wait_are_found(compiled):
    found = lambda before, wait: {what for k in compiled(WAITS.replace("BEFORE", before).replace("WAIT", wait)) for what in waits.violations(k)}
    assert found("", WAIT) == set()
    assert found("", "") == {"does not wait"}
    for name, access in ACCESSES.items():
        assert found(access, WAIT) == {name + " before it waits"}


def test_a_kernel_of_a_table_that_is_missing_is_found():
    assert list(bandwidth.late_loads([])) == [f"{part}: no such kernel" for part, _, _ in bandwidth.LEAST]
    assert list(bandwidth.too_many_instructions([])) == [f"{part}: no such kernel" for part, _, _ in bandwidth.MOST]


def test_instructions_for_an_element_are_counted(monkeypatch):
    kernel = cubin.Kernel("_Z4held", 90, 32, 256, 0, 0, [1] * 41 + [cubin.NOP] * 7)
    for most, wrong in ((11, []), (10, ["_Z4held for sm_90: 10.2 instructions for an element, not 10"])):
        monkeypatch.setattr(bandwidth, "MOST", [("held", 4, most)])
        assert list(bandwidth.too_many_instructions([kernel])) == wrong
