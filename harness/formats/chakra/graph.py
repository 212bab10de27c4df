# SPDX-License-Identifier: Apache-2.0
"""Convert the Chakra traces of all ranks to a traffic graph; match the nodes of a collective across ranks."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import final

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Operation
from harness.formats.chakra.esi import read_esi
from harness.formats.chakra.node import COLLECTIVE, COLLECTIVES, METADATA, RECEIVE, SEND, Node, rank_of
from harness.formats.chakra.trace import read_trace
from harness.formats.collectives import collective, end_of
from harness.formats.files import within
from harness.formats.imported import MAX_OPERATIONS, Imported, graph_of, mesh_of
from harness.formats.text import FileLocation

__all__ = ["read_chakra"]

_PS_PER_US = 10**6
_ENDING = re.compile(r"\.(et|json)(\.gz)?$")


def read_chakra(paths: Sequence[Path]) -> Imported:
    """Return the traffic of traces; rank R is npuR of a full mesh.

    A computation takes its duration in the trace, on computing unit 0 for the GPU or 1 for the CPU. The nth
    collective node of a process group on each of its ranks belongs to the group's nth collective, which is
    carried out by the direct algorithm.

    Args:
        paths: Trace files, one per rank, or a single folder of trace files.

    Raises:
        FormatError: A trace is invalid, or the traces of the ranks contradict each other.
    """
    files = [*paths]
    if paths[0].is_dir():
        files = [within(paths[0], path) for path in sorted(paths[0].iterdir()) if _ENDING.search(path.name)]
    if not files:
        FileLocation(paths[0]).refuse(
            "the folder has no trace", "give files NAME.RANK.et, or a folder with such files"
        )
    files.sort(key=rank_of)
    merged = _Merged()
    for path in files:
        merged.add(path)
    operations = merged.operations()
    name = files[0].name.split(".")[0]
    graph, further = graph_of(name, operations)
    size = max(merged.nodes) + 1
    return Imported(name, graph, topology=mesh_of(max(size, 2)), notes=(*merged.notes(), *further))


@final
class _Merged:
    """Traces of several ranks; converts their nodes to operations of a traffic graph."""

    def __init__(self) -> None:
        self.nodes: dict[int, dict[int, Node]] = {}
        self._locations: dict[int, FileLocation] = {}
        self._alone = self._unknown = self._absent = 0

    def add(self, path: Path) -> None:
        """Read the trace file of a rank; FormatError if this rank already has a trace."""
        rank, location = rank_of(path), FileLocation(path)
        if rank in self.nodes:
            location.refuse(f"the file is a second trace of rank {rank}", "give one trace per rank")
        nodes = {}
        for node in read_esi(path) if ".json" in path.suffixes else read_trace(path):
            if node.id in nodes:
                location.refuse(f"node id {node.id} appears twice", "give each node an id of its own")
            nodes[node.id] = node
        self._absent += sum(other not in nodes for node in nodes.values() for other in node.waits)
        self.nodes[rank], self._locations[rank] = nodes, location

    def notes(self) -> tuple[str, ...]:
        """Return sentences on the content of the traces that the graph leaves out or changes."""
        notes = [
            "Collectives are carried out by the direct algorithm; their sizes are those of the whole array."
        ]
        if self._absent:
            notes.append(f"{self._absent} dependencies on nodes that the traces lack are left out.")
        if self._alone:
            notes.append(f"{self._alone} collectives have a single rank in these files, and take no time.")
        if self._unknown:
            notes.append(
                f"{self._unknown} nodes of collectives have no comm_type, as on the CPU, and take no time."
            )
        return tuple(notes)

    def operations(self) -> list[Operation]:
        """Return the operations of all ranks: collectives first, then all other nodes."""
        groups = self._groups()
        ends: dict[tuple[int, int], str] = {}
        for name, members in groups.items():
            for rank, node in members:
                ends[rank, node.id] = end_of(name, f"npu{rank}")
        result: list[Operation] = []
        self._bound(groups)
        offset = 0
        for name, members in groups.items():
            rank, node = members[0]
            size = node.number("comm_size", self._locations[rank], low=1)
            kind = COLLECTIVES[node.number("comm_type", self._locations[rank])]
            after = {f"npu{rank}": self._waits(rank, node, ends) for rank, node in members}
            root = self._root(members)
            operations, taken = collective(name, kind, [*after], size, after, offset, root)
            offset += taken
            result += operations
        for rank, nodes in self.nodes.items():
            result += [
                self._operation(rank, node, self._waits(rank, node, ends))
                for node in nodes.values()
                if (rank, node.id) not in ends
            ]
        return result

    def _groups(self) -> dict[str, list[tuple[int, Node]]]:
        """Return the members of each collective as (rank, node), by the name of the collective.

        The name is the process group and a running number. Collectives of a single rank are left out.
        """
        counts: dict[tuple[int, str], int] = defaultdict(int)
        groups: dict[str, list[tuple[int, Node]]] = defaultdict(list)
        for rank, nodes in sorted(self.nodes.items()):
            for node in sorted(nodes.values(), key=lambda node: node.id):
                if node.type != COLLECTIVE:
                    continue
                kind = node.values.get("comm_type")
                if kind is None:
                    self._unknown += 1
                    continue
                if isinstance(kind, str) or kind not in COLLECTIVES:
                    self._locations[rank].refuse(
                        f"comm_type {kind} of node {node.id} is not supported",
                        f"use {', '.join(map(str, COLLECTIVES))}",
                    )
                group = str(node.values.get("pg_name", ""))
                groups[f"{group or 'all'}.{counts[rank, group]}"].append((rank, node))
                counts[rank, group] += 1
        alone = [name for name, members in groups.items() if len(members) == 1]
        self._alone = len(alone)
        for name in alone:
            del groups[name]
        for members in groups.values():
            self._check(members)
        return dict(groups)

    def _check(self, members: Sequence[tuple[int, Node]]) -> None:
        first = members[0][1]
        for rank, node in members[1:]:
            for key in ("comm_type", "comm_size"):
                if node.values.get(key) != first.values.get(key):
                    self._locations[rank].refuse(
                        f"{key} of node {node.id} is {node.values.get(key)}, but rank {members[0][0]} has "
                        f"{first.values.get(key)} in the same collective",
                        "give all ranks the same collectives in the same order",
                    )

    def _bound(self, groups: Mapping[str, Sequence[tuple[int, Node]]]) -> None:
        """Raise FormatError if the collectives need too many operations, as a small file can demand."""
        count = sum(2 * len(members) ** 2 for members in groups.values())
        if count > MAX_OPERATIONS:
            rank = next(iter(groups.values()))[0][0]
            self._locations[rank].refuse(
                f"{len(groups)} collectives need up to {count} operations, more than {MAX_OPERATIONS}",
                "give fewer ranks, or shorten the traces",
            )

    def _root(self, members: Sequence[tuple[int, Node]]) -> int:
        """Return the index of a collective's root among its members; 0 without an attribute `root_rank`."""
        rank, node = members[0]
        root = node.number("root_rank", self._locations[rank], default=rank)
        ranks = [rank for rank, _ in members]
        if root not in ranks:
            self._locations[rank].refuse(
                f"root_rank {root} of node {node.id} takes no part in its collective",
                f"name one of {', '.join(map(str, ranks[:20]))}",
            )
        return ranks.index(root)

    def _waits(self, rank: int, node: Node, ends: dict[tuple[int, int], str]) -> tuple[str, ...]:
        known = (other for other in node.waits if other in self.nodes[rank])
        return tuple(dict.fromkeys(ends.get((rank, other), f"r{rank}.{other}") for other in known))

    def _operation(self, rank: int, node: Node, after: tuple[str, ...]) -> Operation:
        name, member, location = f"r{rank}.{node.id}", f"npu{rank}", self._locations[rank]
        if node.type in (SEND, RECEIVE):
            sends = node.type == SEND
            peer = node.number("comm_dst" if sends else "comm_src", location)
            if peer not in self.nodes:
                location.refuse(
                    f"node {node.id} names rank {peer}, which has no trace", f"add the trace of rank {peer}"
                )
            size = node.number("comm_size", location, low=1)
            tag = node.number("comm_tag", location, default=0)
            kind = "send" if sends else "receive"
            adds = not sends and node.values.get("combine") == "reduce"
            combine = Combine.REDUCE if adds else Combine.COPY
            return Operation(name, kind, member, f"npu{peer}", size, combine=combine, tag=tag, after=after)
        quiet = node.type in (COLLECTIVE, METADATA)
        unit = int(bool(node.values.get("is_cpu_op", False)))
        exact = node.number("duration_ps", location, default=node.duration_us * _PS_PER_US)
        duration = 0 if quiet else exact
        return Operation(name, "compute", member, after=after, compute_ps=duration, unit=unit)
