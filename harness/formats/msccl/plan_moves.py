# SPDX-License-Identifier: Apache-2.0
"""Data movements of MSCCL++'s operations, in symbolic memory and as operations of a traffic graph.

An operation that reads a peer's memory (get, rre, rres) sends a request of 4 bytes to the peer, which answers
with the data. An operation that reads packets begins when their first elements have arrived.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import ELEMENT_BYTES, Kind, Operation
from harness.formats.msccl.plan import Part, Plan, PlanOperation
from harness.formats.msccl.symbols import Sum, Symbols

__all__ = ["Moves"]

_Names = tuple[str, ...]

# Operations that read or write packets: index of the first source, or of the first target, that has packets.
_READS_PACKETS = {"rppkt": 0, "upkt": 0, "repkt": 1, "respkt": 1, "recpkt": 1, "recspkt": 1}
_WRITES_PACKETS = {"ppkt": 0, "rppkt": 0, "cpkt": 0, "respkt": 1, "recpkt": 1, "recspkt": 1}


@final
class Moves:
    """Executes a plan's data movements: updates symbolic memory, records operations of a traffic graph."""

    def __init__(self, plan: Plan, chunk_bytes: int) -> None:
        self.operations: list[Operation] = []
        self._pieces = plan.pieces
        self._bytes = chunk_bytes // plan.pieces
        chunks = [{buffer: count * plan.pieces for buffer, count in gpu.chunks.items()} for gpu in plan.gpus]
        self.symbols = Symbols(plan.path, plan.collective, chunks, in_place=plan.in_place)
        self._packets: set[tuple[int, int]] = set()
        self._names: dict[str, int] = {}

    def name(self, rank: int, label: str) -> str:
        """Return a unique name for an operation of a GPU; a label that repeats gets a running number."""
        name = f"g{rank}.{label}"
        self._names[name] = count = self._names.get(name, 0) + 1
        return name if count == 1 else f"{name}.{count}"

    def ready(self, operation: PlanOperation) -> bool:
        """Return whether all packets read by an operation have been written; True if none are read."""
        first = _READS_PACKETS.get(operation.name)
        if first is None:
            return True
        units = (unit for part in operation.sources[first:] for unit in self._units(part, operation))
        return all(unit in self._packets for unit in units)

    def carry_out(
        self, operation: PlanOperation, rank: int, label: str, after: _Names
    ) -> tuple[_Names, list[tuple[int, str]]]:
        """Execute an operation of a GPU that moves data.

        Graph operations have the prefix `label`, and begin after the graph operations `after`.

        Returns:
            Names of the graph operations that end the operation, and its sends as (peer, name).
        """
        move = _Move(self, operation, rank, label)
        if move.slice_is_empty:
            return after, []
        match operation.name:
            case "put" | "pws" | "pwsf" | "ppkt":
                move.send_pairs(after)
            case "rppkt":
                move.send(operation.sources[0], operation.targets, after)
            case "get":
                for number, (source, target) in enumerate(
                    zip(operation.sources, operation.targets, strict=True)
                ):
                    move.fetch(source, target, after, f".get{number}", Combine.COPY)
            case "copy" | "cpkt" | "upkt":
                move.copy(operation.sources[0], operation.targets[0], after, "", Combine.COPY)
            case _:
                move.add_up(after)
        first = _WRITES_PACKETS.get(operation.name)
        if first is not None:
            written = operation.targets[first:]
            self._packets |= {unit for part in written for unit in self._units(part, operation)}
        return tuple(move.ends), move.sent

    def add_in_switch(self, operation: PlanOperation) -> None:
        """Execute a reduction in the switch in symbolic memory; the graph gets no operation."""
        spans = [(part, self.span(part, operation)) for part in operation.sources]
        for unit in range(spans[0][1][1]):
            total: Sum = Counter()
            for part, (begin, _) in spans:
                total += self._value(part.rank, begin + unit, operation, part)
            for part, (begin, _) in spans:
                self.symbols.put(part.rank, begin + unit, total)

    def _units(self, part: Part, operation: PlanOperation) -> list[tuple[int, int]]:
        """Return (GPU, index in its memory) of each unit of the operation's slice of a part.

        A unit is a piece of a chunk; chunks have `Plan.pieces` pieces.
        """
        begin, count = self.span(part, operation)
        return [(part.rank, begin + number) for number in range(count)]

    def span(self, part: Part, operation: PlanOperation) -> tuple[int, int]:
        """Return the operation's slice of a part as (first unit in the GPU's memory, number of units)."""
        number, slices = operation.slice
        each = part.count * self._pieces // slices
        first = self.symbols.first[part.rank][part.buffer]
        return first + part.first * self._pieces + number * each, each

    def transfer(
        self,
        kind: Kind,
        name: str,
        operation: PlanOperation,
        source: Part,
        target: Part,
        after: _Names,
        combine: Combine,
    ) -> None:
        """Move a slice of one part to another part, and record it as a graph operation.

        `kind` is `send` between two GPUs and `copy` within a GPU. The graph operation `name` begins after the
        graph operations `after`. `combine` replaces the target's values, or adds to them.
        """
        read, count = self.span(source, operation)
        write, _ = self.span(target, operation)
        for unit in range(count):
            value = self._value(source.rank, read + unit, operation, source)
            if combine is Combine.REDUCE:
                value = self._value(target.rank, write + unit, operation, target) + value
            self.symbols.put(target.rank, write + unit, value)
        move = Operation(
            name,
            kind,
            f"npu{source.rank}",
            size=count * self._bytes,
            read=read * self._bytes,
            write=write * self._bytes,
            combine=combine,
            after=after,
        )
        self.operations.append(replace(move, peer=f"npu{target.rank}") if kind == "send" else move)

    def _value(self, rank: int, place: int, operation: PlanOperation, part: Part) -> Sum:
        value = self.symbols.get(rank, place)
        if value is None:
            operation.item.refuse(
                f"operation {operation.name!r} uses buffer {part.buffer} of GPU {rank} from chunk "
                f"{part.first} on, which nothing has written",
                "let the operation wait for the operation that writes the buffer",
            )
        return value


@final
class _Move:
    """Execution of a single operation of a plan; collects the graph operations that end it, and its sends."""

    def __init__(self, moves: Moves, operation: PlanOperation, rank: int, label: str) -> None:
        self.ends: list[str] = []
        self.sent: list[tuple[int, str]] = []
        self._moves = moves
        self._operation = operation
        self._rank = rank
        self._label = label

    @property
    def slice_is_empty(self) -> bool:
        """True if the operation's slice of its first target has no unit."""
        return self._moves.span(self._operation.targets[0], self._operation)[1] == 0

    def send(self, source: Part, targets: Sequence[Part], after: _Names) -> None:
        """Send a part of the GPU's own memory to each target on a peer."""
        for number, target in enumerate(targets):
            name = f"{self._label}.to{target.rank}" + (f".{number}" if len(targets) > 1 else "")
            self._moves.transfer("send", name, self._operation, source, target, after, Combine.COPY)
            self.ends.append(name)
            self.sent.append((target.rank, name))

    def send_pairs(self, after: _Names) -> None:
        """Send the nth source to the nth target."""
        pairs = zip(self._operation.sources, self._operation.targets, strict=True)
        for number, (source, target) in enumerate(pairs):
            name = f"{self._label}.to{target.rank}.{number}"
            self._moves.transfer("send", name, self._operation, source, target, after, Combine.COPY)
            self.ends.append(name)
            self.sent.append((target.rank, name))

    def fetch(self, source: Part, target: Part, after: _Names, suffix: str, combine: Combine) -> None:
        """Fetch a part of a peer's memory: the GPU sends a request, and the peer answers with the part."""
        request = f"{self._label}{suffix}.request"
        self._moves.operations.append(
            Operation(request, "send", f"npu{self._rank}", f"npu{source.rank}", ELEMENT_BYTES, after=after)
        )
        name = f"{self._label}{suffix}"
        self._moves.transfer("send", name, self._operation, source, target, (request,), combine)
        self.ends.append(name)

    def copy(self, source: Part, target: Part, after: _Names, suffix: str, combine: Combine) -> None:
        """Copy a part of the GPU's memory to another part, or add it to the other part."""
        name = f"{self._label}{suffix}"
        self._moves.transfer("copy", name, self._operation, source, target, after, combine)
        self.ends.append(name)

    def add_up(self, after: _Names) -> None:
        """Add up all sources in the first target; copy the sum to the GPU's other targets and to peers."""
        operation = self._operation
        total = operation.targets[0]
        if self._moves.span(operation.sources[0], operation) != self._moves.span(total, operation):
            self.copy(operation.sources[0], total, after, ".first", Combine.COPY)
            after = (self.ends[-1],)
        for number, source in enumerate(operation.sources[1:], 1):
            if source.rank == self._rank:
                self.copy(source, total, after, f".add{number}", Combine.REDUCE)
            else:
                self.fetch(source, total, after, f".add{number}", Combine.REDUCE)
        own = [part for part in operation.targets[1:] if part.rank == self._rank]
        for number, target in enumerate(own):
            self.copy(total, target, after, f".copy{number}", Combine.COPY)
        self.send(total, [part for part in operation.targets[1:] if part.rank != self._rank], after)
