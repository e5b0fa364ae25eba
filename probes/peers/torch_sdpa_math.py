#!/usr/bin/env python3
"""A peer of attention-scaling: scaled_dot_product_attention by its plain backend."""
from shared.torch_run import run
from shared.attention import of as attention

run("torch-sdpa-math", {"attention-scaling": attention("math")})
