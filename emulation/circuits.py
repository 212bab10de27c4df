# SPDX-License-Identifier: Apache-2.0
"""Optical circuit switches on any testbed: which ports they join, and what happens when that changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, final

from topologies import Fabric
from topologies.transform.circuits import Circuit, circuit_of, circuits_of, crossconnect

__all__ = ["CircuitRuntime", "CircuitSwitch", "Reconfiguration", "circuit_switches", "set_circuit_up"]


class CircuitRuntime(Protocol):
    """What a circuit switch asks of the testbed beneath it."""

    @property
    def now_ps(self) -> int: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def cut(self, optical: str, low: int, high: int) -> None:
        """The circuit is dark when this returns: what was on it is lost, both ends have no carrier."""
        ...

    def join(self, optical: str, low: int, high: int) -> None:
        """The circuit stands when this returns. Both of its ports are dark when it is called."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """What a new map did: circuits not touched, gone dark, and those that stand from `dark_until_ps` on."""

    kept: tuple[Circuit, ...]
    torn: tuple[Circuit, ...]
    made: tuple[Circuit, ...]
    dark_until_ps: int


@final
class CircuitSwitch:
    """One optical circuit switch with `ports` ports, numbered from 0.

    `standing` are the circuits that the testbed started with. Times are picoseconds of the testbed's clock.
    Like real ones it measures the light of its ports, joined or not: `on_light` is told when that of one goes
    or comes back.
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
        self._coming: frozenset[Circuit] = frozenset()
        self._applied = 0
        self._dead: set[Circuit] = set()
        self.on_light: Callable[[int, bool], None] = lambda port, lit: None

    def set_circuit_up(self, circuit: Circuit, up: bool) -> None:
        """A fault takes a circuit, joined or not, or gives it back.

        No light is left at a port when no circuit over it could carry any.
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
        """The circuits that stand now, each from both of its ports; a dark port is not in it."""
        return _map(self._standing)

    @property
    def target(self) -> Mapping[int, int]:
        """The last map applied: `crossconnect` as it is when nothing is dark that should not be."""
        return _map(self._standing | self._coming)

    def apply(self, new: Mapping[int, int]) -> Reconfiguration:
        """Join these ports and no others; a circuit is given from one of its ports or from both.

        Circuits that stand and stay are not touched. Those that go are dark when this returns, and new ones
        stand `reconfiguration_ps` later. If circuits of an earlier map are still to come, those that are not
        in this one never do, and for the others the dark time begins again.
        TopologyError, before anything happens, when there is no such port or a port is in two circuits.
        """
        wanted = frozenset(circuits_of(self.name, self.ports, new))
        kept, torn, made = self._standing & wanted, self._standing - wanted, wanted - self._standing
        self._applied += 1
        self._coming = made
        for circuit in sorted(torn):
            self._runtime.cut(self.name, *circuit)
            self._standing.discard(circuit)
        until = self._runtime.now_ps
        if made:
            until += self.reconfiguration_ps
            number = self._applied
            self._runtime.at(until, lambda: self._settle(number))
        return Reconfiguration(tuple(sorted(kept)), tuple(sorted(torn)), tuple(sorted(made)), until)

    def _settle(self, number: int) -> None:
        """The mirrors of the map of that number stand still."""
        if number != self._applied:
            return  # another map came before they did
        for circuit in sorted(self._coming):
            self._runtime.join(self.name, *circuit)
            self._standing.add(circuit)
        self._coming = frozenset()


def circuit_switches(fabric: Fabric, runtime: CircuitRuntime) -> Mapping[str, CircuitSwitch]:
    """The fabric's optical switches on a testbed, by name; circuits that are links of the fabric stand."""
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
    """For testbeds: a link fails or is well again, which an optical switch sees if it is a circuit of it."""
    if (found := circuit_of(fabric, link)) is not None:
        name, circuit = found
        switches[name].set_circuit_up(circuit, up)


def _map(circuits: Iterable[Circuit]) -> Mapping[int, int]:
    ends = [end for low, high in circuits for end in ((low, high), (high, low))]
    return MappingProxyType(dict(sorted(ends)))
