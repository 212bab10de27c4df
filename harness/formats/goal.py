# SPDX-License-Identifier: Apache-2.0
"""Importer of GOAL, the traffic format of LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine, ICPP 2009).

    num_ranks 2
    rank 0 {
    l1: send 1024b to 1 tag 7 cpu 0 nic 0
    l2: calc 5000
    l2 requires l1
    }

Times of `calc` are nanoseconds. With `a requires b`, a begins after the end of b; with `a irequires b`, after
the begin of b.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emulation.traffic.graph.operations import Graph, Operation
from harness.formats.imported import Imported, Waits, mesh_of
from harness.formats.text import FileLocation, lines_of

__all__ = ["read_goal"]

_MAX_RANKS = 1 << 16
_PS_PER_NS = 1000
_OPERATION = re.compile(
    r"(?:(?P<label>\w+)\s*:)?\s*(?:"
    r"(?P<kind>send|recv)\s+(?P<size>\d+)b\s+(?:to|from)\s+(?P<peer>\d+)|calc\s+(?P<time>\d+))"
    r"(?P<options>(?:\s+(?:tag|cpu|nic)\s+\d+)*)"
)
_WAITS = re.compile(r"(\w+)\s+(i?requires)\s+(\w+)")
_RANK = re.compile(r"rank\s+(\d+)\s*\{")


@dataclass(slots=True)
class _Begun:
    """An operation while its rank is read, with the labels in its lines `requires` and `irequires`."""

    location: FileLocation
    operation: Operation
    requires: list[str] = field(default_factory=list)
    begins_with: list[str] = field(default_factory=list)


def read_goal(paths: Sequence[Path]) -> Imported:
    """Return the traffic of the one GOAL file in `paths`; rank R becomes the node npuR of a full mesh.

    Raises FormatError with file and line if the file is invalid.
    """
    (path,) = paths
    ranks = 0
    rank: int | None = None
    begun: dict[str, _Begun] = {}
    operations: list[Operation] = []
    seen: set[int] = set()
    waits = Waits()
    location = FileLocation(path)
    for location, text in lines_of(path, comment="//"):
        if match := re.fullmatch(r"num_ranks\s+(\d+)", text):
            ranks = location.integer(match[1], "num_ranks", low=2, high=_MAX_RANKS)
        elif match := _RANK.fullmatch(text):
            rank = location.integer(match[1], "rank", high=ranks - 1)
            if rank in seen:
                location.refuse(f"rank {rank} appears twice", "put all operations of a rank into one block")
            seen.add(rank)
            begun = {}
        elif text == "}" and rank is not None:
            operations += _resolved(rank, begun, waits)
            rank = None
        elif rank is None:
            location.refuse(
                f"{text[:60]!r} stands outside of a rank", "begin with `num_ranks N`, then `rank R {`"
            )
        elif match := _WAITS.fullmatch(text):
            _wait(location, begun, match[1], match[2], match[3])
        else:
            _begin(location, begun, rank, ranks, text)
    if rank is not None:
        location.refuse(f"rank {rank} has no end; the file may be cut short", "close it with `}`")
    if not operations:
        location.refuse("the file has no operation", "give a send, recv or calc")
    notes = ("Times come from the fabric, not from LogGP's parameters; `nic` is ignored.",)
    return Imported(path.stem, Graph(path.stem, tuple(operations)), topology=mesh_of(ranks), notes=notes)


def _begin(location: FileLocation, begun: dict[str, _Begun], rank: int, ranks: int, text: str) -> None:
    match = _OPERATION.fullmatch(text)
    if match is None:
        location.refuse(
            f"{text[:60]!r} is no operation of GOAL",
            "write `label: send 8b to 1 tag 0`, `recv 8b from 1`, `calc 100` or `label requires label`",
        )
    label = match["label"] or f"#{location.line}"
    if label in begun:
        location.refuse(f"label {label} appears twice", "give each operation of a rank a label of its own")
    options = dict(zip(*[iter(match["options"].split())] * 2, strict=True))
    name, member = f"r{rank}.{label}", f"npu{rank}"
    if match["kind"] is None:
        time = location.integer(match["time"], "calc") * _PS_PER_NS
        unit = location.integer(options.get("cpu", "0"), "cpu", high=255)
        operation = Operation(name, "compute", member, compute_ps=time, unit=unit)
    else:
        peer = location.integer(match["peer"], "rank", high=ranks - 1)
        if peer == rank:
            location.refuse(f"rank {rank} sends to itself or receives from itself", "name another rank")
        tag = location.integer(options.get("tag", "0"), "tag")
        size = location.integer(match["size"], "size", low=1)
        kind = "send" if match["kind"] == "send" else "receive"
        operation = Operation(name, kind, member, f"npu{peer}", size, tag=tag)
    begun[label] = _Begun(location, operation)


def _wait(location: FileLocation, begun: dict[str, _Begun], label: str, verb: str, other: str) -> None:
    for name in (label, other):
        if name not in begun:
            location.refuse(
                f"no operation of this rank is called {name}", "name an operation above this line"
            )
    (begun[label].requires if verb == "requires" else begun[label].begins_with).append(other)


def _resolved(rank: int, begun: dict[str, _Begun], counted: Waits) -> list[Operation]:
    """Return a rank's operations with their dependencies.

    GOAL's `a irequires b` lets a begin when b begins: a therefore waits for all operations for which b waits.
    """
    from dataclasses import replace

    result = []
    for label, entry in begun.items():
        waits: dict[str, None] = {}
        pending, visited = [label], set[str]()
        while pending:
            at = pending.pop()
            if at not in visited:
                visited.add(at)
                counted.add(1 + len(begun[at].requires), begun[at].location)
                waits |= dict.fromkeys(begun[at].requires)
                pending += begun[at].begins_with
        if label in waits:
            entry.location.refuse(
                f"operation {label} waits for itself", "remove one of the dependencies that form a cycle"
            )
        result.append(replace(entry.operation, after=tuple(f"r{rank}.{name}" for name in waits)))
    return result
