#!/usr/bin/env python3
"""A peer of attention-scaling and mixed-precision: PyTorch's operations one by one, fp32 products exact."""
from _torch import run
from _torch_attention import of as attention
from _torch_transformer import of as step

run("torch-eager", {"attention-scaling": attention("eager"), "mixed-precision": step("eager")})
