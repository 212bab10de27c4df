# SPDX-License-Identifier: Apache-2.0
"""What the testbed and the processes of its hosts say to each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.mininet.driver import Pace
from emulation.traffic.agent import Agent
from emulation.traffic.stats import AgentStats, Failure

__all__ = ["Job", "Place", "Report"]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A host, which `make` gives, and where it runs: on an `interface` of a `namespace`."""

    node: str
    namespace: str
    interface: str
    make: Callable[[], Agent]


@final
@dataclass(frozen=True, slots=True)
class Job:
    """`rate_bps` in real bits per second. `memory` is a file of one int64 a host, the bytes of data that
    have come so far, and then, for each, room for its array."""

    places: Sequence[Place]
    rate_bps: float
    dilation: int
    bin_ps: int
    memory: int
    array_bytes: int


@final
@dataclass(frozen=True, slots=True)
class Report:
    """What a host says at the end; its array is in the job's memory. Times in ps of the scenario."""

    stats: AgentStats
    finished_ps: int | None
    failed: Failure | None
    bins: Mapping[int, int]
    pace: Pace
    cpu_seconds: float
