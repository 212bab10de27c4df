# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer with DistributedDataParallel, a rank a sequence; rank 0 prints each loss.

Nothing here knows of Railyard but the backend's name and the note for its report. With --checkpoint FILE
rank 0 saves the model after each step, and a later run goes on from there.
"""

import argparse
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss, scaled_dot_product_attention
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

MEGABYTE = 2**20


class Layer(nn.Module):
    """Attention and a feed-forward part, without biases."""

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.projections = nn.ModuleList(nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.up = nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = nn.Linear(4 * hidden, hidden, bias=False)
        self.norm = nn.LayerNorm(hidden, elementwise_affine=False)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Map (1, tokens, hidden) to the same shape."""
        query, key, value = (
            layer(self.norm(values)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in self.projections[:3]
        )
        attended = scaled_dot_product_attention(query, key, value, is_causal=True)
        values = values + self.projections[3](attended.transpose(1, 2).flatten(2))
        return values + self.down(nn.functional.gelu(self.up(self.norm(values))))


class Transformer(nn.Module):
    """Layers whose activations are computed again in the backward pass."""

    def __init__(self, layers: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(layers))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Map (1, tokens, hidden) to the same shape."""
        with set_checkpoint_early_stop(False):  # the whole layer is computed again
            for layer in self.layers:
                values = checkpoint(layer, values, use_reentrant=False)
        return values


def main() -> None:
    """Train for the steps that the arguments ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="railyard")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=64, help="of the sequence of a rank")
    parser.add_argument("--checkpoint", type=Path)
    given = parser.parse_args()
    dist.init_process_group(given.backend)
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = Transformer(given.layers, given.hidden, heads=4)
    layer_bytes = sum(parameter.numel() * 4 for parameter in model.layers[0].parameters())
    model = DistributedDataParallel(model, bucket_cap_mb=layer_bytes / MEGABYTE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    begin = 0
    if given.checkpoint and given.checkpoint.exists():
        saved = torch.load(given.checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        begin = saved["step"]
    for step in range(begin, given.steps):
        data = torch.Generator().manual_seed(1000 * step + rank)
        values, targets = torch.randn(2, 1, given.tokens, given.hidden, generator=data)
        values.requires_grad_()  # as if an embedding came before
        loss = mse_loss(model(values), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if given.backend == "railyard":
            from railyard.torch import note

            note(loss=total.item())
        if rank == 0:
            print("loss", total.item().hex(), flush=True)
            if given.checkpoint:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
                torch.save(state, given.checkpoint)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
