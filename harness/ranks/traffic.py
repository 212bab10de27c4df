# SPDX-License-Identifier: Apache-2.0
"""Convert the calls of an operation to slices for agents, and the final arrays of agents to results.

Arrays are counted in items of 8 bytes, so that no slice cuts an element of any type. Blocks are padded to
whole items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from emulation.traffic.collectives.registry import find
from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.copies import Block, SlicedCopies
from emulation.traffic.schedule.goals import Range
from emulation.traffic.schedule.schedule import Schedule, SlicedTraffic, slice_schedule
from harness.ranks.calls import BLOCKS, WHOLE, Call, Kind
from harness.run.collectives.schedule import schedule_of
from harness.scenario.schema import ELEMENT_BYTES, Collective
from topologies import Fabric
from topologies.errors import RailyardError

__all__ = ["Traffic", "traffic_of"]

_ITEM = 8
_WORDS = _ITEM // ELEMENT_BYTES

Bytes = NDArray[np.uint8]


class Traffic(Protocol):
    """Slices of an operation, with conversions from calls to arrays and from arrays to results."""

    @property
    def sliced(self) -> SlicedTraffic:
        """Slices and plans of all members."""
        ...

    def array(self, rank: int, call: Call) -> Bytes:
        """Return the initial array of a member's agent."""
        ...

    def result(self, rank: int, call: Call, array: Bytes) -> bytes:
        """Return the result of a member's call, taken from the final array of its agent."""
        ...


def traffic_of(fabric: Fabric, members: Sequence[str], calls: Sequence[Call], wanted: Collective) -> Traffic:
    """Return the traffic of an operation.

    The operation uses the algorithm of `wanted` if `wanted` has its kind, otherwise the first algorithm for
    its kind. If this algorithm does not suit the members, the algorithm `direct` takes its place.

    `members` has the node of each member, and `calls` its call. The collective `wanted` of the scenario gives
    the algorithm and the payload of a frame.
    """
    call = calls[0]
    if call.kind in WHOLE:
        items = -(-max(1, call.block) // _ITEM)
        return _Whole(_sliced(_schedule(fabric, members, call, items, wanted), call, wanted))
    if call.kind in BLOCKS:
        items = -(-max(1, call.block) // _ITEM) * len(members)
        for algorithm in (None, "direct"):
            schedule = _schedule(fabric, members, call, items, wanted, algorithm)
            pieces = schedule.purpose[0].pieces
            if all(sum(length for _, length in piece) * len(members) == items for piece in pieces):
                break
        return _Blocks(_sliced(schedule, call, wanted), pieces, call.block)
    return _copies(calls, wanted.payload_bytes // ELEMENT_BYTES)


def _schedule(
    fabric: Fabric,
    members: Sequence[str],
    call: Call,
    items: int,
    wanted: Collective,
    algorithm: str | None = None,
) -> Schedule:
    kind: Kind = call.kind
    name = WHOLE.get(kind) or BLOCKS[kind]
    if algorithm is None:
        algorithm = wanted.algorithm if wanted.kind == name else find(name).algorithms[0].name
    given = wanted if wanted.kind == name else Collective(payload_bytes=wanted.payload_bytes)
    changes = {"kind": name, "algorithm": algorithm, "elements": items, "root": call.root, "members": None}
    chosen = given.model_copy(update=changes)
    try:
        return schedule_of(fabric, members, chosen)
    except RailyardError:
        if algorithm == "direct":
            raise
        return _schedule(fabric, members, call, items, wanted, "direct")


def _sliced(schedule: Schedule, call: Call, wanted: Collective) -> SlicedTraffic:
    """Slice a schedule, with lengths in items; its reductions use the operation of `call`."""
    transfers = tuple(
        replace(
            transfer,
            offset=transfer.offset * _WORDS,
            length=transfer.length * _WORDS,
            shift=transfer.shift * _WORDS,
            op=call.op if transfer.op is Combine.REDUCE else transfer.op,
        )
        for transfer in schedule.transfers
    )
    words = Schedule(schedule.name, schedule.ranks, schedule.elements * _WORDS, transfers)
    payload = wanted.payload_bytes // _ITEM * _WORDS
    return slice_schedule(words, max(_WORDS, payload), overlap=wanted.overlap)


@final
@dataclass(frozen=True)
class _Whole:
    """Traffic of an operation on a single array per member, such as an all_reduce."""

    sliced: SlicedTraffic

    def array(self, rank: int, call: Call) -> Bytes:
        array = np.zeros(self.sliced.elements_of(rank) * ELEMENT_BYTES, np.uint8)
        array[: len(call.data)] = np.frombuffer(call.data, np.uint8)
        return array

    def result(self, rank: int, call: Call, array: Bytes) -> bytes:
        if call.kind == "barrier" or (call.kind == "reduce" and rank != call.root):
            return b""
        return array[: call.block].tobytes()


@final
@dataclass(frozen=True)
class _Blocks:
    """Traffic of an all_gather or reduce_scatter: the array has a block for each member.

    `pieces[member]` are the ranges of the member's block in the array, in items; `block` is its size in
    bytes.
    """

    sliced: SlicedTraffic
    pieces: Sequence[Sequence[Range]]
    block: int

    def array(self, rank: int, call: Call) -> Bytes:
        array = np.zeros(self.sliced.elements_of(rank) * ELEMENT_BYTES, np.uint8)
        given = np.frombuffer(call.data, np.uint8)
        owners = [rank] if call.kind == "all_gather" else range(len(self.pieces))
        for index, owner in enumerate(owners):
            block = np.zeros(-(-max(1, self.block) // _ITEM) * _ITEM, np.uint8)
            block[: self.block] = given[index * self.block : (index + 1) * self.block]
            done = 0
            for offset, length in self.pieces[owner]:
                array[offset * _ITEM : (offset + length) * _ITEM] = block[done : done + length * _ITEM]
                done += length * _ITEM
        return array

    def result(self, rank: int, call: Call, array: Bytes) -> bytes:
        owners = range(len(self.pieces)) if call.kind == "all_gather" else [rank]
        return b"".join(self._block(array, owner) for owner in owners)

    def _block(self, array: Bytes, owner: int) -> bytes:
        parts = (array[low * _ITEM : (low + length) * _ITEM] for low, length in self.pieces[owner])
        return np.concatenate([*parts])[: self.block].tobytes()


@final
class _Copies:
    """Traffic of a copy operation: all_to_all, gather, scatter, send.

    A member's array has its outgoing blocks first, then its incoming blocks. `sizes[s][t]` is the number of
    bytes from member s to member t.
    """

    def __init__(self, name: str, sizes: Sequence[Sequence[int]], slice_elements: int) -> None:
        self._sizes = sizes
        ranks = range(len(sizes))
        # Offsets in words of the block from s to t: _out[s][t] in the array of s, _in[t][s] in that of t.
        self._out = [_ends([_words(sizes[s][t]) for t in ranks]) for s in ranks]
        self._in = [
            [self._out[t][-1] + end for end in _ends([_words(sizes[s][t]) for s in ranks])] for t in ranks
        ]
        blocks = [
            Block(s, t, self._out[s][t], self._in[t][s], _words(sizes[s][t])) for s in ranks for t in ranks
        ]
        self.sliced: SlicedTraffic = SlicedCopies(
            name, [ends[-1] for ends in self._in], blocks, slice_elements
        )

    def array(self, rank: int, call: Call) -> Bytes:
        array = np.zeros(self.sliced.elements_of(rank) * ELEMENT_BYTES, np.uint8)
        given, done = np.frombuffer(call.data, np.uint8), 0
        for target, size in enumerate(self._sizes[rank]):
            block, done = given[done : done + size], done + size
            offset = self._in[rank][rank] if target == rank else self._out[rank][target]
            array[offset * ELEMENT_BYTES : offset * ELEMENT_BYTES + size] = block
        return array

    def result(self, rank: int, call: Call, array: Bytes) -> bytes:
        offsets = [offset * ELEMENT_BYTES for offset in self._in[rank]]
        parts = [array[offsets[s] : offsets[s] + row[rank]] for s, row in enumerate(self._sizes)]
        return np.concatenate(parts).tobytes()


def _ends(lengths: Sequence[int]) -> list[int]:
    return list(accumulate(lengths, initial=0))


def _words(size: int) -> int:
    return -(-size // ELEMENT_BYTES)


def _copies(calls: Sequence[Call], slice_elements: int) -> _Copies:
    """Return the traffic of an all_to_all, a gather, a scatter or a send."""
    call, ranks = calls[0], range(len(calls))
    sizes: list[list[Any]] = [[0 for _ in ranks] for _ in ranks]
    for rank in ranks:
        if call.kind == "all_to_all":
            sizes[rank] = [*calls[rank].sent]
        elif call.kind == "gather":
            sizes[rank][call.root] = call.block
        elif rank == call.root:
            sizes[rank] = [call.block if call.kind == "scatter" or rank != target else 0 for target in ranks]
    return _Copies(call.kind, sizes, slice_elements)
