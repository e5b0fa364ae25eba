"""Turns text files into one C source of string arrays: embed.py OUT.c SYMBOL FILE...

The C side declares `extern const struct pk_embedded SYMBOL[];` (base/build.h), ended by a NULL name."""
import os
import sys

out, symbol, files = sys.argv[1], sys.argv[2], sys.argv[3:]
with open(out, "w", encoding="utf-8") as f:
    f.write('#include "base/build.h"\n\n')
    f.write("const struct pk_embedded %s[] = {\n" % symbol)
    for path in files:
        with open(path, "rb") as src:
            data = src.read()
        text = "".join("\\%03o" % b if b < 32 or b > 126 or b in b'"\\?' else chr(b) for b in data)
        # a chunk must not end inside an octal escape
        chunks, rest = [], text
        while rest:
            n = min(2000, len(rest))
            while n < len(rest) and "\\" in rest[max(0, n - 3):n]:
                n -= 1
            chunks.append(rest[:n])
            rest = rest[n:]
        f.write('    {"%s",\n' % os.path.basename(path))
        f.write("\n".join('     "%s"' % c for c in chunks or [""]))
        f.write("},\n")
    f.write("    {0, 0},\n};\n")
