#!/usr/bin/env python3
"""A peer of attention-scaling: scaled_dot_product_attention by cuDNN."""
from _torch_attention import run

run("torch-sdpa-cudnn", "cudnn")
