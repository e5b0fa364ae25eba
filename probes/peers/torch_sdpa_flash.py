#!/usr/bin/env python3
"""A peer of attention-scaling: scaled_dot_product_attention by its flash kernel."""
from shared.torch_run import run
from shared.attention import of as attention

run("torch-sdpa-flash", {"attention-scaling": attention("flash")})
