"""Shards: read by others, verified by perfkit, and written where there is no space, no permission or something else."""
import json
import os
import resource
import shutil
import struct
import subprocess

import pytest

import shards

CODECS = ("none", "zlib-6", "igzip-1", "lz4", "zstd-3", "zstd-huffman")
FILTERS = ("none", "shuffle", "exponent")


def expected(np, dtype, samples=22, length=6, width=10):
    """What the writer writes, layer by layer."""
    s, i = np.arange(samples)[:, None], np.arange(length * width)[None, :]
    layers = {}
    for layer in shards.LAYERS:
        x = (((7919 * s + 104729 * layer + 31 * i) % 4093) / 64).astype(np.float32).reshape(samples, length, width)
        layers[layer] = x if dtype == "F32" else (x.view(np.uint32) >> 16).astype(np.uint16)
    return layers


@pytest.mark.parametrize("codec, dtype", [(codec, "BF16") for codec in CODECS] + [("none", "F32"), ("zstd-huffman", "F32")])
def test_reader_of_the_page(tmp_path, codec, dtype):
    np = pytest.importorskip("numpy")
    for module in ("xxhash", *(["zstandard"] if "zstd" in codec else []), *(["lz4.block"] if codec == "lz4" else [])):
        pytest.importorskip(module)
    if not shards.has(codec):
        pytest.skip(f"{codec} is not in this build")
    import shard_reader
    for filter in FILTERS:
        folder = tmp_path / filter
        assert shards.write(folder, codec, filter, dtype).returncode == 0
        files = [folder / s["file"] for s in shards.manifest(folder)["shards"]]
        parts = [shard_reader.read_shard(f) for f in files]
        want = expected(np, dtype)
        assert [p[3].shape[0] for p in parts] == [8, 8, 6]
        for layer in shards.LAYERS:
            assert np.array_equal(np.concatenate([p[layer] for p in parts]), want[layer]), (codec, filter, layer)
        data = bytearray(files[1].read_bytes())
        if b'"checksum":"none"' in data:
            continue
        data[-1] ^= 1
        files[1].write_bytes(data)
        with pytest.raises(Exception):
            shard_reader.read_shard(files[1])


def test_the_reader_is_short():
    with open(os.path.join(os.environ["PK_SHARD_READER"], "shard_reader.py"), encoding="utf-8") as f:
        assert len(f.readlines()) <= 40


@pytest.mark.parametrize("dtype", ["F32", "BF16"])
def test_plain_shards_are_safetensors(tmp_path, dtype):
    """By the format's own rules, and by its Python library where that is installed."""
    np = pytest.importorskip("numpy")
    assert shards.write(tmp_path / "s", dtype=dtype).returncode == 0
    want, first = expected(np, dtype), 0
    for shard in shards.manifest(tmp_path / "s")["shards"]:
        path = tmp_path / "s" / shard["file"]
        data = path.read_bytes()
        n = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + n])
        tensors = {k: v for k, v in header.items() if k != "__metadata__"}
        assert sorted(tensors) == sorted(f"layer_{i}" for i in shards.LAYERS) and (8 + n) % 64 == 0
        for layer in shards.LAYERS:
            t = tensors[f"layer_{layer}"]
            begin, end = t["data_offsets"]
            x = np.frombuffer(data[8 + n + begin:8 + n + end], "<f4" if dtype == "F32" else "<u2").reshape(t["shape"])
            assert t["dtype"] == dtype and np.array_equal(x, want[layer][first:first + shard["samples"]])
        first += shard["samples"]
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(path, "np") as f:
        assert sorted(f.keys()) == sorted(tensors) and f.metadata()["codec"] == "none"
        if dtype == "F32":
            assert np.array_equal(f.get_tensor("layer_5"), want[5][16:])


def test_verify_prints_what_is_there(tmp_path):
    folder = tmp_path / "s"
    assert shards.write(folder, "none", "exponent").returncode == 0
    status, tables, messages = shards.verify(folder)
    assert status == 0 and messages == "", messages
    rows = tables["layers"]["rows"]
    assert [r["layer"] for r in rows] == list(shards.LAYERS)
    assert all(r["samples"] == 22 and r["raw_bytes"] == r["stored_bytes"] == 22 * 60 * 2 and r["ratio"] == 1 for r in rows)
    assert all(0 < r["exponent_bits"] < 8 and 1 < r["exponent_bound"] <= r["plane_bound"] for r in rows)
    for form in ("table", "markdown", "csv", "jsonl"):
        p = subprocess.run([shards.PERFKIT, "verify", folder, "--format", form], capture_output=True, text=True, check=False)
        assert p.returncode == 0 and p.stdout
    shutil.copy(folder / "manifest.json", tmp_path / "kept")
    (folder / shards.manifest(folder)["shards"][2]["file"]).unlink()
    m = shards.manifest(folder)
    (folder / "manifest.json").write_text(json.dumps(m | {"shards": m["shards"][:2]}))
    status, tables, _ = shards.verify(folder)
    assert status == 0 and any("not complete: 16 of 22 samples" in n for n in tables["layers"]["notes"])


def parts(messages):
    what, why, fix = messages.splitlines()[-3:]
    assert what.startswith("perfkit: ") and why.startswith("  why: ") and fix.startswith("  try: "), messages
    return what + why + fix


def test_verify_names_what_is_broken(tmp_path):
    folder = tmp_path / "s"
    assert shards.write(folder, "none", "exponent").returncode == 0
    file = folder / shards.manifest(folder)["shards"][1]["file"]
    good = file.read_bytes()
    begin = 8 + struct.unpack("<Q", good[:8])[0]
    if "xxh64" in good[8:begin].decode():
        # the second batch's block of layer 5: blocks have 4 x 60 x 2 = 480 bytes, a chunk each
        file.write_bytes(good[:begin + 4 * 480 + 9] + bytes([good[begin + 4 * 480 + 9] ^ 1]) + good[begin + 4 * 480 + 10:])
        status, tables, messages = shards.verify(folder)
        assert status == 1
        assert tables["broken"]["rows"] == [{"file": file.name, "layer": 5, "chunk": 4, "at_bytes": begin + 4 * 480, "why": "its checksum differs", "folder": str(folder)}]
        assert all(r["samples"] == 14 for r in tables["layers"]["rows"])
        text = parts(messages)
        for word in ("1 of 3 shards", file.name, "layer 5", "chunk 4", f"byte {begin + 4 * 480}", "checksum"):
            assert word in text, messages
    header = good[8:begin].decode()
    for change, why in (
            (good[:-1], "the manifest says"),
            (good[:8] + header.replace('"codec":"none"', '"codec":"lz77"').encode() + good[begin:], "codec lz77 instead of none"),
            (good[:8] + header.replace('"samples":"8"', '"samples":"9"').encode() + good[begin:], "samples 9 instead of 8"),
            (good[:8] + header.replace('"length":"6"', '"length":"7"').encode() + good[begin:], "length 7 instead of 6"),
            (good[:8] + header.replace("1 0 480 ", "1 0 481 ").encode() + good[begin:], "another chunk there"),
            (good[:8] + header.replace('"U8"', '"I8"').encode() + good[begin:], "tensors are not those"),
            (b"\xff" * 8 + good[8:], "length of a header"),
            (good[:8] + b"{" * (begin - 8) + good[begin:], "not JSON")):
        file.write_bytes(change)
        status, tables, messages = shards.verify(folder)
        assert status == 1 and len(tables["broken"]["rows"]) == 1, (why, messages)
        assert why in parts(messages), messages
    file.write_bytes(good)
    assert shards.verify(folder)[0] == 0


def test_manifests_that_are_not_perfkits(tmp_path):
    folder = tmp_path / "s"
    assert shards.write(folder).returncode == 0
    good = shards.manifest(folder)

    def changed(**config):
        return json.dumps(good | {"config": good["config"] | config})

    for text, why in (
            ("", "not JSON"), ("[]", "not a JSON object"), ("{}", "format"), ("[" * 100000, "not JSON"),
            (changed(codec="lz77"), "lz77"), (changed(codec=7), "is unknown"), (changed(filter="x"), "filter"), (changed(width=2**62), "width"),
            (changed(samples=-1), "samples"), (changed(chunk_bytes=2**40), "chunk_bytes"), (changed(layers=[]), "layers"),
            (changed(layers=[5, 5]), "increasing"), (changed(checksum="md5"), "checksum"), (changed(batch=3), "whole batches"),
            (changed(width=11), "hash"),
            (json.dumps(good | {"shards": good["shards"][1:]}), "its shard 0 is not"),
            (json.dumps(good | {"shards": [good["shards"][0] | {"file": "../../etc/passwd"}]}), "its shard 0 is not"),
            (json.dumps(good | {"shards": good["shards"] * 2}), "more samples")):
        (folder / "manifest.json").write_text(text)
        status, _, messages = shards.verify(folder)
        assert status == 2 and why in parts(messages), (text[:80], messages)
    (folder / "manifest.json").unlink()
    status, _, messages = shards.verify(folder)
    assert status == 2 and "no manifest.json" in parts(messages)
    assert shards.verify(tmp_path / "absent")[0] == 2


def test_limit_of_a_file(tmp_path):
    """As on a full disk: the shard that had no room is absent, one error is reported, and with room the writer continues."""
    folder, case = tmp_path / "s", {"dtype": "F32", "samples": 64, "shard": 16, "length": 32, "width": 64}
    p = subprocess.run(shards.command(folder, **case), capture_output=True, text=True, check=False,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000)))
    assert p.returncode == 1 and "ulimit -f" in p.stderr and len(p.stderr.splitlines()) == 4, p.stderr
    assert [f.name for f in folder.iterdir()] == ["manifest.json"] and shards.done(folder) == 0
    assert shards.write(folder, **case).returncode == 0
    assert shards.verify(folder)[0] == 0 and shards.done(folder) == 64


FULL = """mount -t tmpfs -o size=900k none "$1" || exit 99
"$2" "$1" none none F32 64 4 8 32 64 2 2; echo "status $?"
ls -A "$1" | grep -c tmp$
mount -o remount,size=9m "$1" && "$2" "$1" none none F32 64 4 8 32 64 2 2; echo "status $?"
"$3" verify "$1" --format json >/dev/null; echo "status $?"
"""


def test_full_disk(tmp_path):
    p = subprocess.run(["unshare", "-rm", "sh", "-c", FULL, "sh", tmp_path, shards.WRITER, shards.PERFKIT], capture_output=True, text=True, check=False)
    if p.returncode == 99 or "unshare" in p.stderr:
        pytest.skip("this user may not mount a tmpfs")
    lines = p.stdout.splitlines()
    assert "No space left on device" in p.stderr and "free space" in p.stderr and len(p.stderr.splitlines()) == 4, p.stderr
    assert lines[:3] == ["first 0", "status 1", "0"], lines
    assert lines[3].startswith("first ") and 0 < int(lines[3].split()[1]) < 64 and int(lines[3].split()[1]) % 8 == 0
    assert lines[-2:] == ["status 0", "status 0"], lines


def test_folders_that_cannot_be_written(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for folder, why in ((file, "Not a directory"), (file / "x", "Not a directory"), (tmp_path / "a" / "b", "No such file"), ("/proc/x", "")):
        p = shards.write(folder)
        assert p.returncode == 1 and why in p.stderr and len(p.stderr.splitlines()) == 4, p.stderr


def test_another_codec_is_refused(tmp_path):
    folder = tmp_path / "s"
    assert shards.write(folder, "none", "shuffle").returncode == 0
    before = shards.contents(folder)
    p = shards.write(folder, "none", "exponent")
    assert p.returncode == 1 and 'filter is "shuffle" there and "exponent" here' in p.stderr
    assert shards.contents(folder) == before
    assert shards.write(folder, "none", "shuffle", "BF16", 22, 4, 8, 6, 10, 1, 1, "restart").stdout.startswith("first 0\n")
    assert shards.contents(folder) == before  # however many threads
