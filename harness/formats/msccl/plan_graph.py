# SPDX-License-Identifier: Apache-2.0
"""Convert an MSCCL++ execution plan to a traffic graph by symbolic execution.

The plan runs twice on symbolic memory: with its threadblocks in the order of the file, and in reverse order.
Both times the outputs must be the result of the collective; a missing dependency usually makes one run fail.
The operations of the run in file order become the traffic graph.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import final

from emulation.traffic.graph.operations import ELEMENT_BYTES, Graph, Operation
from harness.formats.imported import Imported, mesh_of
from harness.formats.msccl.plan import SWITCH_SUM, Channel, Plan, PlanOperation, read_plan
from harness.formats.msccl.plan_moves import Moves
from harness.formats.msccl.plan_switch import adds_in_switch, check_switch_plan, switch_collective

__all__ = ["read_plan_files"]

CHUNK_BYTES = 4096

_Block = tuple[int, int]
_Names = tuple[str, ...]


def read_plan_files(paths: Sequence[Path], *, chunk_bytes: int = CHUNK_BYTES) -> Imported:
    """Return the traffic of a plan.

    GPU G is the node npuG of a full mesh. For a plan with reductions in a switch it is gpuG below this
    switch.

    Args:
        paths: A single JSON file.
        chunk_bytes: Size of a chunk, which the file does not give; rounded up to whole elements per piece.

    Raises:
        FormatError: The file is invalid, operations deadlock or read a chunk before it is written, the
            outputs are not the result of the collective, or a plan with reductions in a switch also sends
            data directly.
    """
    (path,) = paths
    plan = read_plan(path)
    if in_switch := adds_in_switch(plan):
        check_switch_plan(plan)
    step = ELEMENT_BYTES * plan.pieces
    chunk_bytes = -(-chunk_bytes // step) * step
    reverse = _Run(plan, chunk_bytes)
    reverse.run(backwards=True)
    reverse.moves.symbols.prove()
    run = _Run(plan, chunk_bytes)
    run.run()
    if in_switch:
        run.moves.symbols.prove()
        return switch_collective(plan, chunk_bytes)
    operations = run.moves.operations
    notes = [
        f"A chunk has {chunk_bytes} bytes; the file gives no size.",
        f"The plan has {len(operations)} operations; threads are ignored. A signal is a message of 4 bytes.",
    ]
    if plan.packets:
        notes.append("Packets carry data only; on GPUs a flag beside each word doubles their size.")
    if plan.pipelined:
        notes.append("A pipeline executes its operations once, for the whole chunk.")
    notes.append(
        f"Every GPU ends with the result of {plan.collective}."
        if run.moves.symbols.prove()
        else f"The result is not checked: the collective {plan.collective!r} is unknown."
    )
    return Imported(
        plan.name, Graph(plan.name, tuple(operations)), topology=mesh_of(len(plan.gpus)), notes=tuple(notes)
    )


@final
class _Run:
    """Runs all threadblocks on symbolic memory, and records their steps as operations of a traffic graph.

    For each signal, semaphore, barrier and threadblock it keeps the names of the graph operations that a
    waiter has to wait for.
    """

    def __init__(self, plan: Plan, chunk_bytes: int) -> None:
        self.moves = Moves(plan, chunk_bytes)
        self._plan = plan
        self._last: dict[_Block, _Names] = defaultdict(tuple)
        self._unflushed: dict[_Block, _Names] = defaultdict(tuple)
        self._sent: dict[_Block, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        self._signals: dict[tuple[int, Channel], deque[_Names]] = defaultdict(deque)
        self._semaphores: dict[tuple[int, int], deque[_Names]] = defaultdict(deque)
        self._initial = {
            (rank, number): count
            for rank, gpu in enumerate(plan.gpus)
            for number, count in enumerate(gpu.semaphores)
        }
        self._meeting: dict[tuple[int, int], dict[_Block, _Names]] = defaultdict(dict)
        self._released: dict[_Block, _Names] = {}
        self._heard: dict[int, set[int]] = defaultdict(set)

    def run(self, *, backwards: bool = False) -> None:
        """Run every threadblock to its end; FormatError if an operation never begins.

        With `backwards`, the last threadblock gets the first chance to run.
        """
        blocks = [
            ((rank, number), operations)
            for rank, gpu in enumerate(self._plan.gpus)
            for number, operations in enumerate(gpu.threadblocks)
        ]
        blocks = blocks[::-1] if backwards else blocks
        at = dict.fromkeys((block for block, _ in blocks), 0)
        moving = True
        while moving:
            moving = False
            for block, operations in blocks:
                while at[block] < len(operations) and self._ready(block, operations[at[block]]):
                    self._carry_out(block, operations[at[block]], at[block])
                    at[block] += 1
                    moving = True
        for (rank, number), operations in blocks:
            done = at[rank, number]
            if done < len(operations):
                operations[done].item.refuse(
                    f"operation {done} ({operations[done].name}) of threadblock {number} on GPU {rank} waits "
                    "forever and never begins",
                    "add the missing signal, packet or threadblock",
                )

    def _ready(self, block: _Block, operation: PlanOperation) -> bool:
        rank = block[0]
        match operation.name:
            case "wait" | "rlxwait":
                return all(self._signals[rank, channel] for channel in operation.channels)
            case "sem_acquire":
                keys = [(rank, number) for number in operation.semaphores]
                return all(self._initial[key] or self._semaphores[key] for key in keys)
            case "barrier":
                return self._meets(block, operation)
            case _:
                return self.moves.ready(operation)

    def _meets(self, block: _Block, operation: PlanOperation) -> bool:
        """Register a threadblock at a barrier; return whether all its threadblocks have arrived.

        With the last arrival, an empty computation that waits for all threadblocks is added to the graph.
        """
        rank = block[0]
        number, count = operation.barrier
        meeting = self._meeting[rank, number]
        if block not in self._released:
            meeting[block] = (*self._last[block], *self._unflushed[block])
            if len(meeting) == count:
                name = self.moves.name(rank, f"b{number}")
                after = tuple(dict.fromkeys(each for names in meeting.values() for each in names))
                self.moves.operations.append(Operation(name, "compute", f"npu{rank}", after=after))
                self._released |= dict.fromkeys(meeting, (name,))
                meeting.clear()
        return block in self._released

    def _carry_out(self, block: _Block, operation: PlanOperation, number: int) -> None:
        rank = block[0]
        match operation.name:
            case "nop":
                pass
            case "barrier":
                self._last[block] = self._released.pop(block)
            case "flush":
                self._flush(block)
            case "signal" | "rlxsignal":
                for channel in operation.channels:
                    self._signal(block, channel, number)
            case "wait" | "rlxwait":
                for channel in operation.channels:
                    self._wait_for(block, self._signals[rank, channel].popleft())
                    self._heard[rank].add(channel.peer)
            case "sem_release":
                for semaphore in operation.semaphores:
                    self._semaphores[rank, semaphore].append(self._last[block])
            case "sem_acquire":
                for semaphore in operation.semaphores:
                    self._acquire(block, (rank, semaphore))
            case _:
                self._move(block, operation, number)

    def _wait_for(self, block: _Block, names: _Names) -> None:
        self._last[block] = waits = tuple(dict.fromkeys((*self._last[block], *names)))
        self.moves.symbols.spend(len(waits))

    def _flush(self, block: _Block) -> None:
        self._wait_for(block, self._unflushed.pop(block, ()))

    def _acquire(self, block: _Block, key: tuple[int, int]) -> None:
        if self._initial[key]:
            self._initial[key] -= 1
        else:
            self._wait_for(block, self._semaphores[key].popleft())

    def _signal(self, block: _Block, channel: Channel, number: int) -> None:
        """Add the message of a signal to a peer.

        A wait of the peer ends after this message and after the threadblock's writes to the peer since its
        last signal.
        """
        rank = block[0]
        name = self.moves.name(rank, f"t{block[1]}.o{number}.signal{channel.peer}.{channel.number}")
        after = tuple(dict.fromkeys((*self._last[block], *self._unflushed[block])))
        self.moves.operations.append(
            Operation(name, "send", f"npu{rank}", f"npu{channel.peer}", ELEMENT_BYTES, after=after)
        )
        written = self._sent[block].pop(channel.peer, [])
        opposite = Channel(rank, channel.type, channel.number)
        self._signals[channel.peer, opposite].append((*written, name))

    def _move(self, block: _Block, operation: PlanOperation, number: int) -> None:
        rank = block[0]
        if operation.name == SWITCH_SUM:
            unheard = {part.rank for part in operation.sources} - self._heard[rank] - {rank}
            if unheard:
                operation.item.refuse(
                    f"operation {SWITCH_SUM!r} on GPU {rank} reads GPU {min(unheard)} before its signal",
                    "let it wait for a signal of every GPU first",
                )
            self.moves.add_in_switch(operation)
            return
        label = self.moves.name(rank, f"t{block[1]}.o{number}")
        ends, sent = self.moves.carry_out(operation, rank, label, self._last[block])
        for peer, name in sent:
            self._sent[block][peer].append(name)
        if operation.by_proxy:
            self._unflushed[block] += ends
        elif ends:
            self._last[block] = ends
        if operation.name in ("pws", "pwsf"):
            for channel in operation.channels:
                self._signal(block, channel, number)
        if operation.name == "pwsf":
            self._flush(block)
