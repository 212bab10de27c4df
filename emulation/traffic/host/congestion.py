# SPDX-License-Identifier: Apache-2.0
"""Congestion control of connections: algorithms by name, and the interface of an algorithm in Python.

An algorithm is sans-IO: events of a connection go in, its window and rate come out. The built-in algorithms
run in C++ (emulation/engine/hosts/congestion); their specification in Python is in tests/oracle/congestion. A
user's algorithm is a class in a Python file, named FILE.py:NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from operator import index
from typing import Any, Final, Protocol, final

from emulation.errors import EmulationError
from topologies.errors import suggestion
from topologies.plugins.python_file import call, guarded, is_reference

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "CongestionChoice",
    "Limits",
    "PathFacts",
    "congestion_choice",
    "receiver_credits",
]

_BIT_PS = 8e12
_LARGEST = 2**63 - 1  # of the engine's integers
_ENGINE_FACTS = 4  # values of PathFacts that algorithms in C++ take

Limits = tuple[int, int]
"""Window in bytes and rate in bit/s; 0 for no limit."""

ALGORITHMS: Final[Mapping[str, Mapping[str, float]]] = {
    "fixed": {},
    "nscc": {"target_us": 0, "gamma": 0.8, "gain": 0.0125, "gate": 0.125, "start_frames": 0},
    "rccc": {"share": 0.95, "start_frames": 0},
    "nscc+rccc": {
        "target_us": 0,
        "gamma": 0.8,
        "gain": 0.0125,
        "gate": 0.125,
        "start_frames": 0,
        "share": 0.95,
    },
    "swift": {
        "target_us": 0,
        "range_us": 0,
        "increase_frames": 1,
        "beta": 0.8,
        "largest_decrease": 0.5,
        "least_frames": 0.01,
    },
    "dcqcn": {
        "gain": 1 / 256,
        "interval_us": 50,
        "alpha_us": 55,
        "timer_us": 55,
        "counter_bytes": 10_000_000,
        "recovery": 5,
        "additive_mbps": 40,
        "hyper_mbps": 400,
        "least_mbps": 10,
    },
}
"""Built-in algorithms, each with its parameters and their default values.

`fixed` leaves the window of the transport as it is. Times of 0 are replaced by multiples of the round trip
without queues: `target_us` of nscc by 0.75 if full queues trim frames, else by 1; `target_us` of swift by
1.5, its `range_us` by 1. `start_frames` is the first window of nscc; 0 for its largest. In rccc a sender may
send `start_frames` before the first grant; 0 for the bandwidth-delay product of its path. `share` is the part
of a host's rate that a receiver grants. nscc+rccc applies both algorithms, with the smaller window.
"""


@final
@dataclass(frozen=True, slots=True)
class PathFacts:
    """Properties of a connection that an algorithm knows before the first frame.

    Attributes:
        base_rtt_ps: Round trip of the largest frame without queues.
        rate_bps: Rate of the host's link.
        frame_bytes: Size of the largest frame, with its headers.
        trims: True if full queues trim frames.
        host_rate_bps: Rate at which a host receives by all its links together; 0 for `rate_bps`.
    """

    base_rtt_ps: int
    rate_bps: int
    frame_bytes: int
    trims: bool = False
    host_rate_bps: int = 0


class Algorithm(Protocol):
    """Congestion control of one connection; interface of a user's class.

    The constructor takes `facts`, a PathFacts, and the scenario's parameters by name. Every method returns
    the new Limits. Times are ps, sizes bytes; `under_way` counts the bytes under way after the event.
    """

    def start(self) -> Limits:
        """Return the limits of the first frames."""
        ...

    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> Limits:
        """Handle `acked` new bytes, `marked` of them by switches; `rtt` is 0 if none was measured."""
        ...

    def on_nack(self, now: int, lost: int, under_way: int) -> Limits:
        """Handle `lost` bytes that are missing although later frames have arrived."""
        ...

    def on_trim(self, now: int, lost: int, under_way: int) -> Limits:
        """Handle `lost` bytes of frames trimmed to their headers by switches."""
        ...

    def on_timeout(self, now: int, lost: int, under_way: int) -> Limits:
        """Handle `lost` bytes not acknowledged within a timeout."""
        ...

    def on_credit(self, now: int, granted: int) -> Limits:
        """Handle credit for `granted` bytes from the receiver."""
        ...


@final
@dataclass(frozen=True, slots=True)
class CongestionChoice:
    """The algorithm of all connections of a job: its name or FILE.py:NAME, its facts and parameters."""

    algorithm: str
    facts: PathFacts
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def own(self) -> bool:
        """True for a class in a user's Python file."""
        return is_reference(self.algorithm)

    @property
    def credits(self) -> tuple[int, int] | None:
        """Credit of a sender before the first grant in bytes, and rate of a receiver's grants in bit/s.

        None: receivers grant nothing. A user's own algorithm has this value as its attribute `credits`.
        """
        if self.own:
            return getattr(self._make(), "credits", None)
        if "share" not in ALGORITHMS[self.algorithm]:
            return None
        return receiver_credits(self.facts, **self.parameters)

    def engine_arguments(self) -> tuple[str, Mapping[str, float], tuple[int, ...], Callable[[], Any] | None]:
        """Return the arguments of the engine: name, parameters, facts, and `make` for a user's class."""
        facts = astuple(self.facts)[:_ENGINE_FACTS]
        if not self.own:
            return self.algorithm, {**ALGORITHMS[self.algorithm], **self.parameters}, facts, None
        return self.algorithm, {}, facts, self.make

    def make(self) -> Algorithm:
        """Return a new object of the user's class, whose exceptions and wrong limits become errors.

        Raises:
            EmulationError: The class lacks a method.
            TopologyError: The constructor raised an exception.
        """
        return _Guarded(self.algorithm, self._make())

    def _make(self) -> Algorithm:
        algorithm: Algorithm = call(self.algorithm, {"facts": self.facts, **self.parameters})
        missing = [name for name in _METHODS if not callable(getattr(algorithm, name, None))]
        if missing:
            raise EmulationError(
                f"congestion control {self.algorithm} has no method `{missing[0]}`",
                remedy=f"write a class with {', '.join(_METHODS)} (docs/use/congestion.md)",
            )
        return algorithm


@final
class _Guarded:
    """A user's algorithm; an exception in a method becomes an error with file and line."""

    def __init__(self, reference: str, algorithm: Algorithm) -> None:
        self._reference = reference
        self._algorithm = algorithm

    def start(self) -> Limits:
        return self._ask("start")

    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> Limits:
        return self._ask("on_ack", now, rtt, acked, marked, under_way)

    def on_nack(self, now: int, lost: int, under_way: int) -> Limits:
        return self._ask("on_nack", now, lost, under_way)

    def on_trim(self, now: int, lost: int, under_way: int) -> Limits:
        return self._ask("on_trim", now, lost, under_way)

    def on_timeout(self, now: int, lost: int, under_way: int) -> Limits:
        return self._ask("on_timeout", now, lost, under_way)

    def on_credit(self, now: int, granted: int) -> Limits:
        return self._ask("on_credit", now, granted)

    def _ask(self, method: str, *values: int) -> Limits:
        limits = guarded(self._reference, lambda: getattr(self._algorithm, method)(*values))
        try:
            window, rate = map(index, limits)
        except (TypeError, ValueError):
            window = rate = -1
        if not (0 <= window <= _LARGEST and 0 <= rate <= _LARGEST):
            raise EmulationError(
                f"congestion control {self._reference}: {method} returned {limits!r}",
                remedy="return (window in bytes, rate in bit/s), two whole numbers; 0 is no limit",
            )
        return window, rate


def receiver_credits(facts: PathFacts, **parameters: float) -> tuple[int, int]:
    """Return the first credit in bytes and the rate of grants in bit/s of rccc with these parameters."""
    chosen = {**ALGORITHMS["rccc"], **parameters}
    frames, product = chosen["start_frames"], facts.base_rtt_ps * facts.rate_bps / _BIT_PS
    first = frames * facts.frame_bytes if frames > 0 else max(product, facts.frame_bytes)
    return int(first), max(1, int(chosen["share"] * (facts.host_rate_bps or facts.rate_bps)))


_METHODS = ("start", "on_ack", "on_nack", "on_trim", "on_timeout", "on_credit")


def congestion_choice(algorithm: str, parameters: Mapping[str, float], facts: PathFacts) -> CongestionChoice:
    """Return the choice of an algorithm.

    Raises:
        EmulationError: The algorithm or a parameter is not known, or a user's class lacks a method, or
            its start() does not return limits.
        TopologyError: A user's class raised an exception.
    """
    choice = CongestionChoice(algorithm, facts, dict(parameters))
    if choice.own:
        choice.make().start()
        return choice
    if algorithm not in ALGORITHMS:
        raise EmulationError(
            f"congestion control {algorithm!r} is not known",
            remedy=suggestion(algorithm, ALGORITHMS),
        )
    known = ALGORITHMS[algorithm]
    for name in parameters:
        if name not in known:
            raise EmulationError(
                f"congestion control {algorithm} has no parameter {name!r}",
                remedy=suggestion(name, known) if known else "leave it out",
            )
    return choice
