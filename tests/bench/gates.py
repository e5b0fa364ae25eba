"""Gates tried for real: how often equal programs are called slower, and whether a slowdown is found that calibrate says can be seen.

    gates.py PERFKIT KERNELS [GATES [equal|slowed [asis|loaded]]]

equal: GATES (20) gates of attention-scaling's preset `smoke`, of perfkit and of a copy of it with one more byte, as the machine is, and
as many beside a busy loop on every CPU. slowed: with and without that load a calibration of KERNELS, and a fourth as many gates against
copies of its kernels that do 5 %, and 50 %, of their work twice. Prints a line per gate. Exit status 1 with more red gates of equal
programs than one in 20, a slowdown called "same", or one that could be seen (it is at least what calibrate says is found) and was not."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

SLOWDOWNS = {20: 0.05, 2: 0.5}  # every n-th unit of work twice


@contextlib.contextmanager
def load(busy):
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())] if busy else []
    try:
        yield
    finally:
        for p in loops:
            p.kill()
            p.wait()


def words_of(busy):
    return f"{'beside busy loops' if busy else 'as it is'} (load {os.getloadavg()[0]:.1f})"


def run(perfkit, db, *args):
    command = [perfkit, args[0], "--db", db, "--format", "json", "--quiet", *args[1:]]
    p = subprocess.run(command, capture_output=True, text=True, check=False)
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
        print(f"equal, {words_of(busy)}, gate {i + 1}: status {status}, "
              f"{tables['gate'][0]['pairs']} pairs in {tables['gate'][0]['elapsed_ns'] / 1e9:.0f} s: {', '.join(sorted(words))}", flush=True)
    return red


def noise_of(perfkit, kernels, db):
    _, tables = run(perfkit, db, "calibrate", "--", kernels, "0")
    found = {r["variant"]: r for r in tables["calibration"] if r["metric"] == "unit_ns"}
    for name, r in found.items():
        print(f"  {name}: processes ±{r['between_cv']:.2%}, pairs ±{r['pair_sd']:.2%}, noise floor {r['floor']:.2%}, suggested --min-effect {r['min_effect']:.2%}, "
              f"MDE {r['mde']:.2%}", flush=True)
    return found


def slowed(perfkit, kernels, folder, gates, busy):
    """Rows that could be seen and were not, or that were called the same."""
    db, wrong = f"{folder}/slowed{busy}.db", 0
    noise = noise_of(perfkit, kernels, db)
    for extra, slowdown in SLOWDOWNS.items():
        seen = found = same = rows = 0
        for i in range(gates):
            _, tables = run(perfkit, db, "gate", "--a", f"{kernels} 0", "--b", f"{kernels} {extra}", "--metric", "unit_ns", "--seed", str(i + 1))
            for r in case_rows(tables):
                visible = noise[r["variant"]]["mde"] <= slowdown
                rows += 1
                seen += visible
                found += visible and r["verdict"] == "slower"
                same += r["verdict"] == "same"
            print(f"{slowdown:+.0%}, {words_of(busy)}, gate {i + 1}: "
                  + ", ".join(f"{r['variant']} {r['verdict']} {r['ratio'] - 1:+.1%}" for r in case_rows(tables)), flush=True)
        print(f"{slowdown:+.0%}, {words_of(busy)}: of {rows} rows {seen} could be seen, {found} of them were found; {same} called the same",
              flush=True)
        wrong += seen - found + same
    return wrong


def main():
    perfkit, kernels = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    gates = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    what, how = (sys.argv[4:] + ["", ""])[:2]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/perfkit"
        shutil.copy(perfkit, copy)
        with open(copy, "ab") as f:
            f.write(b"\n")
        for busy in (False, True):
            if how == ("asis" if busy else "loaded"):
                continue
            with load(busy):
                if what != "slowed":
                    red = equal(perfkit, copy, folder, gates, busy)
                    print(f"equal, {words_of(busy)}: {red} of {gates} gates red", flush=True)
                    bad += max(0, red - max(1, gates // 20))
                if what != "equal":
                    bad += slowed(perfkit, kernels, folder, max(1, gates // 4), busy)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
