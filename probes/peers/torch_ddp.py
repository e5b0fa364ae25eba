#!/usr/bin/env python3
"""PyTorch's ddp-bucket: DistributedDataParallel over gloo: buckets of bucket_bytes, averaged during backward."""
from _torch import run
from _torch_ddp import of

run("torch-ddp", {"ddp-bucket": of("ddp")})
