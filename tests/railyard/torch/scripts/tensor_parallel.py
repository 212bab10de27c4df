# SPDX-License-Identifier: Apache-2.0
"""An MLP split by columns, then by rows, with DTensor; rank 0 prints the loss of each step."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 128), nn.Linear(128, 32)

    def forward(self, values):
        return self.down(nn.functional.relu(self.up(values)))


def main(backend, steps=3):
    dist.init_process_group(backend)
    torch.manual_seed(1)
    model = nn.Sequential(Block(), Block())
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    data = torch.Generator().manual_seed(7)
    for _ in range(steps):
        inputs, targets = torch.randn(16, 32, generator=data), torch.randn(16, 32, generator=data)
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print("loss", loss.item().hex(), flush=True)
    dist.destroy_process_group()


main(sys.argv[1], *map(int, sys.argv[2:]))
