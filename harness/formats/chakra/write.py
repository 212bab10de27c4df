# SPDX-License-Identifier: Apache-2.0
"""Convert traffic graphs to Chakra traces, one file per rank, with the times of a run if they are given.

A send becomes a COMM_SEND node at its source and a COMM_RECV node at its target, with a tag that is unique
among the messages from this source to this target. Computations and copies become COMP nodes. `data_deps`
hold the dependencies of the graph and the data dependencies. Chakra's times are whole microseconds; the
attributes `start_ps` and `duration_ps` give them in picoseconds.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Graph, Operation
from harness.formats.chakra.data_order import data_order
from harness.formats.chakra.node import COMPUTE, RECEIVE, SEND
from harness.formats.chakra.trace import node_class
from harness.output import writing

__all__ = ["Times", "to_traces", "write_traces"]

Times = Mapping[tuple[str, str], tuple[int | None, int | None]]
"""Begin and end of operations in picoseconds, by (name of the job, id of the operation)."""

_VERSION = b"\x0a\x051.0.0"  # First message of a trace: metadata whose field 1, the version, is 1.0.0.
_PS_PER_US = 10**6


@final
@dataclass(slots=True)
class _Rank:
    """Serialised nodes of a rank's trace; node ids count from 1."""

    nodes: list[bytes] = field(default_factory=list)

    def add(self, name: str, kind: int, waits: Iterable[int], **values: Any) -> int:
        """Add a node; return its id.

        `kind` is a node type of Chakra, and `waits` has ids of nodes. `values` are attributes as (arm of the
        oneof, value), and `start_ps` and `duration_ps` as plain numbers.
        """
        number = len(self.nodes) + 1
        start, duration = values.pop("start_ps", None), values.pop("duration_ps", None)
        node = node_class()(id=number, name=name, type=kind, data_deps=dict.fromkeys(waits))
        for key, value, where in (
            ("start_ps", start, "start_time_micros"),
            ("duration_ps", duration, "duration_micros"),
        ):
            if value is not None:
                setattr(node, where, round(value / _PS_PER_US))
                node.attr.add(name=key, uint64_val=value)
        for key, (arm, value) in values.items():
            node.attr.add(name=key, **{arm: value})
        self.nodes.append(node.SerializeToString(deterministic=True))
        return number


def to_traces(
    jobs: Sequence[tuple[str, Graph]], ranks: Mapping[str, int], times: Times | None = None
) -> dict[int, list[bytes]]:
    """Return the messages of each rank's trace, without length prefixes.

    Args:
        jobs: Name and traffic graph of each job.
        ranks: Rank of each member.
        times: Begin and end of the operations since the begin of the run; without times, only computations
            have a duration.
    """
    writer = _Writer(ranks, times or {})
    for name, graph in jobs:
        writer.add(name, graph, qualified=len(jobs) > 1)
    return {rank: [_VERSION, *entry.nodes] for rank, entry in sorted(writer.traces.items())}


def write_traces(folder: Path, name: str, traces: Mapping[int, Sequence[bytes]], *, packed: bool) -> None:
    """Write the file NAME.RANK.et of each rank into a folder; create the folder if needed.

    Args:
        folder: Target folder.
        name: NAME in the names of the files.
        traces: Messages of each rank, as `to_traces` returns them.
        packed: Compress the files by gzip; the names remain.

    Raises:
        OutputError: The folder or a file cannot be written.
    """
    with writing(folder, "name a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        for rank, messages in traces.items():
            data = b"".join(part for message in messages for part in (_length(message), message))
            content = gzip.compress(data, mtime=0) if packed else data
            (folder / f"{name}.{rank}.et").write_bytes(content)


def _length(message: bytes) -> bytes:
    """Return the length of a message as a protobuf varint."""
    length, data = len(message), b""
    while length > 0x7F:
        data, length = data + bytes([length & 0x7F | 0x80]), length >> 7
    return data + bytes([length])


@final
class _Writer:
    """Collects the nodes of all ranks' traces, job by job."""

    def __init__(self, ranks: Mapping[str, int], times: Times) -> None:
        self.traces: dict[int, _Rank] = {rank: _Rank() for rank in ranks.values()}
        self._ranks = ranks
        self._times = times
        self._tags: Counter[tuple[str, str]] = Counter()

    def add(self, job: str, graph: Graph, *, qualified: bool) -> None:
        """Add the operations of a job; with `qualified`, names of nodes begin with the name of the job."""
        order, of_read, of_write = data_order(graph)
        sent: dict[int, tuple[str, dict[str, Any]]] = {}
        senders = {receive: send for send, receive in graph.receive_of.items()}
        # Node id by (index of an operation, member that sees it end): a send ends at both of its members.
        ends: dict[tuple[int, str], int] = {}
        for number in order:
            operation = graph.operations[number]
            member = operation.member
            label = f"{job}.{operation.id}" if qualified else operation.id
            named = [ends[graph.end_of(name, member), member] for name in operation.after]
            waits = [*named, *(ends[other, member] for other in of_read.get(number, ()))]
            writes = of_write.get(number, ())
            match operation.kind:
                case "compute":
                    ends[number, member] = self._compute(job, label, operation, waits)
                case "copy":
                    waits += [ends[other, member] for other in writes]
                    ends[number, member] = self._copy(job, label, operation, waits)
                case "receive":
                    waits = [*named, *(ends[other, member] for other in writes)]
                    ends[number, member] = self._receive(member, *sent[senders[number]], operation, waits)
                case "send":
                    ends[number, member], values = self._send(job, label, operation, waits)
                    sent[number] = label, values
                    if number not in graph.receive_of:
                        waits = [ends[other, operation.peer] for other in writes]
                        end = self._receive(operation.peer, label, values, operation, waits)
                        ends[number, operation.peer] = end

    def _rank(self, member: str) -> _Rank:
        return self.traces[self._ranks[member]]

    def _span(self, job: str, operation: Operation) -> dict[str, int]:
        begin, end = self._times.get((job, operation.id), (None, None))
        if begin is None or end is None:
            return {}
        return {"start_ps": begin, "duration_ps": end - begin}

    def _compute(self, job: str, label: str, operation: Operation, waits: Sequence[int]) -> int:
        span = {"duration_ps": operation.compute_ps} | self._span(job, operation)
        on_cpu = ("bool_val", operation.unit == 1)
        return self._rank(operation.member).add(label, COMPUTE, waits, is_cpu_op=on_cpu, **span)

    def _copy(self, job: str, label: str, operation: Operation, waits: Sequence[int]) -> int:
        values: dict[str, Any] = {"tensor_size": ("uint64_val", operation.size)}
        values |= {"is_cpu_op": ("bool_val", False)}
        if operation.combine is Combine.REDUCE:
            values["combine"] = ("string_val", "reduce")
        span = {"duration_ps": operation.compute_ps} | self._span(job, operation)
        return self._rank(operation.member).add(label, COMPUTE, waits, **values, **span)

    def _send(
        self, job: str, label: str, operation: Operation, waits: Sequence[int]
    ) -> tuple[int, dict[str, Any]]:
        """Add the COMM_SEND node of a send; return its id, and its attributes for the COMM_RECV node."""
        rank = self._rank(operation.member)
        if operation.compute_ps:
            unit = ("bool_val", operation.unit == 1)
            name = f"{label}.compute"
            waits = [rank.add(name, COMPUTE, waits, is_cpu_op=unit, duration_ps=operation.compute_ps)]
        pair = operation.member, operation.peer
        tag = self._tags[pair]
        self._tags[pair] += 1
        values = {
            "comm_src": ("int32_val", self._ranks[operation.member]),
            "comm_dst": ("int32_val", self._ranks[operation.peer]),
            "comm_size": ("int64_val", operation.size),
            "comm_tag": ("int32_val", tag),
            "is_cpu_op": ("bool_val", False),
            **self._span(job, operation),
        }
        return rank.add(label, SEND, waits, **values), values

    def _receive(
        self, member: str, label: str, values: Mapping[str, Any], end: Operation, waits: Sequence[int]
    ) -> int:
        """Add the COMM_RECV node of a message at its target; return its id.

        `end` is the receive that takes the message; if no receive takes it, `end` is the send.
        """
        if end.combine is Combine.REDUCE:
            values = {**values, "combine": ("string_val", "reduce")}
        return self._rank(member).add(label, RECEIVE, waits, **values)
