"""The transformer beside PyTorch, in fp32: each operation, and the whole model from one safetensors file: loss, every parameter's
gradient, and a batch learnt by heart. Tolerances are 5 times what was seen, or more. Skips (77) where there is no PyTorch: PERFKIT_PYTHON names a
Python that has it."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()
if __name__ == "__main__":
    other = os.environ.pop("PERFKIT_PYTHON", None)
    if other:
        os.execv(other, [other, str(HERE)])
    missing = [m for m in ("torch", "numpy", "pytest") if importlib.util.find_spec(m) is None]
    if missing:
        print("%s is not installed for %s" % (" and ".join(missing), sys.executable))
        sys.exit(77)

import numpy as np
import pytest
import torch
from torch.nn import functional as F

sys.path.insert(0, str(HERE.parents[2] / "probes" / "peers"))
from shared import transformer as peer  # the model that `--peer torch-eager` is

peer.torch, peer.np = torch, np
torch.manual_seed(7)
torch.set_num_threads(1)
OP, STEP = (os.environ[name] for name in ("PK_TORCH_OP", "PK_TORCH_STEP"))


def native(name, sizes, inputs, shapes):
    """The program op's answer as tensors of these shapes."""
    said = b"".join(x.detach().float().numpy().tobytes() for x in inputs)
    p = subprocess.run([OP, name, *map(str, (*sizes, 0, 0)[:3])], input=said, stdout=subprocess.PIPE, check=True, timeout=60)
    flat, made = torch.from_numpy(np.frombuffer(p.stdout, np.float32).copy()), []
    for shape in shapes:
        n = int(np.prod(shape))
        made.append(flat[:n].reshape(shape))
        flat = flat[n:]
    assert flat.numel() == 0
    return made


def apart(got, want):
    """Distance in units of what is wanted."""
    return float((got.double() - want.double()).norm() / want.double().norm())


def some(*shape):
    return torch.randn(*shape, requires_grad=True)


def same(got, want, most):
    distances = [apart(g, w.detach()) for g, w in zip(got, want)]
    print(["%.1e" % d for d in distances])
    assert len(got) == len(want) and max(distances) < most


def test_linear():
    x, w, dy = some(37, 24), some(40, 24), torch.randn(37, 40)
    y = F.linear(x, w)
    y.backward(dy)
    same(native("linear", (37, 24, 40), (x, w, dy), (y.shape, x.shape, w.shape)), (y, x.grad, w.grad), 2e-6)


def test_norm():
    x, delta, w = some(9, 48), some(9, 48), some(48)
    dy, ds = torch.randn(9, 48), torch.randn(9, 48)
    s = x + delta
    y = F.rms_norm(s, (48,), w, 1e-5)
    torch.autograd.backward((y, s), (dy, ds))
    same(native("norm", (9, 48), (x, delta, dy, ds, w), (s.shape, y.shape, x.shape, w.shape)), (s, y, x.grad, w.grad), 2e-6)


def test_turn():
    x, d = some(11, 3 * 8), torch.randn(3, 11, 8)
    cos, sin = peer.turns({"d_model": 24, "heads": 3, "seq_len": 11}, "cpu")
    y = peer.turn(x.view(11, 3, 8).transpose(0, 1), cos, sin)
    y.backward(d)
    same(native("turn", (11, 3, 8), (x, d), (y.shape, x.shape)), (y, x.grad), 2e-6)


@pytest.mark.parametrize("variant", ["vanilla", "fused", "flash"])
def test_attention(variant):
    q, k, v, d = some(4, 33, 16), some(4, 33, 16), some(4, 33, 16), torch.randn(4, 33, 16)
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    o.backward(d)
    same(native(variant, q.shape, (q, k, v, d), (q.shape,) * 4), (o, q.grad, k.grad, v.grad), 5e-6)


def test_gated():
    gate, up, dy = some(7, 40), some(7, 40), torch.randn(7, 40)
    y = F.silu(gate) * up
    y.backward(dy)
    same(native("gated", (7, 40), (gate, up, dy), (y.shape,) * 3), (y, gate.grad, up.grad), 2e-6)


def test_cross_entropy():
    logits, targets = some(13, 101), torch.randint(101, (13,))
    losses = F.cross_entropy(logits, targets, reduction="none")
    losses.mean().backward()
    got = native("entropy", (13, 101), (logits, targets), (losses.shape, logits.shape) * 2)
    same(got, (losses, logits.grad) * 2, 2e-6)


def test_embedding():
    tokens, table, d = torch.randint(19, (50,)), some(19, 16), torch.randn(50, 16)
    y = F.embedding(tokens, table)
    y.backward(d)
    same(native("embed", (50, 16, 19), (tokens, table, d), (y.shape, table.shape)), (y, table.grad), 2e-6)


def test_adamw():
    p, g = some(1000), torch.randn(1000)
    first, p.grad = p.detach().clone(), g
    optimizer = torch.optim.AdamW([p], lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
    for _ in range(20):
        optimizer.step()
    same(native("adamw", (1000, 20), (first, g), (p.shape,)), (p,), 2e-6)


# --- the whole model ---

CASE = {**peer.KNOWN, "layers": 3, "d_model": 64, "heads": 4, "d_ff": 160, "vocab": 203, "batch": 2, "seq_len": 40, "mode": "step"}
SIZES = [str(CASE[name]) for name in ("layers", "d_model", "heads", "d_ff", "vocab", "batch", "seq_len")]
STEPS = 60


def save(path, tensors):
    """By the library where it is installed: the format is its own."""
    if importlib.util.find_spec("safetensors"):
        from safetensors.torch import save_file
        return save_file(tensors, path)
    header, at = {}, 0
    for name, w in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(w.shape), "data_offsets": [at, at + 4 * w.numel()]}
        at += 4 * w.numel()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(w.numpy().tobytes() for w in tensors.values()))


@pytest.fixture(scope="module", params=["eager", "compiled"])
def both(request, tmp_path_factory):
    """(names, gradients and losses of perfkit, a trial of PyTorch's with the same weights and tokens)."""
    folder = tmp_path_factory.mktemp("weights")
    file, tokens, out = folder / "w.safetensors", folder / "tokens", folder / "gradients"
    save(file, {name: torch.randn(cols) * 0.1 + 1 if rows == 1 else torch.randn(rows, cols) * (0.5 if name == peer.EMBEDDING else (rows + cols)**-0.5)
                for name, rows, cols, _ in peer.layout(CASE)})
    trial = peer.Trial({**CASE, "weights": "%s#00000000" % file}, "eager", "cpu")
    tokens.write_bytes(b"".join(x.numpy().astype(np.int32).tobytes() for x in trial.data))
    p = subprocess.run([STEP, file, tokens, out, request.param, str(STEPS), *SIZES], stdout=subprocess.PIPE, text=True, check=True, timeout=100)
    flat = torch.from_numpy(np.fromfile(out, np.float32))
    gradients = {name: flat[place:place + rows * cols] for name, rows, cols, place in peer.layout(CASE)}
    return gradients, [float(line) for line in p.stdout.split()], trial


def test_gradients_and_training(both):
    """Every gradient within 5e-6 of its own norm, the loss of every step within 1e-4, from log(vocabulary) to next to nothing."""
    gradients, losses, trial = both
    theirs = [float(trial.step().detach())]
    far = {name: apart(g, trial.p[name].grad.reshape(-1)) for name, g in gradients.items()}
    theirs += [float(trial.step().detach()) for _ in range(STEPS - 1)]
    off = [abs(a - b) for a, b in zip(losses, theirs)]
    print("first loss %.6f, off by %.1e; worst gradient %s, off by %.1e; last loss %.4f, curves off by %.1e at most"
          % (losses[0], off[0], max(far, key=far.get), max(far.values()), losses[-1], max(off)))
    assert len(far) == 3 + 9 * CASE["layers"] and max(far.values()) < 5e-6
    assert off[0] < 1e-5 and max(off) < 1e-4 and losses[0] > 4.5 and losses[-1] < 0.5


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", str(HERE), *sys.argv[1:]]))
