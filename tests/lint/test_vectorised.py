"""The kernels really are vectorised: their innermost loops, as the disassembler shows them, work on the instruction set's
registers, and none of them calls the mathematical library.

    test_vectorised.py libkernels-ISA.a ISA
"""
import re
import subprocess
import sys

REGISTER = {"avx512": "zmm", "avx2": "ymm", "baseline": "xmm"}
MULTIPLY = r"v?(fn?m(add|sub)\w+|mul)ps"
EXPONENT = r"v?pslld"  # 2^n of the exponential: nothing else here shifts
# Function (name before the first dot) -> what an innermost loop of it must do in those registers.
LOOPS = {
    "compute_scores": MULTIPLY, "compute_masked_scores": MULTIPLY, "accumulate_output": MULTIPLY, "product_store": MULTIPLY, "product_add": MULTIPLY,
    "pk_flash_forward": EXPONENT, "pk_flash_backward": EXPONENT, "pk_exp": EXPONENT,
    "pk_softmax": EXPONENT, "pk_cross_entropy": EXPONENT, "pk_log_softmax": EXPONENT, "pk_nll_backward": EXPONENT,
    "pk_map": EXPONENT, "pk_glu": EXPONENT, "pk_glu_backward": EXPONENT, "pk_norm": MULTIPLY, "pk_norm_backward": MULTIPLY,
    "pk_rotate": MULTIPLY, "pk_adamw": r"v?sqrtps", "pk_widen": r"v?(pslld|punpcklwd)", "pk_narrow": r"v?psrld", "pk_scale": MULTIPLY, "pk_dot": MULTIPLY, "pk_softmax_backward_delta": MULTIPLY,
    "pk_triad": MULTIPLY, "pk_add": r"v?addps", "pk_fill": r"v?pmul(lq|udq)",
}
CALLS = {"logf", "memset", "memcpy"}  # once per query or row, never per score


def functions(library):
    """[(name, [instruction or relocation])] of every function in the archive."""
    command = ["objdump", "-dr", "--no-show-raw-insn", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        start = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if start:
            found.append((start.group(1), []))
        elif found:
            found[-1][1].append(line)
    return found


def innermost_loops(lines):
    """Instructions between a backward jump and its target, when no other jump lies between."""
    matches = [re.match(r"\s*([0-9a-f]+):\s+(\S.*)", line) for line in lines if "R_X86" not in line]
    code = [(int(m.group(1), 16), m.group(2)) for m in matches if m]
    for i, (address, text) in enumerate(code):
        jump = re.match(r"j\w+\s+([0-9a-f]+)", text)
        target = int(jump.group(1), 16) if jump else address + 1
        body = [t for a, t in code[:i] if a >= target]
        if target <= address and not any(t.startswith("j") for t in body):
            yield body


def has_loop(lines, instruction, register):
    return any(re.match(instruction, t) and register in t for body in innermost_loops(lines) for t in body)


def main():
    library, isa = sys.argv[1:3]
    found, wrong, seen = functions(library), [], set()
    for name, lines in found:
        calls = {m.group(1) for line in lines if (m := re.search(r"R_X86_64_PLT32\s+(\w+)", line))}
        for call in sorted(c for c in calls - CALLS if not c.startswith("pk_")):
            wrong.append(f"{name} calls {call}")
        stem = name.split(".")[0].removesuffix("_" + isa)
        if stem in LOOPS:
            seen.add(stem)
            if not has_loop(lines, LOOPS[stem], REGISTER[isa]):
                wrong.append(f"{name} has no loop with {LOOPS[stem]} on {REGISTER[isa]}")
    wrong += [f"{stem} is not in {library}" for stem in sorted(LOOPS.keys() - seen)]
    print("\n".join(wrong) or f"{isa}: {len(seen)} kernels on {REGISTER[isa]}, {len(found)} functions without library calls")
    return 1 if wrong else 0


sys.exit(main())
