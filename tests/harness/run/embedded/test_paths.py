# SPDX-License-Identifier: Apache-2.0
"""Experiments on every path, lost notices, adaptive sources and notification: whole, or in a smaller mesh."""

from collections.abc import Callable
from pathlib import Path

import pytest

import railyard
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load

EXPERIMENTS = Path(__file__).resolve().parents[4] / "experiments"

MESH = """\
name: small
topology: {name: full-mesh, dims: [4, 4]}
collective: {elements: 524288, payload_bytes: 4096}
"""


def seen(path: Path) -> Observation:
    (ready,) = prepare(*load(path))
    return run((ready,), 1).runs["run"].observation


def test_a_pair_fills_its_ports_by_every_path() -> None:
    result = railyard.run(EXPERIMENTS / "19_every_path" / "scenario.yaml", variant=["shortest", "every-path"])
    assert result.passed
    assert result.metric("every-path", "ratio_to_bound") < 1.1


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["19_every_path", "20_lost_notices", "21_adaptive", "22_routing", "43_notification"]
)
def test_all_assertions_of_the_experiment_hold(name: str) -> None:
    assert railyard.run(EXPERIMENTS / name / "scenario.yaml").passed


def test_a_silent_channel_costs_less_than_twice_the_time(write: Callable[[str], Path]) -> None:
    silent = "faults: [{at_us: 2, direction: npu0->npu1, event: loss, percent: 100}]\n"
    healthy, results = seen(write(MESH)), seen(write(MESH + silent))
    assert results.correct_nodes == 16
    assert results.recovery.nodes_notified == 0
    assert results.completion_ps < 2 * healthy.completion_ps


def test_adaptive_sources_leave_a_slow_link_and_change_nothing_in_health(
    write: Callable[[str], Path],
) -> None:
    slow = "faults: [{at_us: 0.001, link: npu0-npu1, event: rate, percent: 10}]\n"
    adaptive = MESH + "routing: {strategy: adaptive}\n"
    healthy, static, left = (seen(write(text)) for text in (adaptive, MESH + slow, adaptive + slow))
    assert healthy.traffic.retransmitted == 0
    assert healthy.completion_ps < 1.03 * seen(write(MESH)).completion_ps
    assert left.correct_nodes == 16
    assert left.completion_ps < 2.5 * healthy.completion_ps < 0.3 * static.completion_ps
