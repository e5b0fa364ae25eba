"""What the PyTorch peers of attention-scaling share: one case, timed by CUDA events beside the host's clock.

A peer says how attention is computed (how="eager", "compile", or an SDPA backend); the case's dtype says in what: tf32 is fp32 whose
products may be TF32."""
import contextlib
import time
import warnings

from shared.torch_run import clock, device_of, startup
from shared.wire import Refused, Skip, axes_of, timed

KNOWN = {"batch": 8, "heads": 1, "d_model": 64, "seq_len": 1024, "causal": False, "dtype": "fp32", "math": "ieee"}
SDPA = {"default": None, "math": "MATH", "efficient": "EFFICIENT_ATTENTION", "flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
TF32 = ("eager", "compile", "math")  # made of products that PyTorch's switch is for; other kernels have their own
ALLOWED = {"fp32": 1e-4, "tf32": 2e-2, "bf16": 5e-2}  # largest difference from fp64, of numbers whose size is about 1

torch = None  # set at the first request: a Python without it skips


def shape_of(request):
    """The axes of a request; those of the shape are checked."""
    case = axes_of(request, KNOWN)
    for axis in ("batch", "heads", "d_model", "seq_len"):
        if type(case[axis]) is not int or case[axis] < 1:
            raise Refused("axis %s: %r is not a positive integer" % (axis, case[axis]))
    if case["d_model"] % case["heads"]:
        raise Skip("d_model is not a multiple of heads")
    return case


def case_of(request, how):
    """The axes of a request, checked."""
    case = shape_of(request)
    if case["dtype"] not in ALLOWED or case["math"] != "ieee":
        raise Skip("this peer supports fp32, tf32 and bf16 with ieee products, not %s with %s" % (case["dtype"], case["math"]))
    if case["dtype"] == "tf32" and how not in TF32:
        raise Skip("torch's %s attention supports only dtype=fp32" % how)
    return case


def plain(q, k, v, scale, hidden):
    """What a person writes; hidden is the mask of keys that may not be seen, or None."""
    scores = q @ k.transpose(-2, -1) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


def fused(q, k, v, scale, hidden):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=hidden is not None, scale=scale)


def attention_of(how):
    """A function like plain()."""
    if how == "eager":
        return plain
    if how == "compile":
        from torch import _dynamo
        _dynamo.reset()  # or past a few shapes it would run eagerly and not say so
        return torch.compile(plain, dynamic=False)
    return fused


def backend_of(how):
    """Selects SDPA's kernel for a whole case: selecting it for each call would be timed. By default PyTorch chooses."""
    if SDPA.get(how) is None:
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return sdpa_kernel(getattr(SDPBackend, SDPA[how]))


def mask_of(how, causal, seq, device):
    """SDPA gets is_causal instead of a mask, which would take seq_len x seq_len bytes."""
    if not causal or how in SDPA:
        return causal or None
    return torch.ones(seq, seq, dtype=torch.bool, device=device).triu(1)


def inputs_of(shape, dtype, device, seed):
    """q, k, v with gradients, and the output's gradient."""
    generator = torch.Generator(device=device).manual_seed(seed)
    made = [torch.randn(shape, generator=generator, device=device, dtype=torch.float32).to(dtype) for _ in range(4)]
    return [x.requires_grad_() for x in made[:3]], made[3]


def step(attend, qkv, d_o, scale, hidden):
    out = attend(*qkv, scale, hidden)
    return (out, *torch.autograd.grad(out, qkv, d_o))


def check(how, dtype, causal, dim, device, allowed):
    """Output and gradients at 33 tokens against fp64. A kernel that this shape does not have skips the case, with torch's reasons."""
    qkv, d_o = inputs_of((2, 1, 33, dim), dtype, device, 7)
    wide = [x.detach().double().cpu().requires_grad_() for x in qkv]
    want = step(plain, wide, d_o.double().cpu(), dim**-0.5, mask_of("eager", causal, 33, "cpu"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            got = step(attention_of(how), qkv, d_o, dim**-0.5, mask_of(how, causal, 33, device))
        except RuntimeError as e:
            if "No available kernel" not in str(e):
                raise
            why = "; ".join(str(w.message).split("(Triggered")[0].strip() for w in said)
            raise Skip("torch's %s kernel does not support this case: %s" % (how, why or e)) from None
    worst = max(float((g.detach().double().cpu() - w.detach()).abs().max()) for g, w in zip(got, want))
    if not worst <= allowed:
        raise Refused("torch's %s attention differs by %g from fp64 at seq_len 33, d_model %d; allowed is %g" % (how, worst, dim, allowed))


def compile_ns(work, device):
    """What the first forward and backward pass take, which compile."""
    began = time.perf_counter_ns()
    step(*work)
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter_ns() - began


def measure_time(wire, request, attend, qkv, d_o, scale, hidden, device):
    watch = clock(device, 2)
    waited = []

    def iterate():
        watch.start()
        out = attend(*qkv, scale, hidden)
        watch.mark(1)
        gradients = torch.autograd.grad(out, qkv, d_o)
        watch.mark(2)
        lane, host = watch.read()
        del out, gradients
        waited.append(host)
        return lane

    cut, rows, reason = timed(request.get("stop", {}), iterate)
    for suffix, source in (("_ns", rows), ("_host_ns", waited)):
        for half, name in enumerate(("forward", "backward")):
            wire.times(name + suffix, [row[half] for row in source], cut)
    wire.stopped(reason, cut)


def measure_memory(wire, attend, qkv, d_o, scale, hidden):
    """PyTorch's allocated bytes, measured in a separate iteration."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    out = attend(*qkv, scale, hidden)
    before = torch.cuda.memory_allocated()
    gradients = torch.autograd.grad(out, qkv, d_o)
    peak = torch.cuda.max_memory_allocated()
    del out, gradients
    wire.memory("before_backward_bytes", before)
    wire.memory("peak_bytes", peak)


def measure(wire, request, how, case, device):
    dtype = torch.bfloat16 if case["dtype"] == "bf16" else torch.float32
    torch.set_float32_matmul_precision("high" if case["dtype"] == "tf32" else "highest")
    dim, causal = case["d_model"] // case["heads"], bool(case["causal"])
    if request.get("check") or how in SDPA:  # a kernel that is refused is found by trying
        check(how, dtype, causal, dim, device, ALLOWED[case["dtype"]])
    wire.checked(request, "output and gradients at seq_len 33")
    qkv, d_o = inputs_of((case["batch"], case["heads"], case["seq_len"], dim), dtype, device, request.get("seed", 1))
    work = (attention_of(how), qkv, d_o, dim**-0.5, mask_of(how, causal, case["seq_len"], device))
    startup(wire, compile_ns(work, device) if how == "compile" else None)
    measure_time(wire, request, *work, device=device)
    if device != "cpu":
        measure_memory(wire, *work)


def of(how):
    """measure(wire, request, torch) of attention-scaling."""
    def attention(wire, request, module):
        global torch
        torch = module
        case = case_of(request, how)
        device = device_of(request)
        with backend_of(how):
            measure(wire, request, how, case, device)

    return attention
