# SPDX-License-Identifier: Apache-2.0
"""A pipeline of one stage a rank with `torch.distributed.pipelining`; rank 0 prints the loss of each step."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B


def main(backend, steps=3):
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(24, 24), nn.Tanh()) for _ in range(size)]
    stage = PipelineStage(layers[rank], rank, size, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=size, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(layers[rank].parameters(), lr=0.5)
    data = torch.Generator().manual_seed(7)
    for _ in range(steps):
        inputs = torch.randn(4 * size, 24, generator=data)
        targets = torch.randn(4 * size, 24, generator=data)
        losses = []
        if rank == 0:
            schedule.step(inputs)
        elif rank == size - 1:
            schedule.step(target=targets, losses=losses)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        loss = torch.stack(losses).mean().detach() if losses else torch.zeros(())
        dist.broadcast(loss, size - 1)
        if rank == 0:
            print("loss", loss.item().hex(), flush=True)
    dist.destroy_process_group()


main(sys.argv[1], *map(int, sys.argv[2:]))
