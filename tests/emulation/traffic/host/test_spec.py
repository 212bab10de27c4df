# SPDX-License-Identifier: Apache-2.0
"""Descriptions of agents: what either testbed makes of them, in this process or in another."""

import pickle

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import bidirectional_dimension_order, broadcast, dimension_wise
from emulation.traffic.host import checks
from emulation.traffic.host.agents import Agent, RepeatingAgent, make_agents
from emulation.traffic.host.iterations import IterationProfile
from emulation.traffic.host.reduction import Reduction, ReductionStats
from emulation.traffic.host.spec import AgentSpec, agent_specs
from emulation.traffic.schedule.data import make_inputs
from emulation.traffic.schedule.schedule import Schedule, slice_schedule
from tests.oracle.make import oracle_agents

ADDRESSES = (8, 9, 10, 11)


def described(schedule: Schedule, dtype: str = "int32", **given: object) -> list[AgentSpec]:
    inputs = make_inputs(4, schedule.elements, dtype, 1)
    return agent_specs(slice_schedule(schedule, 32), inputs, ADDRESSES, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("profile", [None, IterationProfile(2, 5)])
def test_a_description_makes_the_same_agent_in_another_process(
    dtype: str, profile: IterationProfile | None
) -> None:
    specs = described(dimension_wise((4,), 256), dtype, profile=profile, reduction=Reduction("core", 10**10))
    again = pickle.loads(pickle.dumps(specs))
    for spec, first, second in zip(specs, make_agents(specs), make_agents(again), strict=True):
        assert isinstance(first, Agent if profile is None else RepeatingAgent)
        assert (first.rank, first.address) == (second.rank, second.address) == (spec.rank, 8 + spec.rank)
        assert first.stats.reduction == second.stats.reduction == ReductionStats()
        assert first.start(0) == second.start(0)
        assert first.result.tobytes() == second.result.tobytes() == spec.data.tobytes()


def test_descriptions_travel_without_the_arrays_that_a_seed_gives() -> None:
    specs = described(dimension_wise((4,), 1 << 16))
    assert specs[0].data.nbytes == 1 << 18
    assert len(pickle.dumps([spec.inputs for spec in specs])) < 1000


def test_agents_of_several_jobs_are_made_in_the_order_of_their_descriptions() -> None:
    once = described(dimension_wise((4,), 256))
    repeated = described(dimension_wise((4,), 128), profile=IterationProfile(2))
    mixed = [spec for pair in zip(once, repeated, strict=True) for spec in pair][1:]
    agents = make_agents(mixed)
    assert [agent.rank for agent in agents] == [0, 1, 1, 2, 2, 3, 3]
    assert [isinstance(agent, RepeatingAgent) for agent in agents] == [True, False, True] + [False, True] * 2


@pytest.mark.parametrize(
    "schedule",
    [dimension_wise((4,), 1000), bidirectional_dimension_order((2, 2), 257), broadcast((2, 2), 999, 3)],
)
def test_the_check_counts_the_frames_of_an_iteration_as_the_agents_do(
    schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = described(schedule, profile=IterationProfile(2))
    longest = [agent.longest for agent in make_agents(described(schedule))]
    monkeypatch.setattr(checks, "MOST_FRAMES", max(longest) + 1)
    make_agents(specs)
    monkeypatch.setattr(checks, "MOST_FRAMES", max(longest))
    with pytest.raises(EmulationError, match=f"an iteration sends {max(longest)} frames to a peer"):
        make_agents(specs)


def test_a_description_that_no_agent_can_follow_is_refused_by_either_kind() -> None:
    inputs = make_inputs(4, 255, "int32", 1)
    specs = agent_specs(slice_schedule(dimension_wise((4,), 256), 32), inputs, ADDRESSES)
    for make in (make_agents, oracle_agents):
        with pytest.raises(EmulationError, match="array of shape"):
            make(specs)
