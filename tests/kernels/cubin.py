"""The machine code of GPU kernels, read from the objects that nvcc made: no tool of the CUDA Toolkit is needed.

    cubin.py KERNELS.cu.o...     a line per kernel: architecture, registers, threads, stack frame, shared memory, instructions,
                                 16-byte loads in flight

nvcc stores a cubin (ELF) per architecture and the PTX as zstd frames in the object (--compress-mode=size). Launch bounds are the
PTX's .maxntid. The cubin's attributes (EIATTR_*) and the fields of an instruction are not documented by NVIDIA: their numbers are
those that `cuobjdump -elf` and `nvdisasm -hex` show, for sm_80 and sm_90a by CUDA 13.0."""
import collections
import ctypes
import re
import struct
import sys

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
FRAME_SIZE, REGISTERS = 0x11, 0x2F  # EIATTR_: (symbol, value) pairs of 4 bytes
EIATTR_HAS_SIZE = 4  # format byte of an attribute whose value follows its length
OPCODE_MASK, LOAD_GLOBAL, NOP, BRANCH, SHUFFLE, MUFU = 0xFFF, 0x981, 0x918, 0x947, 0xF89, 0x308
SIZE_128 = 6

Kernel = collections.namedtuple("Kernel", "name arch registers threads stack shared code")


def frames(data):
    """What each zstd frame of the bytes holds."""
    zstd = ctypes.CDLL("libzstd.so.1")
    for function, result in (("findFrameCompressedSize", ctypes.c_size_t), ("getFrameContentSize", ctypes.c_ulonglong),
                             ("decompress", ctypes.c_size_t)):
        getattr(zstd, "ZSTD_" + function).restype = result
    at = data.find(ZSTD_MAGIC)
    while at >= 0:
        rest = data[at:]
        size = ctypes.c_size_t(zstd.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))).value
        if size <= len(rest):  # else these four bytes are no frame
            room = zstd.ZSTD_getFrameContentSize(rest, ctypes.c_size_t(size))
            out = ctypes.create_string_buffer(room)
            if zstd.ZSTD_decompress(out, ctypes.c_size_t(room), rest, ctypes.c_size_t(size)) == room:
                yield out.raw
        at = data.find(ZSTD_MAGIC, at + (size if size <= len(rest) else 4))


def sections(elf):
    """{name: (type, info, bytes)} of an ELF file of 64 bits; sections without bytes have their size instead."""
    start, = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, start + 64 * i) for i in range(count)]
    text = lambda at: elf[headers[names][4] + at:].split(b"\0", 1)[0].decode()
    no_bits = 8
    return {text(h[0]): h[5] if h[1] == no_bits else elf[h[4]:h[4] + h[5]] for h in headers}


def attributes(info, wanted):
    """{symbol: value} of an EIATTR of pairs."""
    found, at = {}, 0
    while at + 4 <= len(info):
        form, kind, size = struct.unpack_from("<BBH", info, at)
        if form == EIATTR_HAS_SIZE and kind == wanted:
            symbol, value = struct.unpack_from("<II", info, at + 4)
            found[symbol] = value
        at += 4 + (size if form == EIATTR_HAS_SIZE else 0)
    return found


def kernels_of_cubin(elf, bounds):
    parts = sections(elf)
    arch, = struct.unpack_from("<I", elf, 48)  # e_flags
    arch = arch >> 8 & 0xFF
    registers, stack = (attributes(parts[".nv.info"], kind) for kind in (REGISTERS, FRAME_SIZE))
    for symbol, name in symbols(parts):
        if ".text." + name in parts:
            code = parts[".text." + name]
            words = [int.from_bytes(code[i:i + 16], "little") for i in range(0, len(code), 16)]
            yield Kernel(name, arch, registers[symbol], bounds.get(name), stack[symbol], parts.get(".nv.shared." + name, 0), words)


def symbols(parts):
    table, text = parts[".symtab"], parts[".strtab"]
    for i in range(0, len(table), 24):
        at, = struct.unpack_from("<I", table, i)
        yield i // 24, text[at:].split(b"\0", 1)[0].decode()


def launch_bounds(ptx):
    """{kernel: threads of a block at most}."""
    found = {}
    for name, head in re.findall(r"\.entry\s+(\w+)\(.*?\)(.*?)\{", ptx, re.S):
        bound = re.search(r"\.maxntid\s+([\d, ]+)", head)
        if bound:
            threads = 1
            for n in bound.group(1).split(","):
                threads *= int(n)
            found[name] = threads
    return found


def kernels(path):
    """Every kernel of an object, once for each architecture; none where nvcc made PTX only."""
    with open(path, "rb") as f:
        parts = list(frames(f.read()))
    bounds = {}
    for part in parts:
        if not part.startswith(b"\x7fELF"):
            bounds.update(launch_bounds(part.decode("latin-1")))
    return [k for part in parts if part.startswith(b"\x7fELF") for k in kernels_of_cubin(part, bounds)]


def field(word, first, bits):
    return word >> first & (1 << bits) - 1


def instructions(kernel):
    """Instructions without what fills the end up: the branch to itself after the last EXIT, and NOPs."""
    words = [w for w in kernel.code if w & OPCODE_MASK != NOP]
    return words[:-1] if words and words[-1] & OPCODE_MASK == BRANCH else words


def is_load_16(word):
    return word & OPCODE_MASK == LOAD_GLOBAL and field(word, 73, 3) == SIZE_128


def loads_first(kernel):
    """16-byte loads from global memory before the first exchange between lanes or the first reciprocal, root or exponential, in the order
    of the code: in a loop over rows, what a row loads before its first reduction."""
    count = 0
    for word in kernel.code:
        if word & OPCODE_MASK in (SHUFFLE, MUFU):
            break
        count += is_load_16(word)
    return count


def loads_in_flight(kernel):
    """The most 16-byte loads from global memory that follow each other, in the order of the code, before an instruction waits for one.

    A load names the scoreboard (of six) that it holds until its data is there; every instruction has a mask of those it waits for."""
    most, pending = 0, []
    for word in kernel.code:
        waits = field(word, 116, 6)
        if any(waits >> board & 1 for board in pending):
            pending = []
        if is_load_16(word):
            pending.append(field(word, 110, 3))
            most = max(most, len(pending))
    return most


def main(paths):
    for path in paths:
        for k in kernels(path):
            print(f"sm_{k.arch} {k.registers:3} registers {k.threads or 0:4} threads {k.stack} stack {k.shared:5} shared "
                  f"{len(instructions(k)):5} instructions {loads_in_flight(k):2} loads  {k.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
