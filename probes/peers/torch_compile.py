#!/usr/bin/env python3
"""A peer of attention-scaling and mixed-precision: the same operations through torch.compile, fp32 products exact."""
from shared.torch_run import run
from shared.attention import of as attention
from shared.transformer import of as step

run("torch-compile", {"attention-scaling": attention("compile"), "mixed-precision": step("compile")})
