# SPDX-License-Identifier: Apache-2.0
"""The process group of the backend `railyard`: every collective runs on the fabric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, final

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from emulation.traffic.frames.values import Combine, ElementType
from harness.ranks.calls import Call, Kind
from railyard.torch.elements import bytes_of, fill, plain, reduction_of, total_bytes
from railyard.torch.process import current
from railyard.torch.sparse import all_reduce_sparse
from railyard.torch.work import Done, FabricWork

__all__ = ["NAME", "FabricProcessGroup", "register_backend"]

NAME = "railyard"

Tensors = Sequence[torch.Tensor]


def register_backend() -> None:
    """Register the backend with `torch.distributed`; a second call does nothing."""
    if NAME.upper() not in dist.Backend._plugins:
        dist.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu"])


def _create(options: Any, _: object) -> FabricProcessGroup:
    return FabricProcessGroup(
        options.store, options.group_rank, options.group_size, options.timeout, options.group_id
    )


_made: dict[str, int] = {}
"""Number of groups that this process has made with each name, to tell groups of one name apart."""


@final
class FabricProcessGroup(dist.ProcessGroup):  # type: ignore[misc]
    """A process group of ranks on a fabric."""

    def __init__(self, store: Any, rank: int, size: int, timeout: timedelta, name: str) -> None:
        super().__init__(rank, size)
        self._process = current()
        self._own, self._count, self._timeout = rank, size, timeout
        self._members: tuple[int, ...] | None = None
        self._store = store
        _made[name] = _made.get(name, 0) + 1
        self._group = f"{name}#{_made[name]}"
        self._group_name = name
        self._description = "undefined"
        if size > 1:
            store.set(f"railyard/{rank}", f"{self._process.rank} {self._group}")

    # -- properties that PyTorch reads

    def getBackendName(self) -> str:
        """Return the name of the backend."""
        return NAME

    def name(self) -> str:
        """Return the name of the backend."""
        return NAME

    def rank(self) -> int:
        """Return the rank of this process in the group."""
        return self._own

    def size(self) -> int:
        """Return the number of members."""
        return self._count

    getRank, getSize = rank, size

    def getGroupName(self) -> str:
        """Return the name of the group."""
        return self._group_name

    def setGroupName(self, name: str) -> None:
        """Set the name of the group."""
        self._group_name = name

    def getGroupDesc(self) -> str:
        """Return the description of the group."""
        return self._description

    def setGroupDesc(self, description: str) -> None:
        """Set the description of the group."""
        self._description = description

    _set_group_name, _set_group_desc = setGroupName, setGroupDesc
    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)

    def abort(self) -> None:
        """Do nothing, because a failed operation has already ended."""

    def shutdown(self) -> None:
        """Do nothing, because no connection outlives a collective."""

    def __repr__(self) -> str:
        return f"FabricProcessGroup(rank {self._own} of {self._count}, {self._group_name})"

    # -- collectives on one array

    def allreduce(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        """Reduce the tensors of all members; all members get the result."""
        opts = opts or c10d.AllreduceOptions()
        if tensors[0].is_sparse:
            return self._allreduce_sparse(tensors, opts)
        kind, combine = reduction_of(tensors[0], opts.reduceOp)
        call = self._array("all_reduce", tensors, kind, combine)
        return self._start(call, opts, tensors, self._averaging(tensors, opts))

    def _allreduce_sparse(self, tensors: Tensors, opts: Any) -> dist.Work:
        if opts.reduceOp != dist.ReduceOp.SUM:
            raise ValueError(
                f"railyard does not support {opts.reduceOp} of sparse tensors; use SUM or a dense tensor"
            )
        all_reduce_sparse(tensors[0], self._count, self.alltoall)
        return Done(tensors)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        """Reduce several tensors of all members; all members get the results."""
        return Done(tensors, [self.allreduce([tensor], opts) for tensor in tensors])

    def reduce(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        """Reduce the tensors of all members; the root gets the result."""
        opts = opts or c10d.ReduceOptions()
        kind, combine = reduction_of(tensors[0], opts.reduceOp)
        call = self._array("reduce", tensors, kind, combine, root=opts.rootRank)
        finish = self._averaging(tensors, opts) if self._own == opts.rootRank else _nothing
        return self._start(call, opts, tensors, finish)

    def broadcast(self, tensors: Tensors, opts: Any = None) -> dist.Work:
        """Copy the tensors of the root to all members."""
        opts = opts or c10d.BroadcastOptions()
        at_root = self._own == opts.rootRank
        call = self._array("broadcast", tensors, root=opts.rootRank, empty=not at_root)
        return self._start(call, opts, tensors, _nothing if at_root else _filling(tensors))

    def barrier(self, opts: Any = None) -> dist.Work:
        """Synchronise: the work ends when all members have called this method."""
        return self._start(Call("barrier", b"\0" * 8, 8), opts or c10d.BarrierOptions(), [], _nothing)

    # -- collectives on a block for each member

    def allgather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> dist.Work:
        """Gather a tensor of each member in a list of tensors at all members."""
        call = self._array("all_gather", inputs)
        return self._start(call, opts or c10d.AllgatherOptions(), outputs[0], _filling(outputs[0]))

    def all_gather_single(self, output: torch.Tensor, value: torch.Tensor, opts: Any = None) -> dist.Work:
        """Gather a tensor of each member in one tensor at all members."""
        if output.numel() != value.numel() * self._count or output.dtype != value.dtype:
            raise ValueError(
                f"the output of all_gather has {output.numel()} elements of {output.dtype}, and "
                f"{self._count} ranks give {value.numel()} of {value.dtype} each; give an output of that size"
            )
        call = self._array("all_gather", [value])
        return self._start(call, opts or c10d.AllgatherOptions(), [output], _filling([output]))

    def all_gather_single_coalesced(self, outputs: Tensors, values: Tensors, opts: Any = None) -> dist.Work:
        """Gather several tensors of each member at all members, each in one tensor."""
        pairs = zip(outputs, values, strict=True)
        return Done(outputs, [self.all_gather_single(output, value, opts) for output, value in pairs])

    def allgather_coalesced(self, outputs: Sequence[Tensors], values: Tensors, opts: Any = None) -> dist.Work:
        """Gather several tensors of each member at all members; `outputs[i]` gets the tensors of member i."""
        works = [
            self.allgather([[row[index] for row in outputs]], [value], opts)
            for index, value in enumerate(values)
        ]
        return Done([tensor for row in outputs for tensor in row], works)

    def reduce_scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any = None) -> dist.Work:
        """Reduce lists with a tensor for each member; a member gets the result of the tensors for it."""
        return self._reduce_scatter(outputs[0], inputs[0], opts or c10d.ReduceScatterOptions())

    def reduce_scatter_single(self, output: torch.Tensor, value: torch.Tensor, opts: Any = None) -> dist.Work:
        """Reduce a tensor of all members; each member gets an equal part of the result."""
        if value.numel() != output.numel() * self._count or output.dtype != value.dtype:
            raise ValueError(
                f"the input of reduce_scatter has {value.numel()} elements of {value.dtype}, and "
                f"{self._count} ranks get {output.numel()} of {output.dtype} each; give an input of that size"
            )
        return self._reduce_scatter(output, [value], opts or c10d.ReduceScatterOptions())

    def reduce_scatter_single_coalesced(
        self, outputs: Tensors, values: Tensors, opts: Any = None
    ) -> dist.Work:
        """Reduce several tensors of all members; each member gets an equal part of each result."""
        pairs = zip(outputs, values, strict=True)
        return Done(outputs, [self.reduce_scatter_single(output, value, opts) for output, value in pairs])

    def _reduce_scatter(self, output: torch.Tensor, inputs: Tensors, opts: Any) -> dist.Work:
        kind, combine = reduction_of(output, opts.reduceOp)
        with plain():
            call = Call("reduce_scatter", bytes_of(inputs), total_bytes([output]), kind, combine)
        return self._start(call, opts, [output], self._averaging([output], opts))

    def gather(self, outputs: Sequence[Tensors], inputs: Tensors, opts: Any = None) -> dist.Work:
        """Gather a tensor of each member in a list of tensors at the root."""
        opts = opts or c10d.GatherOptions()
        call = self._array("gather", inputs, root=opts.rootRank)
        at_root = self._own == opts.rootRank
        tensors = outputs[0] if at_root else []
        return self._start(call, opts, tensors, _filling(tensors) if at_root else _nothing)

    def scatter(self, outputs: Tensors, inputs: Sequence[Tensors], opts: Any = None) -> dist.Work:
        """Send each member a tensor from a list of tensors at the root."""
        opts = opts or c10d.ScatterOptions()
        given = inputs[0] if self._own == opts.rootRank else []
        with plain():
            call = Call("scatter", bytes_of(given), total_bytes(outputs), root=opts.rootRank)
        return self._start(call, opts, outputs, _filling(outputs))

    # -- exchanges

    def alltoall(self, outputs: Tensors, inputs: Tensors, opts: Any = None) -> dist.Work:
        """Send a tensor to each member, and receive a tensor from each member."""
        with plain():
            call = Call(
                "all_to_all",
                bytes_of(inputs),
                sent=tuple(total_bytes([tensor]) for tensor in inputs),
                received=tuple(total_bytes([tensor]) for tensor in outputs),
            )
        return self._start(call, opts or c10d.AllToAllOptions(), outputs, _filling(outputs))

    def all_to_all_single(
        self,
        output: torch.Tensor,
        value: torch.Tensor,
        output_splits: Sequence[int] | None = None,
        input_splits: Sequence[int] | None = None,
        opts: Any = None,
    ) -> dist.Work:
        """Send a part of `value` to each member, and receive a part of `output` from each member.

        The splits are the numbers of rows for each member; without them all parts are equal.
        """
        with plain():
            call = Call(
                "all_to_all",
                bytes_of([value]),
                sent=self._split(value, input_splits),
                received=self._split(output, output_splits),
            )
        return self._start(call, opts or c10d.AllToAllOptions(), [output], _filling([output]))

    def _split(self, tensor: torch.Tensor, rows: Sequence[int] | None) -> tuple[int, ...]:
        if rows:
            if len(rows) != self._count or sum(rows) != tensor.size(0):
                raise ValueError(
                    f"the splits {list(rows)} do not divide {tensor.size(0)} rows among {self._count} ranks; "
                    "give a number of rows for each rank"
                )
            each = total_bytes([tensor]) // max(1, tensor.size(0))
            return tuple(count * each for count in rows)
        if tensor.dim() and tensor.size(0) % self._count:
            raise ValueError(
                f"{tensor.size(0)} rows cannot be divided equally among {self._count} ranks; give splits"
            )
        return (total_bytes([tensor]) // self._count,) * self._count

    def send(self, tensors: Tensors, target: int, tag: int = 0) -> dist.Work:
        """Send a tensor to a member."""
        return self._pair("send", tensors, target, tag)

    def recv(self, tensors: Tensors, source: int, tag: int = 0) -> dist.Work:
        """Receive a tensor from a member."""
        return self._pair("receive", tensors, source, tag)

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> dist.Work:
        """Receive a tensor from any member."""
        return self._pair("receive", tensors, -1, tag)

    def _pair(self, name: str, tensors: Tensors, partner: int, tag: int) -> dist.Work:
        if partner == self._own or partner >= self._count:
            raise ValueError(
                f"rank {self._own} of {self._count} cannot exchange data with rank {partner}; name another "
                "rank of the group"
            )
        call = self._array("send", tensors, empty=name == "receive")
        finish = _filling(tensors) if name == "receive" else _nothing
        number = self._process.begin(name, self._group_id(), self._ranks(), call, partner, tag)
        return FabricWork(self._process, number, self._timeout, tensors, finish)

    # -- common parts

    def _array(
        self,
        kind: Kind,
        tensors: Tensors,
        dtype: ElementType = ElementType.UINT8,
        combine: Combine = Combine.REDUCE,
        *,
        root: int = 0,
        empty: bool = False,
    ) -> Call:
        with plain():
            data = b"" if empty else bytes_of(tensors)
        return Call(kind, data, total_bytes(tensors), dtype, combine, root)

    def _start(self, call: Call, opts: Any, tensors: Tensors, finish: Callable[[bytes], None]) -> dist.Work:
        """Begin a collective, and return its work; in a group of one member the work ends at once."""
        if self._count == 1:
            with plain():
                finish(call.data)
            return Done(tensors)
        number = self._process.begin("call", self._group_id(), self._ranks(), call)
        timeout = opts.timeout if opts.timeout > timedelta(0) else self._timeout
        return FabricWork(self._process, number, timeout, tensors, finish)

    def _averaging(self, tensors: Tensors, opts: Any) -> Callable[[bytes], None]:
        """Return a writer of results into tensors; for an average, it divides by the group's size."""
        if opts.reduceOp != dist.ReduceOp.AVG:
            return _filling(tensors)

        def finish(data: bytes) -> None:
            fill(tensors, data)
            for tensor in tensors:
                if tensor.is_floating_point() or tensor.is_complex():
                    tensor.detach().div_(self._count)
                else:
                    tensor.detach().div_(self._count, rounding_mode="trunc")

        return finish

    def _ranks(self) -> tuple[int, ...]:
        """Return each member's rank in the run, as published by the members in the store."""
        if self._members is None:
            values = self._store.multi_get([f"railyard/{rank}" for rank in range(self._count)])
            pairs = [bytes(value).decode().split(" ", 1) for value in values]
            self._members = tuple(int(rank) for rank, _ in pairs)
            self._group = f"{pairs[0][1]} of {pairs[0][0]}"
        return self._members

    def _group_id(self) -> str:
        self._ranks()
        return self._group


def _nothing(_: bytes) -> None:
    """Ignore the result."""


def _filling(tensors: Tensors) -> Callable[[bytes], None]:
    return lambda data: fill(tensors, data)
