"""PyTorch's batch-scaling: epochs with gradient accumulation, under DistributedDataParallel over gloo where there are several ranks.

sync=last is DDP's no_sync() for all micro-steps of an optimizer step but the last; sync=every is DDP without it. Weights, samples and the
optimizer are those of the native variants, and so are the losses. Rank 0 is the peer that perfkit started; it starts the others."""
import contextlib
import sys
import time

from shared import ddp, transformer
from shared.torch_run import device_of
from shared.wire import Refused, Skip, axes_of, imported, timed

KNOWN = {"layers": 2, "d_model": 64, "heads": 4, "d_ff": 256, "vocab": 256, "seq_len": 32, "dtype": "fp32", "batch": 1, "global_batch": 64, "batch_of": "rank",
         "samples": 56832, "validation": 0.127, "tokens": "seeded", "sync": "last", "drop_last": False, "bucket_bytes": 25_000_000, "transport": "link", "ranks": 1}
UNUSED = {"model", "workers", "link_latency_us", "link_bytes_per_s", "link_jitter"}
TOKENS_SEED, SHOWN = 7, 64  # as in probes/batch_scaling.c
GOLDEN = 0x9E3779B97F4A7C15
PARTS = ("data", "forward", "loss", "backward", "optimizer")

torch = np = None
import_ns = 0


def case_of(request):
    case = {**axes_of(request, KNOWN, UNUSED), "attention": "auto", "recompute": "none", "weights": "seeded"}
    if case["transport"] == "self":
        case["ranks"] = 1
    elif case["transport"] != "mpi":
        raise Skip("the ranks of this peer are processes over gloo: --transport mpi, or self for one rank")
    if case["dtype"] != "fp32":
        raise Skip("this peer supports only fp32: -a dtype=fp32")
    if request["device"] != "cpu":
        raise Skip("this peer measures epochs on the CPU only")
    case["micro"] = case["batch"] if case["batch_of"] == "all" else case["batch"] * case["ranks"]
    case["own"] = case["micro"] // case["ranks"]
    case["accum"] = case["global_batch"] // case["micro"]
    if case["samples"] % case["micro"] and not case["drop_last"]:
        raise Skip("the ranks of DistributedDataParallel need equal micro-batches: samples a multiple of those of a micro-step, or drop_last=on")
    case["steps"] = case["samples"] // case["micro"]
    case["held_out"] = int(case["samples"] * case["validation"])
    return case


# --- data ---

class Seeded:
    def __init__(self, case):
        self.case = case

    def __getitem__(self, i):
        start = transformer.mixed(np.uint64(TOKENS_SEED + i + 1))
        x = transformer.mixed(start + np.arange(1, self.case["seq_len"] + 2, dtype=np.uint64) * np.uint64(GOLDEN))
        return ((x >> np.uint64(11)).astype(np.float64) * 2.0**-53 * self.case["vocab"]).astype(np.int64)


class Stored:
    def __init__(self, case):
        path = case["tokens"].rpartition("#")[0]  # behind it is the digest of its contents
        try:
            self.all = np.memmap(path, dtype="<u4" if path.endswith(".u32") else "<u2", mode="r")
        except (OSError, ValueError) as e:
            raise Refused("%s cannot be read: %s" % (path, e))
        self.seq = case["seq_len"]

    def __getitem__(self, i):
        return self.all[i * self.seq:(i + 1) * self.seq + 1].astype(np.int64)


# --- one rank ---

class Model:
    """The decoder of shared.transformer, with logits and loss apart."""

    def __init__(self, case):
        p = transformer.parameters(case, "cpu")
        turns = transformer.turns(case, "cpu")

        class Decoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for name, w in p.items():
                    self.register_parameter(name.replace(".", "/"), w)

            def forward(self, tokens):
                w = {name.replace("/", "."): v for name, v in self.named_parameters()}
                functional = torch.nn.functional
                x = functional.embedding(tokens, w[transformer.EMBEDDING])
                for i in range(case["layers"]):
                    x = transformer.block(w, i, x, case, *turns, None)
                n = functional.rms_norm(x, (case["d_model"],), w[transformer.NORM], transformer.EPS)
                return functional.linear(n, w[transformer.HEAD])

        self.plain = Decoder()
        self.wrapped = self.plain
        if case["ranks"] > 1:
            self.wrapped = torch.nn.parallel.DistributedDataParallel(self.plain, bucket_cap_mb=case["bucket_bytes"] / 2**20, gradient_as_bucket_view=True)


class Trial:
    def __init__(self, case, threads, rank):
        torch.set_num_threads(threads or max(1, len(__import__("os").sched_getaffinity(0)) // case["ranks"]))
        self.case, self.rank = case, rank
        self.data = Seeded(case) if case["tokens"] == "seeded" else Stored(case)
        self.model = Model(case)
        self.optimizer = torch.optim.AdamW(self.model.plain.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
        self.losses = None

    def samples(self, begin, end, k):
        first = begin + (k * self.case["ranks"] + self.rank) * self.case["own"]
        rows = np.stack([self.data[i] for i in range(first, min(first + self.case["own"], end))]) if first < end else None
        return rows if rows is None else (torch.from_numpy(rows[:, :-1].copy()), torch.from_numpy(rows[:, 1:].copy()).flatten())

    def first_step(self):
        tokens, targets = self.samples(0, self.case["samples"], 0)
        torch.nn.functional.cross_entropy(self.model.wrapped(tokens).flatten(0, 1), targets).backward()
        self.optimizer.zero_grad(set_to_none=True)

    def micro_step(self, k, window, spent, losses):
        clock, cross_entropy = time.perf_counter_ns, torch.nn.functional.cross_entropy
        last = k + 1 == self.case["steps"] or (k + 1) % self.case["accum"] == 0
        at = [clock()]
        tokens, targets = self.samples(0, self.case["samples"], k)
        at.append(clock())
        apart = self.case["ranks"] > 1 and self.case["sync"] == "last" and not last
        with self.model.wrapped.no_sync() if apart else contextlib.nullcontext():
            logits = self.model.wrapped(tokens)
            at.append(clock())
            loss = cross_entropy(logits.flatten(0, 1), targets)
            at.append(clock())
            (loss / window).backward()
        at.append(clock())
        losses.append(loss.detach())
        if last:
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        at.append(clock())
        for i in range(len(PARTS)):
            spent[i] += at[i + 1] - at[i]

    def validate(self):
        case, cross_entropy = self.case, torch.nn.functional.cross_entropy
        with torch.no_grad():
            for k in range(-(-case["held_out"] // case["micro"])):
                found = self.samples(case["samples"], case["samples"] + case["held_out"], k)
                if found:
                    cross_entropy(self.model.plain(found[0]).flatten(0, 1), found[1])

    def epoch(self):
        """(data, forward, loss, backward, optimizer, training, validation) in ns."""
        case, spent, losses = self.case, [0] * len(PARTS), []
        began = time.perf_counter_ns()
        for k in range(case["steps"]):
            window = min(case["accum"], case["steps"] - k // case["accum"] * case["accum"])
            self.micro_step(k, window, spent, losses)
        between = time.perf_counter_ns()
        self.validate()
        if self.losses is None:
            size = case["accum"]
            self.losses = [float(torch.stack(losses[i:i + size]).mean()) for i in range(0, len(losses), size)][:SHOWN]
        return (*spent, between - began, time.perf_counter_ns() - between)


# --- ranks and what is told ---

def load(module):
    global torch, np
    torch = transformer.torch = module
    np = transformer.np = imported("numpy")
    ddp.load(module)


def follow():
    import torch as module
    load(module)
    ddp.join(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    while True:
        order = [None]
        ddp.dist.broadcast_object_list(order, 0)
        if order[0] is None:
            return
        case, threads = order[0]
        trial = Trial(case, threads, ddp.dist.get_rank())
        trial.first_step()
        while ddp.agreed(0):
            ddp.slowest(trial.epoch())


def measure(wire, request):
    case, threads = case_of(request), request.get("device_options", {}).get("threads", 0)
    several, marks = case["ranks"] > 1, [time.perf_counter_ns()]
    if several:
        ddp.ranks_of(case["ranks"], "shared.epoch").tell((case, threads))
    marks.append(time.perf_counter_ns())
    trial = Trial(case, threads, 0)
    marks.append(time.perf_counter_ns())
    trial.first_step()
    marks.append(time.perf_counter_ns())

    def iterate():
        if not several:
            return trial.epoch()
        ddp.agreed(1)
        return ddp.slowest(trial.epoch())

    cut, rows, reason = timed(request.get("stop", {}), iterate)
    if several:
        ddp.agreed(0)
    columns = dict(zip(PARTS + ("training", "validation"), map(list, zip(*rows))))
    columns["epoch"] = [row[-1] + row[-2] for row in rows]
    init = {"init_load": import_ns, "init_comm": marks[1] - marks[0], "init_weights": marks[2] - marks[1], "init_first_step": marks[3] - marks[2]}
    columns.update({name: [ns] * len(rows) for name, ns in init.items()}, init=[sum(init.values())] * len(rows))
    columns["total"] = [ns + sum(init.values()) for ns in columns["epoch"]]
    for name, times in columns.items():
        if name != "validation" or case["held_out"]:
            wire.times(name + "_ns", times, cut, "mark" if name.startswith(("init", "total")) else "region")
    for name, n in {"micro_steps": case["steps"], "accum": case["accum"], "optimizer_steps": -(-case["steps"] // case["accum"]),
                    "trained_tokens": case["steps"] * case["micro"] * case["seq_len"], "padding_tokens": 0}.items():
        wire.metric(name, "1", "none", **{"class": "exact"})
        wire.samples(name, "steady", 0, [n])
    wire.note("losses", trial.losses)
    wire.checked(request, "losses recorded for comparison")
    wire.stopped(reason, cut)


def of():
    """measure(wire, request, torch) of batch-scaling."""
    def epochs(wire, request, module):
        global import_ns
        from shared import torch_run
        import_ns = torch_run.import_ns
        load(module)
        device_of(request)
        measure(wire, request)

    return epochs


if __name__ == "__main__":
    follow()
