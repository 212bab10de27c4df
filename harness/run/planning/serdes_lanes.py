# SPDX-License-Identifier: Apache-2.0
"""SerDes lanes of the jobs of a variant, allocated to dimensions before the run or at the start of a job.

A job that starts at time 0 has its lanes from the beginning. Lanes of a later job move at its start: a lane
that goes to another dimension carries nothing for `control.lanes_us`, and all other lanes carry on (UB-Mesh,
§3.1, Fig. 5: the bandwidth of dimensions is adjustable; the paper does not state the time of a change).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from emulation.faults import FaultRuntime, Faults
from harness.run.collectives.grids import members_of
from harness.run.planning.planner import line_of, read_graph
from harness.scenario.document import Location
from harness.scenario.loader import Lines
from harness.scenario.schema import JobSettings, Variant
from topologies import Fabric
from topologies.transform.serdes_lanes import with_lanes

__all__ = ["LaneAllocation", "LaneMove", "allocate_lanes", "highest_rates", "schedule_moves"]

# Default time in us for which a moving lane carries nothing; an assumption, as the paper gives no time.
_LANES_US = 1.0


@final
@dataclass(frozen=True, slots=True)
class LaneMove:
    """A move of SerDes lanes between dimensions at the start of a job.

    The move takes from `at_ps` to `done_ps`. `moving` and `after` are the rates of links in bit/s during and
    after the move, by name of the link.
    """

    at_ps: int
    done_ps: int
    moving: Mapping[str, int]
    after: Mapping[str, int]


@final
@dataclass(frozen=True, slots=True)
class LaneAllocation:
    """SerDes lanes of a run: the fabric at its start, the fabric of each job, and all moves by time."""

    fabric: Fabric
    by_job: tuple[Fabric, ...]
    moves: tuple[LaneMove, ...]


def allocate_lanes(with_line: Lines, at: Location, fabric: Fabric, variant: Variant) -> LaneAllocation:
    """Allocate the SerDes lanes requested by the jobs of a variant, in the order of the jobs' starts.

    Raises:
        ScenarioError: A job asks for lanes that its members lack; the message names its line.
    """
    jobs = variant.every_job
    dark_ps = round((_LANES_US if variant.control.lanes_us is None else variant.control.lanes_us) * 10**6)
    start, by_job, moves = fabric, [fabric] * len(jobs), list[LaneMove]()
    for index, job in sorted(enumerate(jobs), key=lambda item: item[1].at_us):
        if job.lanes is not None:
            line = (*at, "jobs", index, "lanes") if variant.jobs else (*at, "lanes")
            members = _members(with_line, line_of(at, variant, index), job, fabric)
            dealt = with_line(line, with_lanes, fabric, job.lanes, members)
            if job.at_us:
                moves.append(_move(fabric, dealt, round(job.at_us * 10**6), dark_ps))
            else:
                start = dealt
            fabric = dealt
        by_job[index] = fabric
    return LaneAllocation(start, tuple(by_job), tuple(moves))


def _members(with_line: Lines, line: Location, job: JobSettings, fabric: Fabric) -> tuple[str, ...]:
    """Return the members of a job; `line` is the position of its graph or collective in the document."""
    graph = None if job.graph is None else read_graph(with_line, line, fabric, job)
    wanted = job.collective.members if graph is None else graph.members
    return with_line(line, members_of, fabric, wanted)


def _move(before: Fabric, after: Fabric, at_ps: int, dark_ps: int) -> LaneMove:
    """Return the move between two fabrics; lanes that stay on a link carry data all the time."""
    changed = [
        (old, new) for old, new in zip(before.links, after.links, strict=True) if old.lanes != new.lanes
    ]
    return LaneMove(
        at_ps,
        at_ps + dark_ps,
        {new.name: min(old.rate_bps, new.rate_bps) for old, new in changed},
        {new.name: new.rate_bps for _, new in changed},
    )


def schedule_moves(testbed: FaultRuntime, faults: Faults, moves: Iterable[LaneMove]) -> None:
    """Schedule the rate changes of all moves; a later move of a link overrides an earlier unfinished move."""
    latest: dict[str, LaneMove] = {}

    def begin(move: LaneMove) -> None:
        latest.update(dict.fromkeys(move.after, move))
        faults.set_rates(move.moving)

    def end(move: LaneMove) -> None:
        faults.set_rates({link: rate for link, rate in move.after.items() if latest[link] is move})

    for move in moves:
        testbed.at(move.at_ps, partial(begin, move))
        testbed.at(move.done_ps, partial(end, move))


def highest_rates(rates: Mapping[str, int], moves: Sequence[LaneMove]) -> dict[str, int]:
    """Return the highest rate of each link in a run with lane `moves`; `rates` are the rates at its start."""
    return {
        link: max([rate, *(m.after[link] for m in moves if link in m.after)]) for link, rate in rates.items()
    }
