# SPDX-License-Identifier: Apache-2.0
"""Faults: what happens to a target, when, and how that is done on any testbed.

Targets are found before anything runs; `Faults` then strikes a running testbed through what every testbed
can do: links up and down, one direction impaired, a host's link up and down. It never touches what a switch
is bound to.

What targets share is worked out here. A link is down while any target that holds it down does, so one that
a board and a link fault took comes back with the last of them. Losses of several targets come on top of one
another, delays add up, and of rates the lowest counts.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, final

from emulation.errors import TestbedError
from emulation.targets import LinkDirection, Target
from emulation.testbed import Impairment
from topologies import Fabric
from topologies.transform.circuits import circuit_link, circuit_of

__all__ = ["Event", "Fault", "FaultRuntime", "Faults", "unmatched_clears"]

Event = Literal["down", "up", "flap", "loss", "rate", "delay", "clear"]


class FaultRuntime(Protocol):
    """What faults ask of the testbed beneath them; every Testbed has it."""

    @property
    def fabric(self) -> Fabric: ...
    def set_link(self, name: str, up: bool) -> None: ...
    def impair(self, name: str, direction: int, how: Impairment) -> None: ...
    def set_host_link(self, node: str, up: bool) -> None: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...


@final
@dataclass(frozen=True, slots=True)
class Fault:
    """An event of a target, at a time. The other fields count for the event that they are named with.

    `loss` is a probability, `rate` a share of a link's own rate, `delay_ps` what is added to its delay; a
    `flap` goes down and up `count` times, once in `period_ps`, half of it down.
    """

    at_ps: int
    target: Target
    event: Event
    loss: float = 0.0
    rate: float = 1.0
    delay_ps: int = 0
    period_ps: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        if self.event in ("loss", "rate", "delay", "clear") and not self.target.directions:
            raise TestbedError(
                f"{self.target.name}: no {self.event} on the link to a node's own side",
                remedy="it goes down, up and flaps",
            )

    @property
    def text(self) -> str:
        """What happens, in words: `npu0-npu1 goes down`."""
        match self.event:
            case "flap":
                happens = f"flaps {self.count} times"
            case "loss":
                happens = f"loses {100 * self.loss:g} % of its frames"
            case "rate":
                happens = f"slows down to {100 * self.rate:g} % of its rate"
            case "delay":
                happens = f"takes {self.delay_ps / 1000:g} ns more"
            case "clear":
                happens = "is well again"
            case "down" | "up":
                happens = f"goes {self.event}"
        return f"{self.target.name} {happens}"


def unmatched_clears(faults: Sequence[Fault]) -> Iterator[int]:
    """Places of those that end what no earlier one of the same target began."""
    down: set[str] = set()
    impaired: set[str] = set()
    for place in sorted(range(len(faults)), key=lambda place: faults[place].at_ps):
        fault = faults[place]
        begun = down if fault.event in ("down", "up", "flap") else impaired
        if fault.event not in ("up", "clear"):
            begun.add(fault.target.name)
        elif fault.target.name in begun:
            begun.discard(fault.target.name)
        else:
            yield place


@final
@dataclass(frozen=True, slots=True)
class _Wrong:
    """What one target's faults did to one direction."""

    blocked: bool = False
    loss: float = 0.0
    rate: float = 1.0
    delay_ps: int = 0


_WELL = _Wrong()


@final
class Faults:
    """Strikes a testbed. Everything happens in the testbed's time, from its run()."""

    def __init__(self, testbed: FaultRuntime) -> None:
        self._testbed = testbed
        self._links: dict[str, set[str]] = {}  # by link, the targets that hold it down
        self._hosts: dict[str, set[str]] = {}
        self._wrong: dict[LinkDirection, dict[str, _Wrong]] = {}  # by direction and target

    def schedule(self, faults: Iterable[Fault]) -> None:
        """Let each happen at its time."""
        for fault in faults:
            self._testbed.at(fault.at_ps, lambda fault=fault: self.apply(fault))

    def apply(self, fault: Fault) -> None:
        """Let it happen now; a flap goes on by itself, reckoned from the fault's own time."""
        target = fault.target
        match fault.event:
            case "down" | "up":
                self._hold(target, fault.event == "down")
            case "flap":
                self._flap(fault)
            case "loss":
                self._impair(target, lambda wrong: replace(wrong, loss=fault.loss))
            case "rate":
                self._impair(target, lambda wrong: replace(wrong, rate=fault.rate))
            case "delay":
                self._impair(target, lambda wrong: replace(wrong, delay_ps=fault.delay_ps))
            case "clear":
                self._impair(target, lambda wrong: _Wrong(blocked=wrong.blocked))

    def _flap(self, fault: Fault) -> None:
        self._hold(fault.target, True)
        for turn in range(fault.count):
            begins = fault.at_ps + turn * fault.period_ps
            if turn:
                self._testbed.at(begins, lambda: self._hold(fault.target, True))
            self._testbed.at(begins + fault.period_ps // 2, lambda: self._hold(fault.target, False))

    def _hold(self, target: Target, down: bool) -> None:
        for link in target.links:
            if _toggled(self._links.setdefault(link, set()), target.name, down):
                self._testbed.set_link(link, not down)
        for node in target.hosts:
            if _toggled(self._hosts.setdefault(node, set()), target.name, down):
                self._testbed.set_host_link(node, not down)
        self._change(target.one_way, target.name, lambda wrong: replace(wrong, blocked=down))

    def _impair(self, target: Target, change: Callable[[_Wrong], _Wrong]) -> None:
        self._change(target.directions, target.name, change)

    def _change(self, ways: Iterable[LinkDirection], cause: str, change: Callable[[_Wrong], _Wrong]) -> None:
        for way in ways:
            causes = self._wrong.setdefault(way, {})
            before = self._together(way)
            causes[cause] = change(causes.get(cause, _WELL))
            after = self._together(way)
            if after != before:
                self._testbed.impair(*way, after)

    def _together(self, way: LinkDirection) -> Impairment:
        blocked, loss, rate, delay_ps = False, 0.0, 1.0, 0
        for wrong in self._wrong[way].values():
            blocked |= wrong.blocked
            loss += wrong.loss - loss * wrong.loss
            rate = min(rate, wrong.rate)
            delay_ps += wrong.delay_ps
        rate_bps = None if rate == 1.0 else max(1, round(rate * _rate_bps(self._testbed.fabric, way[0])))
        return Impairment(blocked, loss, rate_bps, delay_ps)


def _rate_bps(fabric: Fabric, link: str) -> int:
    """Of a link, or of a circuit, which need not stand."""
    circuit = circuit_of(fabric, link)
    return (circuit_link(fabric, *circuit) if circuit else fabric.link(link)).rate_bps


def _toggled(holders: set[str], cause: str, hold: bool) -> bool:
    """Take note that `cause` holds or lets go; whether that makes a difference."""
    before = bool(holders)
    (holders.add if hold else holders.discard)(cause)
    return bool(holders) != before
