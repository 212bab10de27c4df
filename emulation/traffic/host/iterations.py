# SPDX-License-Identifier: Apache-2.0
"""Iterations of a training job: their profile, their reports, their inputs.

An iteration is computation followed by a collective, which may overlap the last part of the computation. A
rank begins the next iteration when it has computed, has its result, and all frames it sent are acknowledged.
Ranks drift apart only as far as the collective permits: a rank ahead may send to a rank that still computes,
which stores the frames in the array of their iteration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from emulation.errors import EmulationError, check_ranges
from emulation.traffic.frames.wire import PSN_MASK
from emulation.traffic.host.transport import NEVER
from emulation.traffic.schedule.data import Array

__all__ = [
    "MOST_FRAMES",
    "MOST_ITERATIONS",
    "WINDOWS",
    "IterationProfile",
    "IterationReport",
    "input_of",
    "too_many_frames",
]

# The collective header's job number is the iteration, counted from 1.
MOST_ITERATIONS: Final = (1 << 16) - 1

# Number of successive iterations with disjoint sequence numbers: acknowledgements carry no job number.
WINDOWS: Final = 16
MOST_FRAMES: Final = (PSN_MASK + 1) // WINDOWS


@final
@dataclass(frozen=True, slots=True)
class IterationProfile:
    """Timing of iterations: each computes for `compute_ps`, and sends from `overlap_ps` before the end on."""

    iterations: int = 1
    compute_ps: int = 0
    overlap_ps: int = 0

    def __post_init__(self) -> None:
        ranges = {
            "iterations": (1, MOST_ITERATIONS),
            "compute_ps": (0, NEVER),
            "overlap_ps": (0, self.compute_ps),
        }
        check_ranges("job", self, ranges)

    @property
    def before_ps(self) -> int:
        """Duration of the computation before sending begins, in ps."""
        return self.compute_ps - self.overlap_ps

    def least_ps(self, sending_ps: int) -> int:
        """Return the time of all iterations in ps if each collective takes `sending_ps`."""
        return self.iterations * (self.before_ps + max(self.overlap_ps, sending_ps))


@final
@dataclass(frozen=True, slots=True)
class IterationReport:
    """Report of an iteration of a rank; times are in ps.

    Attributes:
        begun_ps: Begin of the computation.
        send_ps: Begin of sending.
        sent_ps: End of sending: the rank has its result, and all frames that it sent are acknowledged.
        end_ps: End of the iteration: computation and sending have ended.
        checksum: CRC-32 of the result.
    """

    begun_ps: int
    send_ps: int
    sent_ps: int
    end_ps: int
    checksum: int


def too_many_frames(frames: int) -> EmulationError:
    """Return the error of an iteration that sends too many frames to a peer for its sequence numbers."""
    return EmulationError(
        f"an iteration sends {frames} frames to a peer, but has only {MOST_FRAMES - 1} sequence numbers",
        remedy="take larger frames or a smaller array",
    )


def input_of(data: Array, iteration: int) -> Array:
    """Return a rank's input of an iteration: `data` rotated by `iteration` elements, so stale frames show."""
    return np.roll(data, iteration) if iteration else data
