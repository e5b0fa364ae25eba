"""Clients benchmark, the half in Python: how much longer a kernel of some 10 us takes by perfkit.py than by a plain loop in C, in turns.

clients.py LIBRARY CLIENT_FOLDER [check]: with `check` it exits 1 when that is more than 1 us. The call through ctypes is a part of it."""
import ctypes
import statistics
import sys

ROUNDS, SAMPLES, LIMIT_NS = 41, 150, 1000


def main(library, folder, check=None):
    sys.path.insert(0, folder)
    import perfkit
    kernel = ctypes.CDLL(library)
    kernel.pk_kernel.restype, kernel.pk_kernel.argtypes = None, []
    kernel.pk_kernel_ns.restype = ctypes.c_int64
    stop = {"min_samples": SAMPLES, "max_samples": SAMPLES, "max_noise": 0.0, "max_time_ns": 10**12}
    clients, off = [], []
    for _ in range(ROUNDS):
        runs = perfkit.Runs(kernel.pk_kernel, None, None)
        cut, rows, _ = perfkit.timed(stop, runs)
        clients.append(statistics.median(row[0] for row in rows[1 + cut:]) / runs.reps)
        off.append(clients[-1] - statistics.median(kernel.pk_kernel_ns() for _ in range(SAMPLES)))
    print("kernel by the Python client: %.0f ns; - by a plain loop in C: %.0f ns" % (statistics.median(clients), statistics.median(off)))
    return int(check is not None and not abs(statistics.median(off)) < LIMIT_NS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
