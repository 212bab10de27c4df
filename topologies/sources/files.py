# SPDX-License-Identifier: Apache-2.0
"""Reading of fabric files: JSON of `railyard show --json`, GraphML, node-link JSON, P4 tutorials, htsim."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topologies.errors import TopologyError
from topologies.model.checks import check
from topologies.model.codec import FORMAT, from_json
from topologies.model.fabric import Fabric
from topologies.model.graphs import DELAY_NS, RATE_GBPS, from_graph
from topologies.sources.htsim_topology import htsim_graph
from topologies.sources.p4lang_topology import is_tutorial, tutorial_graph

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["SUFFIXES", "read_fabric"]

_FORMATS = "give JSON of `railyard show --json`, GraphML, node-link JSON of networkx, or .topo of htsim"

# Attributes of a graph that apply to the whole fabric; others are ignored.
_GRAPH_KEYS = ("name", "rate_gbps", "delay_ns")


def read_fabric(path: Path) -> Fabric:
    """Return the checked fabric of a file; TopologyError names file, line or element, and a remedy."""
    reader = SUFFIXES.get(path.suffix.lower())
    if reader is None:
        raise TopologyError(f"{path}: the suffix {path.suffix!r} belongs to no known format", remedy=_FORMATS)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as ex:
        reason = getattr(ex, "strerror", None) or "not UTF-8 text"
        raise TopologyError(f"{path} cannot be read: {reason}", remedy=_FORMATS) from None
    try:
        return reader(path, text)
    except TopologyError as ex:
        if ex.message.startswith(str(path)):
            raise
        raise TopologyError(f"{path}: {ex.message}", remedy=ex.remedy) from None


def fabric_of_graph(graph: "nx.Graph", name: str) -> Fabric:
    """Return the checked fabric of a graph.

    The graph itself may have attributes `name` (default: `name`), `rate_gbps` and `delay_ns`.
    """
    own = {key: value for key, value in graph.graph.items() if key in _GRAPH_KEYS}
    fabric = from_graph(
        graph,
        str(own.get("name") or name),
        rate_gbps=own.get("rate_gbps", RATE_GBPS),
        delay_ns=own.get("delay_ns", DELAY_NS),
    )
    check(fabric)
    return fabric


def _from_json(path: Path, text: str) -> Fabric:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as ex:
        raise TopologyError(
            f"{path}:{ex.lineno}: the file is not JSON: {ex.msg}", remedy="correct the line"
        ) from None
    except (RecursionError, ValueError) as ex:
        raise TopologyError(f"{path} is not the JSON of a fabric: {ex}", remedy="correct the file") from None
    if is_tutorial(document):
        return fabric_of_graph(tutorial_graph(path, document), path.stem)
    is_graph = isinstance(document, dict) and "nodes" in document and "format" not in document
    if not is_graph or "address_plan" in document:
        return from_json(text)
    import networkx as nx

    edges = "links" if "links" in document else "edges"
    try:
        graph = nx.node_link_graph(document, edges=edges)
    except (KeyError, TypeError, ValueError, nx.NetworkXError) as ex:
        reason = f"no {ex}" if isinstance(ex, KeyError) else str(ex)
        raise TopologyError(
            f"{path} is not node-link JSON: {reason}",
            remedy=f"write it by networkx.node_link_data, or as {FORMAT}",
        ) from None
    return fabric_of_graph(graph, path.stem)


def _from_graphml(path: Path, text: str) -> Fabric:
    from xml.etree.ElementTree import ParseError

    import networkx as nx

    try:
        graph = nx.parse_graphml(text)
    except ParseError as ex:
        raise TopologyError(
            f"{path}:{ex.position[0]}: the file is not XML: {ex}", remedy="correct the line"
        ) from None
    except (nx.NetworkXError, KeyError, ValueError) as ex:
        raise TopologyError(
            f"{path} is not GraphML: {ex}", remedy="write it by networkx.write_graphml"
        ) from None
    if graph.is_multigraph():
        graph = nx.MultiGraph(graph)
    for _, _, data in graph.edges(data=True):
        data.pop("id", None)  # networkx reads the id of an edge as an attribute
    return fabric_of_graph(_renamed(graph), path.stem)


def _renamed(graph: "nx.Graph") -> "nx.Graph":
    """Return the graph with nodes named by their attribute `name` or `label`, as written by editors.

    If two nodes would have one name, all nodes keep the ids of the file.
    """
    import networkx as nx

    labels: dict[Any, Any] = {}
    for node, data in graph.nodes(data=True):
        own = [data.pop(key) for key in ("name", "label") if key in data]
        labels[node] = own[0] if own else node
    if len(set(labels.values())) < len(labels):
        return graph
    return nx.relabel_nodes(graph, labels)


def _from_topo(path: Path, text: str) -> Fabric:
    return fabric_of_graph(htsim_graph(path, text), path.stem)


SUFFIXES: dict[str, Callable[[Path, str], Fabric]] = {
    ".json": _from_json,
    ".graphml": _from_graphml,
    ".topo": _from_topo,
}
"""Readers of fabric files, by suffix."""
