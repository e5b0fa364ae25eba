"""What the bandwidth of kernels depends on: loads are issued before anything waits for one of them.

    bandwidth.py KERNELS.cu.o...

A row names a kernel by a part of its mangled name: held<T, W, GROUP, ...>, where I_t is bf16 (uint16_t), I_f fp32, L_i N_E a number.
LEAST has counts for each architecture: 16-byte loads in flight together, and 16-byte loads before the first reduction or division."""
import sys

import cubin

LEAST = [  # part of the name, in flight, first
    # 10,000 columns: the packs of a row, together
    ("heldIfLi4ELi512ELi512ELi5ENS_7entropyIfE", 5, 5),
    ("heldItLi8ELi256ELi256ELi5ENS_7entropyItE", 5, 5),
    # 768 columns, then 1280: s, d_y, d_s and w of each pack; a bf16 pack has two of w
    ("heldIfLi4ELi32ELi6EEEv16pk_norm_backward", 12, 24),
    ("heldItLi8ELi32ELi4EEEv16pk_norm_backward", 8, 20),
    ("heldIfLi4ELi32ELi10EEEv16pk_norm_backward", 20, 40),
    ("heldItLi8ELi32ELi6EEEv16pk_norm_backward", 12, 30),
    # g, m, v, p, and scratch, before the state's two divisions; g in bf16 is 8 bytes
    ("updateIfLi4EEEv8pk_adamw", 5, 5),
    ("updateItLi4EEEv8pk_adamw", 4, 4),
    # 4096 columns; forwards divides the row number first
    ("7forwardIfLi4ELi256ELi4EEEvNS_12softmax_rows", 4, 0),
    ("7forwardItLi8ELi256ELi2EEEvNS_12softmax_rows", 2, 0),
    ("8backwardIfLi4ELi256ELi4EEEvNS_9rows_back", 8, 8),
    ("8backwardItLi8ELi256ELi2EEEvNS_9rows_back", 4, 4),
    ("3mapIffLi4ENS_6scaledE", 2, 2),
    ("3mapIttLi8ENS_6scaledE", 2, 2),
]


def late_loads(kernels):
    for part, in_flight, first in LEAST:
        found = [k for k in kernels if part in k.name]
        if not found:
            yield f"{part}: no such kernel"
        for k in found:
            if cubin.loads_in_flight(k) < in_flight:
                yield f"{k.name} for sm_{k.arch}: {cubin.loads_in_flight(k)} loads in flight, not {in_flight}"
            if cubin.loads_first(k) < first:
                yield f"{k.name} for sm_{k.arch}: {cubin.loads_first(k)} loads first, not {first}"


def main(paths):
    kernels = [k for path in paths for k in cubin.kernels(path)]
    wrong = list(late_loads(kernels))
    print("\n".join(wrong + [f"{len(LEAST)} rows, {len(wrong)} violations"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
