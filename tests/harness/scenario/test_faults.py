# SPDX-License-Identifier: Apache-2.0
"""Faults of a scenario file: what it may ask for, and on which line it is told what it may not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.run.observation.values import FaultReport
from harness.run.prepare import Prepared, prepare
from harness.scenario.loader import load
from harness.scenario.schema import Fault

Write = Callable[[str], Path]

HEAD = "name: small\ntopology: {name: full-mesh, dims: [4, 2]}\nfaults:\n"


def prepared(path: Path) -> Prepared:
    (ready,) = prepare(*load(path))
    return ready


def test_every_event_of_every_target_is_found_in_the_fabric(write: Write) -> None:
    ready = prepared(
        write(
            HEAD
            + "  - {at_us: 9, link: npu0-npu1, event: up}\n"
            + "  - {at_us: 1, link: npu0-npu1}\n"
            + "  - {at_us: 2, direction: npu0->npu1, event: loss, percent: 2.5}\n"
            + "  - {at_us: 3, direction: npu0-npu1, from: npu1, event: down}\n"
            + "  - {at_us: 4, port: 'npu2:1', event: flap, period_us: 0.5, count: 4}\n"
            + "  - {at_us: 5, switch: npu3, event: rate, percent: 25}\n"
            + "  - {at_us: 6, npu: npu4, event: delay, add_ns: 0.5}\n"
            + "  - {at_us: 7, board: 1}\n"
            + "  - {at_us: 8, switch: npu3, event: clear}\n"
        )
    )
    assert [fault.at_ps for fault in ready.faults] == [n * 10**6 for n in range(1, 10)]
    assert [FaultReport.of(fault).text for fault in ready.faults] == [
        "npu0-npu1 goes down",
        "npu0->npu1 loses 2.5 % of its frames",
        "npu1->npu0 goes down",
        "npu2:1 flaps 4 times",
        "npu3 slows down to 25 % of its rate",
        "npu4 takes 0.5 ns more",
        "board 1 goes down",
        "npu3 is well again",
        "npu0-npu1 goes up",
    ]
    loss, flap, rate, delay = (ready.faults[place] for place in (1, 3, 4, 5))
    assert (loss.loss, loss.rate, loss.delay_ps) == (0.025, 1.0, 0)
    assert (flap.period_ps, flap.count) == (500_000, 4)
    assert (rate.loss, rate.rate) == (0.0, 0.25)
    assert delay.delay_ps == 500
    assert ready.faults[6].target.hosts == ("npu4", "npu5", "npu6", "npu7")


def test_a_link_fault_alone_is_said_as_ever(write: Write) -> None:
    (fault,) = prepared(write(HEAD + "  - {at_us: 1.5, link: npu0-npu1}\n")).faults
    seen = FaultReport.of(fault)
    assert (seen.at_ps, seen.target, seen.event, seen.links) == (
        1_500_000, "npu0-npu1", "down", ("npu0-npu1",)
    )  # fmt: skip
    assert seen.text == FaultReport(1_500_000, "npu0-npu1", "down").text == "npu0-npu1 goes down"


def test_other_faults_take_the_place_of_those_of_a_variant(write: Write) -> None:
    ready = prepared(write(HEAD + "  - {at_us: 1, board: 0}\n"))
    other = ready.with_faults((Fault(at_us=2, link="npu1-npu2"),))
    assert [fault.text for fault in other.faults] == ["npu1-npu2 goes down"]
    assert [fault.link for fault in other.variant.faults] == ["npu1-npu2"]
    assert other.plan is ready.plan


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("at_us: 1", ":4: faults[0]: the fault has no target; give exactly one target among link, "),
        ("at_us: 1, link: npu0-npu1, board: 0", "the fault has link and board; give exactly one"),
        ("at_us: 1, link: npu0-npu1, event: dwn", "event: 'dwn' is not known; did you mean 'down'?"),
        ("at_us: 1, link: npu0-npu1, event: loss", ":4: faults[0]: event loss needs `percent:`"),
        ("at_us: 1, link: npu0-npu1, percent: 3", ":4: faults[0]: event down takes no `percent:`"),
        ("at_us: 1, link: npu0-npu1, event: flap, count: 2", ":4: faults[0]: event flap needs `period_us:`"),
        ("at_us: 1, link: npu0-npu1, event: delay", ":4: faults[0]: event delay needs `add_ns:`"),
        ("at_us: 1, link: npu0-npu1, event: loss, percent: 101", "percent: 101 must be at most 100"),
        ("at_us: 1, link: npu0-npu1, event: rate, percent: 0", "faults[0].percent: 0 must be greater than 0"),
        ("at_us: 1, board: -1", ":4: faults[0].board: -1 must be at least 0"),
        ("at_us: 1, board: two", ":4: faults[0].board: 'two' is not a whole number"),
        ("at_us: 1, link: npu0-npu1, from: npu0", "`from:` stands beside `link:`, but it belongs to "),
        ("at_us: 1, direction: npu0-npu1, form: npu0", "key 'form' in faults[0]; did you mean 'from'"),
    ],
)  # fmt: skip
def test_what_a_fault_may_not_say(write: Write, fault: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(write(f"{HEAD}  - {{{fault}}}\n"))
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("at_us: 1, link: npu0-npu7", ":4: fabric full-mesh-4x2: no link named 'npu0-npu7'"),
        ("at_us: 1, direction: npu0-npu1", ":4: link npu0-npu1 has two directions, and none is chosen"),
        ("at_us: 1, port: 'npu0:7'", ":4: fabric full-mesh-4x2: no port 7 on npu0; npu0 has 0, 1, 2, 3, 4"),
        ("at_us: 1, switch: npu8", ":4: fabric full-mesh-4x2: no node named 'npu8'"),
        ("at_us: 1, board: 2", ":4: fabric full-mesh-4x2: no board 2; its boards are 0 to 1"),
        ("at_us: 1, plane: 1", ":4: fabric full-mesh-4x2: no plane 1; it has no planes; take another target"),
        (
            "at_us: 1, circuit: 'ocs0:3-7'",
            "no optical switch named 'ocs0'; it has none",
        ),
        (
            "at_us: 1, port: 'npu0:host', event: rate, percent: 5",
            ":4: npu0:host: the link to a node's host cannot have a fault rate",
        ),
        (
            "at_us: 1, link: npu0-npu1, event: up",
            ":4: npu0-npu1 goes up at 1 us, but no earlier fault of this target",
        ),
        (
            "at_us: 1, link: npu0-npu1, event: clear",
            ":4: npu0-npu1 is well again at 1 us, but no earlier fault of",
        ),
    ],
)
def test_what_the_fabric_does_not_have_is_named_with_its_line(
    write: Write, fault: str, expected: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        prepare(*load(write(f"{HEAD}  - {{{fault}}}\n")))
    assert expected in str(caught.value)


def test_an_end_must_name_its_target_as_the_beginning_did(write: Write) -> None:
    faults = "  - {at_us: 1, board: 0}\n  - {at_us: 2, link: npu0-npu1, event: up}\n"
    with pytest.raises(ScenarioError, match=r":5: npu0-npu1 goes up at 2 us, .* name the target exactly as"):
        prepare(*load(write(HEAD + faults)))


def test_hellos_are_off_unless_asked_for(write: Write) -> None:
    scenario, _ = load(write("name: small\ntopology: {name: ub-rack}\n"))
    assert scenario.variants[0].control.hello_us is None
    scenario, _ = load(write("name: small\ntopology: {name: ub-rack}\ncontrol: {hello_us: 2}\n"))
    control = scenario.variants[0].control
    assert (control.hello_us, control.hello_multiplier, control.processing_us) == (2, 3, 5)
    with pytest.raises(ScenarioError, match="hello_multiplier: 1 must be at least 2"):
        load(write("name: small\ntopology: {name: ub-rack}\ncontrol: {hello_us: 2, hello_multiplier: 1}\n"))
