# SPDX-License-Identifier: Apache-2.0
"""FSDP2: a stack of layers, each sharded by `fully_shard`; rank 0 prints the loss of each step."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main(backend, steps=3):
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48)) for _ in range(2)]
    model = nn.Sequential(*layers, nn.Linear(48, 8))
    mesh = init_device_mesh("cpu", (size,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        inputs, targets = torch.randn(8, 48, generator=data), torch.randn(8, 8, generator=data)
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print("loss", total.item().hex(), flush=True)
    dist.destroy_process_group()


main(sys.argv[1], *map(int, sys.argv[2:]))
