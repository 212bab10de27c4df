# SPDX-License-Identifier: Apache-2.0
"""Traffic graphs as Chakra's traces, a file a rank, with the times of a run if there was one.

A send is a COMM_SEND of its source and a COMM_RECV of its target, joined by a tag that no other message of
the pair has; computations and copies are COMP nodes. `data_deps` hold all waits, of the graph and for data.
Chakra's times are whole microseconds; the attributes `start_ps` and `duration_ps` have all digits.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Graph, Operation
from harness.errors import OutputError
from harness.formats.chakra.data_order import data_order
from harness.formats.chakra.node import COMPUTE, RECEIVE, SEND
from harness.formats.chakra.trace import node_class

__all__ = ["Times", "to_traces", "write_traces"]

Times = Mapping[tuple[str, str], tuple[int | None, int | None]]
"""Begin and end of operations in ps, by job and name."""

_VERSION = b"\x0a\x051.0.0"  # field 1 of the metadata with which a trace begins
_PS_PER_US = 10**6


@final
@dataclass(slots=True)
class _Rank:
    """Nodes of a rank, serialised; numbers of nodes begin with 1."""

    nodes: list[bytes] = field(default_factory=list)

    def add(self, name: str, kind: int, waits: Iterable[int], **values: Any) -> int:
        """Add a node; return its number. `values` are attributes, and the times in ps."""
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
    """Return the messages of each rank's trace without their lengths.

    Args:
        jobs: Names and graphs of jobs.
        ranks: Ranks of members.
        times: Begin and end of the operations in a run, counted from its begin; without it, only computations
            have a duration.
    """
    writer = _Writer(ranks, times or {})
    for name, graph in jobs:
        writer.add(name, graph, qualified=len(jobs) > 1)
    return {rank: [_VERSION, *entry.nodes] for rank, entry in sorted(writer.traces.items())}


def write_traces(folder: Path, name: str, traces: Mapping[int, Sequence[bytes]], *, packed: bool) -> None:
    """Write NAME.RANK.et for each rank, compressed by gzip if `packed`.

    Raises:
        OutputError: The folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for rank, messages in traces.items():
            data = b"".join(part for message in messages for part in (_length(message), message))
            content = gzip.compress(data, mtime=0) if packed else data
            (folder / f"{name}.{rank}.et").write_bytes(content)
    except OSError as ex:
        raise OutputError(f"{folder}: {ex.strerror}", remedy="name a folder that can be written") from None


def _length(message: bytes) -> bytes:
    """Return the length of a message as a varint."""
    length, data = len(message), b""
    while length > 0x7F:
        data, length = data + bytes([length & 0x7F | 0x80]), length >> 7
    return data + bytes([length])


@final
class _Writer:
    """Nodes of all ranks."""

    def __init__(self, ranks: Mapping[str, int], times: Times) -> None:
        self.traces: dict[int, _Rank] = {rank: _Rank() for rank in ranks.values()}
        self._ranks = ranks
        self._times = times
        self._tags: Counter[tuple[str, str]] = Counter()

    def add(self, job: str, graph: Graph, *, qualified: bool) -> None:
        """Add a job's operations; with `qualified`, names of nodes begin with that of the job."""
        order, of_read, of_write = data_order(graph)
        sent: dict[int, tuple[str, dict[str, Any]]] = {}
        senders = {receive: send for send, receive in graph.receive_of.items()}
        ends: dict[tuple[int, str], int] = {}  # node by place of an operation and member that sees its end
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
        """Add the node of a send; return its number and the attributes that the receive repeats."""
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
        """Add the node of an arrival; `end` is its receive, or the send that no receive takes."""
        if end.combine is Combine.REDUCE:
            values = {**values, "combine": ("string_val", "reduce")}
        return self._rank(member).add(label, RECEIVE, waits, **values)
