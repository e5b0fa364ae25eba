"""Calls the writer of synthetic activations and perfkit verify."""
import json
import os
import subprocess
import sys

WRITER, PERFKIT = os.environ["PK_SHARD_WRITER"], os.environ.pop("PERFKIT_BIN")  # perfkit knows no such variable
sys.path.append(os.environ["PK_SHARD_READER"])
LAYERS = (3, 5, 8)


def command(folder, codec="none", filter="none", dtype="BF16", samples=22, batch=4, shard=8, length=6, width=10, threads=2, slots=2, *more):
    return [WRITER, *map(str, (folder, codec, filter, dtype, samples, batch, shard, length, width, threads, slots, *more))]


def write(folder, *args, **options):
    return subprocess.run(command(folder, *args, **options), capture_output=True, text=True, timeout=120, check=False)


def has(codec):
    """Whether this build has the codec."""
    return not write("-", codec).stderr.startswith("-9\n")


def verify(folder, *args):
    """(status, tables, messages) of perfkit verify."""
    p = subprocess.run([PERFKIT, "verify", str(folder), "--format", "json", *args], capture_output=True, text=True, timeout=120, check=False)
    return p.returncode, json.loads(p.stdout)["tables"] if p.stdout else {}, p.stderr


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def done(folder):
    """How many samples the manifest lists."""
    return sum(s["samples"] for s in manifest(folder)["shards"])


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}
