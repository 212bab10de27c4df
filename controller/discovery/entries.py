# SPDX-License-Identifier: Apache-2.0
"""Table entries of the program ub_scan: a node's GUID, class and ports, which need no plan."""

from collections.abc import Mapping, Sequence

from controller.plan.entry import Entry, Exact
from topologies import HOST_PORT, Fabric, Node

__all__ = ["guid_of", "scan_entries"]

_VENDOR = int.from_bytes(b"RAILYARD", "big")
_TOPOLOGY_QUERY = 0


def guid_of(node: Node) -> int:
    """Return a node's fixed GUID of 128 bits: the text RAILYARD in 64 bits, then the node's device id."""
    return _VENDOR << 64 | node.device_id


def scan_entries(fabric: Fabric) -> Mapping[str, Sequence[Entry]]:
    """Return the entries of each node by name: its GUID, class and ports, but not the ports' links."""
    return {node.name: tuple(_entries(node)) for node in fabric.nodes}


def _entries(node: Node) -> Sequence[Entry]:
    numbers = [port.number for port in node.ports if port.number != HOST_PORT]
    guid = guid_of(node)
    identity = Entry(
        "identity",
        (("cmd", Exact(_TOPOLOGY_QUERY)),),
        "identify",
        (
            ("guid_high", guid >> 64),
            ("guid_low", guid & (1 << 64) - 1),
            ("class_code", node.kind.code),
            ("ports", max(numbers, default=0)),
        ),
    )
    ports = [
        Entry("port", (("port", Exact(number)),), "leave", (("egress_port", number),)) for number in numbers
    ]
    return [identity, *ports]
