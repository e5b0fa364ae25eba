#!/usr/bin/env python3
"""Plain NumPy attention, forward and backward: a peer of the experiment attention-scaling.

What a person writes who knows the formula and has only NumPy: scores, softmax and products as whole arrays, nothing fused,
nothing blocked. Times are taken around each half with perf_counter_ns; memory in an untimed iteration of its own, from
NumPy's own accounting (tracemalloc)."""
import ctypes
import os
import re
import time
import tracemalloc

from shared.attention import shape_of
from shared.wire import Refused, Skip, imported, serve, timed
from perfkit import limit_memory

np = None  # imported at the first request, after the number of BLAS threads is known


def softmax(scores):
    scores = scores - scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    return scores / scores.sum(axis=-1, keepdims=True)


def forward(q, k, v, scale, causal):
    """[n, S, d] each -> output and the probabilities that backward needs."""
    scores = (q @ k.transpose(0, 2, 1)) * q.dtype.type(scale)
    if causal:
        scores = np.where(np.tri(q.shape[1], dtype=bool), scores, q.dtype.type(-np.inf))
    p = softmax(scores)
    return p @ v, p


def backward(q, k, v, p, d_o, scale):
    """Gradients of q, k, v."""
    d_v = p.transpose(0, 2, 1) @ d_o
    d_p = d_o @ v.transpose(0, 2, 1)
    d_s = p * (d_p - (d_p * p).sum(axis=-1, keepdims=True)) * q.dtype.type(scale)
    return d_s @ k, d_s.transpose(0, 2, 1) @ q, d_v


def check(causal):
    """fp32 against fp64: forward element by element in plain loops, backward by central differences."""
    n, s, d = 2, 7, 3
    rng = np.random.default_rng(7)
    q, k, v, d_o = (rng.standard_normal((n, s, d)) for _ in range(4))
    scale = d**-0.5

    def plain(q, k, v):
        out = np.zeros((n, s, d))
        for b in range(n):
            for i in range(s):
                to = i + 1 if causal else s
                e = np.array([np.exp(sum(q[b, i] * k[b, j]) * scale) for j in range(to)])
                out[b, i] = sum(e[j] / e.sum() * v[b, j] for j in range(to))
        return out

    single = [x.astype(np.float32) for x in (q, k, v, d_o)]
    o, p = forward(*single[:3], scale, causal)
    worst = abs(o - plain(q, k, v)).max()
    gradients = backward(*single[:3], p, single[3], scale)
    for index, gradient in enumerate(gradients):
        for at in [(0, 0, 0), (1, s - 1, d - 1), (0, 3, 1)]:
            step = 1e-5
            sides = []
            for sign in (1, -1):
                x = [q.copy(), k.copy(), v.copy()]
                x[index][at] += sign * step
                sides.append((plain(*x) * d_o).sum())
            worst = max(worst, abs(gradient[at] - (sides[0] - sides[1]) / (2 * step)))
    if not worst < 1e-4:
        raise Refused("NumPy's attention differs by %g from the reference at seq_len 7, d_model 3" % worst)


def blas_core():
    """Name of the kernels that the OpenBLAS of this NumPy has chosen, or None."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for path in set(re.findall(r"(/\S*openblas\S*\.so\S*)", maps.read())):
            for name in ("openblas_get_corename", "openblas_get_corename64_", "scipy_openblas_get_corename64_"):
                function = getattr(ctypes.CDLL(path), name, None)
                if function:
                    function.restype = ctypes.c_char_p
                    return function().decode()
    return None


def load_numpy(wire, threads):
    global np
    if np is not None:
        return
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        if threads:
            os.environ[name] = str(threads)
    np = imported("numpy", "install it (apt install python3-numpy)")
    wire.setting("numpy", np.__version__)
    core = blas_core()
    wire.setting("blas", "OpenBLAS " + core if core else "unknown")
    if core == "Prescott":
        wire.setting("blas_warning", "NumPy's OpenBLAS uses its Prescott kernels, several times slower than this CPU can; "
                     "set OPENBLAS_CORETYPE=Haswell or SkylakeX")


def case_of(request):
    """The axes of a request, checked."""
    case = shape_of(request)
    if request["device"] != "cpu":
        raise Skip("NumPy runs on the CPU, not on %s" % request["device"])
    if (case["dtype"], case["math"]) != ("fp32", "ieee"):
        raise Skip("NumPy computes in fp32 with ieee products, not in %s with %s" % (case["dtype"], case["math"]))
    return case


def measure_memory(wire, inputs, scale, causal):
    q, k, v, d_o = inputs
    held = sum(x.nbytes for x in inputs)
    tracemalloc.start()
    o, p = forward(q, k, v, scale, causal)
    before = held + tracemalloc.get_traced_memory()[0]
    gradients = backward(q, k, v, p, d_o, scale)
    peak = held + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del o, gradients
    wire.memory("before_backward_bytes", before)
    wire.memory("peak_bytes", peak)


def answer(wire, request):
    case = case_of(request)
    options = request.get("device_options", {})
    load_numpy(wire, options.get("threads", 0))
    limit_memory(options.get("limit_bytes", 0))
    causal = bool(case["causal"])
    if request.get("check"):
        check(causal)

    dim = case["d_model"] // case["heads"]
    rng = np.random.default_rng(request.get("seed", 1))
    shape = (case["batch"] * case["heads"], case["seq_len"], dim)
    inputs = [rng.standard_normal(shape, dtype=np.float32) for _ in range(4)]
    q, k, v, d_o = inputs
    scale = dim**-0.5

    def iterate():
        t0 = time.perf_counter_ns()
        _, p = forward(q, k, v, scale, causal)
        t1 = time.perf_counter_ns()
        backward(q, k, v, p, d_o, scale)
        return t1 - t0, time.perf_counter_ns() - t1

    cut, rows, reason = timed(request.get("stop", {}), iterate)
    for half, name in enumerate(("forward", "backward")):
        for suffix in ("_ns", "_host_ns"):
            wire.times(name + suffix, [row[half] for row in rows], cut)
    measure_memory(wire, inputs, scale, causal)
    wire.stopped(reason, cut)
    wire.checked(request, "forward fully, backward by differences, at seq_len 7")


serve("numpy-attention", {"attention-scaling": answer})
