# SPDX-License-Identifier: Apache-2.0
"""Reduction by cores and by the CCU: memory traffic by formula, order of sums, SRAM, lost computation."""

from typing import Any

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import dimension_wise
from emulation.traffic.collectives.exchange import direct_all_to_all
from emulation.traffic.host.iterations import IterationProfile
from emulation.traffic.host.reduction import Reduction, ReductionStats
from emulation.traffic.schedule.data import compare, make_data
from emulation.traffic.schedule.schedule import Schedule, slice_schedule
from tests.emulation.traffic.conftest import MemoryWire
from tests.oracle.make import make_agents
from tests.oracle.reduction import ReductionUnit

RANKS, ELEMENTS, SLICE = 8, 4096, 64
ARRAY = 4 * ELEMENTS
US = 10**6


def run(
    reduction: Reduction,
    schedule: Schedule | None = None,
    *,
    profile: IterationProfile | None = None,
    loss: float = 0.0,
    duplication: float = 0.0,
    jitter_ps: int = 0,
) -> list[Any]:
    """Run agents in Python to a right end."""
    sliced = slice_schedule(schedule or dimension_wise((RANKS,), ELEMENTS), SLICE)
    inputs = [make_data(rank, ELEMENTS, "float32", 1) for rank in range(RANKS)]
    addresses = list(range(8, 8 + RANKS))
    agents = make_agents("python", sliced, inputs, addresses, profile=profile, reduction=reduction)
    wire = MemoryWire(agents, loss=loss, duplication=duplication, jitter_ps=jitter_ps)  # type: ignore[arg-type]
    wire.run()
    assert all(agent.done for agent in agents)
    if profile is None:
        assert not compare([agent.result for agent in agents], inputs, sliced).first
    return agents


def counts(agents: list[Any]) -> ReductionStats:
    total = ReductionStats()
    for agent in agents:
        assert agent.stats.reduction is not None
        total = total + agent.stats.reduction
    return total


def arrays(stats: ReductionStats) -> tuple[float, float]:
    """Return memory traffic in arrays of an NPU: read and written."""
    return stats.read_bytes / ARRAY / RANKS, stats.written_bytes / ARRAY / RANKS


def test_an_allreduce_costs_the_memory_traffic_of_the_formula():
    """Direct reduce-scatter and all-gather: each NPU sends and receives 7/8 of an array, twice."""
    share = (RANKS - 1) / RANKS
    read, written = arrays(counts(run(Reduction("ccu"))))
    assert read == 2 * share + 1 / RANKS  # sends; own elements of a sum
    assert written == 1 / RANKS + share  # sums; copies
    read, written = arrays(counts(run(Reduction("core"))))
    staged = share  # first sends, copied into the communication buffer
    assert read == 2 * share + staged + (share + 1 / RANKS) + share
    assert written == staged + 2 * share + (1 / RANKS + 1 / RANKS) + share


def test_an_exchange_without_sums_saves_the_copies_alone():
    schedule = direct_all_to_all(RANKS, ELEMENTS // RANKS)
    share = sum(transfer.length for transfer in schedule.transfers) / RANKS / ELEMENTS
    assert share > 0.1
    assert arrays(counts(run(Reduction("ccu"), schedule))) == (share, share)
    assert arrays(counts(run(Reduction("core"), schedule))) == (3 * share, 3 * share)


@pytest.mark.parametrize("by", ["core", "ccu"])
def test_sums_have_the_order_of_ranks_whatever_the_order_of_arrival(by: str):
    """`run` compares float32 sums bit for bit with those of the schedule in lockstep."""
    reduction = Reduction("core" if by == "core" else "ccu", 10**10)
    agents = run(reduction, loss=0.05, duplication=0.05, jitter_ps=5 * US)
    assert sum(agent.stats.retransmitted for agent in agents) > 20
    assert arrays(counts(agents)) == arrays(counts(run(reduction)))


def test_frames_that_find_no_sram_go_by_way_of_memory():
    enough, little = (run(Reduction("ccu", 10**11, sram), jitter_ps=5 * US) for sram in (None, 2048))
    wanted, had = counts(enough), counts(little)
    assert wanted.spilled_bytes == 0
    assert wanted.sram_peak_bytes > had.sram_peak_bytes > 2048 - 4 * SLICE
    assert had.sram_peak_bytes <= 2048
    assert had.spilled_bytes > 0
    assert had.written_bytes >= wanted.written_bytes + had.spilled_bytes
    assert had.read_bytes - wanted.read_bytes == had.written_bytes - wanted.written_bytes


def test_a_unit_is_as_slow_as_its_rate_and_counts_every_frame_once():
    rate = 10**9
    agents = run(Reduction("ccu", rate))
    taken = 2 * ARRAY * (RANKS - 1) // RANKS  # bytes that arrive at an NPU
    assert counts(agents).busy_ps == RANKS * taken * 8 * 10**12 // rate
    assert min(agent.finished_ps or 0 for agent in agents) > taken * 8 * 10**12 // rate
    assert counts(agents).core_ps == 0


@pytest.mark.parametrize("percent", [20, 100])
def test_computation_lasts_longer_by_the_time_that_cores_reduce(percent: int):
    profile = IterationProfile(3, 400 * US, 400 * US)
    agents = run(Reduction("core", 10**10, core_percent=percent), profile=profile)
    for agent in agents:
        assert agent.stats.reduction is not None
        lasted = sum(entry.end_ps - entry.begun_ps for entry in agent.log)
        assert lasted == 3 * 400 * US + agent.stats.reduction.core_ps
        assert agent.stats.reduction.core_ps == agent.stats.reduction.busy_ps * percent // 100 > 0


def test_with_a_ccu_the_collective_hides_behind_computation():
    agents = run(Reduction("ccu", 10**10), profile=IterationProfile(3, 400 * US, 400 * US))
    assert {agent.finished_ps for agent in agents} == {1200 * US}


@pytest.mark.parametrize(
    "values", [{"rate_bps": 0}, {"sram_bytes": 0}, {"core_percent": 0}, {"core_percent": 101}]
)
def test_capacities_out_of_range_are_refused(values: dict[str, int]):
    (name,) = values
    with pytest.raises(EmulationError, match=f"reduction: {name} "):
        ReductionUnit(Reduction("core", **values))
