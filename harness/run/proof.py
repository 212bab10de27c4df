# SPDX-License-Identifier: Apache-2.0
"""Prove the schedules of a user's own collectives correct before a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulation.errors import EmulationError
from emulation.traffic.collectives.catalogue import KINDS
from emulation.traffic.schedule.schedule import Schedule, check
from harness.run.planning.job_plan import JobPlan
from harness.run.planning.planner import line_of
from harness.run.prepare import Prepared
from harness.scenario.document import Document
from harness.scenario.loader import Lines

__all__ = ["prove_own"]

_BUILT_IN = frozenset(kind.name for kind in KINDS)

# Largest product of ranks and pieces of the array for a proof, which tracks each piece of each rank: up to
# this limit a proof takes seconds.
_LARGEST = 16_384


def prove_own(prepared: Iterable[Prepared], document: Document) -> Iterator[str]:
    """Prove the schedules of the user's own collectives, and yield a sentence about each schedule.

    Schedules of built-in collectives are skipped.

    Raises:
        ScenarioError: A schedule does not fulfil its goals; the message names the line of the collective.
    """
    with_line = Lines(document)
    proved: set[int] = set()
    given = document.values.get("variants", ())
    names = [item.get("name") if isinstance(item, dict) else None for item in given]
    for ready in prepared:
        name = ready.variant.name
        at = ("variants", names.index(name)) if name in names else ("variants", 0)
        jobs = [job.name for job in ready.variant.every_job]
        for plan in ready.jobs:
            if id(plan) in proved or not _is_own(plan):
                continue
            proved.add(id(plan))
            schedule = plan.sliced.schedule
            if not isinstance(schedule, Schedule):
                continue
            if _pieces(schedule) * schedule.ranks > _LARGEST:
                yield f"{name}: the schedule {schedule.name} is too large for a proof; runs compare its data"
                continue
            line = line_of(at, ready.variant, jobs.index(plan.name))
            with_line(line, _prove, schedule, plan.collective.kind)
            yield f"{name}: the schedule {schedule.name} fulfils its goals for any data"


def _prove(schedule: Schedule, kind: str) -> None:
    try:
        check(schedule)
    except EmulationError as ex:
        raise EmulationError(ex.message, remedy=f"correct the transfers that {kind} returns") from ex


def _is_own(plan: JobPlan) -> bool:
    return plan.graph is None and plan.collective.kind not in _BUILT_IN


def _pieces(schedule: Schedule) -> int:
    ends = {
        end
        for transfer in schedule.transfers
        for low in (transfer.offset, transfer.offset + transfer.shift)
        for end in (low, low + transfer.length)
    }
    return len(ends)
