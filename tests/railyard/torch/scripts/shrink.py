# SPDX-License-Identifier: Apache-2.0
"""Sums over a group that goes on without the ranks that it loses; rank 0 prints each sum and its members."""

import re
import sys

import torch
import torch.distributed as dist

import railyard.torch


def main(steps):
    dist.init_process_group("railyard")
    rank = dist.get_rank()
    group, members = None, list(range(dist.get_world_size()))
    step = 0
    while step < steps:
        value = torch.full((4096,), rank + 1)
        try:
            dist.all_reduce(value, group=group)
        except dist.DistBackendError as error:
            lost = int(re.search(r"rank (\d+) ", str(error))[1])
            members.remove(lost)
            group = dist.new_group(members, use_local_synchronization=True)
            continue
        railyard.torch.compute(us=20)
        if rank == 0:
            print("sum", value[0].item(), *members, flush=True)
        step += 1
    dist.destroy_process_group()


main(int(sys.argv[1]))
