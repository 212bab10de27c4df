# SPDX-License-Identifier: Apache-2.0
"""Convert an MSCCL algorithm to a traffic graph by symbolic execution.

All threadblocks run on symbolic memory: a chunk holds a sum of input chunks. Each step that runs is recorded
as operations of the graph. At the end the outputs are compared with the result of the collective that the
file names.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Graph, Operation
from harness.formats.imported import Imported, mesh_of
from harness.formats.msccl.algorithm import Algorithm, Step, Threadblock, read_algorithm, threadblocks_of
from harness.formats.msccl.symbols import Sum, Symbols
from harness.formats.text import FileLocation

__all__ = ["read_msccl"]

CHUNK_BYTES = 4096


def read_msccl(paths: Sequence[Path], *, chunk_bytes: int = CHUNK_BYTES) -> Imported:
    """Return the traffic of an MSCCL algorithm; GPU G is the node npuG of a full mesh.

    Args:
        paths: A single XML file.
        chunk_bytes: Size of a chunk, which the file does not give.

    Raises:
        FormatError: The file is invalid, its steps deadlock, a step reads a chunk before it is written, or
            the outputs are not the result of the collective.
    """
    (path,) = paths
    algorithm = read_algorithm(path)
    run = _Run(algorithm, chunk_bytes)
    run.run()
    notes = [
        f"A chunk has {chunk_bytes} bytes; the file gives no size.",
        f"The algorithm has {len(run.operations)} operations; the GPU's protocol and threads are ignored.",
    ]
    proved = run.symbols.prove()
    notes.append(
        f"Every GPU ends with the result of {algorithm.collective}."
        if proved
        else f"The result is not checked: the collective {algorithm.collective!r} is unknown."
    )
    graph = Graph(algorithm.name, tuple(run.operations))
    return Imported(algorithm.name, graph, topology=mesh_of(len(algorithm.gpus)), notes=tuple(notes))


@final
class _Run:
    """Runs all threadblocks on symbolic memory, and records the steps as operations of a traffic graph."""

    def __init__(self, algorithm: Algorithm, chunk_bytes: int) -> None:
        self.operations: list[Operation] = []
        self._algorithm = algorithm
        self._bytes = chunk_bytes
        self.symbols = Symbols(
            algorithm.path,
            algorithm.collective,
            [gpu.chunks for gpu in algorithm.gpus],
            in_place=algorithm.in_place,
        )
        self._wires: dict[tuple[int, int, int], deque[list[Sum]]] = defaultdict(deque)
        self._ended: dict[tuple[int, int, int], tuple[str, ...]] = {}
        self._last: dict[tuple[int, int], tuple[str, ...]] = {}

    def run(self) -> None:
        """Run every threadblock to its end; FormatError if a step cannot begin or a send is not received."""
        blocks = threadblocks_of(self._algorithm)
        at = dict.fromkeys(((rank, block.id) for rank, block in blocks), 0)
        moving = True
        while moving:
            moving = False
            for rank, block in blocks:
                while at[rank, block.id] < len(block.steps) and self._ready(rank, block, at[rank, block.id]):
                    self._step(rank, block, at[rank, block.id])
                    at[rank, block.id] += 1
                    moving = True
        for rank, block in blocks:
            if at[rank, block.id] < len(block.steps):
                step = block.steps[at[rank, block.id]]
                FileLocation(self._algorithm.path, step.line).refuse(
                    f"step {at[rank, block.id]} of threadblock {block.id} on GPU {rank} never begins: "
                    + (
                        f"it waits for step {step.wait[1]} of threadblock {step.wait[0]}, or for data"
                        if step.wait
                        else "it waits for data"
                    ),
                    "remove the cycle of dependencies, or add the missing send",
                )
        for (source, target, channel), waiting in self._wires.items():
            if waiting:
                FileLocation(self._algorithm.path).refuse(
                    f"GPU {target} never receives {len(waiting)} sends of GPU {source} on channel {channel}",
                    "add the missing receives, or remove the sends",
                )

    def _ready(self, rank: int, block: Threadblock, number: int) -> bool:
        step = block.steps[number]
        if step.wait is not None and (rank, *step.wait) not in self._ended:
            return False
        return not step.receives or bool(self._wires[block.receive, rank, block.channel])

    def _step(self, rank: int, block: Threadblock, number: int) -> None:
        step = block.steps[number]
        after = self._last.get((rank, block.id), ())
        if step.wait is not None:
            after = tuple(dict.fromkeys((*after, *self._ended[rank, *step.wait])))
        self.symbols.spend(len(after))
        if step.type != "nop":
            after = self._move(rank, block, step, f"g{rank}.t{block.id}.s{number}", after)
        self._last[rank, block.id] = self._ended[rank, block.id, number] = after

    def _move(
        self, rank: int, block: Threadblock, step: Step, name: str, after: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Execute a step that begins after the operations `after`; return the operations that end it."""
        first = self.symbols.first[rank]
        source, target = (first[buffer] + chunk for buffer, chunk in (step.source, step.target))
        if step.type in ("re", "cpy"):
            self._copy(rank, step, name, source, target, after, reduce=step.type == "re")
            return (name,)
        if step.receives:
            after = self._receive(rank, block, step, name, source, target, after)
        if not step.sends:
            return (name,)
        read = {"s": source, "rrs": self._own_chunks(rank, block)}.get(step.type, target)
        self._send(rank, block, step, name if step.type == "s" else f"{name}.send", read, after)
        return (name if step.type == "s" else f"{name}.send",)

    def _own_chunks(self, rank: int, block: Threadblock) -> int:
        """Return the first chunk of the extra scratch memory in which the threadblock accumulates sums.

        A step rrs sends a sum on without storing it in a buffer of the algorithm.
        """
        numbers = sorted(self._algorithm.gpus[rank].threadblocks)
        width = max((step.count for step in block.steps if step.type == "rrs"), default=0)
        widest = max(
            (s.count for b in self._algorithm.gpus[rank].threadblocks.values() for s in b.steps), default=0
        )
        assert width <= widest
        return self.symbols.first[rank]["x"] + numbers.index(block.id) * widest

    def _receive(
        self,
        rank: int,
        block: Threadblock,
        step: Step,
        name: str,
        source: int,
        target: int,
        after: tuple[str, ...],
    ) -> tuple[str, ...]:
        reduces = step.type in ("rrs", "rrc", "rrcs")
        write = self._own_chunks(rank, block) if step.type == "rrs" else target
        if reduces and write != source:
            self._copy(rank, step, f"{name}.copy", source, write, after, reduce=False)
            after = (f"{name}.copy",)
        arrived = self._wires[block.receive, rank, block.channel].popleft()
        if len(arrived) != step.count:
            FileLocation(self._algorithm.path, step.line).refuse(
                f"the step receives {step.count} chunks, but GPU {block.receive} sends {len(arrived)}",
                "give both steps the same cnt",
            )
        for offset, value in enumerate(arrived):
            total = self._at(rank, write + offset, step) + value if reduces else value
            self.symbols.put(rank, write + offset, total)
        combine = Combine.REDUCE if reduces else Combine.COPY
        self._add(
            name,
            "receive",
            rank,
            peer=f"npu{block.receive}",
            size=step.count * self._bytes,
            write=write * self._bytes,
            combine=combine,
            tag=block.channel,
            after=after,
        )
        # The send of a step that receives and sends (rcs, rrs, rrcs) does not wait for the whole receive: it
        # forwards elements as they arrive.
        return ()

    def _send(
        self, rank: int, block: Threadblock, step: Step, name: str, read: int, after: tuple[str, ...]
    ) -> None:
        values = [self._at(rank, read + offset, step) for offset in range(step.count)]
        self._wires[rank, block.send, block.channel].append(values)
        self._add(
            name,
            "send",
            rank,
            peer=f"npu{block.send}",
            size=step.count * self._bytes,
            read=read * self._bytes,
            tag=block.channel,
            after=after,
        )

    def _copy(
        self, rank: int, step: Step, name: str, read: int, write: int, after: tuple[str, ...], *, reduce: bool
    ) -> None:
        for offset in range(step.count):
            value = self._at(rank, read + offset, step)
            total = self._at(rank, write + offset, step) + value if reduce else value
            self.symbols.put(rank, write + offset, total)
        self._add(
            name,
            "copy",
            rank,
            size=step.count * self._bytes,
            read=read * self._bytes,
            write=write * self._bytes,
            combine=Combine.REDUCE if reduce else Combine.COPY,
            after=after,
        )

    def _at(self, rank: int, chunk: int, step: Step) -> Sum:
        value = self.symbols.get(rank, chunk)
        if value is None:
            FileLocation(self._algorithm.path, step.line).refuse(
                f"a step on GPU {rank} uses a chunk that no step has written: buffer {step.source[0]}, chunk "
                f"{step.source[1]} or behind",
                "write the chunk first, or add a dependency on the step that writes it",
            )
        return value

    def _add(self, name: str, kind: str, rank: int, **fields: object) -> None:
        self.operations.append(Operation(name, kind, f"npu{rank}", **fields))  # type: ignore[arg-type]
