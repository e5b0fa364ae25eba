"""What the PyTorch peers of mixed-precision share: the same decoder with the same weights and tokens, a step in parts.

how="eager": a person's PyTorch, attention written out where the case's attention is auto or vanilla, AdamW as it comes. how="compile":
torch.compile(mode="max-autotune") of a module with scaled_dot_product_attention, and fused AdamW; compiled before the first sample. bf16 is torch.autocast with fp32 parameters. Weights are
those of lib/model/transformer: the same hash of the same places, or the same safetensors file, so that losses and gradients can be compared."""
import contextlib
import json
import math
import time

from shared.torch_run import clock, device_of, startup
from shared.wire import Refused, Skip, axes_of, imported, timed

KNOWN = {"layers": 2, "d_model": 256, "heads": 4, "d_ff": 1024, "vocab": 10000, "batch": 4, "seq_len": 128, "dtype": "fp32", "mode": "step",
         "attention": "auto", "recompute": "none", "weights": "seeded"}
EPS, SEED, STEP, SKETCH = 1e-5, 1, 64, 256  # as in lib/model/transformer
MASK = (1 << 64) - 1
REGIONS = ("forward", "backward", "optimizer")
EMBEDDING, NORM, HEAD = "token_embeddings.weight", "ln_final.weight", "lm_head.weight"

torch = np = None  # set at the first request


def case_of(request, how):
    case = axes_of(request, KNOWN, unused={"model"})
    if case["attention"] not in ("auto", "vanilla", "flash"):
        raise Skip("this peer supports attention=auto, vanilla and flash (PyTorch's own choice of kernel), not %s" % case["attention"])
    return case


# --- the same numbers as the native variants ---

def mixed(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniform(first, n):
    """Weights' places [first, first + n): uniform in [-1, 1)."""
    seed = np.uint64(SEED * 0x9E3779B97F4A7C15 & MASK)
    x = mixed(np.arange(first, first + n, dtype=np.uint64) + seed)
    return (x >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def layout(case):
    """[(name, rows, cols, place)]; rows of a norm are 1. As in lib/model/transformer/config.c."""
    d, f, made, end = case["d_model"], case["d_ff"], [], 0
    kv = d // case["heads"] * case.get("kv_heads", case["heads"])
    groups = [[(EMBEDDING, case["vocab"], d)]]
    for i in range(case["layers"]):
        groups += [[("layers.%d.%s.weight" % (i, name), *shape) for name, *shape in group] for group in (
            [("ln1", 1, d)], [("attn.%s_proj" % part, d if part == "q" else kv, d) for part in "qkv"], [("attn.output_proj", d, d)], [("ln2", 1, d)],
            [("ffn.w1", f, d), ("ffn.w3", f, d)], [("ffn.w2", d, f)])]
    if not case.get("headless"):
        groups += [[(NORM, 1, d)], [(HEAD, case["vocab"], d)]]
    for group in groups:
        end = (end + STEP - 1) // STEP * STEP
        for name, rows, cols in group:
            made.append((name, rows, cols, end))
            end += rows * cols
    return made


def seeded(case):
    made = {}
    for name, rows, cols, place in layout(case):
        bound = np.float32(math.sqrt(3 * (1 if name == EMBEDDING else 2 / (rows + cols))))
        made[name] = torch.ones(cols) if rows == 1 else torch.from_numpy(uniform(place, rows * cols) * bound).reshape(rows, cols)
    return made


def stored(path):
    """The tensors of a safetensors file."""
    types = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
    made = {}
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        start = f.tell()
        for name, row in header.items():
            if name != "__metadata__":
                begin, end = row["data_offsets"]
                f.seek(start + begin)
                made[name] = torch.frombuffer(bytearray(f.read(end - begin)), dtype=types[row["dtype"]]).float().reshape(row["shape"])
    return made


def parameters(case, device):
    file = case["weights"].rpartition("#")[0]  # behind it is the digest of its contents
    try:
        made = stored(file) if file else seeded(case)
    except (OSError, KeyError, ValueError, RuntimeError) as e:
        raise Refused("%s is not a safetensors file that this peer can read: %s" % (file, e))
    wanted = {name: (cols,) if rows == 1 else (rows, cols) for name, rows, cols, _ in layout(case)}
    if {name: tuple(w.shape) for name, w in made.items()} != wanted:
        raise Refused("%s does not have the tensors of this model" % file)
    return {name: torch.nn.Parameter(made[name].to(device)) for name in wanted}


def batch(case, device):
    n = case["batch"] * case["seq_len"]
    x = mixed(np.uint64(SEED) + np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    ids = ((x >> np.uint64(11)).astype(np.float64) * 2.0**-53 * case["vocab"]).astype(np.int64)
    both = torch.from_numpy(ids).reshape(n, 2).to(device)
    shape = (case["batch"], case["seq_len"])
    return both[:, 0].reshape(shape).contiguous(), both[:, 1].contiguous()


def sketch(case, p):
    """As lib/model/transformer/check.h."""
    v, squares = np.zeros(SKETCH), 0.0
    for name, rows, cols, place in layout(case):
        g = p[name].grad.detach().float().cpu().numpy().reshape(-1).astype(np.float64)
        h = mixed(np.arange(place + 1, place + 1 + rows * cols, dtype=np.uint64))
        v += np.bincount((h % np.uint64(SKETCH)).astype(np.int64), np.where(h >> np.uint64(63), g, -g), SKETCH)
        squares += float(g @ g)
    return {"gradient_norm": math.sqrt(squares), "gradient_sketch": v.tolist()}


# --- the model ---

def turns(case, device):
    dim = case["d_model"] // case["heads"]
    angle = torch.arange(case["seq_len"]).double()[:, None] * 10000 ** (-torch.arange(0, dim, 2).double() / dim)
    return angle.cos().float().to(device), angle.sin().float().to(device)


def turn(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def written_out(q, k, v, hidden):
    scores = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def block(p, i, x, case, cos, sin, hidden):
    F, w = torch.nn.functional, lambda name: p["layers.%d.%s.weight" % (i, name)]
    b, t, d = x.shape
    n = F.rms_norm(x, (d,), w("ln1"), EPS)
    q, k, v = (F.linear(n, w("attn.%s_proj" % part)).view(b, t, -1, d // case["heads"]).transpose(1, 2) for part in "qkv")
    q, k = turn(q, cos, sin).to(v.dtype), turn(k, cos, sin).to(v.dtype)
    if k.shape[1] < case["heads"]:
        k, v = (x.repeat_interleave(case["heads"] // k.shape[1], dim=1) for x in (k, v))
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True) if hidden is None else written_out(q, k, v, hidden)
    x = x + F.linear(o.transpose(1, 2).reshape(b, t, d), w("attn.output_proj"))
    n = F.rms_norm(x, (d,), w("ln2"), EPS)
    return x + F.linear(F.silu(F.linear(n, w("ffn.w1"))) * F.linear(n, w("ffn.w3")), w("ffn.w2"))


def loss_of(p, tokens, targets, case, cos, sin, hidden):
    F = torch.nn.functional
    x = F.embedding(tokens, p[EMBEDDING])
    for i in range(case["layers"]):
        if case["recompute"] == "block":
            from torch.utils.checkpoint import checkpoint
            x = checkpoint(block, p, i, x, case, cos, sin, hidden, use_reentrant=False)
        else:
            x = block(p, i, x, case, cos, sin, hidden)
    n = F.rms_norm(x, (case["d_model"],), p[NORM], EPS)
    return F.cross_entropy(F.linear(n, p[HEAD]).flatten(0, 1), targets)


def module_of(p, case, cos, sin, hidden):
    """loss_of as a module. Its parameters and buffers stay where they are, and torch.compile knows that they do; what is given to a function
    may be another tensor each time, so that a CUDA graph would copy all weights in every step."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, w in p.items():
                self.register_parameter(name.replace(".", "/"), w)
            for name, x in (("cos", cos), ("sin", sin), ("hidden", hidden)):
                self.register_buffer(name, x)

        def forward(self, tokens, targets):
            weights = {name.replace("/", "."): w for name, w in self.named_parameters()}
            return loss_of(weights, tokens, targets, case, self.cos, self.sin, self.hidden)

    return Model()


class Trial:
    """One case: its tensors, and a step in parts."""

    def __init__(self, case, how, device):
        self.case, self.device = case, device
        self.p = parameters(case, device)
        self.data = batch(case, device)
        plain = how == "eager" and case["attention"] in ("auto", "vanilla")
        self.attention = "vanilla" if plain else "scaled_dot_product_attention"
        t = case["seq_len"]
        hidden = torch.ones(t, t, dtype=torch.bool, device=device).triu(1) if plain else None
        self.fn = module_of(self.p, case, *turns(case, device), hidden)
        if how == "compile":
            from torch import _dynamo
            _dynamo.reset()  # or past a few shapes it would run eagerly and not say so
            self.fn = torch.compile(self.fn, dynamic=False, mode="max-autotune")
        fused = {"fused": True} if how == "compile" else {}
        self.optimizer = torch.optim.AdamW(list(self.p.values()), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, **fused)

    def forward(self):
        kept = contextlib.nullcontext() if self.case["mode"] != "forward" else torch.no_grad()
        narrow = torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.case["dtype"] == "bf16")
        with kept, narrow:
            return self.fn(*self.data)

    def step(self, watch=None):
        mode, mark = self.case["mode"], watch.mark if watch else lambda at: None
        self.optimizer.zero_grad(set_to_none=True)
        if watch:
            watch.start()
        loss = self.forward()
        mark(1)
        if mode in ("forward+backward", "step"):
            loss.backward()
            mark(2)
        if mode == "step":
            self.optimizer.step()
            mark(3)
        return loss


def tell_times(wire, rows, waited, cut, names):
    def columns(source):
        """Of each region its times; the step is all of them."""
        found = {name: [row[i] for row in source] for i, name in enumerate(names)}
        found["step"] = [sum(row) for row in source]
        if "optimizer" in names:
            found["backward_optimizer"] = [row[1] + row[2] for row in source]
        return found

    for suffix, source in (("_ns", rows), ("_host_ns", waited)):
        for name, times in columns(source).items():
            wire.times(name + suffix, times, cut)


def finite(loss, when=""):
    """As a number; one that is not finite ends the case."""
    value = float(loss)
    if not math.isfinite(value):
        raise Refused("%sthe loss is %g: times of such a step are meaningless" % (when, value))
    return value


def compile_ns(trial):
    """Time of the first pass, which compiles; weights do not change."""
    began = time.perf_counter_ns()
    loss = trial.forward()
    if trial.case["mode"] in ("forward+backward", "step"):
        loss.backward()
    finite(loss.detach())
    trial.optimizer.zero_grad(set_to_none=True)
    return time.perf_counter_ns() - began


def first_step(trial):
    """Its loss and, where the mode has one, gradient, for the table of drift."""
    backward = trial.case["mode"] in ("forward+backward", "step")
    loss = trial.forward()
    if backward:
        loss.backward()
    return {"loss": finite(loss.detach()), **(sketch(trial.case, trial.p) if backward else {})}


def measure_memory(wire, trial):
    """PyTorch's allocated and reserved bytes, measured in a separate step."""
    trial.optimizer.zero_grad(set_to_none=False)  # gradients live between steps, as the native variants' do
    torch.cuda.synchronize()
    allocated = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    trial.step()
    wire.memory("allocated_bytes", allocated)
    wire.memory("peak_bytes", torch.cuda.max_memory_allocated())
    wire.memory("reserved_bytes", torch.cuda.memory_reserved())


def measure(wire, request, how, case, device):
    torch.set_float32_matmul_precision("high" if case["dtype"] == "tf32" else "highest")
    trial = Trial(case, how, device)
    startup(wire, compile_ns(trial) if how == "compile" else None)
    wire.note("found", {"attention": trial.attention, **(first_step(trial) if request.get("check") else {})})
    wire.checked(request, "loss and gradient recorded for comparison")
    names = REGIONS[:{"forward": 1, "forward-retained": 1, "forward+backward": 2, "step": 3}[case["mode"]]]
    watch, waited = clock(device, len(names)), []

    def iterate():
        loss = trial.step(watch)
        lane, host = watch.read()
        finite(loss.detach(), "after sample %d: " % len(waited))
        waited.append(host)
        return lane

    cut, rows, reason = timed(request.get("stop", {}), iterate)
    tell_times(wire, rows, waited, cut, names)
    wire.stopped(reason, cut)
    if device != "cpu":
        measure_memory(wire, trial)


def of(how):
    """measure(wire, request, torch) of mixed-precision."""
    def step(wire, request, module):
        global torch, np
        torch, np = module, imported("numpy")
        case = case_of(request, how)
        measure(wire, request, how, case, device_of(request))

    return step
