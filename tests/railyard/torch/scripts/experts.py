# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts, one a rank: a gate chooses the expert of each token, so all-to-all is uneven."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.nn.functional import all_to_all_single

WIDTH = 16


class Experts(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gate = nn.Linear(WIDTH, size)
        self.expert = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, tokens):
        size = dist.get_world_size()
        weight, chosen = self.gate(tokens).softmax(1).max(1)
        order = chosen.argsort(stable=True)
        sent = chosen.bincount(minlength=size)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        out, back = sent.tolist(), received.tolist()
        arrived = all_to_all_single(tokens.new_empty(sum(back), WIDTH), tokens[order], back, out)
        returned = all_to_all_single(torch.empty_like(tokens), self.expert(arrived), out, back)
        return tokens + weight[:, None] * torch.empty_like(tokens).index_copy(0, order, returned)


def main(backend, steps=3):
    dist.init_process_group(backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = Experts(size)
    torch.manual_seed(rank)
    for layer in (model.expert[0], model.expert[2]):
        layer.reset_parameters()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        tokens, targets = torch.randn(24, WIDTH, generator=data), torch.randn(24, WIDTH, generator=data)
        loss = nn.functional.mse_loss(model(tokens), targets)
        loss.backward()
        for parameter in model.gate.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= size
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0:
            print("loss", total.item().hex(), flush=True)
    dist.destroy_process_group()


main(sys.argv[1], *map(int, sys.argv[2:]))
