#!/usr/bin/env python3
"""PyTorch's ddp-bucket: all gradients flattened, one all-reduce over gloo after backward, copied back."""
from _torch import run
from _torch_ddp import of

run("torch-ddp-flat", {"ddp-bucket": of("flat")})
