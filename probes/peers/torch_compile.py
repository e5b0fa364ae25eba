#!/usr/bin/env python3
"""A peer of attention-scaling: the same operations through torch.compile, fp32 products exact."""
from _torch_attention import run

run("torch-compile", "compile")
