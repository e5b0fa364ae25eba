"""What every GPU kernel of the build takes of a multiprocessor, as far as the compiler decides it: no stack frame, so no spilled register;
a block of its launch bounds fits the registers; static shared memory is what a launch may use without asking for more.

    resources.py KERNELS.cu.o..."""
import sys

import cubin

REGISTERS = 65536  # of a multiprocessor, sm_80 to sm_90a
REGISTER_UNIT = 8  # a thread's are given in eights
STATIC_SHARED = 48 << 10


def violations(kernel):
    if kernel.stack:
        yield f"{kernel.stack} bytes of stack: spilled registers, or an array with an index that is not known when compiling"
    if not kernel.threads:
        yield "no __launch_bounds__"
    registers = -(-kernel.registers // REGISTER_UNIT) * REGISTER_UNIT
    if registers * (kernel.threads or 0) > REGISTERS:
        yield f"{kernel.threads} threads of {registers} registers are more than {REGISTERS}"
    if kernel.shared > STATIC_SHARED:
        yield f"{kernel.shared} bytes of static shared memory are more than {STATIC_SHARED}"


def main(paths):
    checked, wrong = 0, []
    for path in paths:
        kernels = cubin.kernels(path)
        wrong += [] if kernels else [f"{path}: no machine code"]
        wrong += [f"{k.name} for sm_{k.arch}: {what}" for k in kernels for what in violations(k)]
        checked += len(kernels)
    print("\n".join(wrong + [f"{checked} kernels, {len(wrong)} violations"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
