# SPDX-License-Identifier: Apache-2.0
"""htsim's connection matrices (.cm): flows that begin at a time or when a trigger fires, perhaps on a .topo.

    Nodes 16
    Connections 2
    Triggers 1
    0->13 id 1 start 0 size 2000000 recv_done_trigger 5
    13->0 id 2 trigger 5 size 2000000
    trigger id 5 oneshot

Times are picoseconds. A barrier fires when as many flows have ended as its count says. A multishot trigger
starts one flow of its list each time, the nth when the nth flow that names it has ended.
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
    message: bool = False  # one of several messages with the same id

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


def read_matrix(paths: Sequence[Path]) -> Imported:
    """Return the flows of a connection matrix as sends; node n is npuN of a full mesh or a topology file."""
    topologies = [path for path in paths if path.suffix == ".topo"]
    matrices = [path for path in paths if path not in topologies]
    if len(matrices) != 1 or len(topologies) > 1:
        FileLocation(paths[0]).refuse(
            f"{len(matrices)} matrices and {len(topologies)} topologies",
            "give a matrix, and perhaps a topology",
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
            location.refuse("a failure of a switch", "write it as a fault of the scenario")
        else:
            location.refuse(f"{words[0]!r} begins no line of a connection matrix")
    for what, here in (("flows", len(matrix.flows)), ("triggers", len(matrix.triggers))):
        if matrix.counts.get(what, 0) != here:
            FileLocation(path).refuse(
                f"the head says {matrix.counts.get(what, 0)} {what}, the file has {here}"
            )
    if not matrix.flows:
        FileLocation(path).refuse("no flow")
    graph, notes = graph_of(path.stem, _operations(path, matrix))
    if any("prio" in flow.values for flow in matrix.flows):
        notes = ("`prio` is ignored.", *notes)
    if topologies:
        return Imported(path.stem, graph, _fabric(topologies[0], path, matrix), notes=notes)
    return Imported(path.stem, graph, topology=mesh_of(matrix.counts["nodes"]), notes=notes)


def _fabric(path: Path, matrix_path: Path, matrix: _Matrix) -> Fabric:
    """Return the fabric of a topology file, which has a node for each of the matrix."""
    open_file(path).close()
    fabric = read_fabric(path)
    nodes = sum(node.name.startswith("npu") for node in fabric.nodes)
    if nodes < matrix.counts["nodes"]:
        FileLocation(matrix_path).refuse(f"{matrix.counts['nodes']} nodes, but {path} has {nodes}")
    return fabric


def _flow(location: FileLocation, words: Sequence[str], counts: Mapping[str, int]) -> _Flow:
    if "nodes" not in counts:
        location.refuse("a flow above the number of nodes", "begin with `Nodes N`")
    if not 2 <= counts["nodes"] <= _MAX_NODES:
        location.refuse(f"{counts['nodes']} nodes", f"give 2 to {_MAX_NODES}")
    ends = words[0].split("->")
    source, target = (location.integer(end, "node", high=counts["nodes"] - 1) for end in ends[:2])
    if len(ends) != 2 or source == target:
        location.refuse(f"a flow {words[0]}", "give two different nodes, A->B")
    values: dict[str, int] = {}
    rest = iter(words[1:])
    for key in rest:
        if key == "msg":
            continue  # one of several messages of a connection, which a pair of hosts shares here
        if key not in _FLOW_KEYS:
            location.refuse(f"key {key!r}", f"give {', '.join(_FLOW_KEYS)}")
        text = next(rest, "")
        if key == "start" and text.count(".") == 1:
            text, fraction = text.split(".")
            if fraction.strip("0"):
                location.refuse(f"start {text}.{fraction}", "give whole picoseconds")
        values[key] = location.integer(text, key)
    if values.get("size", 0) == 0:
        location.refuse("a flow without a size has no end", "give `size BYTES`")
    if ("start" in values) == ("trigger" in values):
        location.refuse("a flow begins at a time or by a trigger", "give `start` or `trigger`")
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
            location.refuse(f"key {key!r} of a trigger", "give id, count, oneshot, multishot or barrier")
    if not kind or "id" not in values:
        location.refuse("a trigger has an id and a kind", "write `trigger id 1 oneshot`")
    if values["id"] in triggers:
        location.refuse(f"trigger {values['id']} is there twice")
    triggers[values["id"]] = _Trigger(location, kind, values["count"])


def _operations(path: Path, matrix: _Matrix) -> tuple[Operation, ...]:
    """Return a send for each flow."""
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
    """Return the sends whose ends start the flow."""
    trigger = matrix.triggers.get(number)
    if trigger is None:
        flow.location.refuse(f"trigger {number} is nowhere described", f"add `trigger id {number} oneshot`")
    if not causes:
        flow.location.refuse(f"no flow fires trigger {number}: this flow never begins")
    if trigger.kind == "multishot":
        if place_in_list >= len(causes):
            flow.location.refuse(
                f"trigger {number} fires {len(causes)} times, and starts more flows than that"
            )
        return (causes[place_in_list].name,)
    needed = 1 if trigger.kind == "oneshot" else trigger.count
    if len(causes) != needed:
        trigger.location.refuse(
            f"trigger {number} fires after {needed} of {len(causes)} flows; which are the first is not known",
            "give as many flows as it needs",
        )
    return tuple(cause.name for cause in causes)
