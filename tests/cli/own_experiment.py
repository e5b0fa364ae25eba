#!/usr/bin/env python3
"""An experiment of its own, by the protocol alone. OWN_* change what it says: see test_own.py."""
import json
import mmap
import os
import sys
import time

wire = os.fdopen(int(os.environ["PERFKIT_WIRE_FD"]), "w")
TICK_NS = int(os.environ.get("OWN_TICK_NS", 1000))
COUNT = json.loads(os.environ.get("OWN_COUNT", "{}"))  # in a counter pass: messages `count`, and fresh pages that are touched after each
EXPERIMENT = {
    "type": "experiment", "name": "own-sum", "summary": "how long does it take to add n numbers?", "plan": True,
    "axes": [{"name": "n", "type": "int", "unit": "numbers", "min": 1, "max": 1 << 30, "default": [100, 200, 400]},
             {"name": "dtype", "type": "choice", "choices": ["fp32", "bf16"], "default": ["fp32"]}],
    "variants": [{"name": "loop", "summary": "one by one"}, {"name": "tree", "summary": "in pairs"}],
    "metrics": [{"name": "sum_ns", "summary": "adding all"}, {"name": "additions", "unit": "1", "class": "exact"}],
    "presets": [{"name": "quick", "summary": "three sizes", "blocks": ["n=100,200,400"], "settings": ["min-samples=3"]}],
    "yardstick": "loop"}
EXPERIMENT.update(json.loads(os.environ.get("OWN_EXPERIMENT", "{}")))


def say(**message):
    wire.write(json.dumps(message) + "\n")
    wire.flush()


def count():
    for message in COUNT.get("messages", []):
        say(type="count", **message)
        assert json.loads(sys.stdin.readline()) == {"type": "go"}
        with mmap.mmap(-1, COUNT["pages"] * mmap.PAGESIZE) as fresh:
            for at in range(0, len(fresh), mmap.PAGESIZE):
                fresh[at] = 1


def measure(request):
    n = request["axes"].get("n", 1)
    if request["pass"] == "counter":
        count()
    if n == 13:
        return "failed", "13 numbers do not add up"
    if n > 1 << 20:
        return "oom", "%d numbers do not fit" % n
    one = TICK_NS * n // (2 if request["variant"] == "tree" else 1)
    say(type="metric", name="sum_ns", unit="ns")
    say(type="samples", metric="sum_ns", values=[one + i + request["invocation"] for i in range(5)])
    say(type="metric", name="additions", unit="1")
    say(type="samples", metric="additions", values=[n - 1] * 5)
    return "ok", ""


def plan(request):
    n = request["axes"].get("n", 1)
    if n == 7:
        return "skipped", "7 is left out"
    say(type="work", metric="sum_ns", flops=n - 1, bytes=4 * n)
    say(type="predict", metric="peak_bytes", value=4 * n)
    say(type="predict", metric="additions", value=n - 1)
    return "ok", ""


def answer(request):
    if request["type"] == "describe":
        say(**EXPERIMENT)
        return "ok", ""
    return plan(request) if request["type"] == "plan" else measure(request)


say(type="hello", version=1, program="own_experiment", pid=os.getpid(), describes=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "quit":
        break
    status, why = answer(message)
    say(type="status", id=message["id"], status=status, message=why)
say(type="bye")
