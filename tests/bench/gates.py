"""Gates tried for real: how often equal programs are called slower, and whether a slowdown is found that calibrate says can be seen.

    gates.py PERFKIT KERNELS [GATES]

GATES (20) gates of attention-scaling's preset `smoke`, of perfkit and of a copy of it with one more byte, as the machine is, and
as many beside a busy loop on every CPU. Then, with and without that load, a calibration of KERNELS and gates against its copy with 5 %
of extra work. Prints a line per gate; exit status 1 with more than one red gate of equal programs in 20, a slowdown called "same", or
one that could be seen (its advised --min-effect and what that finds are at most 5 %) and was not."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

SLOWDOWN = 0.05
SLOWED_GATES = 5


@contextlib.contextmanager
def load(busy):
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())] if busy else []
    try:
        yield
    finally:
        for p in loops:
            p.kill()
            p.wait()


def run(perfkit, db, *args):
    p = subprocess.run([perfkit, *args, "--db", db, "--format", "json", "--quiet"], capture_output=True, text=True, check=False)
    if not p.stdout:
        sys.exit(f"{' '.join(args)}: {p.stderr}")
    return p.returncode, {name: t["rows"] for name, t in json.loads(p.stdout)["tables"].items()}


def case_rows(tables):
    return [r for r in tables["compare_ns"] if r["row"] == "case"]


def equal(perfkit, copy, folder, gates, busy):
    red = 0
    for i in range(gates):
        status, tables = run(perfkit, f"{folder}/equal.db", "gate", "attention-scaling", "--preset", "smoke", "--a", perfkit, "--b", copy,
                             "--seed", str(i + 1))
        if status not in (0, 3, 4):
            sys.exit(f"gate {i + 1} ended with {status}")
        words = [r["verdict"] for r in case_rows(tables)]
        red += "slower" in words
        print(f"equal, {'loaded' if busy else 'as it is'} (load {os.getloadavg()[0]:.1f}), gate {i + 1}: status {status}, "
              f"{tables['gate'][0]['pairs']} pairs in {tables['gate'][0]['elapsed_ns'] / 1e9:.0f} s: {', '.join(sorted(words))}", flush=True)
    return red


def noise_of(perfkit, kernels, db):
    _, tables = run(perfkit, db, "calibrate", "--", kernels, "0")
    found = {r["variant"]: r for r in tables["calibration"] if r["metric"] == "unit_ns"}
    for name, r in found.items():
        print(f"  {name}: processes ±{r['between_cv']:.2%}, pairs ±{r['pair_sd']:.2%}, hides {r['floor']:.2%}, advised {r['min_effect']:.2%}, "
              f"finds {r['mde']:.2%}", flush=True)
    return found


def slowed(perfkit, kernels, folder, busy):
    """How many could be seen, were seen, were there and were called the same."""
    counts = {"could be seen": 0, "of them found": 0, "other": 0, "of them found too": 0, "same": 0}
    db = f"{folder}/slowed{busy}.db"
    noise = noise_of(perfkit, kernels, db)
    for i in range(SLOWED_GATES):
        _, tables = run(perfkit, db, "gate", "--a", f"{kernels} 0", "--b", f"{kernels} 20", "--metric", "unit_ns", "--seed", str(i + 1))
        for r in case_rows(tables):
            seen = noise[r["variant"]]["mde"] <= SLOWDOWN
            counts["could be seen" if seen else "other"] += 1
            counts["of them found" if seen else "of them found too"] += r["verdict"] == "slower"
            counts["same"] += r["verdict"] == "same"
        print(f"+5 %, {'loaded' if busy else 'as it is'} (load {os.getloadavg()[0]:.1f}), gate {i + 1}: "
              + ", ".join(f"{r['variant']} {r['verdict']} {r['ratio'] - 1:+.1%}" for r in case_rows(tables)), flush=True)
    return counts


def main():
    perfkit, kernels = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    gates = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/perfkit"
        shutil.copy(perfkit, copy)
        with open(copy, "ab") as f:
            f.write(b"\n")
        red = 0
        for busy in (False, True):
            with load(busy):
                red += equal(perfkit, copy, folder, gates, busy)
        print(f"equal: {red} of {2 * gates} gates red")
        bad |= red > max(1, gates // 10)
        for busy in (False, True):
            with load(busy):
                counts = slowed(perfkit, kernels, folder, busy)
            print(f"+5 %, {'loaded' if busy else 'as it is'}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
            bad |= counts["same"] > 0 or counts["of them found"] < counts["could be seen"]
    sys.exit(bad)


if __name__ == "__main__":
    main()
