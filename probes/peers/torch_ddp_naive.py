#!/usr/bin/env python3
"""PyTorch's ddp-bucket: one all-reduce a parameter over gloo, after backward."""
from shared.torch_run import run
from shared.ddp import of

run("torch-ddp-naive", {"ddp-bucket": of("naive")})
