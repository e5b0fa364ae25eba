#!/usr/bin/env python3
"""A peer of attention-scaling: PyTorch's operations one by one, fp32 products exact."""
from _torch_attention import run

run("torch-eager", "eager")
