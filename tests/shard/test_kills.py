"""A writer that is killed at any moment leaves whole shards, and the next one continues behind them."""
import os
import random
import subprocess
import time

import pytest

import shards

KILLS = int(os.environ.get("PK_KILLS", "100"))
CASE = {"dtype": "F32", "samples": 252, "batch": 4, "shard": 12, "length": 16, "width": 64}


@pytest.mark.parametrize("codec, filter", [("none", "none"), ("zstd-1", "exponent")])
def test_kill_at_random_moments(tmp_path, codec, filter):
    if not shards.has(codec):
        pytest.skip(f"{codec} is not in this build")
    whole = tmp_path / "whole"
    began = time.monotonic()
    assert shards.write(whole, codec, filter, **CASE).returncode == 0
    duration, kills, folders, inside = time.monotonic() - began, 0, 0, 0
    while kills < KILLS // 2:
        folder, before = tmp_path / f"killed-{folders}", 0
        folders += 1
        while True:
            p = subprocess.Popen(shards.command(folder, codec, filter, **CASE), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                out, err = p.communicate(timeout=random.uniform(0, duration * 0.4))
                assert p.returncode == 0, err
            except subprocess.TimeoutExpired:
                p.kill()
                out, _ = p.communicate()
                kills += 1
            if out:
                assert out.split("\n")[0] == f"first {before}"
            if not (folder / "manifest.json").exists():
                continue  # killed before it began
            before = shards.done(folder)
            inside += 0 < before < CASE["samples"]
            status, tables, messages = shards.verify(folder)
            assert status == 0 and "broken" not in tables, messages
            assert all(row["samples"] == before for row in tables["layers"]["rows"])
            if p.returncode == 0:
                break
        assert shards.contents(folder) == shards.contents(whole)
    assert inside, "no kill came while shards were written"
