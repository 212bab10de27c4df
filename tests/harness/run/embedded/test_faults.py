# SPDX-License-Identifier: Apache-2.0
"""Whole runs with every kind of fault, on a small mesh in virtual time."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.report.document import to_json
from harness.report.measurement.metrics import measure
from harness.report.results import conclude
from harness.run.observation.values import Observation
from harness.run.observation.variant_run import VariantRun
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load

Write = Callable[[str], Path]

HEAD = """\
name: small
topology: {name: full-mesh, dims: [4, 4]}
collective: {elements: 131072, payload_bytes: 4096}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
transport: {initial_rto_us: 20, min_rto_us: 5}
"""

HELLOS = HEAD.replace("0.5}\ntransport", "0.5, hello_us: 1}\ntransport")


def ran(path: Path) -> VariantRun:
    (ready,) = prepare(*load(path))
    return run((ready,), 1).runs["run"]


def seen(path: Path) -> Observation:
    return ran(path).observation


@pytest.mark.long(
    "board: 1, event: delay, add_ns: 500",
    "board: 1, event: rate, percent: 50",
    "link: npu0-npu1, event: loss, percent: 10",
)
@pytest.mark.parametrize(
    "fault",
    [
        "link: npu0-npu1",
        "direction: npu0->npu1",
        "port: 'npu5:2'",
        "link: npu0-npu1, event: flap, period_us: 2, count: 3",
        "link: npu0-npu1, event: loss, percent: 10",
        "switch: npu3, event: loss, percent: 1",
        "board: 1, event: rate, percent: 50",
        "board: 1, event: delay, add_ns: 500",
    ],
)
def test_data_are_right_whatever_fails_on_the_way(write: Write, fault: str) -> None:
    results = seen(write(f"{HELLOS}faults: [{{at_us: 1, {fault}}}]\n"))
    assert results.correct_nodes == 16, results.first_wrong
    assert results.completion_ps > 10**6


def test_a_slow_link_costs_time_and_loses_nothing(write: Write) -> None:
    healthy = seen(write(HEAD))
    slow = seen(write(HEAD + "faults: [{at_us: 1, link: npu0-npu1, event: rate, percent: 10}]\n"))
    assert slow.completion_ps > 1.5 * healthy.completion_ps
    assert slow.traffic.lost_with_link == healthy.traffic.lost_with_link == 0


def test_hellos_of_a_healthy_fabric_change_nothing_but_the_load(write: Write) -> None:
    quiet, hellos = seen(write(HEAD)), seen(write(HELLOS))
    assert hellos.recovery == quiet.recovery
    assert hellos.recovery.converged_ps is None
    assert hellos.traffic.retransmitted == 0
    assert hellos.completion_ps < 1.02 * quiet.completion_ps
    assert sum(map(sum, hellos.link_bytes.values())) > sum(map(sum, quiet.link_bytes.values()))


def test_a_notice_that_is_lost_comes_again(write: Write) -> None:
    """npu2 hears neither end of the link while they tell it of the cut."""
    lost = "\n".join(
        f"  - {{at_us: {at}, direction: npu{end}->npu2, event: {event}}}"
        for at, event in ((1.5, "loss, percent: 100"), (3, "clear"))
        for end in (0, 1)
    )
    text = HEAD + "routing: {weights: oblivious}\nfaults:\n  - {at_us: 1, link: npu0-npu1}\n" + lost + "\n"
    once = seen(write(text.replace("processing_us: 0.5", "processing_us: 0.5, repeat_us: null")))
    again = seen(write(text.replace("processing_us: 0.5", "processing_us: 0.5, repeat_us: 5")))
    assert once.correct_nodes == again.correct_nodes == 16
    assert again.recovery.nodes_notified == once.recovery.nodes_notified + 1
    assert again.recovery.entries_rewritten > once.recovery.entries_rewritten
    assert again.recovery.notices_repeated >= 2
    assert (once.recovery.notices_repeated, again.recovery.notices_unconfirmed) == (0, 0)


@pytest.mark.long
def test_one_way_that_fails_with_its_carrier_up_is_found_by_hellos_alone(write: Write) -> None:
    fault = "faults: [{at_us: 1, direction: npu0->npu1}]\n"
    silent, results = seen(write(HEAD + fault)), seen(write(HELLOS + fault))
    assert silent.recovery.converged_ps is None
    assert results.recovery.entries_rewritten > 0
    converged = results.recovery.converged_ps
    assert converged is not None
    # Missing hellos: between three and a half periods after the fault and as long after the last before it.
    assert 1 + 2.5 < converged / 10**6 < 1 + 3.5 + 1 + 3
    assert results.correct_nodes == 16
    assert results.traffic.retransmitted < silent.traffic.retransmitted


@pytest.mark.long
def test_a_switch_that_hangs_with_its_carriers_up_is_given_up_by_its_neighbours(write: Write) -> None:
    """A hang of 30 us: nothing passes, nobody loses a carrier. All is right again in the end."""
    hang = (
        "faults:\n"
        "  - {at_us: 1, switch: npu5, event: loss, percent: 100}\n"
        "  - {at_us: 31, switch: npu5, event: clear}\n"
    )
    results = seen(write(HELLOS + hang))
    assert results.correct_nodes == 16, results.first_wrong
    assert results.recovery.entries_rewritten > 0
    assert results.completion_ps > 31 * 10**6


@pytest.mark.long("hellos")
@pytest.mark.parametrize("control", [HEAD, HELLOS], ids=["carrier", "hellos"])
def test_a_run_that_cannot_succeed_ends_and_says_why(write: Write, control: str) -> None:
    results = seen(write(control + "faults: [{at_us: 1, npu: npu5}]\n"))
    assert results.correct_nodes < 16
    assert results.first_wrong


@pytest.mark.long
def test_a_board_that_comes_back_is_made_up_for(write: Write) -> None:
    board = "faults:\n  - {at_us: 1, board: 1}\n  - {at_us: 15, board: 1, event: up}\n"
    results = seen(write(HELLOS + board))
    assert results.correct_nodes == 16, results.first_wrong
    assert results.completion_ps > 15 * 10**6


@pytest.mark.long
def test_the_same_seed_gives_the_same_bytes_with_losses_and_hellos(write: Write) -> None:
    path = write(
        HELLOS
        + "faults:\n"
        + "  - {at_us: 0.5, direction: npu2->npu3, event: loss, percent: 20}\n"
        + "  - {at_us: 1, link: npu0-npu1, event: flap, period_us: 3, count: 2}\n"
        + "  - {at_us: 2, direction: npu0->npu4}\n"
    )
    scenario, document = load(path)

    def result(seed: int) -> str:
        done = run(prepare(scenario, document), seed)
        return to_json(conclude(scenario, seed, "embedded", done.runs))

    assert result(1) == result(1)
    assert result(1) != result(2)


@pytest.mark.long
def test_the_first_fault_counts_whatever_the_order_of_the_file(write: Write) -> None:
    faults = "faults: [{at_us: 3, link: npu2-npu3}, {at_us: 1, link: npu0-npu1}]\n"
    assert measure(ran(write(HEAD + faults)))["fault_us"] == 1.0
