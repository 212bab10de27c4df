# SPDX-License-Identifier: Apache-2.0
"""A collective as a frozen DAG of sends; this module re-exports everything about schedules.

A schedule is a set of transfers, each at a step. Lockstep execution defines its meaning: a transfer carries
the elements that its source held before the step. Before the next step, arrivals are added to the receiver's
elements (REDUCE, in the order of ranks, the receiver included) or replace them (COPY).

Agents follow the steps slice by slice; a slice is the content of a frame. A send of a slice leaves as soon as
its source has applied all arrivals of earlier steps for that slice. An arrival is applied as soon as the
sends that need the old elements have left. Since a send waits for earlier steps only, no schedule deadlocks.
If steps must not overlap, a rank's sends of a step also wait for all its arrivals of earlier steps, as
between two calls of a library.
"""

from emulation.traffic.frames.values import Combine
from emulation.traffic.schedule.dag import Schedule, Transfer, demand, neighbours
from emulation.traffic.schedule.goals import Goal, Holds
from emulation.traffic.schedule.proof import check, check_allreduce, evaluate
from emulation.traffic.schedule.slicing import (
    Arrival,
    CellPlan,
    Phase,
    Send,
    Sliced,
    SlicedTraffic,
    slice_schedule,
)

__all__ = [
    "Arrival",
    "CellPlan",
    "Combine",
    "Goal",
    "Holds",
    "Phase",
    "Schedule",
    "Send",
    "Sliced",
    "SlicedTraffic",
    "Transfer",
    "check",
    "check_allreduce",
    "demand",
    "evaluate",
    "neighbours",
    "slice_schedule",
]
