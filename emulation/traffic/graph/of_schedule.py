# SPDX-License-Identifier: Apache-2.0
"""Translation of a collective's schedule into a graph: each transfer becomes a send and a receive."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from emulation.traffic.graph.operations import ELEMENT_BYTES, Graph, Operation
from emulation.traffic.schedule.dag import Schedule, check_transfers

__all__ = ["graph_of_schedule"]


def graph_of_schedule(schedule: Schedule, members: Sequence[str]) -> Graph:
    """Return a graph with the same effect as a schedule; rank r is the node `members[r]`.

    In a step all sends come before all receives, so that a send carries what its source held before the
    step. Slices flow as in the schedule, since nothing waits for a whole operation. Several arrivals of a
    step are added to the receiver's elements one after the other, lowest rank first.

    Raises:
        EmulationError: The schedule has no transfers, since switches carry the collective out.
    """
    check_transfers(schedule, "graph")
    operations: list[Operation] = []
    steps = groupby(sorted(schedule.transfers, key=attrgetter("step", "source")), key=attrgetter("step"))
    for step, group in steps:
        transfers = list(group)
        receives = []
        for number, t in enumerate(transfers):
            source, target = members[t.source], members[t.target]
            at, size = t.offset * ELEMENT_BYTES, t.length * ELEMENT_BYTES
            # A tag of its own matches this send to its receive.
            tag = step * len(schedule.transfers) + number
            operations.append(Operation(f"s{step}.{number}", "send", source, target, size, read=at, tag=tag))
            receives.append(
                Operation(
                    f"r{step}.{number}",
                    "receive",
                    target,
                    source,
                    size,
                    write=at + t.shift * ELEMENT_BYTES,
                    combine=t.op,
                    tag=tag,
                )
            )
        operations += receives
    return Graph(schedule.name, tuple(operations))
