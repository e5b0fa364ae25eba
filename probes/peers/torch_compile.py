#!/usr/bin/env python3
"""A peer of attention-scaling and mixed-precision: the same operations through torch.compile, fp32 products exact."""
from _torch import run
from _torch_attention import of as attention
from _torch_transformer import of as step

run("torch-compile", {"attention-scaling": attention("compile"), "mixed-precision": step("compile")})
