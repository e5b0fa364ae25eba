#!/usr/bin/env python3
"""A peer of attention-scaling: PyTorch's operations one by one, fp32 products in TF32."""
from _torch_attention import run

run("torch-eager-tf32", "eager", tf32=True)
