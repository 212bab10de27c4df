# SPDX-License-Identifier: Apache-2.0
"""Faults: events that happen to targets at given times, on any testbed.

Targets are resolved before anything runs. `Faults` then applies the events to a running testbed by operations
that every testbed has: links up and down, one direction impaired, a host's link up and down. It never touches
the interface that a switch is bound to.

Faults combine. A link or a node is down while any target holds it down, so a link that a board fault and a
link fault took down returns with the last of them. Losses of several targets are independent, delays add up,
and the lowest rate counts.

`EVENTS` declares every event once: its keys in a scenario, its text and its effect.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol, final

from emulation.errors import TestbedError
from emulation.targets import LinkDirection, Target
from emulation.testbed import Impairment
from topologies import Fabric
from topologies.model.circuits import circuit_link, circuit_of

__all__ = ["EVENTS", "EventKind", "Fault", "FaultRuntime", "Faults", "Parameter", "unmatched_clears"]


class FaultRuntime(Protocol):
    """Testbed operations used by faults; every Testbed has them."""

    @property
    def fabric(self) -> Fabric: ...
    def set_link(self, name: str, up: bool) -> None: ...
    def impair(self, name: str, direction: int, how: Impairment) -> None: ...
    def set_host_link(self, node: str, up: bool) -> None: ...
    def send_pause(self, name: str, direction: int, stop: bool) -> None: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...


@final
@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, its target and its time. Each event uses the fields that `EVENTS` names for it.

    `loss` is a probability, `rate` a share of a link's own rate, `delay_ps` an addition to its delay. In a
    `flap` the target goes down and up `count` times, once in `period_ps`, and is down for half of each
    period. In a `storm` the sender of each direction sends `count` pause frames for every class, once in
    `period_ps`, and then ends the pause.
    """

    at_ps: int
    target: Target
    event: str
    loss: float = 0.0
    rate: float = 1.0
    delay_ps: int = 0
    period_ps: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        if EVENTS[self.event].impairs is not None and not self.target.directions:
            raise TestbedError(
                f"{self.target.name}: the link to a node's host cannot have a fault {self.event}",
                remedy="give down, up or flap",
            )

    @property
    def end_ps(self) -> int:
        """Time of the last change, after which the target stays as it is."""
        if self.event == "storm":
            return self.at_ps + self.count * self.period_ps
        turns = max(0, self.count - 1) if self.event == "flap" else 0
        return self.at_ps + turns * self.period_ps + (self.period_ps // 2 if self.event == "flap" else 0)

    @property
    def text(self) -> str:
        """The fault in words, such as `npu0-npu1 goes down`."""
        return f"{self.target.name} {EVENTS[self.event].text(self)}"


@final
@dataclass(frozen=True, slots=True)
class _Effect:
    """Effect of one target's faults on one direction of a link."""

    blocked: bool = False
    loss: float = 0.0
    rate: float = 1.0
    delay_ps: int = 0


_NO_EFFECT = _Effect()


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of an event in a scenario: a number above 0 and at most `most`.

    It sets the field `field` of Fault; `convert` turns the unit of the key into the unit of the field.
    """

    key: str
    field: str
    convert: Callable[[float], float]
    most: float | None = None
    integer: bool = False


@final
@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event: its text, its parameters, and its effect.

    Attributes:
        text: Returns the event in words, such as "goes down".
        parameters: Keys that a scenario gives with the event.
        impairs: Returns the changed loss, rate and delay of each direction of the target's links; None if
            the event takes the target down or up instead.
        ends: The event ends an earlier event of the same target.
    """

    text: Callable[[Fault], str]
    parameters: tuple[Parameter, ...] = ()
    impairs: Callable[[Fault, _Effect], _Effect] | None = None
    ends: bool = False


_PERIOD = Parameter("period_us", "period_ps", lambda us: round(us * 10**6))
_COUNT = Parameter("count", "count", int, most=10_000, integer=True)

EVENTS: Mapping[str, EventKind] = MappingProxyType(
    {
        "down": EventKind(lambda fault: "goes down"),
        "up": EventKind(lambda fault: "goes up", ends=True),
        "flap": EventKind(
            lambda fault: f"flaps {fault.count} times",
            (
                _PERIOD,
                _COUNT,
            ),
        ),
        "loss": EventKind(
            lambda fault: f"loses {100 * fault.loss:g} % of its frames",
            (Parameter("percent", "loss", lambda percent: percent / 100, most=100),),
            lambda fault, effect: replace(effect, loss=fault.loss),
        ),
        "rate": EventKind(
            lambda fault: f"slows down to {100 * fault.rate:g} % of its rate",
            (Parameter("percent", "rate", lambda percent: percent / 100, most=100),),
            lambda fault, effect: replace(effect, rate=fault.rate),
        ),
        "delay": EventKind(
            lambda fault: f"takes {fault.delay_ps / 1000:g} ns more",
            (Parameter("add_ns", "delay_ps", lambda ns: round(ns * 1000)),),
            lambda fault, effect: replace(effect, delay_ps=fault.delay_ps),
        ),
        "storm": EventKind(
            lambda fault: f"carries {fault.count} pause frames for every class",
            (_PERIOD, _COUNT),
            lambda fault, effect: effect,
        ),
        "clear": EventKind(
            lambda fault: "is well again",
            impairs=lambda fault, effect: _Effect(blocked=effect.blocked),
            ends=True,
        ),
    }
)
"""Every event by its name in a scenario."""


def unmatched_clears(faults: Sequence[Fault]) -> Iterator[int]:
    """Yield the indices of `up` and `clear` faults that have no earlier fault at their target to undo."""
    began: dict[bool, set[str]] = {False: set(), True: set()}  # names of targets taken down, and impaired
    for position in sorted(range(len(faults)), key=lambda position: faults[position].at_ps):
        fault = faults[position]
        kind = EVENTS[fault.event]
        targets = began[kind.impairs is not None]
        if not kind.ends:
            targets.add(fault.target.name)
        elif fault.target.name in targets:
            targets.discard(fault.target.name)
        else:
            yield position


@final
class Faults:
    """Applies faults to a testbed, in the testbed's time, from its run()."""

    def __init__(self, testbed: FaultRuntime) -> None:
        self._testbed = testbed
        self.on_apply: Callable[[Fault], None] | None = None
        self.on_power: Callable[[str, bool], None] | None = None
        """Called with a node and False when it loses power, before its links go down, and True on return."""
        self._links: dict[str, set[str]] = {}  # by link, the targets that hold it down
        self._hosts: dict[str, set[str]] = {}
        self._nodes: dict[str, set[str]] = {}
        self._effects: dict[LinkDirection, dict[str, _Effect]] = {}  # by direction and target
        self._rates: dict[str, int] = {}  # by link, the rate in bit/s that replaces the fabric's
        self._storms: dict[str, Fault] = {}  # by target

    @property
    def down(self) -> frozenset[str]:
        """Links held down by at least one target."""
        return frozenset(link for link, holders in self._links.items() if holders)

    def set_rates(self, rates: Mapping[str, int]) -> None:
        """Set the rates of links in bit/s from now on; a `rate` fault takes its share of the new rates."""
        for link, rate in rates.items():
            self._rates[link] = rate
            for direction in (0, 1):
                self._testbed.impair(link, direction, self._combined((link, direction)))

    def schedule(self, faults: Iterable[Fault]) -> None:
        """Apply each fault at its time."""
        for fault in faults:
            self._testbed.at(fault.at_ps, lambda fault=fault: self.apply(fault))

    def apply(self, fault: Fault) -> None:
        """Apply a fault now; later turns of a flap follow, counted from the fault's own time."""
        if self.on_apply is not None:
            self.on_apply(fault)
        target = fault.target
        impairs = EVENTS[fault.event].impairs
        if fault.event == "storm":
            self._storms[target.name] = fault
            self._pause(fault, 0)
        elif fault.event == "clear" and self._storms.pop(target.name, None) is not None:
            for direction in target.directions:
                self._testbed.send_pause(*direction, False)
        if impairs is not None:
            self._change(target.directions, target.name, lambda effect: impairs(fault, effect))
        elif fault.event == "flap":
            self._flap(fault)
        else:
            self._hold(target, fault.event == "down")

    def _pause(self, fault: Fault, sent: int) -> None:
        """Send the next pause frame of a storm on each direction; after the last, resume all classes."""
        if self._storms.get(fault.target.name) is not fault:
            return
        goes_on = sent < fault.count
        for direction in fault.target.directions:
            self._testbed.send_pause(*direction, goes_on)
        if goes_on:
            self._testbed.at(fault.at_ps + (sent + 1) * fault.period_ps, lambda: self._pause(fault, sent + 1))
        else:
            del self._storms[fault.target.name]

    def _flap(self, fault: Fault) -> None:
        self._hold(fault.target, True)
        for turn in range(fault.count):
            begins = fault.at_ps + turn * fault.period_ps
            if turn:
                self._testbed.at(begins, lambda: self._hold(fault.target, True))
            self._testbed.at(begins + fault.period_ps // 2, lambda: self._hold(fault.target, False))

    def _hold(self, target: Target, down: bool) -> None:
        for node in target.nodes:
            toggled = _toggled(self._nodes.setdefault(node, set()), target.name, down)
            if toggled and self.on_power is not None:
                self.on_power(node, not down)
        for link in target.links:
            if _toggled(self._links.setdefault(link, set()), target.name, down):
                self._testbed.set_link(link, not down)
        for node in target.hosts:
            if _toggled(self._hosts.setdefault(node, set()), target.name, down):
                self._testbed.set_host_link(node, not down)
        self._change(target.one_way, target.name, lambda effect: replace(effect, blocked=down))

    def _change(
        self, directions: Iterable[LinkDirection], cause: str, change: Callable[[_Effect], _Effect]
    ) -> None:
        for direction in directions:
            effects = self._effects.setdefault(direction, {})
            before = self._combined(direction)
            effects[cause] = change(effects.get(cause, _NO_EFFECT))
            after = self._combined(direction)
            if after != before:
                self._testbed.impair(*direction, after)

    def _combined(self, direction: LinkDirection) -> Impairment:
        """Return the joint effect of all targets on a direction."""
        blocked, loss, rate, delay_ps = False, 0.0, 1.0, 0
        for effect in self._effects.get(direction, {}).values():
            blocked |= effect.blocked
            loss += effect.loss - loss * effect.loss
            rate = min(rate, effect.rate)
            delay_ps += effect.delay_ps
        link = direction[0]
        rate_bps = self._rates.get(link)
        if rate < 1.0:
            own = _rate_bps(self._testbed.fabric, link) if rate_bps is None else rate_bps
            rate_bps = max(1, round(rate * own))
        return Impairment(blocked, loss, rate_bps, delay_ps)


def _rate_bps(fabric: Fabric, link: str) -> int:
    """Return the rate of a link or of a possible circuit, set up or not."""
    circuit = circuit_of(fabric, link)
    return (circuit_link(fabric, *circuit) if circuit else fabric.link(link)).rate_bps


def _toggled(holders: set[str], cause: str, hold: bool) -> bool:
    """Add `cause` to `holders`, or remove it; return whether `holders` has become empty or non-empty."""
    before = bool(holders)
    (holders.add if hold else holders.discard)(cause)
    return bool(holders) != before
