# SPDX-License-Identifier: Apache-2.0
"""Reader of MSCCL++'s execution plans: a JSON file of GPUs, threadblocks and operations.

The nth channel from GPU a to GPU b and the nth channel from b to a are the two directions of a connection.
Operations name a channel by its index in the list of their threadblock, and memory of a peer by its index in
`remote_buffer_refs`. The threadblocks of a group (`tbg_info`) each execute an equal slice of an operation. An
operation `pipeline` contains operations that run for a unit of bytes at a time. `glres` reads the same part
of a buffer of all GPUs of a switch channel (NVLS), adds the parts up in the switch and writes the sum back to
all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import lcm
from pathlib import Path
from typing import final

from harness.formats.documents import Item, read_json
from harness.formats.msccl.symbols import MAX_CHUNKS, share_buffers

__all__ = ["SWITCH_SUM", "Channel", "Gpu", "Part", "Plan", "PlanOperation", "read_plan"]

SWITCH_SUM = "glres"
"""Name of the operation that reduces a part of all GPUs' buffers inside a switch (NVLS)."""

_BUFFERS = ("i", "o", "s")
_LINKS = ("memory", "port")
_MAX_PIECES = 256
_MAX_GROUP = 64
_SYNCHRONISE = ("nop", "barrier", "flush", "sem_acquire", "sem_release")
_SIGNAL = ("signal", "rlxsignal", "wait", "rlxwait")
# Operations that move data -> (a, b): the first a sources and first b targets are in the GPU's own memory.
_MOVES = {
    "put": (1, 0), "pws": (1, 0), "pwsf": (1, 0), "get": (0, 1), "copy": (1, 1), "re": (1, 1), "res": (1, 1),
    "rre": (1, 1), "rres": (1, 1), "ppkt": (1, 0), "rppkt": (1, 0), "cpkt": (1, 1), "upkt": (1, 1),
    "repkt": (1, 1), "respkt": (1, 1), "recpkt": (1, 2), "recspkt": (1, 2),
}  # fmt: skip
# _SENDS: operations that write to peers. _PAIRED: operations that move the nth source to the nth target.
_SENDS = frozenset({"put", "pws", "pwsf", "res", "rres", "ppkt", "rppkt", "respkt", "recspkt"})
_PAIRED = frozenset({"put", "pws", "pwsf", "get", "ppkt"})
_STORES_IN_SWITCH = ("gstore", "gstorepkt")


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A source or target of an operation: a range of chunks of a buffer of GPU `rank`."""

    rank: int
    buffer: str
    first: int
    count: int


@final
@dataclass(frozen=True, slots=True)
class Channel:
    """A GPU's channel to a peer; `number` counts the channels of this type to this peer.

    The peer's channel back to the GPU has the same type and number.
    """

    peer: int
    type: str
    number: int


@final
@dataclass(frozen=True, slots=True)
class PlanOperation:
    """An operation of a threadblock.

    Attributes:
        item: Value of the operation in the file, for error messages.
        name: Name of the operation in the file.
        sources: Parts that the operation reads; parts of the GPU's own memory come first.
        targets: Parts that the operation writes; parts of the GPU's own memory come first.
        channels: Channels of a signal or a wait; for a put with a signal, the channels of its targets.
        by_proxy: A port channel moves the data: its proxy sends while the threadblock continues.
        slice: Index of the slice of the data that is moved, and number of slices.
        barrier: Id of a barrier, and number of threadblocks that meet at the barrier.
        semaphores: Indices of semaphores.
    """

    item: Item
    name: str
    sources: tuple[Part, ...] = ()
    targets: tuple[Part, ...] = ()
    channels: tuple[Channel, ...] = ()
    by_proxy: bool = False
    slice: tuple[int, int] = (0, 1)
    barrier: tuple[int, int] = (0, 0)
    semaphores: tuple[int, ...] = ()


@final
@dataclass(slots=True)
class Gpu:
    """Buffers, channels and operations of a GPU of a plan.

    Attributes:
        chunks: Number of chunks of the buffers i (input), o (output) and s (scratch).
        channels: Channels to peers.
        buffers: Accessible buffers of peers: GPU, buffer, types of channels that reach the buffer.
        groups: Switch channels: a buffer, and the GPUs whose buffers the switch reads and writes.
        semaphores: Initial counts of the semaphores.
        threadblocks: Operations of each threadblock.
    """

    chunks: dict[str, int]
    channels: Sequence[Channel]
    buffers: Sequence[tuple[int, str, frozenset[str]]]
    groups: Sequence[tuple[str, tuple[int, ...]]] = ()
    semaphores: Sequence[int] = ()
    threadblocks: list[list[PlanOperation]] = field(default_factory=list)


@final
@dataclass(slots=True)
class Plan:
    """An MSCCL++ execution plan, as read from its file.

    Attributes:
        path: The file.
        name: Name of the plan.
        collective: Name of the collective that the plan carries out.
        in_place: Input and output share memory if the collective allows it.
        packets: The plan uses the protocol LL, which writes a flag beside each word.
        pipelined: The plan has an operation `pipeline`.
        pieces: Number of pieces of a chunk; every slice of an operation is a whole number of pieces.
        gpus: The GPUs.
    """

    path: Path
    name: str
    collective: str
    in_place: bool
    packets: bool
    pipelined: bool
    pieces: int
    gpus: list[Gpu]

    def operations(self) -> Iterator[PlanOperation]:
        """Yield the operations of all GPUs, threadblock by threadblock."""
        for gpu in self.gpus:
            for block in gpu.threadblocks:
                yield from block


def read_plan(path: Path) -> Plan:
    """Return the plan of a file; an invalid file raises FormatError with file and line."""
    document = read_json(path)
    rows = document.child("gpus").elements()
    if len(rows) < 2:
        document.child("gpus").refuse(f"the plan has too few GPUs: {len(rows)}", "give 2 or more")
    gpus = [_gpu(row, rank, len(rows)) for rank, row in enumerate(rows)]
    collective, in_place = document.text("collective"), document.flag("inplace")
    share_buffers([gpu.chunks for gpu in gpus], collective, in_place=in_place)
    for row, gpu in zip(rows, gpus, strict=True):
        for block in row.items("threadblocks"):
            gpu.threadblocks.append(_Block(block, gpu, gpus, len(gpu.threadblocks)).operations())
    operations = [each for gpu in gpus for block in gpu.threadblocks for each in block]
    if not operations:
        document.refuse("the plan has no operation", "add `ops` to its threadblocks")
    pieces = reduce(lcm, {operation.slice[1] for operation in operations})
    if pieces > _MAX_PIECES:
        document.refuse(
            f"groups of threadblocks divide a chunk into {pieces} pieces, more than {_MAX_PIECES}",
            "use groups of fewer or of equally many threadblocks",
        )
    return Plan(
        path,
        document.text("name", path.stem),
        collective,
        in_place,
        document.text("protocol", "Simple") == "LL",
        any("iter_context" in op for row in rows for b in row.items("threadblocks") for op in b.items("ops")),
        pieces,
        gpus,
    )


def _gpu(row: Item, rank: int, ranks: int) -> Gpu:
    """Return a GPU with its buffers, channels and semaphores, but without its operations."""
    if row.integer("id") != rank:
        row.child("id").refuse(
            f"the GPU at index {rank} has id {row.integer('id')}", f"number the GPUs in order: give {rank}"
        )
    chunks = {
        letter: row.integer(f"{name}_chunks", high=MAX_CHUNKS)
        for letter, name in zip(_BUFFERS, ("input", "output", "scratch"), strict=True)
    }
    channels: list[Channel] = []
    groups: list[tuple[str, tuple[int, ...]]] = []
    counts: Counter[tuple[int, str]] = Counter()
    for block in row.items("channels"):
        kind = _channel_type(block)
        if kind == "switch":
            buffer = block.text("buff" if "buff" in block else "buffer_type", choices=_BUFFERS)
            for group in block.items("rank_groups"):
                members = tuple(each.number(high=ranks - 1) for each in group.items("ranks"))
                groups.append((buffer, members))
            continue
        for peer in block.items("connected_to"):
            other = peer.number(high=ranks - 1)
            if other == rank:
                peer.refuse(f"a channel connects GPU {rank} to itself", "name another GPU")
            channels.append(Channel(other, kind, counts[other, kind]))
            counts[other, kind] += 1
    buffers = [
        (
            block.integer("rank", high=ranks - 1),
            block.text("type", choices=_BUFFERS),
            frozenset(str(kind.value) for kind in block.items("access_channel_types")),
        )
        for block in row.items("remote_buffers")
    ]
    semaphores = [block.integer("init_value") for block in row.items("semaphores")]
    return Gpu(chunks, channels, buffers, groups, semaphores)


def _channel_type(row: Item) -> str:
    """Return the type of a list of channels, from the key `channel_type` or `type`; plans have either."""
    return row.text("channel_type" if "channel_type" in row else "type", choices=(*_LINKS, "switch"))


@final
class _Block:
    """Reader of a threadblock; resolves indices of channels and of peers' buffers in its operations."""

    def __init__(self, row: Item, gpu: Gpu, gpus: Sequence[Gpu], number: int) -> None:
        if row.integer("id") != number:
            row.child("id").refuse(
                f"the threadblock at index {number} has id {row.integer('id')}",
                f"number the threadblocks in order: give {number}",
            )
        self._row = row
        self._gpu = gpu
        self._gpus = gpus
        self._rank = next(rank for rank, each in enumerate(gpus) if each is gpu)
        self._channels: dict[str, list[Channel]] = {kind: [] for kind in _LINKS}
        self._groups: list[tuple[str, tuple[int, ...]]] = []
        self._buffers: dict[str, list[tuple[int, str]]] = {kind: [] for kind in _LINKS}
        for block in row.items("channels"):
            kind = _channel_type(block)
            own = [channel for channel in gpu.channels if channel.type == kind]
            size = len(gpu.groups) if kind == "switch" else len(own)
            for index in block.items("channel_ids"):
                if index.number() >= size:
                    index.refuse(
                        f"channel {index.value} does not exist: this GPU has {size} of type {kind}",
                        "give the index of one of its channels",
                    )
                if kind == "switch":
                    self._groups.append(gpu.groups[index.value])
                else:
                    self._channels[kind].append(own[index.value])
        for block in row.items("remote_buffer_refs"):
            kind = block.text("access_channel_type", choices=_LINKS)
            for reference in block.items("remote_buffer_ids"):
                if reference.number() >= len(gpu.buffers) or kind not in gpu.buffers[reference.value][2]:
                    reference.refuse(
                        f"this GPU has no remote buffer {reference.value} that {kind} channels reach",
                        "name an index of its remote_buffers",
                    )
                self._buffers[kind].append(gpu.buffers[reference.value][:2])

    def operations(self) -> list[PlanOperation]:
        """Return the operations of the threadblock; a `pipeline` is replaced by the operations inside it."""
        operations = []
        for item in self._row.items("ops"):
            if item.text("name") == "pipeline":
                operations += [self._operation(inner) for inner in item.items("ops")]
            else:
                operations.append(self._operation(item))
        return operations

    def _operation(self, item: Item) -> PlanOperation:
        name = item.text("name")
        if name == SWITCH_SUM:
            return self._sum_in_switch(item)
        if name in _STORES_IN_SWITCH:
            item.refuse(
                f"operation {name!r} stores through a switch, which is not supported",
                f"use a plan with `memory` channels, or with reductions in the switch ({SWITCH_SUM!r})",
            )
        if name in _SYNCHRONISE:
            return self._synchronise(item, name)
        kind = item.text("channel_type", "memory", choices=(*_LINKS, "none"))
        if name in _SIGNAL:
            channels = tuple(self._channel(reference, kind) for reference in item.items("channel_ids"))
            if not channels:
                item.refuse(f"operation {name!r} has no channel", "add `channel_ids`")
            return PlanOperation(item, name, channels=channels)
        if name not in _MOVES:
            known = ", ".join((*_SYNCHRONISE, *_SIGNAL, *_MOVES, SWITCH_SUM, "pipeline"))
            item.refuse(f"operation {name!r} is unknown", f"give {known}")
        return self._move(item, name, kind)

    def _synchronise(self, item: Item, name: str) -> PlanOperation:
        if name == "barrier":
            count = item.integer("num_threadblocks", low=1, high=MAX_CHUNKS)
            return PlanOperation(item, name, barrier=(item.integer("barrier_id"), count))
        if name.startswith("sem"):
            numbers = [
                each.number(high=len(self._gpu.semaphores) - 1) for each in item.items("semaphore_ids")
            ]
            return PlanOperation(item, name, semaphores=tuple(numbers))
        return PlanOperation(item, name)

    def _channel(self, reference: Item, kind: str) -> Channel:
        channels = self._channels.get(kind, [])
        if reference.number() >= len(channels):
            reference.refuse(
                f"channel {reference.value} does not exist: "
                f"this threadblock has {len(channels)} of type {kind}",
                "give the index of one of its channels",
            )
        return channels[reference.value]

    def _move(self, item: Item, name: str, kind: str) -> PlanOperation:
        self._check_sum(item)
        sources = tuple(self._part(part, kind) for part in item.items("src_buff"))
        targets = tuple(self._part(part, kind) for part in item.items("dst_buff"))
        self._check(item, name, sources, targets)
        group = item.child("tbg_info") if "tbg_info" in item else None
        cut = (0, 1)
        if group is not None:
            size = group.integer("tbg_size", low=1, high=_MAX_GROUP)
            cut = (group.integer("tb_id", high=size - 1), size)
        channels: tuple[Channel, ...] = ()
        if name in ("pws", "pwsf"):
            channels = tuple(self._channel(reference, kind) for reference in item.items("channel_ids"))
        return PlanOperation(item, name, sources, targets, channels, kind == "port", cut)

    def _sum_in_switch(self, item: Item) -> PlanOperation:
        (source,), (target,) = item.items("src_buff"), item.items("dst_buff")
        self._check_sum(item)
        keys = ("switch_channel_id", "index", "size")
        number, first, count = (source.integer(key, high=MAX_CHUNKS) for key in keys)
        if (number, first, count) != tuple(target.integer(key) for key in keys):
            item.refuse(
                f"operation {SWITCH_SUM!r} writes other chunks than it reads",
                "give src_buff and dst_buff the same switch_channel_id, index and size",
            )
        if number >= len(self._groups):
            source.refuse(
                f"switch channel {number} does not exist: this threadblock has {len(self._groups)}",
                "give the index of one of its switch channels",
            )
        buffer, members = self._groups[number]
        if len(set(members)) != len(self._gpus):
            item.refuse(
                f"operation {SWITCH_SUM!r} adds up {len(set(members))} of {len(self._gpus)} GPUs",
                "use a plan that adds up all GPUs",
            )
        parts = tuple(self._inside(item, Part(rank, buffer, first, count)) for rank in members)
        return PlanOperation(item, SWITCH_SUM, parts, parts)

    def _check_sum(self, item: Item) -> None:
        if item.text("reduce_op", "sum") != "sum":
            item.child("reduce_op").refuse(
                f"reduce_op {item.text('reduce_op')!r} is not supported", "use a plan with reduce_op 'sum'"
            )

    def _check(self, item: Item, name: str, sources: Sequence[Part], targets: Sequence[Part]) -> None:
        """Check number, size and GPU of the parts of an operation that moves data.

        Raises FormatError if a part belongs to a peer where the operation needs the GPU's own memory, or the
        reverse.
        """
        own_sources, own_targets = _MOVES[name]
        reads_peers = name in ("get", "rre", "rres")
        for what, parts, own, of_peers in (
            ("src_buff", sources, own_sources, reads_peers),
            ("dst_buff", targets, own_targets, name in _SENDS),
        ):
            if len(parts) < max(own, 1):
                item.refuse(
                    f"operation {name!r} has {len(parts)} parts in {what}, and needs {max(own, 1)}",
                    "add the missing parts",
                )
            for number, part in enumerate(parts):
                if (part.rank == self._rank) == (number >= own and of_peers):
                    own_part, peer_part = "the GPU's own memory", "memory of a peer"
                    given, needed = (
                        (own_part, peer_part) if part.rank == self._rank else (peer_part, own_part)
                    )
                    item.refuse(
                        f"part {number} in {what} of operation {name!r} is {given}",
                        f"name {needed}",
                    )
            if not of_peers and what == "dst_buff" and len(parts) > own:
                item.refuse(
                    f"operation {name!r} has {len(parts)} parts in dst_buff, but writes only {own}",
                    "remove the other parts",
                )
        if name in _PAIRED and len(sources) != len(targets):
            item.refuse(
                f"operation {name!r} has {len(sources)} sources and {len(targets)} targets",
                "give each source a target",
            )
        if len({part.count for part in (*sources, *targets)}) > 1:
            item.refuse(f"operation {name!r} has parts of different sizes", "give all parts the same size")

    def _part(self, item: Item, kind: str) -> Part:
        first, count = item.integer("index", high=MAX_CHUNKS), item.integer("size", low=1, high=MAX_CHUNKS)
        rank, buffer = self._rank, ""
        if "buffer_id" in item:
            buffers = self._buffers.get(kind, [])
            buffer_id = item.integer("buffer_id")
            if buffer_id >= len(buffers):
                item.refuse(
                    f"buffer_id {buffer_id} does not exist: "
                    f"this threadblock has {len(buffers)} for type {kind}",
                    "give an index of its remote_buffer_ids",
                )
            rank, buffer = buffers[buffer_id]
        else:
            buffer = item.text("type", choices=_BUFFERS)
        return self._inside(item, Part(rank, buffer, first, count))

    def _inside(self, item: Item, part: Part) -> Part:
        """Return `part` unchanged; FormatError if its chunks lie beyond the end of the buffer."""
        size = self._gpus[part.rank].chunks[part.buffer]
        if part.first + part.count > size:
            item.refuse(
                f"chunks {part.first} to {part.first + part.count - 1} do not exist: buffer {part.buffer} of "
                f"GPU {part.rank} has {size} chunks",
                "correct index and size",
            )
        return part
