"""Trains with any number of ranks from a checkpoint; prints loss and number of ranks of each step."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

checkpoint, steps = Path(sys.argv[1]) / "checkpoint.pt", int(sys.argv[2])
dist.init_process_group(os.environ.get("BACKEND", "railyard"))
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = torch.randn(steps, 12, 16)
first = 0
if checkpoint.exists():
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    first = saved["step"]
for step in range(first, steps):
    optimizer.zero_grad()
    own = samples[step][rank::size]
    loss = (model(own) - own.sum(dim=1, keepdim=True)).square().sum() / 12
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
    total = loss.detach()
    dist.all_reduce(total)
    if rank == 0:
        again = os.environ["TORCHELASTIC_RESTART_COUNT"]
        print(f"step {step} loss {float(total)} ranks {size} restart {again}", flush=True)
        new = checkpoint.with_suffix(".new")
        torch.save({"model": model.state_dict(), "step": step + 1}, new)
        new.replace(checkpoint)
    dist.barrier()
dist.destroy_process_group()
