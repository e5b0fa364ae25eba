#!/usr/bin/env python3
"""PyTorch's ddp-bucket and batch-scaling: DistributedDataParallel over gloo: buckets of bucket_bytes, averaged during backward; with sync=last
under no_sync() until the last micro-step."""
from shared import epoch
from shared.torch_run import run
from shared.ddp import of

run("torch-ddp", {"ddp-bucket": of("ddp"), "batch-scaling": epoch.of()})
