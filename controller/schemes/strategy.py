# SPDX-License-Identifier: Apache-2.0
"""A routing strategy: properties that decide which paths a source uses to a destination."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

__all__ = ["STRATEGIES", "Steering", "Strategy"]


class Steering(Enum):
    """The part of a path decided by the source route of a frame."""

    PATH = "every hop that an instruction can name"
    FIRST_HOP = "the port of the source; switches choose every further hop by hash"
    NONE = "nothing: the tables of addresses lead the frame"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A source's use of its paths to a destination; source and destination are a pair.

    Attributes:
        name: Name of the strategy.
        single_path: Within a mesh a pair has one path.
        longer_paths: Paths with one more hop are candidates too, whatever the traffic.
        by_top: With `longer_paths`, paths by the highest switches are candidates too.
        adaptive: Sources leave congested paths; for this, all pairs get standby paths.
        spray: Algorithm that chooses the path of each frame (emulation.traffic.host.path_choice.SPRAYS);
            empty: frames are not sprayed.
        steering: The part of a path that the source route decides.
        standby_buckets: Number of a pair's buckets that get standby paths in a scenario.
    """

    name: str
    single_path: bool = False
    longer_paths: bool = False
    by_top: bool = False
    adaptive: bool = False
    spray: str = ""
    steering: Steering = Steering.PATH
    standby_buckets: int = 0

    @property
    def by_hash(self) -> bool:
        """True if switches choose every hop after the first by hash."""
        return self.steering is Steering.FIRST_HOP

    @property
    def by_tables(self) -> bool:
        """True if no frame has a source route."""
        return self.steering is Steering.NONE

    def led_by_hash(self) -> Self:
        """Return the strategy with the source routes of `hashed`."""
        return replace(self, single_path=True, steering=Steering.FIRST_HOP, standby_buckets=0)


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("all-path", standby_buckets=4),
        Strategy("adaptive", adaptive=True, standby_buckets=6),
        *(
            Strategy(spray, spray=spray, standby_buckets=4)
            for spray in ("oblivious", "bitmap", "reps", "mixed")
        ),
        Strategy("shortest", single_path=True),
        Strategy("tables", single_path=True, steering=Steering.NONE),
        Strategy("detour", longer_paths=True),
        Strategy("borrow", longer_paths=True, by_top=True),
        Strategy("hashed", single_path=True, steering=Steering.FIRST_HOP),
    )
}
"""Strategies of fabrics with dimensions or tiers, by name."""
