# SPDX-License-Identifier: Apache-2.0
"""Optical circuit switches on any testbed: crossconnects and their reconfiguration."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, final

from topologies import Fabric
from topologies.model.circuits import Circuit, circuit_of, circuits_of, crossconnect

__all__ = ["CircuitRuntime", "CircuitSwitch", "Reconfiguration", "circuit_switches", "set_circuit_up"]


class CircuitRuntime(Protocol):
    """Testbed operations used by optical circuit switches."""

    @property
    def now_ps(self) -> int: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def cut(self, optical: str, low: int, high: int) -> None:
        """Tear a circuit down: frames on it are lost, both ends lose their carrier."""
        ...

    def join(self, optical: str, low: int, high: int) -> None:
        """Set up a circuit between two dark ports."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """Effect of a new map: circuits kept, torn down and created; new circuits are up at `dark_until_ps`."""

    kept: tuple[Circuit, ...]
    torn: tuple[Circuit, ...]
    created: tuple[Circuit, ...]
    dark_until_ps: int


@final
class CircuitSwitch:
    """An optical circuit switch with `ports` ports, numbered from 0.

    `standing` maps each port to its partner at the start. Times are picoseconds of the testbed's clock. Like
    real optical switches it measures the light at its ports, joined or not: it calls `on_light` with a port
    and True or False when light returns or is lost.
    """

    def __init__(
        self,
        name: str,
        ports: int,
        runtime: CircuitRuntime,
        *,
        standing: Mapping[int, int] = MappingProxyType({}),
        reconfiguration_ps: int,
    ) -> None:
        self.name = name
        self.ports = ports
        self.reconfiguration_ps = reconfiguration_ps
        self._runtime = runtime
        self._standing: set[Circuit] = set(circuits_of(name, ports, standing))
        self._pending: frozenset[Circuit] = frozenset()
        self._maps_applied = 0
        self._dead: set[Circuit] = set()
        self.on_light: Callable[[int, bool], None] = lambda port, lit: None

    def set_circuit_up(self, circuit: Circuit, up: bool) -> None:
        """Fail a circuit, joined or not, or restore it.

        A port loses its light when every circuit over it has failed.
        """
        before = [self._is_lit(port) for port in circuit]
        (self._dead.discard if up else self._dead.add)(circuit)
        for port, lit in zip(circuit, before, strict=True):
            if self._is_lit(port) != lit:
                self.on_light(port, not lit)

    def _is_lit(self, port: int) -> bool:
        others = (other for other in range(self.ports) if other != port)
        return any((min(port, other), max(port, other)) not in self._dead for other in others)

    @property
    def crossconnect(self) -> Mapping[int, int]:
        """Port joined to each port by a circuit that is up now; dark ports are left out."""
        return _map(self._standing)

    @property
    def target(self) -> Mapping[int, int]:
        """Last map applied: `crossconnect` once all new circuits are up."""
        return _map(self._standing | self._pending)

    def apply(self, new: Mapping[int, int]) -> Reconfiguration:
        """Join exactly the ports of a map; a map may name a circuit at one of its two ports, or at both.

        Circuits of both the old and the new map are not touched. Other old circuits are dark when this
        returns, and new circuits are up `reconfiguration_ps` later. Circuits of an earlier map that are not
        up yet are dropped if the new map lacks them; otherwise their dark time begins again. TopologyError,
        before anything happens, for an unknown port or a port in two circuits.
        """
        wanted = frozenset(circuits_of(self.name, self.ports, new))
        kept, torn, added = self._standing & wanted, self._standing - wanted, wanted - self._standing
        self._maps_applied += 1
        self._pending = added
        for circuit in sorted(torn):
            self._runtime.cut(self.name, *circuit)
            self._standing.discard(circuit)
        until = self._runtime.now_ps
        if added:
            until += self.reconfiguration_ps
            number = self._maps_applied
            self._runtime.at(until, lambda: self._settle(number))
        return Reconfiguration(tuple(sorted(kept)), tuple(sorted(torn)), tuple(sorted(added)), until)

    def _settle(self, number: int) -> None:
        """Set up the pending circuits of map `number`, unless a later map has been applied."""
        if number != self._maps_applied:
            return
        for circuit in sorted(self._pending):
            self._runtime.join(self.name, *circuit)
            self._standing.add(circuit)
        self._pending = frozenset()


def circuit_switches(fabric: Fabric, runtime: CircuitRuntime) -> Mapping[str, CircuitSwitch]:
    """Return the fabric's optical switches by name; circuits that are links of the fabric are up."""
    return MappingProxyType(
        {
            switch.name: CircuitSwitch(
                switch.name,
                len(switch.ends),
                runtime,
                standing=crossconnect(fabric, switch.name),
                reconfiguration_ps=switch.reconfiguration_ps,
            )
            for switch in fabric.optical
        }
    )


def set_circuit_up(switches: Mapping[str, CircuitSwitch], fabric: Fabric, link: str, up: bool) -> None:
    """Fail or restore a link at its optical switch, if the link is a circuit."""
    if (known := circuit_of(fabric, link)) is not None:
        name, circuit = known
        switches[name].set_circuit_up(circuit, up)


def _map(circuits: Iterable[Circuit]) -> Mapping[int, int]:
    ends = [end for low, high in circuits for end in ((low, high), (high, low))]
    return MappingProxyType(dict(sorted(ends)))
