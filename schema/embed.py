"""Turns text files into one C source of string arrays: embed.py OUT.c SYMBOL FILE...

The C side declares `extern const struct pk_embedded SYMBOL[];` (base/build.h), ended by a NULL name. Of migrations (NNNN-what.sql) there is
also `extern const struct pk_schema_object SYMBOL_objects[];` (base/build.h), ended by a NULL name: what SQLite makes of them, and of the other
file, for each version."""
import os
import sqlite3
import sys


def literal(data):
    """Of bytes; a chunk must not end inside an octal escape."""
    text = "".join("\\%03o" % b if b < 32 or b > 126 or b in b'"\\?' else chr(b) for b in data)
    chunks, rest = [], text
    while rest:
        n = min(2000, len(rest))
        while n < len(rest) and "\\" in rest[max(0, n - 3):n]:
            n -= 1
        chunks.append(rest[:n])
        rest = rest[n:]
    return "\n".join('     "%s"' % c for c in chunks or [""])


def objects_of(files, version):
    """Type, name and text of all that a store of a version has, in the order in which it is made."""
    db = sqlite3.connect(":memory:")
    for name, data in files:
        if not name[0].isdigit() or int(name[:4]) <= version:
            db.executescript(data.decode())
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    db.close()
    return rows


out, symbol, files = sys.argv[1], sys.argv[2], [(os.path.basename(path), open(path, "rb").read()) for path in sys.argv[3:]]
versions = [int(name[:4]) for name, _ in files if name[0].isdigit()]
found = {}
for version in versions:
    for row in objects_of(files, version):
        found.setdefault(row, [version, version])[1] = version
with open(out, "w", encoding="utf-8") as f:
    f.write('#include "base/build.h"\n\n')
    f.write("const struct pk_embedded %s[] = {\n" % symbol)
    for name, data in files:
        f.write('    {"%s",\n%s},\n' % (name, literal(data)))
    f.write("    {0, 0},\n};\n")
    if versions:
        f.write("\nconst struct pk_schema_object %s_objects[] = {\n" % symbol)
        for (kind, name, sql), (first, last) in found.items():
            f.write('    {%d, %d, "%s", "%s",\n%s},\n' % (first, last, kind, name, literal(sql.encode())))
        f.write("    {0, 0, 0, 0, 0},\n};\n")
