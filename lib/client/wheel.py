"""perfkit.py as a wheel, the same bytes from the same sources: wheel.py OUT.whl VERSION perfkit.py LICENSE."""
import base64
import hashlib
import os
import re
import sys
import zipfile

METADATA = """Metadata-Version: 2.1
Name: perfkit-client
Version: %s
Summary: An experiment of one's own for perfkit, in Python
License: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.9
"""
TAGS = "Wheel-Version: 1.0\nGenerator: perfkit\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def main(out, version, module, licence):
    with open(module, "rb") as f:
        code = f.read()
    with open(licence, "rb") as f:
        terms = f.read()
    stated = re.search(rb'^__version__ = "(.*)"$', code, re.M).group(1).decode()
    if stated != version:
        sys.exit("%s says that it is version %s; perfkit is %s" % (module, stated, version))
    info = "perfkit_client-%s.dist-info/" % version
    files = {os.path.basename(module): code, info + "METADATA": (METADATA % version).encode(), info + "WHEEL": TAGS.encode(), info + "LICENSE": terms}
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for name, data in files.items()}
    record = "".join("%s,sha256=%s,%d\n" % (name, digests[name], len(data)) for name, data in files.items())
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main(*sys.argv[1:])
