# SPDX-License-Identifier: Apache-2.0
"""Importer of htsim's connection matrices (.cm): flows that begin at a time or when a trigger fires.

    Nodes 16
    Connections 2
    Triggers 1
    0->13 id 1 start 0 size 2000000 recv_done_trigger 5
    13->0 id 2 trigger 5 size 2000000
    trigger id 5 oneshot

Times are picoseconds. A flow's send_done_trigger or recv_done_trigger names a trigger to fire at the flow's
end. A oneshot trigger fires after a single flow, a barrier after the number of flows in its count. A
multishot trigger fires after each of its flows, and the nth time starts the nth flow that waits for the
trigger. A topology file (.topo) may give the fabric.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emulation.traffic.graph.operations import Operation
from harness.formats.imported import Imported, Waits, graph_of, mesh_of
from harness.formats.text import FileLocation, lines_of, open_file
from topologies import Fabric
from topologies.sources.files import read_fabric
from topologies.sources.htsim_topology import htsim_clos

__all__ = ["read_matrix"]

_COUNTS = {"Nodes": "nodes", "Connections": "flows", "Triggers": "triggers", "Failures": "failures"}
_KINDS = ("oneshot", "multishot", "barrier")
_FLOW_KEYS = ("start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger", "prio")
_MAX_NODES = 1 << 16


@dataclass(slots=True)
class _Flow:
    location: FileLocation
    source: int
    target: int
    values: dict[str, int]
    message: bool = False  # The line is one of several messages that share an id (keyword `msg`).

    @property
    def name(self) -> str:
        if "id" not in self.values or self.message:
            return f"line{self.location.line}"
        return f"flow{self.values['id']}"


@dataclass(slots=True)
class _Trigger:
    location: FileLocation
    kind: str
    count: int


@dataclass(slots=True)
class _Matrix:
    counts: dict[str, int] = field(default_factory=dict)
    flows: list[_Flow] = field(default_factory=list)
    triggers: dict[int, _Trigger] = field(default_factory=dict)


def read_matrix(paths: Sequence[Path], *, by_hash: bool = False) -> Imported:
    """Return the flows of a connection matrix as sends; node N is called npuN.

    Args:
        paths: A connection matrix and at most one topology file (.topo). Without a topology file the fabric
            is a full mesh.
        by_hash: The switches of the topology file choose among equal uplinks by hash, unless the file has
            parallel links.

    Raises:
        FormatError: A file is invalid; the message names file and line.
    """
    topologies = [path for path in paths if path.suffix == ".topo"]
    matrices = [path for path in paths if path not in topologies]
    if len(matrices) != 1 or len(topologies) > 1:
        FileLocation(paths[0]).refuse(
            f"expected one matrix and at most one topology, got {len(matrices)} matrices and "
            f"{len(topologies)} topologies",
            "give one FILE.cm, and one FILE.topo if the traffic has a topology",
        )
    path = matrices[0]
    matrix = _Matrix()
    for location, text in lines_of(path):
        words = text.split()
        if words[0] in _COUNTS:
            number = location.integer(words[1] if len(words) > 1 else "", words[0], high=1 << 24)
            matrix.counts[_COUNTS[words[0]]] = number
        elif "->" in words[0]:
            matrix.flows.append(_flow(location, words, matrix.counts))
        elif words[0] == "trigger":
            _trigger(location, words[1:], matrix.triggers)
        elif words[0] == "failure":
            location.refuse("switch failures cannot be imported", "write a fault into the scenario instead")
        else:
            location.refuse(
                f"{words[0]!r} begins no line of a connection matrix",
                "begin a line with a flow A->B, `trigger`, Nodes, Connections, Triggers or Failures",
            )
    for what, here in (("flows", len(matrix.flows)), ("triggers", len(matrix.triggers))):
        if matrix.counts.get(what, 0) != here:
            FileLocation(path).refuse(
                f"the head says {matrix.counts.get(what, 0)} {what}, the file has {here}",
                "correct the head; the file may be cut short",
            )
    if not matrix.flows:
        FileLocation(path).refuse("the matrix has no flow", "add a line such as `0->1 start 0 size 1000`")
    graph, notes = graph_of(path.stem, _operations(path, matrix))
    if any("prio" in flow.values for flow in matrix.flows):
        notes = ("`prio` is ignored.", *notes)
    if topologies:
        fabric = _fabric(topologies[0], path, matrix, by_hash=by_hash)
        return Imported(path.stem, graph, fabric, notes=notes)
    return Imported(path.stem, graph, topology=mesh_of(matrix.counts["nodes"]), notes=notes)


def _fabric(path: Path, matrix_path: Path, matrix: _Matrix, *, by_hash: bool) -> Fabric:
    """Return the fabric of a topology file; FormatError if it has fewer nodes than the matrix."""
    with open_file(path) as file:
        text = file.read().decode(errors="replace")
    fabric = (htsim_clos(path, text) if by_hash else None) or read_fabric(path)
    nodes = sum(node.name.startswith("npu") for node in fabric.nodes)
    if nodes < matrix.counts["nodes"]:
        FileLocation(matrix_path).refuse(
            f"the matrix has {matrix.counts['nodes']} nodes, but {path} has {nodes}",
            "give a topology with at least as many nodes",
        )
    return fabric


def _flow(location: FileLocation, words: Sequence[str], counts: Mapping[str, int]) -> _Flow:
    if "nodes" not in counts:
        location.refuse("a flow stands above the number of nodes", "begin the file with `Nodes N`")
    if not 2 <= counts["nodes"] <= _MAX_NODES:
        location.refuse(f"`Nodes {counts['nodes']}` is out of range", f"give 2 to {_MAX_NODES}")
    ends = words[0].split("->")
    source, target = (location.integer(end, "node", high=counts["nodes"] - 1) for end in ends[:2])
    if len(ends) != 2 or source == target:
        location.refuse(f"{words[0]} does not join two different nodes", "write a flow as A->B")
    values: dict[str, int] = {}
    rest = iter(words[1:])
    for key in rest:
        if key == "msg":
            # `msg`: messages of a connection follow each other. A pair of hosts shares a connection anyway.
            continue
        if key not in _FLOW_KEYS:
            location.refuse(f"a flow has no key {key!r}", f"use {', '.join(_FLOW_KEYS)}")
        text = next(rest, "")
        if key == "start" and text.count(".") == 1:
            text, fraction = text.split(".")
            if fraction.strip("0"):
                location.refuse(f"start {text}.{fraction} is no whole number", "give whole picoseconds")
        values[key] = location.integer(text, key)
    if values.get("size", 0) == 0:
        location.refuse("the flow has no size, and would never end", "give `size BYTES`")
    if ("start" in values) == ("trigger" in values):
        given = "both `start` and `trigger`" if "start" in values else "neither `start` nor `trigger`"
        location.refuse(f"the flow has {given}", "give either `start` or `trigger`")
    return _Flow(location, source, target, values, message="msg" in words)


def _trigger(location: FileLocation, words: Sequence[str], triggers: dict[int, _Trigger]) -> None:
    kind, values = "", {"count": 0}
    rest = iter(words)
    for key in rest:
        if key in _KINDS:
            kind = key
        elif key in ("id", "count"):
            values[key] = location.integer(next(rest, ""), key, low=1)
        else:
            location.refuse(f"a trigger has no key {key!r}", "use id, count, oneshot, multishot or barrier")
    if not kind or "id" not in values:
        location.refuse("the trigger has no id or no kind", "write for example `trigger id 1 oneshot`")
    if values["id"] in triggers:
        location.refuse(f"trigger {values['id']} is defined twice", "give each trigger an id of its own")
    triggers[values["id"]] = _Trigger(location, kind, values["count"])


def _operations(path: Path, matrix: _Matrix) -> tuple[Operation, ...]:
    """Return a send for each flow; a flow with a trigger waits for the sends that fire the trigger."""
    causes: dict[int, list[_Flow]] = defaultdict(list)
    for flow in matrix.flows:
        for key in ("send_done_trigger", "recv_done_trigger"):
            if key in flow.values:
                causes[flow.values[key]].append(flow)
    fired: dict[int, int] = defaultdict(int)
    waits = Waits()
    operations = []
    for flow in matrix.flows:
        after: tuple[str, ...] = ()
        if "trigger" in flow.values:
            number = flow.values["trigger"]
            after = _fired_by(flow, number, matrix, causes[number], fired[number])
            fired[number] += 1
            waits.add(len(after), flow.location)
        operations.append(
            Operation(
                flow.name,
                "send",
                f"npu{flow.source}",
                f"npu{flow.target}",
                flow.values["size"],
                after=after,
                at_ps=flow.values.get("start", 0),
            )
        )
    return tuple(operations)


def _fired_by(
    flow: _Flow, number: int, matrix: _Matrix, causes: Sequence[_Flow], place_in_list: int
) -> tuple[str, ...]:
    """Return the names of the sends whose ends start a flow that waits for a trigger.

    `causes` are the flows that fire the trigger when they end, in file order. `place_in_list` is the number
    of earlier flows that wait for the same trigger.
    """
    trigger = matrix.triggers.get(number)
    if trigger is None:
        flow.location.refuse(f"trigger {number} is not defined", f"add `trigger id {number} oneshot`")
    if not causes:
        flow.location.refuse(
            f"no flow fires trigger {number}: this flow never begins",
            f"add `send_done_trigger {number}` to another flow",
        )
    if trigger.kind == "multishot":
        if place_in_list >= len(causes):
            flow.location.refuse(
                f"multishot trigger {number} fires {len(causes)} times, but more flows wait for it",
                "let as many flows fire the trigger as wait for it",
            )
        return (causes[place_in_list].name,)
    needed = 1 if trigger.kind == "oneshot" else trigger.count
    if len(causes) != needed:
        trigger.location.refuse(
            f"trigger {number} fires after {needed} flows, but {len(causes)} flows name it",
            f"let exactly {needed} flows name the trigger",
        )
    return tuple(cause.name for cause in causes)
