#!/usr/bin/env python3
"""A peer of attention-scaling: scaled_dot_product_attention by the kernel that PyTorch chooses."""
from _torch import run
from _torch_attention import of as attention

run("torch-sdpa", {"attention-scaling": attention("default")})
