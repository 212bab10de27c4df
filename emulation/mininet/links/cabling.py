# SPDX-License-Identifier: Apache-2.0
"""Cabling of a fabric: an endpoint of the cross-connect for each port, and the names of interfaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from emulation.errors import TestbedError
from emulation.mininet.links.endpoints import Endpoint, Tunnel
from topologies import HOST_PORT, End, Fabric

__all__ = ["HOST_INTERFACE", "Cabling", "cable", "host_endpoint", "endpoint_at", "tunnel_endpoint"]

HOST_INTERFACE = "eth0"

# Linux: IFNAMSIZ, without the terminating zero.
_MOST_NAME = 15


@final
@dataclass(frozen=True, slots=True)
class Cabling:
    """Endpoints of a fabric's ports and hosts.

    `interfaces` are the switches' interfaces by node and port; the inner side of an endpoint has the
    name of the interface. `hosts` are the nodes with a host. `mtu` is the longest UB packet in bytes.
    """

    endpoints: Sequence[Endpoint]
    interfaces: Mapping[tuple[str, int], str]
    hosts: Sequence[str]
    mtu: int


def endpoint_at(end: End) -> str:
    """Return the name of the endpoint at a switch's port."""
    return f"{end.node}:{end.port}"


def host_endpoint(node: str) -> str:
    """Return the name of the endpoint of a node's host."""
    return f"{node}:host"


def tunnel_endpoint(end: End, tunnel: Tunnel, mtu: int) -> Endpoint:
    """Return the endpoint that stands for the port `end`, which is on another machine."""
    return Endpoint(endpoint_at(end), f"vx{tunnel.identifier}", "", "", mtu, tunnel)


def cable(
    fabric: Fabric,
    switches: str,
    hosts: Mapping[str, str],
    mtu: int,
    tunnels: Mapping[End, Tunnel] = MappingProxyType({}),
) -> Cabling:
    """Return the cabling of a fabric; ports without a link, fibre or host get no interface.

    Args:
        fabric: the fabric.
        switches: namespace of all switches.
        hosts: namespace of each host, by node.
        mtu: bytes of the longest UB packet.
        tunnels: tunnels to the ends that are on other machines.

    Raises:
        TestbedError: Two interfaces would have the same name.
    """
    ends = [end for link in fabric.links for end in (link.a, link.b)]
    nodes = {node.name for node in fabric.nodes}
    ends += [end for optical in fabric.optical for end in optical.ends if end.node in nodes]
    ends += [End(node, HOST_PORT) for node in hosts]
    endpoints: list[Endpoint] = []
    interfaces: dict[tuple[str, int], str] = {}
    for end, tunnel in tunnels.items():
        endpoints.append(tunnel_endpoint(end, tunnel, mtu))
    for end in dict.fromkeys(ends):
        if end in tunnels:
            continue
        name = _name(fabric, end)
        interfaces[end.node, end.port] = name
        endpoints.append(Endpoint(endpoint_at(end), name, switches, name, mtu))
    for node, namespace in hosts.items():
        endpoints.append(
            Endpoint(host_endpoint(node), f"{_short(fabric, node)}-h", namespace, HOST_INTERFACE, mtu)
        )
    taken = [endpoint.interface for endpoint in endpoints]
    if len(set(taken)) != len(taken):
        twice = next(name for name in taken if taken.count(name) > 1)
        raise TestbedError(f"two interfaces would be called {twice}", remedy="give the nodes other names")
    return Cabling(tuple(endpoints), interfaces, tuple(hosts), mtu)


def _name(fabric: Fabric, end: End) -> str:
    return f"{_short(fabric, end.node)}-{end.port}"


def _short(fabric: Fabric, node: str) -> str:
    """Return the node's name, or its number if the name leaves no room for `-` and a three-digit port."""
    return node if len(node) <= _MOST_NAME - 4 else f"n{fabric.node(node).index}"
