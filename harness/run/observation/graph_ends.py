# SPDX-License-Identifier: Apache-2.0
"""Ends of the jobs of a traffic graph: check of their data, and times of all operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from emulation.traffic.graph.lowering import Lowered, SlicedGraph
from emulation.traffic.graph.truth import compare_graph
from emulation.traffic.host.stats import Outcome
from emulation.traffic.schedule.data import Array
from harness.run.observation.values import OperationReport

__all__ = ["GraphJobEnd", "ends_of_jobs"]


Times = Sequence[tuple[int, int]]
"""Begin and end of each task of a rank, in ps."""


@final
@dataclass(frozen=True, slots=True)
class GraphJobEnd:
    """End of a job of a traffic graph.

    Attributes:
        wrong_members: Number of members with wrong data.
        first_wrong: Description of the first wrong data; empty if there is none.
        end_ps: Time of the last operation's end; None if an operation has not ended.
        operations: Times of all operations.
    """

    wrong_members: int
    first_wrong: str
    end_ps: int | None
    operations: tuple[OperationReport, ...]


def ends_of_jobs(sliced: SlicedGraph, ends: Sequence[Outcome], inputs: Sequence[Array]) -> list[GraphJobEnd]:
    """Return the end of each job of a traffic graph.

    `ends` are outcomes of agents by rank, `inputs` arrays by rank.
    """
    compared = compare_graph([end.result for end in ends], inputs, sliced)
    times_of = [end.times for end in ends]
    jobs = []
    for job, comparison in zip(sliced.jobs, compared, strict=True):
        operations = tuple(_operations(job, times_of))
        times = [operation.end_ps for operation in operations]
        end_ps = None if None in times else max(time for time in times if time is not None)
        jobs.append(GraphJobEnd(comparison.wrong_ranks, comparison.first, end_ps, operations))
    return jobs


def _operations(job: Lowered, times_of: Sequence[Times]) -> list[OperationReport]:
    reports = []
    graph = job.job.graph
    for number, operation in enumerate(graph.operations):
        begin, end = job.begins[number], job.ends[number]
        peer = (operation.peer,) if operation.peer else ()
        size = operation.size
        if operation.kind == "receive":
            peer = ()
        reports.append(
            OperationReport(
                job.job.name,
                operation.id,
                operation.kind,
                (operation.member, *peer),
                size,
                _time(times_of[begin[0]], begin[1], 0),
                _time(times_of[end[0]], end[1], 1),
            )
        )
    return reports


def _time(times: Times, task: int, which: int) -> int | None:
    if task >= len(times) or times[task][which] < 0:
        return None
    return times[task][which]
