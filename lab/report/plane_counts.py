# SPDX-License-Identifier: Apache-2.0
"""Frames that changed from one of a NIC's planes to another, as switches counted them (HPN)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from controller.p4runtime.client import P4RuntimeClient
from controller.recovery.lacp import tor_numbers
from emulation.testbed import SwitchReport
from topologies import Fabric

__all__ = ["cross_plane_frames", "plane_of"]


def plane_of(fabric: Fabric) -> dict[str, int]:
    """By ToR, and by switch that ToRs of one number alone lead to, that number: a NIC's port, from 0."""

    def find() -> dict[str, int]:
        below: dict[str, set[int]] = {}
        for (tor, _), number in tor_numbers(fabric).items():
            below.setdefault(tor, set()).add(number)
        for node in sorted(fabric.nodes, key=lambda node: node.tier):
            for far in fabric.neighbours(node.name) if node.tier else ():
                if fabric.node(far).tier > node.tier:
                    below.setdefault(far, set()).update(below.get(node.name, ()))
        return {name: next(iter(numbers)) for name, numbers in below.items() if len(numbers) == 1}

    return fabric.cached("plane of", find)


def cross_plane_frames(fabric: Fabric, client: P4RuntimeClient) -> int | None:
    """At least so many came to a switch from one plane and left it to another; None where NICs have a port.

    Counters tell how many frames came from each plane and how many left to it, not which: of two that
    change places none is counted.
    """
    if max(tor_numbers(fabric).values(), default=0) == 0:
        return None
    planes = plane_of(fabric)
    sent: dict[str, Mapping[int, int]] = {}

    def frames(near: str, far: str) -> int:
        if near not in sent:
            sent[near] = SwitchReport.of(client.read_counter(near, "tx_by_port_vl"), 0, 0).sent
        return sum(sent[near].get(port, 0) for port in fabric.ports_to(near, far))

    crossed = 0
    for node in fabric.nodes:
        near = [far for far in fabric.neighbours(node.name) if node.tier and far in planes]
        if len({planes[far] for far in near}) > 1:
            more: Counter[int] = Counter()
            for far in near:
                more[planes[far]] += frames(node.name, far) - frames(far, node.name)
            crossed += sum(count for count in more.values() if count > 0)
    return crossed
