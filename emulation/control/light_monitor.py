# SPDX-License-Identifier: Apache-2.0
"""Usable ports of optical switches, inferred from the light at the ports and the carrier of circuits."""

from collections.abc import Iterable, Set
from typing import final

from controller.circuits.transition import OpticalPort
from topologies import Fabric
from topologies.model.circuits import circuit_of

__all__ = ["LightMonitor"]

_NAMED = 3  # ports that a text lists by name


@final
class LightMonitor:
    """Finds unusable ports of optical switches, from their light and the carrier at the ends of circuits.

    A port has no light if the port, its fibre, its spine or the optical switch has failed. A circuit that is
    down although both its ports have light stays joined, in case it comes back; both ports count as unusable,
    since either may be the cause.
    """

    def __init__(self) -> None:
        self._without: set[OpticalPort] = set()
        self.dark: frozenset[OpticalPort] = frozenset()  # unusable ports at the last look

    def on_light(self, optical: str, port: int, lit: bool) -> None:
        """Record whether a port of an optical switch has light."""
        (self._without.discard if lit else self._without.add)((optical, port))

    def look(self, fabric: Fabric, down: Set[str]) -> str:
        """Update `dark`, given the links known to be down; return the change in words."""
        dark = frozenset(self._without | self._suspect(fabric, down))
        lost, restored = dark - self.dark, self.dark - dark
        self.dark = dark
        words = (("no light at", lost), ("light again at", restored))
        return "; ".join(f"{what} {_some(ports)}" for what, ports in words if ports)

    def _suspect(self, fabric: Fabric, down: Set[str]) -> set[OpticalPort]:
        """Return the ports of circuits that are down despite light at both ports."""
        suspect: set[OpticalPort] = set()
        for link in down:
            if (circuit := circuit_of(fabric, link)) is not None:
                name, ports = circuit
                ends = {(name, port) for port in ports}
                if ends.isdisjoint(self._without):
                    suspect |= ends
        return suspect

    def unlit_ends(self, fabric: Fabric) -> set[tuple[str, int]]:
        """Return (node, port) of both ends of the fabric's circuits over a port in `dark`."""
        ends: set[tuple[str, int]] = set()
        for name, port in self.dark:
            end = fabric.optical_switch(name).ends[port]
            if (link := fabric.link_at(end.node, end.port)) is not None:
                ends |= {(link.a.node, link.a.port), (link.b.node, link.b.port)}
        return ends


def _some(ports: Iterable[OpticalPort]) -> str:
    names = [f"{name}:{port}" for name, port in sorted(ports)]
    more = len(names) - _NAMED
    if more > 1:
        names[_NAMED:] = [f"{more} more ports"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
