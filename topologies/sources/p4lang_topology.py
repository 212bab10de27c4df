# SPDX-License-Identifier: Apache-2.0
"""Topology files of the P4 language project's tutorials: switches, hosts, links between numbered ports.

    {"hosts": {"h1": {...}}, "switches": {"s1": {...}},
     "links": [["h1", "s1-p1"], ["s1-p2", "s2-p2", "10ms", 100]]}

A link may give its latency, in ms unless a unit follows, and its rate in Mb/s. The contents of hosts and
switches (addresses, commands, entries) are not read; the tutorials' own scripts use them.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topologies.errors import TopologyError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["is_tutorial", "tutorial_graph"]

_UNITS = {"": 10**6, "ms": 10**6, "us": 10**3, "ns": 1}
_MAX = 10**9
_SHAPE = 'write ["h1", "s1-p1"], or ["s1-p2", "s2-p2", latency in ms, Mb/s]'


def is_tutorial(document: object) -> bool:
    """Return whether a JSON document has the keys of a tutorial's topology: hosts, switches, links."""
    return isinstance(document, dict) and {"hosts", "switches", "links"} <= document.keys()


def tutorial_graph(path: Path, document: Mapping[str, Any]) -> "nx.Graph":
    """Return the graph of a document; TopologyError names the key or the link that is invalid."""
    import networkx as nx

    for key, kind in (("hosts", dict), ("switches", dict), ("links", list)):
        if not isinstance(document[key], kind):
            raise TopologyError(
                f"{path}: {key} is not a {'list' if kind is list else 'block'}", remedy=_SHAPE
            )
    graph: Any = nx.MultiGraph()
    graph.add_nodes_from(document["switches"], kind="switch")
    graph.add_nodes_from(document["hosts"], kind="host")
    for number, link in enumerate(document["links"]):
        what = f"{path}: links[{number}]"
        if not isinstance(link, list) or not 2 <= len(link) <= 4:
            raise TopologyError(f"{what} is {link!r}, not a list of 2 to 4 items", remedy=_SHAPE)
        ends = [_end(what, text, graph) for text in link[:2]]
        wanted = " ".join(f"{node}:{port}" for node, port in ends if port)
        data: dict[str, Any] = {"ports": wanted} if wanted else {}
        if len(link) > 2:
            data["delay_ns"] = _delay_ns(what, link[2])
        if len(link) > 3:
            data["rate_gbps"] = _number(what, link[3]) / 1000
        graph.add_edge(ends[0][0], ends[1][0], **data)
    return graph


def _end(what: str, text: object, graph: "nx.Graph") -> tuple[str, str]:
    """Return the node of an end, and its port as text; an empty text for a host, which has no port number."""
    name, _, port = str(text).rpartition("-p")
    node = name if name and port.isdecimal() else str(text)
    if node not in graph:
        raise TopologyError(f"{what}: the file has no switch or host named {node!r}", remedy=_SHAPE)
    return node, port if node == name else ""


def _delay_ns(what: str, text: object) -> float:
    match = re.fullmatch(r"([0-9.]+)\s*(ms|us|ns|)", str(text))
    if match is None:
        raise TopologyError(f"{what}: the latency {text!r} cannot be read", remedy="write it as 10ms or 5us")
    return _number(what, match[1]) * _UNITS[match[2]]


def _number(what: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = -1
    if not 0 <= number <= _MAX:
        raise TopologyError(f"{what}: {value!r} is not a number from 0 to {_MAX:,}", remedy=_SHAPE)
    return number
