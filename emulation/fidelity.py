# SPDX-License-Identifier: Apache-2.0
"""Fidelity of a real-time run: measurements compared with limits, to judge whether its times are valid.

Virtual time is exact and needs no judgement. In real time the generators, the switches and the kernel share
the processors of a machine; if these do not suffice, the times are the machine's, not the fabric's. The
data that arrived are checked either way. docs/testbeds/fidelity.md gives the reason for every limit.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, final

from emulation.errors import EmulationError

__all__ = [
    "DROP_PLACES",
    "MAX_BUSIEST",
    "MAX_CLOCKS",
    "MAX_CPU",
    "MAX_LATE",
    "MAX_LATE_CHAIN",
    "MAX_LATE_P99",
    "MAX_UNDUE_DROPS",
    "MIN_ACHIEVED",
    "MIN_SECONDS",
    "Check",
    "Fidelity",
    "Measured",
    "duration",
    "judge",
    "percent",
    "rate",
]

MIN_SECONDS: Final = 0.5
"""Shortest real time that can be judged: the kernel counts processor time in hundredths of a second."""

MIN_ACHIEVED: Final = 0.95
"""Least share of the offered bytes that the generators must have sent."""

MAX_LATE_P99: Final = 0.01
"""Largest lateness of 99 frames of 100, as a share of the measured phase."""

MAX_LATE: Final = 0.05
"""Largest lateness of any frame, as a share of the measured phase: the last frame ends the run."""

MAX_LATE_CHAIN: Final = 0.05
"""Largest sum of the median lateness over a chain of transfers, as a share of the measured phase."""

MAX_CPU: Final = 0.9
"""Largest use of all processors together; above it the scheduler decides what runs when."""

MAX_BUSIEST: Final = 0.9
"""Largest use of a processor by a single process."""

MAX_CLOCKS: Final = 0.01
"""Largest difference between the clocks of several machines, as a share of the measured phase."""

MAX_UNDUE_DROPS: Final = 0
"""Largest number of frames lost where the fabric loses none. Each costs a retransmission timeout."""

DROP_PLACES: Final[Mapping[str, str]] = {
    "agent ring": "arrived faster than an agent took them",
    "switch ring": "arrived faster than a switch took them",
    "switch queue": "no room in a queue of a switch",
    "link queue": "no room in the queue of a shaped link",
    "tunnel": "lost between two machines",
    "veth": "dropped between two interfaces of the kernel",
    "program": "refused by a P4 program",
    "fault": "lost by a fault of the scenario",
}
"""Points at which a frame of a real-time run can be lost, and the cause of the loss at each."""

# Losses that virtual time has too: they do not make the times invalid.
_DUE: Final = frozenset({"program", "fault"})

# Points of loss at which a larger dilation (slower time) does not reduce the losses.
_ROOM: Final = frozenset({"link queue"})

_HEADROOM: Final = 1.25
_LEAST_STEP: Final = 2.0
_MOST_STEP: Final = 1000.0


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of a run from the first frame to the last result, in real time.

    Attributes:
        dilation: Real seconds per second of the scenario.
        seconds: Length of the measured phase.
        stated_bps: Rate of each generator.
        offered_bytes: Bytes that this rate allows while generators have frames to send, the time of these
            frames on the wire included.
        sent_bytes: Bytes sent.
        lateness_us: Time from a frame's slot at this rate to its sending: median, 99th percentile, maximum.
        waiting_us: Time from a frame's creation to its sending: median, 99th percentile and maximum.
        cpu_busy: Busy share of all processors, 0 to 1.
        busiest: The process with the largest share of one processor, and this share.
        drops: Dropped frames, by key of DROP_PLACES.
        shaped: Whether the kernel holds links to their rate.
        notes: Notes that are shown, but not judged.
        steps: Number of transfers in the longest chain of transfers that wait for each other.
        clocks_us: Bound of the error of times on several machines; None on a single machine.

    Raises:
        EmulationError: A value is negative or not a number, which no limit would notice.
    """

    dilation: float
    seconds: float
    stated_bps: float
    offered_bytes: int
    sent_bytes: int
    lateness_us: tuple[float, float, float]
    waiting_us: tuple[float, float, float]
    cpu_busy: float
    busiest: tuple[str, float]
    drops: Mapping[str, int]
    shaped: bool
    notes: tuple[str, ...] = ()
    steps: int = 1
    clocks_us: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            for value in _numbers(getattr(self, field.name)):
                if not (math.isfinite(value) and value >= 0):
                    raise EmulationError(
                        f"measured {field.name} is {value}, not a number of at least 0",
                        remedy="give a number of at least 0",
                    )
        if self.dilation == 0:
            raise EmulationError("the measured dilation is 0, so no time passes", remedy="give one above 0")

    @property
    def achieved(self) -> float:
        """Share of the offered bytes that was sent; 0 if nothing was offered."""
        return self.sent_bytes / self.offered_bytes if self.offered_bytes else 0.0

    @property
    def undue_drops(self) -> dict[str, int]:
        """Frames lost where the fabric loses none, by key of DROP_PLACES; zeros are left out."""
        return {cause: count for cause, count in self.drops.items() if count and cause not in _DUE}

    def share(self, microseconds: float) -> float:
        """Return a time as a share of the measured phase; infinite if nothing was measured."""
        if not self.seconds:
            return math.inf if microseconds else 0.0
        return microseconds / (10**6 * self.seconds)


@final
@dataclass(frozen=True, slots=True)
class Check:
    """A figure compared with its limit.

    `what` names the figure, `value` and `limit` are texts, and `used` is the share of the limit that is used
    up: the check holds up to 1. If it fails, `reason` says why in words, `eased` is True if slower time
    helps, and `remedy` names another remedy.
    """

    what: str
    value: str
    limit: str
    used: float
    reason: str
    eased: bool = True
    remedy: str = ""

    @property
    def holds(self) -> bool:
        """True if the limit was kept."""
        return self.used <= 1


@final
@dataclass(frozen=True, slots=True)
class Fidelity:
    """Verdict on a run; `suggested_dilation` is None if slower time is not needed or does not help."""

    measured: Measured
    checks: tuple[Check, ...]
    suggested_dilation: int | None

    @property
    def trustworthy(self) -> bool:
        """True if the times of the run are valid."""
        return all(check.holds for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the times are not valid, each with its limit; empty if they are valid."""
        return tuple(f"{check.reason} ({check.limit})" for check in self.checks if not check.holds)

    @property
    def remedies(self) -> tuple[str, ...]:
        """Remedies other than slower time, each once."""
        remedies = dict.fromkeys(check.remedy for check in self.checks if not check.holds)
        return tuple(remedy for remedy in remedies if remedy)

    def document(self) -> dict[str, Any]:
        """Return plain values for a result file."""
        return {
            "trustworthy": self.trustworthy,
            "reasons": list(self.reasons),
            "remedies": list(self.remedies),
            "suggested_dilation": self.suggested_dilation,
            "checks": [
                {"what": check.what, "value": check.value, "limit": check.limit, "holds": check.holds}
                for check in self.checks
            ],
            "measured": {
                field.name: dict(value) if isinstance(value, Mapping) else value
                for field in fields(self.measured)
                for value in (getattr(self.measured, field.name),)
            },
        }


def judge(measured: Measured) -> Fidelity:
    """Return the verdict on measurements, by the limits of this module."""
    checks = (
        _length(measured),
        _achieved(measured),
        *_lateness(measured),
        *_clocks(measured),
        _processors(measured),
        _busiest(measured),
        _drops(measured),
        _shaped(measured),
    )
    broken = [check.used for check in checks if check.eased and not check.holds]
    return Fidelity(measured, checks, _suggestion(measured.dilation, broken) if broken else None)


def _length(m: Measured) -> Check:
    return Check(
        what="real time of the run",
        value=duration(10**6 * m.seconds),
        limit=f"at least {duration(10**6 * MIN_SECONDS)}",
        used=MIN_SECONDS / m.seconds if m.seconds else math.inf,
        reason=f"the run took {duration(10**6 * m.seconds)} of real time, too short to judge",
    )


def _achieved(m: Measured) -> Check:
    if m.offered_bytes:
        reason = f"generators sent {percent(m.achieved)} of what {rate(m.stated_bps)} each allows"
    else:
        reason = "generators had nothing to send"
    return Check(
        what="sent of what was offered",
        value=percent(m.achieved),
        limit=f"at least {percent(MIN_ACHIEVED)}",
        used=MIN_ACHIEVED / m.achieved if m.achieved else math.inf,
        reason=reason,
        eased=m.offered_bytes > 0,
    )


def _lateness(m: Measured) -> tuple[Check, Check, Check]:
    median, most, worst = m.lateness_us
    chain = (
        f"median lateness added up over a chain of {m.steps} {'transfer' if m.steps == 1 else 'transfers'}"
    )
    return (
        _late(m, "lateness, 99th percentile", most, MAX_LATE_P99, "one frame in 100 left {} late or more"),
        _late(m, "lateness, latest frame", worst, MAX_LATE, "a frame left {} late"),
        _late(m, "lateness, longest chain", median * m.steps, MAX_LATE_CHAIN, f"the {chain} is {{}}"),
    )


def _late(m: Measured, what: str, late_us: float, limit: float, reason: str) -> Check:
    share = m.share(late_us)
    return Check(
        what=what,
        value=f"{duration(late_us)}, {percent(share)} of the run",
        limit=f"at most {percent(limit)} of the run",
        used=share / limit,
        reason=f"{reason.format(duration(late_us))}, {percent(share)} of the run",
    )


def _clocks(m: Measured) -> Iterator[Check]:
    if m.clocks_us is not None:
        reason = "times of different machines may differ by {}"
        yield _late(m, "clocks of the machines", m.clocks_us, MAX_CLOCKS, reason)


def _processors(m: Measured) -> Check:
    return Check(
        what="use of all processors",
        value=percent(m.cpu_busy),
        limit=f"at most {percent(MAX_CPU)}",
        used=m.cpu_busy / MAX_CPU,
        reason=f"the processors were busy {percent(m.cpu_busy)} of the time",
        remedy="leave the machine to the run, or give it more processors",
    )


def _busiest(m: Measured) -> Check:
    process, share = m.busiest
    return Check(
        what="busiest process",
        value=f"{process}, {percent(share)} of a processor" if process else "none",
        limit=f"at most {percent(MAX_BUSIEST)} of a processor",
        used=share / MAX_BUSIEST,
        reason=f"{process or 'a process'} used {percent(share)} of a processor",
    )


def _drops(m: Measured) -> Check:
    undue = m.undue_drops
    total = sum(undue.values())
    causes = ", ".join(f"{count:,} at {cause}" for cause, count in undue.items())
    narrow = bool(undue.keys() & _ROOM)
    return Check(
        what="frames lost where the fabric loses none",
        value=f"{total:,}",
        limit=f"at most {MAX_UNDUE_DROPS}",
        used=math.inf if total > MAX_UNDUE_DROPS else 0.0,
        reason=f"{total:,} {_plural(total, 'frame')} lost where the fabric loses none: {causes}",
        remedy="a smaller transport.window, so that fewer frames wait for a link" if narrow else "",
        eased=bool(undue.keys() - _ROOM),
    )


def _shaped(m: Measured) -> Check:
    return Check(
        what="links held to their rate",
        value="yes" if m.shaped else "no",
        limit="required",
        used=0.0 if m.shaped else math.inf,
        reason="links were not held to their rate",
        eased=False,
        remedy="--switch builtin, or a kernel with the tbf queue (CONFIG_NET_SCH_TBF)",
    )


def _suggestion(dilation: float, broken: Sequence[float]) -> int:
    """Return a dilation with which all checks should pass, rounded up to half a unit of its leading digit.

    `broken` is, for each failed check, the measured value divided by its limit; the worst one, with headroom,
    gives the result. A loss counts as infinite and tells nothing about the dilation: if there are only
    losses, the result is a first try.
    """
    worst = max((used for used in broken if math.isfinite(used)), default=1.0)
    wanted = dilation * min(max(_HEADROOM * worst, _LEAST_STEP), _MOST_STEP)
    step = 10 ** math.floor(math.log10(wanted)) / 2
    return math.ceil(math.ceil(wanted / step) * step)


def percent(share: float) -> str:
    """Format a share as a percentage."""
    if share > 10:
        return "over 1,000 %"
    return "under 0.01 %" if 0 < share < 0.0001 else f"{_short(100 * share)} %"


def duration(us: float) -> str:
    """Format microseconds in a suitable unit."""
    for unit, size in (("s", 10**6), ("ms", 10**3), ("µs", 1)):
        if us >= size:
            return f"{_short(us / size)} {unit}"
    return f"{_short(1000 * us)} ns" if us else "0 s"


def rate(bps: float) -> str:
    """Format bits per second in a suitable unit."""
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bps >= size:
            return f"{_short(bps / size)} {unit}"
    return f"{_short(bps)} bit/s"


def _short(figure: float) -> str:
    """Format a figure with up to two decimals."""
    return f"{figure:,.2f}".rstrip("0").rstrip(".")


def _plural(count: int, thing: str) -> str:
    return f"{thing} was" if count == 1 else f"{thing}s were"


def _numbers(value: object) -> Iterator[float]:
    """Yield all numbers of a field, nested or not, as floats."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
