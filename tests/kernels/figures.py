"""The figures of docs/gpu-kernels.md from machine code for sm_90a: what a table says there is what the build has, or worse.

    figures.py gpu-kernels.md KERNELS.cu.o...     prints each row as it should be; fails where a kernel is worse than its row says

A row names its kernel by a part of the mangled name, and what `instructions` are counted for: a number of elements that a thread has
of a row or a tile, or a product's instruction. Figures are `now`, or `before → now`; `before` is of an earlier commit and is not checked."""
import re
import sys

import cubin

ARCH = 90
REGISTERS, REGISTER_UNIT, THREADS, BLOCKS = 65536, 8, 2048, 32  # of a multiprocessor
SHARED, SHARED_OF_SYSTEM = 228 << 10, 1 << 10  # the latter of each block: cubins count it where a kernel has shared memory
PRODUCTS = {"FFMA": (0x223,), "HMMA": (0x23C,), "HGMMA": (0x9F0, 0xDF0)}
COLUMNS = ("code", "for", "dynamic KiB", "registers", "blocks × warps", "loads", "instructions")
# What is worse: more, or less.
MORE, LESS = 1, -1
CHECKED = {"registers": MORE, "blocks × warps": LESS, "loads": LESS, "instructions": MORE}


def rows(text):
    """[{column: cell}] of every table that has COLUMNS."""
    found, heads = [], None
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else None
        if not cells:
            heads = None
        elif heads is None:
            heads = cells if set(COLUMNS) <= set(cells) else []
        elif heads and not set(line) <= set("|-: "):
            found.append(dict(zip(heads, cells)))
    return found


def blocks_at_once(kernel, dynamic_kib):
    registers = -(-kernel.registers // REGISTER_UNIT) * REGISTER_UNIT
    shared = max(kernel.shared, SHARED_OF_SYSTEM) + (dynamic_kib << 10)
    return min(REGISTERS // (registers * kernel.threads), THREADS // kernel.threads, SHARED // shared, BLOCKS)


def per(kernel, what):
    """Instructions for each element, or for each of those instructions."""
    words = cubin.instructions(kernel)
    codes = PRODUCTS.get(what)
    count = sum(w & cubin.OPCODE_MASK in codes for w in words) if codes else int(what)
    return len(words) / count if count else float("inf")


def figures(kernel, row):
    dynamic = int(row["dynamic KiB"] or 0)
    return {"registers": kernel.registers, "blocks × warps": blocks_at_once(kernel, dynamic),
            "loads": cubin.loads_in_flight(kernel), "instructions": round(per(kernel, row["for"]), 1)}


def now(cell):
    """The last number of a cell, of `blocks × warps` the blocks."""
    return float(re.split("→", cell)[-1].split("×")[0])


def in_words(name, value, kernel):
    return f"{value} × {kernel.threads // 32}" if name == "blocks × warps" else f"{value:g}"


def violations(row, kernels):
    part = row["code"].strip("`")
    found = [k for k in kernels if part in k.name and k.arch == ARCH]
    if len(found) != 1:
        yield f"{part}: {len(found)} kernels have this in their name"
        return
    for name, value in figures(found[0], row).items():
        if CHECKED[name] * (value - now(row[name])) > 0:
            yield f"{part}: {name} {in_words(name, value, found[0])}, not {row[name]}"


def main(page, *objects):
    with open(page, encoding="utf-8") as f:
        table = rows(f.read())
    kernels = [k for path in objects for k in cubin.kernels(path)]
    wrong = [] if table else [f"{page} has no table with the columns {', '.join(COLUMNS)}"]
    for row in table:
        part = row["code"].strip("`")
        for k in kernels:
            if part in k.name and k.arch == ARCH:
                print(" | ".join([row["code"], *(in_words(n, v, k) for n, v in figures(k, row).items())]))
        wrong += violations(row, kernels)
    print("\n".join(wrong + [f"{len(table)} rows, {len(wrong)} violations"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
