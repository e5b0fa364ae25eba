"""The Content-Security-Policy of a report page: policy.py OUT STYLE.css SCRIPT.js [BUNDLE.js]

Nothing is loaded from anywhere, and of inline styles and scripts only these are permitted, by their hashes."""
import base64
import hashlib
import sys

out, style, *scripts = sys.argv[1:]


def source(path):
    with open(path, "rb") as f:
        data = f.read()
    assert b"</script" not in data and b"</style" not in data and b"<!--" not in data, path
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(data).digest()).decode()


with open(out, "w", encoding="ascii") as f:
    f.write("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'"
            % (" ".join(source(s) for s in scripts), source(style)))
