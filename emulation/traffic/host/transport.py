# SPDX-License-Identifier: Apache-2.0
"""Parameters of the connections of agents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from emulation.errors import EmulationError, check_ranges
from emulation.traffic.frames.values import SERVICE_LEVELS
from emulation.traffic.frames.wire import MAP_FRAMES, PSN_MASK
from emulation.traffic.host.congestion import CongestionChoice
from emulation.traffic.host.path_choice import LB_VALUES, SPRAYS, Connections, PathShares, SprayChoice

__all__ = ["MAX_PATH_WINDOW", "MAX_WINDOW", "NEVER", "TransportParameters"]

NEVER: Final = 1 << 62
"""Deadline that never comes, in ps."""

MAX_WINDOW: Final = 1024
"""Largest window of a connection, in frames."""

MAX_PATH_WINDOW: Final = 64
"""Largest window of a connection that knows its paths (`paths`), in frames."""


@final
@dataclass(frozen=True, slots=True)
class TransportParameters:
    """Parameters of a connection; both ends need equal window, first_psn and first_queue. Times are ps.

    Attributes:
        window: Largest number of frames from the oldest unacknowledged frame to the newest frame.
        ack_every: Number of frames for one acknowledgement.
        max_retries: Timeouts in a row, without a newly acknowledged frame, after which a connection fails.
        lb_mode: 1: each frame takes the next load-balance value; 0: a connection keeps its value until a
            timeout.
        first_queue: Lowest queue number of all connections of the traffic.
        level: Service level of data, one of SERVICE_LEVELS.
        connections: Connections from each rank to each peer; None for one connection to a peer.
        paths: Paths by (source, target) rank and their shares, for loss recovery by path, with timeouts of
            at least `path_rto_ps`; without paths to its target, a source recovers by timers alone.
        adaptive: Whether frames avoid congested paths.
        marks: Whether switches may mark data frames that leave a long queue.
        congestion: Congestion control of each connection; None for none.
        lossy: Whether full queues drop frames, so that a loss does not mean a broken path; it needs
            `congestion`.
        go_back: Whether all frames from a lost frame on go again, and a receiver drops frames behind a gap;
            it needs `congestion` and lb_mode 0.
        spray: Choice of load-balance values by the fate of earlier frames; None for values in turn, or by
            the shares of paths.
    """

    window: int = 64
    ack_every: int = 16
    ack_delay_ps: int = 2_000_000
    initial_rto_ps: int = 100_000_000
    min_rto_ps: int = 25_000_000
    path_rto_ps: int = 2_500_000
    max_rto_ps: int = 10_000_000_000
    max_retries: int = 10
    lb_mode: int = 1
    first_psn: int = 0
    first_queue: int = 0
    level: int = 0
    connections: Connections | None = None
    paths: Mapping[tuple[int, int], PathShares] | None = None
    adaptive: bool = False
    marks: bool = False
    congestion: CongestionChoice | None = None
    lossy: bool = False
    go_back: bool = False
    spray: SprayChoice | None = None

    def __post_init__(self) -> None:
        ranges = {
            "window": (1, MAX_WINDOW),
            "ack_every": (1, MAP_FRAMES),
            "ack_delay_ps": (1, self.min_rto_ps - 1),
            "initial_rto_ps": (self.min_rto_ps, self.max_rto_ps),
            "path_rto_ps": (self.ack_delay_ps + 1, self.max_rto_ps),
            "max_retries": (0, 1_000_000),
            "lb_mode": (0, 1),
            "first_psn": (0, PSN_MASK),
            "first_queue": (0, 0xFFFF),
        }
        check_ranges("transport", self, ranges)
        if self.level not in SERVICE_LEVELS:
            raise EmulationError(
                f"transport: level is {self.level}",
                remedy=f"use one of {', '.join(map(str, SERVICE_LEVELS))}",
            )
        if self.paths is not None and self.window > MAX_PATH_WINDOW:
            raise EmulationError(
                f"transport: window is {self.window}, which is too large for sources that know their paths",
                remedy=f"use a value up to {MAX_PATH_WINDOW}",
            )
        if self.spray is not None:
            _check_spray(self.spray)


def _check_spray(spray: SprayChoice) -> None:
    if spray.algorithm not in SPRAYS:
        raise EmulationError(
            f"transport: spray {spray.algorithm!r} is not known", remedy=f"use one of {', '.join(SPRAYS)}"
        )
    if not 1 <= spray.entropies <= LB_VALUES or spray.entropies.bit_count() != 1:
        raise EmulationError(
            f"transport: entropies is {spray.entropies}", remedy=f"use a power of two from 1 to {LB_VALUES}"
        )
