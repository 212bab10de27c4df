# SPDX-License-Identifier: Apache-2.0
"""Which ports of optical switches can be used, by what is seen of light."""

from collections.abc import Iterable, Set
from typing import final

from controller.circuits.transition import OpticalPort
from topologies import Fabric
from topologies.transform.circuits import circuit_of

__all__ = ["LightMonitor"]

# Ports that are named one by one.
_NAMED = 3


@final
class LightMonitor:
    """What optical switches say of light at their ports, and ends of circuits of their carrier.

    A port without light has failed, or what it leads to: its fibre, its spine, the whole optical switch. A
    circuit that carries nothing although both its ports have light is left joined, in case it comes back,
    and both are left out as well: which of them is to blame does not show.
    """

    def __init__(self) -> None:
        self._without: set[OpticalPort] = set()
        self.dark: frozenset[OpticalPort] = frozenset()  # not to be used, as it was when last looked at

    def on_light(self, optical: str, port: int, lit: bool) -> None:
        """An optical switch has light at a port, or none."""
        (self._without.discard if lit else self._without.add)((optical, port))

    def look(self, fabric: Fabric, down: Set[str]) -> str:
        """What has changed since it was last looked, in words, where `down` are links known to be."""
        dark = frozenset(self._without | self._crooked(fabric, down))
        gone, back = dark - self.dark, self.dark - dark
        self.dark = dark
        words = (("no light at", gone), ("light again at", back))
        return "; ".join(f"{what} {_some(ports)}" for what, ports in words if ports)

    def _crooked(self, fabric: Fabric, down: Set[str]) -> set[OpticalPort]:
        found: set[OpticalPort] = set()
        for link in down:
            if (circuit := circuit_of(fabric, link)) is not None:
                name, ports = circuit
                ends = {(name, port) for port in ports}
                if ends.isdisjoint(self._without):
                    found |= ends
        return found

    def hopeless(self, fabric: Fabric) -> set[tuple[str, int]]:
        """Both ends, node and port, of circuits of the fabric at which no light is to be expected."""
        found: set[tuple[str, int]] = set()
        for name, port in self.dark:
            end = fabric.optical_switch(name).ends[port]
            if (link := fabric.link_at(end.node, end.port)) is not None:
                found |= {(one.node, one.port) for one in (link.a, link.b)}
        return found


def _some(ports: Iterable[OpticalPort]) -> str:
    names = [f"{name}:{port}" for name, port in sorted(ports)]
    more = len(names) - _NAMED
    if more > 1:
        names[_NAMED:] = [f"{more} more ports"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
