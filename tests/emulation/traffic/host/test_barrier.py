# SPDX-License-Identifier: Apache-2.0
"""Steps that do not overlap: the gate by itself, and what it does to a run on agents that exchange frames."""

from collections import Counter

from emulation.traffic.collectives import all_to_all
from emulation.traffic.schedule.schedule import slice_schedule
from tests.oracle.barrier import StepBarrier


def test_a_step_waits_for_all_that_earlier_ones_bring() -> None:
    gate: StepBarrier[str] = StepBarrier(Counter({0: 2, 1: 1, 3: 1}))
    assert not gate.hold(0, "own")
    assert gate.hold(1, "one")
    assert gate.hold(3, "three")
    assert gate.hold(2, "two")
    assert gate.arrived(0) == []
    assert gate.arrived(0) == ["one"]
    assert gate.hold(2, "more of two")
    assert gate.arrived(1) == ["two", "more of two", "three"]
    assert not gate.hold(3, "late")
    assert gate.arrived(3) == []


def test_nothing_to_come_holds_nothing() -> None:
    gate: StepBarrier[int] = StepBarrier(Counter())
    assert not gate.hold(7, 1)


def test_slices_say_whether_steps_overlap() -> None:
    schedule = all_to_all((2, 3), 4)
    assert slice_schedule(schedule).overlap
    assert not slice_schedule(schedule, overlap=False).overlap
