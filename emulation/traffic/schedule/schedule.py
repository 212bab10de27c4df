# SPDX-License-Identifier: Apache-2.0
"""A collective as a frozen DAG of sends: everything about one, in one place to import from.

A schedule is a set of transfers, each at a step, and means what it would mean if all ranks went through the
steps in lockstep: a transfer carries what its source held before the step, and what arrives in a step is
added (REDUCE, in rank order, the receiver's own elements at its own place) or put in place (COPY) before
the next one.

The agents run it as loosely as the data allow. A slice is what one frame carries. A send of a slice leaves
as soon as its source has applied all that arrives there in earlier steps; what arrives is applied as soon
as the sends that still need the old elements have left. Since a send waits for earlier steps only, no
schedule can block itself. Where steps must not overlap, a rank's sends of a step wait besides for all that
earlier steps bring to this rank, as between two calls of a library.

goals    what a collective promises        dag      transfers, and what they are for
slicing  pieces for the wire, rank by rank  proof    lockstep, and the proof of a promise
"""

from emulation.traffic.frames.layers import Combine
from emulation.traffic.schedule.dag import Schedule, Transfer, demand, neighbours
from emulation.traffic.schedule.goals import Goal, Holds
from emulation.traffic.schedule.proof import check, check_allreduce, evaluate
from emulation.traffic.schedule.slicing import Arrival, CellPlan, Phase, Send, Sliced, slice_schedule

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
    "Transfer",
    "check",
    "check_allreduce",
    "demand",
    "evaluate",
    "neighbours",
    "slice_schedule",
]
