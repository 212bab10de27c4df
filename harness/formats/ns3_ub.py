# SPDX-License-Identifier: Apache-2.0
"""Importer of case folders of the simulator ns-3-UB: nodes, links, tasks and faults as CSV files.

    node.csv        nodeId (a number or a range 0..15), nodeType DEVICE or SWITCH, portNum
    topology.csv    nodeId1, portId1, nodeId2, portId2, bandwidth, delay
    traffic.csv     taskId, source, destination, bytes, opType, priority, delay, phaseId, dependOnPhases
    fault.csv       taskId, faultType and the parameters of the fault; optional
    network_attribute.txt   attributes; only those about paths and retransmission are read; optional
    transport_channel.csv   ports of transport channels; read to see if two nodes use several ports; optional

A task begins `delay` after the last task of the phases on which it depends. Railyard plans the paths:
routing_table.csv is not read.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation.traffic.graph.operations import Operation
from harness.formats.files import within
from harness.formats.imported import Imported, Waits, graph_of
from harness.formats.text import FileLocation, lines_of
from topologies import Fabric
from topologies.model.graphs import from_graph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["read_case"]

_READS = frozenset({"URMA_READ", "MEM_LOAD"})
_WRITES = frozenset({"URMA_WRITE", "URMA_WRITE_NOTIFY", "MEM_STORE"})
_REQUEST_BYTES = 4
_MAX_NODES = 1 << 16
_SLOWER = (2, 4)
_FAULTS = ("loss", "delay", "congestion", "flap", "lower rate", "corruption")
_NOT_READ = "routing_table.csv is not read: paths, queues and transport are Railyard's."
_ATTRIBUTE = re.compile(r'default ns3::UbTransportChannel::(\w+) "(\w+)"')
_NO_TIMEOUT_US = 10_000
_ALL_PAIRS = 512  # Above this number of endpoints, paths are planned only for pairs that have traffic.


def read_case(paths: Sequence[Path]) -> Imported:
    """Return fabric, traffic and faults of the one case folder in `paths`; node N is called nN.

    Raises FormatError with file and line if a file is missing or invalid.
    """
    (folder,) = paths
    if not folder.is_dir():
        FileLocation(folder).refuse(
            "the path is no folder", "name the folder of node.csv, topology.csv and traffic.csv"
        )
    graph = _nodes(within(folder, folder / "node.csv"))
    rates = _links(within(folder, folder / "topology.csv"), graph)
    for node, degree in graph.degree():
        if not degree:
            FileLocation(folder / "topology.csv").refuse(
                f"node {node[1:]} has no link", "add a link to it, or remove it from node.csv"
            )
    fabric = from_graph(graph, folder.name)
    endpoints = {node.name for node in fabric.endpoints}
    operations, notes = _tasks(within(folder, folder / "traffic.csv"), endpoints)
    faults = _faults(within(folder, folder / "fault.csv"), fabric, rates, notes)
    traffic, further = graph_of(folder.name, operations)
    return Imported(
        folder.name,
        traffic,
        fabric,
        faults=tuple(faults),
        settings=_settings(folder, len(endpoints)),
        notes=(_NOT_READ, *notes, *further),
    )


def _settings(folder: Path, endpoints: int) -> dict[str, Any]:
    """Return the variant's settings of routing and transport, from the attributes of the case.

    With the attribute UseShortestPaths each source keeps to one of its shortest paths to a destination,
    unless packets are sprayed or transport channels use several ports. Above 512 endpoints only sources and
    destinations with traffic get paths.
    """
    settings: dict[str, Any] = {"routing": {"peers": "job"}} if endpoints > _ALL_PAIRS else {}
    path = folder / "network_attribute.txt"
    if not path.exists():
        return settings
    values = {match[1]: match[2] for _, text in lines_of(path) if (match := _ATTRIBUTE.search(text))}
    if values.get("UseShortestPaths") == "true":
        settings["routing"] = {"strategy": "equal-cost"} | settings.get("routing", {})
        if values.get("UsePacketSpray") != "true" and not _several_ports(folder / "transport_channel.csv"):
            settings["transport"] = {"connections": {"paths": "random", "count": 1}}
    if values.get("EnableRetrans") == "false":
        settings.setdefault("transport", {}).update(initial_rto_us=_NO_TIMEOUT_US, min_rto_us=_NO_TIMEOUT_US)
    return settings


def _several_ports(path: Path) -> bool:
    """Return whether any pair of nodes has transport channels over different pairs of ports."""
    if not path.exists():
        return False
    ports: dict[tuple[str, str], tuple[str, str]] = {}
    return any(
        ports.setdefault((cells[0], cells[3]), (cells[1], cells[4])) != (cells[1], cells[4])
        for _, cells in _rows(path, 6)
    )


def _rows(path: Path, columns: int) -> Iterator[tuple[FileLocation, list[str]]]:
    """Yield location and cells of each row of a CSV file below its header; cells are stripped of blanks.

    Raises FormatError if a row has fewer cells than `columns`, or the file has no header.
    """
    head = True
    for location, text in lines_of(path):
        if head:
            head = False
            continue
        try:
            cells = [cell.strip() for cell in next(csv.reader([text]))]
        except csv.Error as ex:
            location.refuse(f"the line is no CSV: {ex}", "separate the cells by commas")
        if len(cells) < columns:
            location.refuse(
                f"the row has {len(cells)} columns; the file may be cut short", f"give at least {columns}"
            )
        yield location, cells
    if head:
        FileLocation(path).refuse("the file has no line", "begin with a line of column names")


def _nodes(path: Path) -> "nx.MultiGraph":
    import networkx as nx

    graph = nx.MultiGraph()
    for location, (nodes, kind, *_) in _rows(path, 3):
        first, _, last = nodes.partition("..")
        low = location.integer(first, "nodeId", high=_MAX_NODES)
        high = location.integer(last, "nodeId", low=low, high=_MAX_NODES) if last else low
        if kind not in ("DEVICE", "SWITCH"):
            location.refuse(f"nodeType {kind!r} is unknown", "give DEVICE or SWITCH")
        for number in range(low, high + 1):
            if f"n{number}" in graph:
                location.refuse(f"node {number} appears twice", "remove one of its lines")
            graph.add_node(f"n{number}", kind="npu" if kind == "DEVICE" else "switch")
    return graph


def _links(path: Path, graph: "nx.MultiGraph") -> dict[tuple[str, int], float]:
    """Add the links of topology.csv to the graph; return the rate in Gbit/s by node name and port number."""
    rates: dict[tuple[str, int], float] = {}
    for location, cells in _rows(path, 6):
        ends = []
        for node, port in (cells[:2], cells[2:4]):
            name = f"n{location.integer(node, 'nodeId')}"
            if name not in graph:
                location.refuse(f"node {node} is not in node.csv", "add the node to node.csv")
            number = location.integer(port, "portId", high=250)
            if (name, number) in rates:
                location.refuse(f"port {port} of node {node} has two links", "give each link its own port")
            rates[name, number] = location.rate_gbps(cells[4])
            ends.append((name, number))
        (a, port_a), (b, port_b) = ends
        if a == b:
            location.refuse(f"a link joins node {a[1:]} to itself", "join two different nodes")
        graph.add_edge(
            a,
            b,
            rate_gbps=rates[a, port_a],
            delay_ns=location.picoseconds(cells[5]) / 1000,
            ports=f"{a}:{port_a + 1} {b}:{port_b + 1}",
        )
    return rates


def _tasks(path: Path, endpoints: set[str]) -> tuple[list[Operation], list[str]]:
    """Return the sends of all tasks of traffic.csv, and notes for the user.

    A read becomes two sends: a request to the target, and the data on the way back.
    """
    tasks = []
    by_phase: dict[int, list[int]] = defaultdict(list)
    reads = 0
    for location, cells in _rows(path, 7):
        number = location.integer(cells[0], "taskId")
        ends = [
            f"n{location.integer(cell, what)}"
            for cell, what in zip(cells[1:3], ("source", "destination"), strict=True)
        ]
        for end in ends:
            if end not in endpoints:
                location.refuse(
                    f"node {end[1:]} of task {number} is no DEVICE", "name a node of type DEVICE in node.csv"
                )
        if ends[0] == ends[1]:
            location.refuse(f"task {number} sends to its own node", "name two different nodes")
        if cells[4] not in _READS | _WRITES:
            location.refuse(f"opType {cells[4]!r} is unknown", f"give {', '.join(sorted(_READS | _WRITES))}")
        reads += cells[4] in _READS
        phase = location.integer(cells[7], "phaseId") if len(cells) > 7 and cells[7] else 0
        needs = [location.integer(text, "phase") for text in cells[8].split()] if len(cells) > 8 else []
        size = location.integer(cells[3], "dataSize", low=1)
        delay = location.picoseconds(cells[6]) if cells[6] else 0
        by_phase[phase].append(number)
        tasks.append((location, number, ends, size, cells[4], delay, needs))
    if not tasks:
        FileLocation(path).refuse("the file has no task", "add a line for each task")
    operations = []
    waits = Waits()
    for location, number, (source, target), size, kind, delay, needs in tasks:
        waits.add(sum(len(by_phase[phase]) for phase in needs if phase in by_phase), location)
        after = tuple(f"task{other}" for phase in needs for other in by_phase.get(phase, ()))
        for phase in needs:
            if phase not in by_phase:
                location.refuse(
                    f"task {number} depends on phase {phase}, which has no task",
                    "name a phase that has tasks",
                )
        first = Operation(f"task{number}", "send", source, target, size, after=after)
        first = replace(first, delay_ps=delay) if after else replace(first, at_ps=delay)
        if kind in _READS:
            request = replace(first, id=f"task{number}.request", size=_REQUEST_BYTES)
            first = Operation(f"task{number}", "send", target, source, size, after=(request.id,))
            operations.append(request)
        operations.append(first)
    return operations, [
        f"{reads} reads are modelled as a request of {_REQUEST_BYTES} bytes and the data in return."
    ] if reads else []


def _faults(
    path: Path, fabric: Fabric, rates: dict[tuple[str, int], float], notes: list[str]
) -> list[dict[str, Any]]:
    """Return the faults of fault.csv that lower the rate of a port.

    Faults of other types concern a task; each adds a sentence to `notes` and is left out.
    """
    if not path.exists():
        return []
    faults = []
    for location, cells in _rows(path, 5):
        kind = location.integer(cells[1], "faultType", high=len(_FAULTS) - 1)
        if kind not in _SLOWER:
            notes.append(
                f"The fault of line {location.line} ({_FAULTS[kind]} of task {cells[0]}) is left out: "
                "in Railyard faults concern links, not tasks."
            )
            continue
        parts = cells[4].split()
        if len(parts) != 3:
            location.refuse(
                f"{cells[4]!r} is no parameter of a lower rate", "give node, port and rate in Mbit/s"
            )
        node, port, rate = (
            location.integer(part, what) for part, what in zip(parts, ("node", "port", "rate"), strict=True)
        )
        if (f"n{node}", port) not in rates:
            location.refuse(f"port {port} of node {node} has no link", "name a port in topology.csv")
        link = fabric.link_at(f"n{node}", port + 1)
        assert link is not None
        factor = rate / 1000 / rates[f"n{node}", port]
        if not 0 < factor <= 1:
            location.refuse(
                f"rate {rate} Mbit/s is 0 or above the link's rate",
                f"give 1 to {round(rates[f'n{node}', port] * 1000)}",
            )
        peer = (link.b if link.a.node == f"n{node}" else link.a).node
        percent = round(100 * factor, 6)
        faults.append({"at_us": 0.001, "direction": f"n{node}->{peer}", "event": "rate", "percent": percent})
    return faults
