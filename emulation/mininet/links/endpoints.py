# SPDX-License-Identifier: Apache-2.0
"""Endpoints of a cross-connect as data, and checks of new endpoints."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import final

from emulation.errors import TestbedError
from emulation.linux import netns

__all__ = ["Endpoint", "Tunnel", "check_new"]

_MAX_NAME = 15  # IFNAMSIZ - 1


@final
@dataclass(frozen=True, slots=True)
class Tunnel:
    """A VXLAN tunnel to the machine of a port: network identifier, IPv4 addresses, UDP port."""

    identifier: int
    local: IPv4Address
    remote: IPv4Address
    udp_port: int


@final
@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint of the cross-connect: a veth pair with an inner side and a device side.

    The inner side `interface` is in the cross-connect's namespace; the device side `device_interface` is in
    `namespace`, where a switch or host uses it.

    Frames of up to `mtu` bytes behind the Ethernet header pass. An endpoint with a `tunnel` has no device
    side, since its device is on another machine; its inner side is the end of the tunnel.
    """

    name: str
    interface: str
    namespace: str
    device_interface: str
    mtu: int
    tunnel: Tunnel | None = None


def check_new(endpoints: Iterable[Endpoint], present: Iterable[Endpoint], inner_namespace: str) -> None:
    """Check new endpoints against those `present`, in the cross-connect's namespace `inner_namespace`.

    Raises:
        TestbedError: A name or interface is taken, Linux does not accept the name of an interface, or the
            namespace of a device does not exist.
    """
    present = list(present)
    names = {endpoint.name for endpoint in present}
    interfaces = {side for endpoint in present for side in _sides(endpoint, inner_namespace)}
    for endpoint in endpoints:
        if endpoint.name in names:
            raise TestbedError(
                f"two endpoints have the name {endpoint.name}", remedy="give each a name of its own"
            )
        names.add(endpoint.name)
        for namespace, interface in _sides(endpoint, inner_namespace):
            if not 0 < len(interface) <= _MAX_NAME or set(interface) & set("/ :%"):
                raise TestbedError(
                    f"endpoint {endpoint.name}: the interface name {interface!r} is not valid",
                    remedy=f"take 1 to {_MAX_NAME} characters without / : % and blanks",
                )
            if (namespace, interface) in interfaces:
                raise TestbedError(
                    f"endpoint {endpoint.name}: {namespace} has an interface {interface} already",
                    remedy="give each a name of its own",
                )
            interfaces.add((namespace, interface))
        if endpoint.tunnel is None and not netns.exists(endpoint.namespace):
            raise TestbedError(
                f"endpoint {endpoint.name}: network namespace {endpoint.namespace} does not exist",
                remedy="make it with RunRecord.namespace()",
            )


def _sides(endpoint: Endpoint, inner_namespace: str) -> list[tuple[str, str]]:
    """Return (namespace, name) of each interface of an endpoint."""
    inner = (inner_namespace, endpoint.interface)
    return [inner] if endpoint.tunnel else [inner, (endpoint.namespace, endpoint.device_interface)]
