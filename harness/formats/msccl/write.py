# SPDX-License-Identifier: Apache-2.0
"""Convert an AllReduce or all-gather of Railyard to MSCCL's XML: threadblocks that send, or receive, by peer.

A step waits for the steps of other threadblocks that wrote or read its chunks before. A step has a single
dependency in the XML; `nop` steps before it carry further dependencies. An AllReduce works in place; an
all-gather begins with a copy of each GPU's input to its part of the output.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import gcd
from typing import Literal, final
from xml.sax.saxutils import quoteattr

from emulation.errors import EmulationError
from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.dag import Schedule, Transfer, check_transfers

__all__ = ["to_msccl"]


@final
@dataclass(slots=True)
class _Step:
    kind: str
    chunk: int
    count: int
    wait: tuple[int, int] | None = None
    awaited: bool = False


@final
@dataclass(slots=True)
class _Threadblock:
    id: int
    send: int
    receive: int
    steps: list[_Step] = field(default_factory=list)


def to_msccl(
    schedule: Schedule, name: str, collective: Literal["allreduce", "all-gather"] = "allreduce"
) -> str:
    """Return a schedule as MSCCL's XML.

    Args:
        schedule: Schedule of the collective.
        name: Name of the algorithm.
        collective: Kind of the collective.

    Raises:
        EmulationError: The schedule moves data to other positions of the array, switches carry it out, or the
            ranks of an all-gather do not begin with equal shares.
    """
    check_transfers(schedule, "XML")
    if any(transfer.shift for transfer in schedule.transfers):
        raise EmulationError(
            f"{name} moves data to other positions of the array, which cannot be written as MSCCL's XML",
            remedy="choose an AllReduce or an all-gather",
        )
    unit = reduce(gcd, (n for t in schedule.transfers for n in (t.offset, t.length)), schedule.elements)
    chunks = schedule.elements // unit
    gather = collective == "all-gather"
    positions = _gathered_positions(schedule, unit) if gather else range(chunks)
    own = chunks // schedule.ranks
    gpus = [_Gpu("o" if gather else "i") for _ in range(schedule.ranks)]
    if gather:
        for rank, gpu in enumerate(gpus):
            gpu.add("cpy", (-1, -1), rank * own, own)
    by_step: dict[int, list[Transfer]] = defaultdict(list)
    for transfer in schedule.transfers:
        by_step[transfer.step].append(transfer)
    for step in sorted(by_step):
        ranges = [(t, *part) for t in by_step[step] for part in _parts(positions, t, unit)]
        for t, first, count in ranges:
            gpus[t.source].add("s", (t.target, -1), first, count)
        for t, first, count in ranges:
            kind = "rrc" if t.op is Combine.REDUCE else "r"
            gpus[t.target].add(kind, (-1, t.source), first, count)
    head = (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="1" nchunksperloop="{chunks}" '
        f'ngpus="{schedule.ranks}" coll="{collective.replace("-", "")}" '
        f'inplace="{int(not gather)}" outofplace="{int(gather)}" minBytes="0" maxBytes="0">'
    )
    lines = [head]
    for number, gpu in enumerate(gpus):
        inputs = own if gather else chunks
        lines.append(f'  <gpu id="{number}" i_chunks="{inputs}" o_chunks="{chunks}" s_chunks="0">')
        lines += gpu.lines()
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>"]) + "\n"


def _gathered_positions(schedule: Schedule, unit: int) -> list[int]:
    """Return the index of each chunk of an all-gather in the output, with inputs ordered by rank.

    The owner of a chunk is the rank that sends it without having received it.
    """
    owners: dict[int, int] = {}
    received: set[tuple[int, int]] = set()
    for transfer in sorted(schedule.transfers, key=lambda transfer: transfer.step):
        for chunk in range(transfer.offset // unit, (transfer.offset + transfer.length) // unit):
            if (transfer.source, chunk) not in received:
                owners.setdefault(chunk, transfer.source)
            received.add((transfer.target, chunk))
    held = Counter(owners.values())
    if len(owners) * unit != schedule.elements or len(held) < schedule.ranks or len({*held.values()}) > 1:
        raise EmulationError(
            f"the ranks of {schedule.name} do not begin with equal shares of the array",
            remedy=f"give a number of elements that {schedule.ranks} divides",
        )
    own, taken = len(owners) // schedule.ranks, Counter[int]()
    positions = []
    for chunk in range(len(owners)):
        owner = owners[chunk]
        positions.append(owner * own + taken[owner])
        taken[owner] += 1
    return positions


def _parts(positions: Sequence[int], transfer: Transfer, unit: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of consecutive output chunks of a transfer as (first chunk, number of chunks)."""
    moved = [
        positions[chunk]
        for chunk in range(transfer.offset // unit, (transfer.offset + transfer.length) // unit)
    ]
    first = 0
    for end in range(1, len(moved) + 1):
        if end == len(moved) or moved[end] != moved[end - 1] + 1:
            yield moved[first], end - first
            first = end


@final
class _Gpu:
    """Collects the threadblocks of a GPU; remembers the last writer and the readers of each chunk."""

    def __init__(self, buffer: str) -> None:
        self._buffer = buffer
        self._blocks: dict[tuple[int, int], _Threadblock] = {}
        self._writer: dict[int, tuple[int, int]] = {}
        self._readers: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def add(self, kind: str, peers: tuple[int, int], first: int, count: int) -> None:
        """Add a step with its dependencies to the threadblock for its peers.

        `kind` is a step type of MSCCL. `peers` are the GPUs (send, receive) of the threadblock, -1 for none.
        """
        if peers not in self._blocks:
            self._blocks[peers] = _Threadblock(len(self._blocks), *peers)
        block = self._blocks[peers]
        before: dict[tuple[int, int], None] = {}
        for chunk in range(first, first + count):
            if chunk in self._writer:
                before[self._writer[chunk]] = None
            if kind != "s":
                before |= dict.fromkeys(self._readers[chunk])
        latest: dict[int, int] = {}
        for other, step in before:
            if other != block.id:
                latest[other] = max(step, latest.get(other, 0))
        waits = [*latest.items()]
        for wait in waits[:-1]:
            block.steps.append(_Step("nop", 0, 0, wait))
        block.steps.append(_Step(kind, first, count, waits[-1] if waits else None))
        at = (block.id, len(block.steps) - 1)
        for chunk in range(first, first + count):
            if kind == "s":
                self._readers[chunk].append(at)
            else:
                self._writer[chunk] = at
                self._readers[chunk] = []

    def lines(self) -> list[str]:
        """Return the XML lines of the GPU's threadblocks."""
        blocks = {block.id: block for block in self._blocks.values()}
        for block in blocks.values():
            for step in block.steps:
                if step.wait is not None:
                    blocks[step.wait[0]].steps[step.wait[1]].awaited = True
        lines = []
        for block in blocks.values():
            lines.append(f'    <tb id="{block.id}" send="{block.send}" recv="{block.receive}" chan="0">')
            for number, step in enumerate(block.steps):
                wait = step.wait or (-1, -1)
                source = ("i", 0) if step.kind == "cpy" else (self._buffer, step.chunk)
                lines.append(
                    f'      <step s="{number}" type="{step.kind}" srcbuf="{source[0]}" srcoff="{source[1]}" '
                    f'dstbuf="{self._buffer}" dstoff="{step.chunk}" cnt="{step.count}" depid="{wait[0]}" '
                    f'deps="{wait[1]}" hasdep="{int(step.awaited)}"/>'
                )
            lines.append("    </tb>")
        return lines
