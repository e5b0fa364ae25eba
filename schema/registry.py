"""Turns the build list into the registry of experiments: registry.py OUT.c NAME... (file names without .c)

Each probes/NAME.c exports `const struct pk_probe pk_probe_NAME`."""
import sys

out, names = sys.argv[1], sorted(sys.argv[2:], key=lambda n: n.replace('_', '-'))
with open(out, "w", encoding="utf-8") as f:
    f.write('#include "bench/probe.h"\n\n')
    f.writelines("extern const struct pk_probe pk_probe_%s;\n" % n for n in names)
    f.write("\nconst struct pk_probe *const pk_probes[] = {\n")
    f.writelines("    &pk_probe_%s,\n" % n for n in names)
    f.write("    0,\n};\n")
