# SPDX-License-Identifier: Apache-2.0
"""An AllReduce of ours as an algorithm of MSCCL: a threadblock for each direction of each pair.

A step waits for the steps of other threadblocks that wrote or read its chunks before; `nop` steps carry all
dependencies but the last.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import reduce
from math import gcd
from typing import final
from xml.sax.saxutils import quoteattr

from emulation.errors import EmulationError
from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.dag import Schedule, Transfer

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


def to_msccl(schedule: Schedule, name: str) -> str:
    """Return the XML of an AllReduce in place; EmulationError if the schedule moves data elsewhere."""
    if any(transfer.shift for transfer in schedule.transfers):
        raise EmulationError(
            f"{name} moves data to other places of the array", remedy="MSCCL's XML is written for AllReduce"
        )
    unit = reduce(gcd, (n for t in schedule.transfers for n in (t.offset, t.length)), schedule.elements)
    chunks = schedule.elements // unit
    gpus = [_Gpu() for _ in range(schedule.ranks)]
    by_step: dict[int, list[Transfer]] = defaultdict(list)
    for transfer in schedule.transfers:
        by_step[transfer.step].append(transfer)
    for step in sorted(by_step):
        for t in by_step[step]:
            gpus[t.source].add("s", (t.target, -1), t.offset // unit, t.length // unit)
        for t in by_step[step]:
            kind = "rrc" if t.op is Combine.REDUCE else "r"
            gpus[t.target].add(kind, (-1, t.source), t.offset // unit, t.length // unit)
    head = (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="1" nchunksperloop="{chunks}" '
        f'ngpus="{schedule.ranks}" coll="allreduce" inplace="1">'
    )
    lines = [head]
    for number, gpu in enumerate(gpus):
        lines.append(f'  <gpu id="{number}" i_chunks="{chunks}" o_chunks="{chunks}" s_chunks="0">')
        lines += gpu.lines()
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>"]) + "\n"


@final
class _Gpu:
    """Threadblocks of a GPU, and the steps that touched each chunk last."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, int], _Threadblock] = {}
        self._writer: dict[int, tuple[int, int]] = {}
        self._readers: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def add(self, kind: str, peers: tuple[int, int], first: int, count: int) -> None:
        """Add a step to the threadblock of its peer."""
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
        """Return the lines of the threadblocks."""
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
                lines.append(
                    f'      <step s="{number}" type="{step.kind}" srcbuf="i" srcoff="{step.chunk}" '
                    f'dstbuf="i" dstoff="{step.chunk}" cnt="{step.count}" depid="{wait[0]}" '
                    f'deps="{wait[1]}" hasdep="{int(step.awaited)}"/>'
                )
            lines.append("    </tb>")
        return lines
