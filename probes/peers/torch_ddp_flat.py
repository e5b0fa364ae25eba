#!/usr/bin/env python3
"""PyTorch's ddp-bucket: all gradients flattened, one all-reduce over gloo after backward, copied back."""
from shared.torch_run import run
from shared.ddp import of

run("torch-ddp-flat", {"ddp-bucket": of("flat")})
