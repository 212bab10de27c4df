# SPDX-License-Identifier: Apache-2.0
"""Checks of the values given to an agent."""

from collections import Counter
from collections.abc import Sequence

from emulation._engine import AgentArray
from emulation.errors import EmulationError
from emulation.traffic.frames.wire import MAX_PAYLOAD_BYTES
from emulation.traffic.host.iterations import MOST_FRAMES, too_many_frames
from emulation.traffic.schedule.data import Array, element_type
from emulation.traffic.schedule.schedule import SlicedTraffic

__all__ = ["check_addresses", "check_agent"]

_ITEM_BYTES = 4
_MAX_ARRAY_BYTES = 1 << 32
_MAX_CELLS = 1 << 16


def check_addresses(sliced: SlicedTraffic, addresses: Sequence[int]) -> None:
    """Raise an EmulationError unless each rank of the traffic has its own address."""
    schedule, distinct = sliced.schedule, len(set(addresses))
    if len(addresses) != schedule.ranks or distinct != schedule.ranks:
        raise EmulationError(
            f"{schedule.ranks} ranks need an address each, got {distinct} distinct addresses"
        )


def check_agent(
    rank: int,
    sliced: SlicedTraffic,
    data: Array | AgentArray,
    *,
    repeats: bool = False,
) -> None:
    """Raise an EmulationError if no agent can be made from the arguments.

    Args:
        rank: rank of the agent.
        sliced: traffic of all ranks.
        data: the rank's array.
        repeats: whether the traffic runs for several iterations.
    """
    schedule = sliced.schedule
    if not 0 <= rank < schedule.ranks:
        raise EmulationError(
            f"rank {rank} does not exist: schedule {schedule.name} has {schedule.ranks} ranks"
        )
    elements, table = sliced.elements_of(rank), sliced.table_of(rank)
    if data.shape != (elements,):
        raise EmulationError(
            f"rank {rank} has an array of shape {data.shape}, but {schedule.name} needs ({elements},)"
        )
    if elements * _ITEM_BYTES > _MAX_ARRAY_BYTES or len(table.count) > _MAX_CELLS:
        raise EmulationError(
            f"schedule {schedule.name} has {elements} elements in {len(table.count)} cells, but the "
            f"collective header counts only {_MAX_ARRAY_BYTES} bytes and {_MAX_CELLS} cells",
            remedy="use smaller arrays or fewer ranks",
        )
    if table.largest > MAX_PAYLOAD_BYTES:
        raise EmulationError(
            f"a slice has {table.largest} bytes, but a frame carries only {MAX_PAYLOAD_BYTES}",
            remedy=f"slice the schedule to {MAX_PAYLOAD_BYTES // _ITEM_BYTES} elements or fewer",
        )
    if not isinstance(data, AgentArray):
        element_type(data)
    if repeats and (frames := _most_frames(sliced, rank)) >= MOST_FRAMES:
        raise too_many_frames(frames)


def _most_frames(sliced: SlicedTraffic, rank: int) -> int:
    """Return the largest number of data frames sent by a rank to a single peer."""
    slices_of: Counter[int] = Counter()
    plans = sliced.plans_of(rank)
    for plan, count in zip(plans, sliced.table_of(rank).count, strict=True):
        slices_of[id(plan)] += count
    frames: Counter[int] = Counter()
    for key, plan in {id(plan): plan for plan in plans}.items():
        for send in (send for group in plan.releases for send in group if send.peer != rank):
            frames[send.peer] += slices_of[key]
    return max(frames.values(), default=0)
