#!/usr/bin/env python3
"""A peer of attention-scaling: scaled_dot_product_attention by its memory-efficient kernel."""
from _torch import run
from _torch_attention import of as attention

run("torch-sdpa-efficient", {"attention-scaling": attention("efficient")})
