# SPDX-License-Identifier: Apache-2.0
"""AllReduce of PyTorch over Gloo, checked on every rank; `railyard up --launch` starts it on each host.

Its environment has the rank, the number of ranks and the address of rank 0, as torchrun sets them.
"""

import sys
import time

import torch  # pyright: ignore[reportMissingImports]
import torch.distributed as dist  # pyright: ignore[reportMissingImports]

ELEMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()

# Element i of rank r is (i mod 1000) x (r + 1): the sum is exact in float32.
base = (torch.arange(ELEMENTS) % 1000).to(torch.float32)
mine = base * (rank + 1)
dist.barrier()
began = time.monotonic()
dist.all_reduce(mine)
seconds = time.monotonic() - began

expected = base * (ranks * (ranks + 1) // 2)
wrong = int((mine != expected).sum())
print(f"rank {rank} of {ranks}: {ELEMENTS} elements in {seconds:.2f} s, {wrong} wrong", flush=True)
dist.barrier()
dist.destroy_process_group()
sys.exit(1 if wrong else 0)
