"""Every kernel for compute capability 9.0 and later waits for the kernel before it (lib/ops/cuda/launch.h) before it touches global memory, in
the order of its machine code. The kernel of delays touches none, and is launched in the ordinary way.

    waits.py KERNELS.cu.o..."""
import sys

import cubin

SINCE = 90
WAIT = 0x82E  # ACQBULK
GLOBAL = {0x980: "LD", 0x981: "LDG", 0x985: "ST", 0x986: "STG", 0x98A: "ATOM", 0x98E: "RED", 0x9A8: "ATOMG", 0xFAE: "LDGSTS",
          0x3BA: "UBLKCP"}
NO_MEMORY = "_Z5delay"


def violations(kernel):
    if kernel.arch < SINCE or kernel.name.startswith(NO_MEMORY):
        return
    codes = [word & cubin.OPCODE_MASK for word in kernel.code]
    if WAIT not in codes:
        yield "does not wait"
    else:
        early = [GLOBAL[c] for c in codes[:codes.index(WAIT)] if c in GLOBAL]
        if early:
            yield f"{', '.join(early)} before it waits"


def main(paths):
    kernels = [k for path in paths for k in cubin.kernels(path) if k.arch >= SINCE]
    wrong = [f"{k.name} for sm_{k.arch}: {what}" for k in kernels for what in violations(k)]
    print("\n".join(wrong + [f"{len(kernels)} kernels, {len(wrong)} violations"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
