"""What the PyTorch peers of extraction share: the same decoder with the same weights and tokens, hidden states taken in a common way.

how="hooks": a forward hook on each chosen layer copies its output to the host, and when all batches are done everything is pickled and
compressed with gzip, as in the report. how="hidden-states": the model returns the states of all layers, as with output_hidden_states, the
chosen ones are copied, and one safetensors file is written. Neither overlaps anything. codec, byte_filter, compress_threads and slots are not used."""
import gzip
import io
import json
import os
import pickle
import struct
import time

from shared import transformer as model
from shared.torch_run import device_of
from shared.wire import Skip, axes_of

KNOWN = {"layers": 4, "d_model": 128, "heads": 4, "kv_heads": 2, "d_ff": 384, "vocab": 1000, "extract_from": 1, "extract_to": 3, "batch": 4,
         "seq_len": 64, "samples": 61, "pad": True, "dtype": "fp32", "codec": "zstd-1", "byte_filter": "exponent", "compress_threads": 1, "slots": 3,
         "sink": "null", "ranks": 1}
GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


class Nothing(io.RawIOBase):
    """Where bytes go that nobody keeps: counted."""
    size = 0

    def writable(self):
        return True

    def write(self, data):
        self.size += len(data)
        return len(data)


def tokens_of(case):
    """[samples, seq_len], as lib/extraction draws them."""
    np, made = model.np, []
    for i in range(case["samples"]):
        state = int(model.mixed(np.array([(model.SEED + i + 1) & MASK], dtype=np.uint64))[0])
        x = np.array([(state + k * GOLDEN) & MASK for k in range(1, case["seq_len"] + 1)], dtype=np.uint64)
        made.append(((model.mixed(x) >> np.uint64(11)).astype(np.float64) * 2.0**-53 * case["vocab"]).astype(np.int64))
    return model.torch.from_numpy(np.stack(made))


def decoder(case, device):
    """(embedding, blocks as modules)."""
    torch = model.torch
    weights = {name: w.to(device) for name, w in model.seeded({**case, "headless": True}).items()}
    if case["dtype"] == "bf16":
        weights = {name: w if w.dim() == 1 else w.bfloat16() for name, w in weights.items()}
    cos, sin = model.turns(case, device)

    class Block(torch.nn.Module):
        def __init__(self, i):
            super().__init__()
            self.i = i

        def forward(self, x):
            return model.block(weights, self.i, x, case, cos, sin, None)

    return weights[model.EMBEDDING], [Block(i) for i in range(case["layers"])]


def safetensors(tensors, out):
    header, at = {}, 0
    for name, t in tensors.items():
        size = t.numel() * t.element_size()
        header[name] = {"dtype": "BF16" if t.element_size() == 2 else "F32", "shape": list(t.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    out.write(struct.pack("<Q", len(text)) + text)
    for t in tensors.values():
        out.write(t.contiguous().view(model.torch.uint8).numpy().data)


def save(how, kept, chosen, out):
    """What the program does with its hidden states: [batches][layers] of [samples, seq_len, d_model]."""
    torch = model.torch
    whole = {layer: torch.cat([states[k] for states in kept]) for k, layer in enumerate(chosen)}
    if how == "hooks":
        with gzip.GzipFile(fileobj=out, mode="wb") as f:
            pickle.dump({layer: (t.view(torch.int16) if t.dtype == torch.bfloat16 else t).numpy() for layer, t in whole.items()}, f)
    else:
        safetensors({"layer_%d" % layer: t for layer, t in whole.items()}, out)


def sink_of(case, how, program):
    folder = case["sink"].rpartition("#")[0]  # behind it is a digest
    if not folder:
        return Nothing
    folder = os.path.join(folder, program, case["dtype"])
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, "shard_0001" + (".pkl.gz" if how == "hooks" else ".safetensors"))
    return lambda: open(name, "wb")


class Pass:
    """One extraction of all samples, with the time of each batch."""

    def __init__(self, case, how, device, program):
        self.case, self.how, self.device, self.sink = case, how, device, sink_of(case, how, program)
        self.embedding, self.blocks = decoder(case, device)
        self.tokens = tokens_of(case)
        self.chosen = range(case["extract_from"], case["extract_to"] + 1)
        self.taken = []
        if how == "hooks":
            for i in self.chosen:
                self.blocks[i].register_forward_hook(lambda block, into, x: self.taken.append(x.cpu()))

    def batch(self, tokens):
        torch = model.torch
        x = torch.nn.functional.embedding(tokens.to(self.device), self.embedding)
        every = []
        for block in self.blocks:
            x = block(x)
            every.append(x)
        if self.how == "hooks":
            taken, self.taken = self.taken, []
            return taken
        return [every[i].cpu() for i in self.chosen]

    def run(self):
        """(ns of the pass, ns of each batch, bytes stored)."""
        torch, b, n = model.torch, self.case["batch"], self.case["samples"]
        kept, batches, began = [], [], time.perf_counter_ns()
        last = began
        with torch.no_grad():
            for first in range(0, n, b):
                part = self.tokens[first:first + b]
                real = len(part)
                if real < b and self.case["pad"]:
                    part = torch.cat((part, torch.zeros(b - real, part.shape[1], dtype=part.dtype)))
                kept.append([x[:real] for x in self.batch(part)])
                now = time.perf_counter_ns()
                batches.append(now - last)
                last = now
            with self.sink() as out:
                save(self.how, kept, self.chosen, out)
                stored = out.size if isinstance(out, Nothing) else out.tell()
                if not isinstance(out, Nothing):
                    out.flush()
                    os.fsync(out.fileno())
        return time.perf_counter_ns() - began, batches, stored


def passes_of(stop, run):
    rows = [run()]
    began = time.monotonic_ns()
    while not stop.get("once") and len(rows) - 1 < stop.get("max_samples", 10000):
        rows.append(run())
        enough = len(rows) - 1 >= stop.get("min_samples", 15)
        if time.monotonic_ns() - began >= stop.get("max_time_ns", 10**9) or enough:
            break
    return rows


def of(how, program):
    def measure(wire, request, torch):
        from shared.wire import imported
        model.torch, model.np = torch, imported("numpy")
        case = axes_of(request, KNOWN, unused={"model"})
        if case["ranks"] > 1:
            raise Skip("this peer is one process: --ranks 1")
        one = Pass(case, how, device_of(request), program)
        rows = passes_of(request["stop"], one.run)
        wire.times("extract_ns", [row[0] for row in rows], 0)
        wire.metric("batch_ns", "ns", **{"class": "time", "source": "region"})
        wire.samples("batch_ns", "first", 0, rows[0][1][:1])
        wire.samples("batch_ns", "steady", 1, rows[0][1][1:] + [ns for row in rows[1:] for ns in row[1]])
        size = 2 if case["dtype"] == "bf16" else 4
        exact = {"real_samples": ("1", case["samples"]), "stored_bytes": ("bytes", rows[-1][2]),
                 "raw_bytes": ("bytes", case["samples"] * len(one.chosen) * case["seq_len"] * case["d_model"] * size)}
        for name, (unit, value) in exact.items():
            wire.metric(name, unit, "lower" if name == "stored_bytes" else "none", **{"class": "exact", "source": "formula"})
            wire.samples(name, "steady", 0, [value])
    return measure
