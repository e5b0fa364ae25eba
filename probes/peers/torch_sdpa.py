#!/usr/bin/env python3
"""A peer of attention-scaling and extraction: scaled_dot_product_attention by the kernel that PyTorch chooses."""
from shared.torch_run import run
from shared.attention import of as attention
from shared.extraction import of as extraction

run("torch-sdpa", {"attention-scaling": attention("default"), "extraction": extraction("hidden-states", "torch-sdpa")})
