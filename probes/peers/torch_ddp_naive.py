#!/usr/bin/env python3
"""PyTorch's ddp-bucket: one all-reduce a parameter over gloo, after backward."""
from _torch import run
from _torch_ddp import of

run("torch-ddp-naive", {"ddp-bucket": of("naive")})
