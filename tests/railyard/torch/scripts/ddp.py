"""DDP on a small model, twenty steps; prints the loss of each as a hexadecimal float."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import railyard.torch


def main(backend, steps=20):
    dist.init_process_group(backend)
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)), bucket_cap_mb=0.02
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        inputs, targets = torch.randn(16, 64, generator=data), torch.randn(16, 8, generator=data)
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach())
        if backend == "railyard":
            railyard.torch.note(loss=loss.item())
        if rank == 0:
            print("loss", loss.item().hex(), flush=True)
    dist.destroy_process_group()


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20)
