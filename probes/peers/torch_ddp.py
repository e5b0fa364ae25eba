#!/usr/bin/env python3
"""PyTorch's ddp-bucket: DistributedDataParallel over gloo: buckets of bucket_bytes, averaged during backward."""
from shared.torch_run import run
from shared.ddp import of

run("torch-ddp", {"ddp-bucket": of("ddp")})
