# SPDX-License-Identifier: Apache-2.0
"""Jacks of the patch panel as data, and checks of those that a panel is asked to make."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import final

from emulation.errors import TestbedError
from emulation.linux import netns

__all__ = ["Jack", "Tunnel", "check_new"]

_MAX_NAME = 15  # IFNAMSIZ - 1


@final
@dataclass(frozen=True, slots=True)
class Tunnel:
    """A VXLAN tunnel to the port's other machine: network identifier, IPv4 addresses, UDP port."""

    identifier: int
    local: IPv4Address
    remote: IPv4Address
    udp_port: int


@final
@dataclass(frozen=True, slots=True)
class Jack:
    """A jack: `device_interface` in `namespace` is its device side, `interface` its patch side.

    Frames of up to `mtu` bytes behind the Ethernet header pass. A jack with a `tunnel` has no device side,
    since its device is on another machine; its patch side is the end of the tunnel.
    """

    name: str
    interface: str
    namespace: str
    device_interface: str
    mtu: int
    tunnel: Tunnel | None = None


def check_new(jacks: Iterable[Jack], present: Iterable[Jack], patch_namespace: str) -> None:
    """Raise TestbedError for the first of new jacks that cannot be made.

    Its name or an interface of it is taken, Linux does not take the name of an interface, or the namespace of
    its device does not exist.
    """
    present = list(present)
    names = {jack.name for jack in present}
    interfaces = {side for jack in present for side in _sides(jack, patch_namespace)}
    for jack in jacks:
        if jack.name in names:
            raise TestbedError(f"two jacks {jack.name}", remedy="give each a name of its own")
        names.add(jack.name)
        for namespace, interface in _sides(jack, patch_namespace):
            if not 0 < len(interface) <= _MAX_NAME or set(interface) & set("/ :%"):
                raise TestbedError(
                    f"jack {jack.name}: interface name {interface!r}",
                    remedy=f"take 1 to {_MAX_NAME} characters without / : % and blanks",
                )
            if (namespace, interface) in interfaces:
                raise TestbedError(
                    f"jack {jack.name}: a second interface {interface} in {namespace}",
                    remedy="give each a name of its own",
                )
            interfaces.add((namespace, interface))
        if jack.tunnel is None and not netns.exists(jack.namespace):
            raise TestbedError(
                f"jack {jack.name}: network namespace {jack.namespace} does not exist",
                remedy="make it with RunRecord.namespace()",
            )


def _sides(jack: Jack, patch_namespace: str) -> list[tuple[str, str]]:
    """Return namespace and name of each interface of a jack."""
    patch = (patch_namespace, jack.interface)
    return [patch] if jack.tunnel else [patch, (jack.namespace, jack.device_interface)]
