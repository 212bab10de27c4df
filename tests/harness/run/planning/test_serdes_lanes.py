# SPDX-License-Identifier: Apache-2.0
"""Lanes dealt among dimensions: rates of links, times of a run beside the iteration model, refusals."""

from collections.abc import Callable
from pathlib import Path

import pytest

import railyard
from emulation.faults import Faults
from emulation.testbed import Impairment
from harness.errors import ScenarioError
from harness.run.planning.serdes_lanes import schedule_moves
from harness.run.prepare import prepare
from harness.scenario.loader import load
from papers.training.interconnect import interconnect, mesh
from papers.training.workload import Op
from tests.emulation.fake_testbed import FakeTestbed

HEAD = "name: small\ntopology: {name: full-mesh, dims: [4, 4], lanes: 4}\n"
ALONG = """\
routing: {strategy: shortest}
collective:
  {kind: mixture, algorithm: sequential, elements: 65536, parts: [{kind: all-gather, share: 1, over: [%d]}]}
variants: [{name: even}, {name: moved, lanes: [6, 2]}]
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def call(text: str) -> Path:
        path = tmp_path / "scenario.yaml"
        path.write_text(HEAD + text)
        return path

    return call


@pytest.mark.parametrize(("along", "axis"), [(0, "x"), (1, "y")])
def test_packets_follow_the_model(write: Callable[[str], Path], along: int, axis: str) -> None:
    result = railyard.run(write(ALONG % along))
    assert result.passed
    for variant, lanes in (("even", (4, 4)), ("moved", (6, 2))):
        model_us = mesh((4, 4), lanes).share(Op.allgather, ((axis, 4),)) * 65536 * 4 * 8 / 100e9 * 1e6
        assert result.metric(variant, "bound_us") == pytest.approx(model_us, rel=1e-3)
        assert model_us < result.metric(variant, "completion_us") < 1.25 * model_us
    rates = {row["rate_gbps"] for row in result.links("moved")}
    assert rates == {600, 200}
    assert {row["rate_gbps"] for row in result.links("even")} == {400}


def test_the_models_trade_deals_the_same_lanes() -> None:
    """72 lanes of which 12 lead out of the rack leave 30 for the peers of a dimension: 3 links of 10."""
    assert interconnect(uplink=12, trade=True).lanes["x"] == mesh((4, 4, 4), (10, 10, 4)).lanes["x"] == 30


def test_a_job_has_lanes_of_its_own(write: Callable[[str], Path]) -> None:
    text = (
        "jobs:\n"
        "  - {name: a, lanes: [6, 2], collective: {algorithm: direct, members: [npu0, npu1, npu4, npu5]}}\n"
        "  - {name: b, collective: {algorithm: direct, members: [npu10, npu11]}}\n"
    )
    (ready,) = prepare(*load(write(text)))
    lanes = {link.name: link.lanes for link in ready.fabric.links if link.lanes != 4}
    assert lanes == {"npu0-npu1": 6, "npu4-npu5": 6, "npu0-npu4": 2, "npu1-npu5": 2}
    used = {node.name: sum(port.lanes for port in node.ports[1:]) for node in ready.fabric.nodes}
    assert set(used.values()) == {24}


@pytest.mark.parametrize(
    ("lanes", "why"),
    [
        ("[8, 2]", "npu0 has 24 lanes on these links, but the dimensions get 30 together; give a"),
        ("[4, 2, 2]", "3 numbers of lanes were given for the 2 dimensions of full-mesh-4x4"),
        ("[8, 0]", "must be at least 1"),
    ],
)
def test_lanes_that_do_not_exist_are_refused(write: Callable[[str], Path], lanes: str, why: str) -> None:
    path = write(f"lanes: {lanes}\n")
    with pytest.raises(ScenarioError) as caught:
        prepare(*load(path))
    assert why in str(caught.value)
    assert f"{path}:3: " in str(caught.value)


def test_lanes_beside_jobs_are_refused(write: Callable[[str], Path]) -> None:
    with pytest.raises(ScenarioError, match="write `lanes:` in each job instead"):
        load(write("lanes: [6, 2]\njobs: [{name: a}]\n"))


TWO = """\
routing: {strategy: shortest}
control: {lanes_us: %s}
variants:
  - name: run
    jobs:
      - name: boards
        lanes: [7, 1]
        collective:
          kind: mixture
          algorithm: sequential
          elements: 131072
          parts: [{kind: all-gather, share: 1, over: [0]}]
      - name: columns
        at_us: 4
        lanes: [1, 7]
        collective:
          kind: mixture
          algorithm: sequential
          elements: 131072
          parts: [{kind: all-gather, share: 1, over: [1]}]
"""


@pytest.mark.parametrize("dark_us", [0, 1])
def test_lanes_move_when_a_job_starts(write: Callable[[str], Path], dark_us: int) -> None:
    """A lane that moves is dark for a while; the lane that stays carries a seventh meanwhile."""
    result = railyard.run(write(TWO % dark_us))
    assert result.passed
    model_us = mesh((4, 4), (1, 7)).share(Op.allgather, (("y", 4),)) * 131072 * 4 * 8 / 100e9 * 1e6
    assert result.metric("run", "boards.bound_us") == pytest.approx(model_us, rel=1e-3)
    assert result.metric("run", "columns.bound_us") == pytest.approx(model_us, rel=1e-3)
    least_us = model_us + dark_us * 6 / 7
    assert least_us < result.metric("run", "columns.completion_us") < 1.12 * least_us
    assert max(row["busy_percent"] for row in result.links("run")) <= 100


def test_moves_of_lanes_and_the_rates_of_the_time_between(write: Callable[[str], Path]) -> None:
    (ready,) = prepare(*load(write(TWO % 2)))
    (move,) = ready.lane_moves
    assert (move.at_ps, move.done_ps) == (4_000_000, 6_000_000)
    along_x, along_y = "npu0-npu1", "npu0-npu4"
    assert [ready.fabric.link(link).lanes for link in (along_x, along_y)] == [7, 1]
    assert [move.moving[link] for link in (along_x, along_y)] == [100 * 10**9] * 2
    assert [move.after[link] for link in (along_x, along_y)] == [100 * 10**9, 700 * 10**9]


def test_a_second_move_overrides_the_end_of_the_first(write: Callable[[str], Path]) -> None:
    """Lanes that are taken again while they are dark do not come back to the job before."""
    third = (
        "      - {name: third, at_us: 5, lanes: [4, 4], collective: {algorithm: direct, elements: 65536}}\n"
    )
    (ready,) = prepare(*load(write(TWO % 2 + third)))
    first, second = ready.lane_moves
    testbed = FakeTestbed(ready.fabric)
    schedule_moves(testbed, Faults(testbed), ready.lane_moves)
    assert testbed.run()
    rates = [
        (item[0], how.rate_bps)
        for item in testbed.done
        if item[2:4] == ("npu0-npu4", 0) and isinstance(how := item[-1], Impairment)
    ]
    expected = (first.moving, second.moving, second.after)
    assert [rate for _, rate in rates] == [rates_of["npu0-npu4"] for rates_of in expected]
    assert [when for when, _ in rates] == [4_000_000, 5_000_000, 7_000_000]
