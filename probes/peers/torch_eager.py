#!/usr/bin/env python3
"""A peer of attention-scaling, extraction and mixed-precision: PyTorch's operations one by one, fp32 products exact."""
from shared.torch_run import run
from shared.attention import of as attention
from shared.extraction import of as extraction
from shared.transformer import of as step

run("torch-eager", {"attention-scaling": attention("eager"), "mixed-precision": step("eager"),
                    "extraction": extraction("hooks", "torch-eager")})
