# SPDX-License-Identifier: Apache-2.0
"""Frames, data and order of events of a run, held against those of the same scenario on another testbed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from harness.run.observation.values import Observation

__all__ = ["Run", "compare"]

# Events of a job that are closer in virtual time than this share of the run may come in another order in real
# time: members of the job work side by side.
_CLOSE = 0.1

LinkFrames = Mapping[str, tuple[int, int]]
Event = tuple[int, str, str]

# Share of the marks of virtual time that have to be set in real time, and the other way round: sources that
# are late let a queue drain.
_MARKED = 0.5

_TESTBED = "testbed"


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Results of a run of a feature.

    `received` are data frames without duplicates, `marked` those with a congestion mark. `events` are (time
    in ps, course, words), in order of time; a course is a job, or the testbed with all that it does in turn.
    """

    received: int
    links: LinkFrames
    checksum: int
    wrong: str
    events: tuple[Event, ...]
    completion_ps: int
    marked: int = 0

    @classmethod
    def of(cls, seen: Observation) -> Run:
        """Return the results of an observation."""
        return cls(
            seen.traffic.received,
            {name: (there.frames, back.frames) for name, (there, back) in sorted(seen.link_usage.items())},
            seen.checksum,
            seen.first_wrong if seen.correct_nodes < seen.nodes or seen.first_wrong else "",
            tuple(sorted(_events(seen))),
            seen.completion_ps,
            seen.traffic.marked or 0,
        )


def _events(seen: Observation) -> Iterator[Event]:
    for fault in seen.faults:
        yield fault.at_ps, _TESTBED, fault.text
    for job in seen.jobs:
        yield job.begun_ps, _TESTBED, f"job {job.name} begins"
        for number, iteration in enumerate(job.iterations):
            yield iteration.end_ps, job.name, f"iteration {number} of job {job.name} ends"
        yield job.begun_ps + job.completion_ps, job.name, f"job {job.name} ends"
    for operation in seen.operations:
        assert operation.end_ps is not None, operation
        yield operation.end_ps, operation.job, f"{operation.id} of job {operation.job} ends"
    for takeover in seen.takeovers:
        yield takeover.at_ps, _TESTBED, f"{takeover.spare} takes the place of {takeover.npu}"
    for change in seen.reconfigurations:
        torn, created = ", ".join(change.torn), ", ".join(change.created)
        yield change.stands_ps, _TESTBED, f"circuits {created} in place of {torn}"
    if seen.recovery.converged_ps is not None and seen.faults:
        yield seen.recovery.converged_ps, _TESTBED, "the tables follow the last fault"


def compare(virtual: Run, real: Run, same: str) -> None:
    """Assert that two runs are alike in data and order of events, and in what `same` says of their frames."""
    assert virtual.wrong == real.wrong == ""
    assert real.checksum == virtual.checksum
    if same != "data":
        assert real.received == virtual.received > 0
    if same == "links":
        assert _used(real.links) == _used(virtual.links)
    assert _MARKED * virtual.marked <= real.marked <= min(virtual.marked / _MARKED, real.received)
    assert sorted(event[1:] for event in real.events) == sorted(event[1:] for event in virtual.events)
    for course in {course for _, course, _ in virtual.events}:
        order = [words for _, other, words in real.events if other == course]
        in_turn = [(time, words) for time, other, words in virtual.events if other == course]
        for (earlier, first), (later, second) in pairwise(in_turn):
            if later - earlier > (0 if course == _TESTBED else _CLOSE * virtual.completion_ps):
                assert order.index(first) < order.index(second), f"{second} came before {first}"


def _used(links: LinkFrames) -> LinkFrames:
    """Leave out links without frames: circuits that never carried any are in no report of virtual time."""
    return {name: frames for name, frames in links.items() if any(frames)}
