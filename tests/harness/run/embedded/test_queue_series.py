# SPDX-License-Identifier: Apache-2.0
"""Depths of queues, pauses and flows over time, sampled in runs whose scenario names queues."""

from __future__ import annotations

from pathlib import Path

import pytest

import railyard
from harness.run.observation.queue_log import QueueLog

INCAST = """\
name: incast
topology: {name: rail-only, domains: 8, hb_size: 2, radix: 8, uplinks: 1, spines: 1}
routing: {strategy: shortest}
collective: {kind: reduce, algorithm: direct, elements: 16384, members: [gpu0, gpu2, gpu4, gpu6]}
transport: {ack_every: 1}
variants:
  - {name: credits}
  - {name: drop, link: {queues: {data: {bytes: 65536}}}}
  - {name: pause, link: {queues: {data: {pfc: {xoff_bytes: 32768}}}}}
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> railyard.Result:
    path = tmp_path_factory.mktemp("incast") / "incast.yaml"
    path.write_text(INCAST)
    return railyard.run(path)


def log_of(result: railyard.Result, variant: str) -> QueueLog:
    log = result.runs[variant].observation.queues
    assert log is not None
    return log


def test_only_scenarios_with_queues_are_sampled(result: railyard.Result) -> None:
    assert result.runs["credits"].observation.queues is None
    assert {row["variant"] for row in result.queues_over_time()} == {"drop", "pause"}


def test_the_queue_of_the_receiver_is_the_deepest_and_stays_within_its_limit(result: railyard.Result) -> None:
    deepest = log_of(result, "drop").queues[0]
    assert (deepest.node, deepest.to) == ("rail0", "gpu0")
    assert 60_000 < max(deepest.bytes) <= 65_536
    assert deepest.bytes[-1] == 0
    assert not any(deepest.paused)


def test_pauses_stop_the_ports_of_senders_alone(result: railyard.Result) -> None:
    paused = {(queue.node, queue.to) for queue in log_of(result, "pause").queues if any(queue.paused)}
    assert paused == {(f"gpu{rank}", "rail0") for rank in (2, 4, 6)}


@pytest.mark.parametrize("variant", ["drop", "pause"])
def test_flows_end_at_the_bytes_of_the_collective(result: railyard.Result, variant: str) -> None:
    log = log_of(result, variant)
    assert {(flow.source, flow.destination) for flow in log.flows} == {(f"gpu{r}", "gpu0") for r in (2, 4, 6)}
    for flow in log.flows:
        assert list(flow.bytes) == sorted(flow.bytes)
        assert flow.bytes[-1] == 4 * 16384
        assert len(flow.bytes) == len(log.times_ps)


def test_times_rise_and_long_runs_keep_a_bounded_number_of_samples(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(INCAST.replace("elements: 16384", "elements: 262144"))
    log = log_of(railyard.run(path, variant="drop"), "drop")
    assert 200 <= len(log.times_ps) <= 400
    assert list(log.times_ps) == sorted(set(log.times_ps))


def test_the_report_draws_them(result: railyard.Result) -> None:
    html = result.report()
    part = html[html.index("Queues and flows over time") :]
    assert "rail0 → gpu0" in part
    assert part.index("paused") < part.index("Assertions")


def test_looking_changes_nothing(result: railyard.Result, tmp_path: Path) -> None:
    path = tmp_path / "incast.yaml"
    path.write_text(INCAST)
    watched = railyard.run(path, record=True)
    assert watched.metrics() == result.metrics()
    assert watched.queues_over_time() == result.queues_over_time()
