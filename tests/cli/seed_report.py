#!/usr/bin/env python3
"""A peer of batch-scaling that measures nothing: it reports the numbers of the report, one process for each batch size, or processes of
which one starts late (SEED_REPORT=late), which all start differently (SEED_REPORT=unsteady), or whose small micro-steps differ
(SEED_REPORT=floor)."""
import json
import os
import sys

WIRE = os.fdopen(int(os.environ["PERFKIT_WIRE_FD"]), "w", buffering=1)

# As printed: seconds; each of a micro-step; tokens/s.
REPORT = {  # total, worker, epoch, training, validation, backward, _, loss each, forward each, tokens/s, micro-steps
    16: (314.00, 300.29, 268.04, 253.84, 12.97, 111.54, 0.0314, 0.0005, 0.0182, 2090, 3552),
    32: (184.91, 171.14, 138.92, 130.85, 6.85, 55.51, 0.0313, 0.0008, 0.0187, 4040, 1774),
    64: (118.89, 105.70, 73.79, 68.95, 3.62, 28.68, 0.0323, 0.0012, 0.0182, 7760, 888),
    128: (95.20, 82.20, 50.68, 47.22, 2.19, 15.31, 0.0345, 0.0062, 0.0188, 11360, 444),
    256: (89.86, 76.43, 42.13, 38.96, 1.97, 13.10, 0.0590, 0.0234, 0.0195, 13900, 222),
    512: (86.43, 73.23, 38.74, 35.54, 1.91, 12.13, 0.1093, 0.0590, 0.0214, 15250, 111),
    1024: (102.82, 88.91, 36.43, 33.33, 1.78, 10.97, 0.1994, 0.1273, 0.0257, 16150, 55),
}


def say(**message):
    WIRE.write(json.dumps(message) + "\n")


def value(name, amount):
    unit = "ns" if name.endswith("_ns") else "1"
    say(type="metric", name=name, unit=unit, direction="lower" if unit == "ns" else "none", **{"class": "time" if unit == "ns" else "exact"})
    say(type="samples", metric=name, phase="steady", ordinal=0, values=[round(amount)])


def report(request):
    total, worker, epoch, training, validation, backward, _, loss, forward, rate, micro_steps = REPORT[request["axes"]["batch"]]
    late = 20 if os.environ.get("SEED_REPORT") == "late" and request["invocation"] == 3 and request["axes"]["batch"] == 64 else 0
    if os.environ.get("SEED_REPORT") == "unsteady":
        late = 20 * (request["invocation"] % 3 - 1)
    jitter = 0.01 * (request["invocation"] % 5) if "SEED_REPORT" in os.environ else 0
    if os.environ.get("SEED_REPORT") == "floor" and request["axes"]["batch"] <= 64:
        training *= 0.98 + 0.01 * request["invocation"]
    for name, s in {"total": total + late + jitter, "init": total - epoch + late + jitter, "init_load": total - worker, "epoch": epoch, "training": training,
                    "validation": validation, "backward": backward, "loss": loss * micro_steps, "forward": forward * micro_steps}.items():
        value(name + "_ns", s * 1e9)
    value("accum", 1024 // request["axes"]["batch"])
    value("micro_steps", micro_steps)
    value("trained_tokens", rate * training)


say(type="hello", version=1, program="seed_report")
for line in sys.stdin:
    request = json.loads(line)
    if request.get("type") == "quit":
        break
    if request.get("type") == "measure":
        report(request)
        say(type="status", id=request["id"], status="ok")
say(type="bye")
