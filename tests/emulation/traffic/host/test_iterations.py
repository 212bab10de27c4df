# SPDX-License-Identifier: Apache-2.0
"""Ranks that compute and send in turns: when, how far apart, and with what data."""

import zlib

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import dimension_wise, pipeline
from emulation.traffic.frames.layers import LPH, NTH, Ether
from emulation.traffic.host.iterations import IterationProfile, input_of
from emulation.traffic.host.participant import Output
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import Array, make_data, truth
from emulation.traffic.schedule.schedule import Schedule, Sliced, slice_schedule
from tests.emulation.traffic.conftest import MemoryWire
from tests.oracle.repeating import RepeatingAgent

ELEMENTS = 256
ITERATIONS = 5
US = 10**6


def allreduce() -> Schedule:
    return dimension_wise((4,), ELEMENTS)


def made(
    profile: IterationProfile, schedule: Schedule | None = None, parameters: TransportParameters | None = None
) -> tuple[list[RepeatingAgent], Sliced, list[Array]]:
    sliced = slice_schedule(schedule or allreduce(), 32)
    data = [make_data(rank, ELEMENTS, "int32", 1) for rank in range(4)]
    addresses = [8, 9, 10, 11]
    return (
        [
            RepeatingAgent(rank, sliced, data[rank], addresses, profile, parameters=parameters)
            for rank in range(4)
        ],
        sliced,
        data,
    )


def all_right(agents: list[RepeatingAgent], sliced: Sliced, data: list[Array]) -> bool:
    for number in range(agents[0].profile.iterations):
        right = truth(sliced, [input_of(item, number) for item in data])
        sums = [zlib.crc32(item.tobytes()) for item in right]
        if [agent.log[number].checksum for agent in agents] != sums:
            return False
    return True


@pytest.mark.parametrize("overlap_us", [0, 20, 50])
def test_an_iteration_computes_then_sends_and_overlaps_the_rest(overlap_us: int):
    agents, sliced, data = made(IterationProfile(ITERATIONS, 50 * US, overlap_us * US))
    MemoryWire(agents).run()
    assert all_right(agents, sliced, data)
    for agent in agents:
        assert [len(agent.log), agent.done, agent.failed] == [ITERATIONS, True, None]
        for entry in agent.log:
            assert entry.send_ps - entry.begun_ps == (50 - overlap_us) * US
            assert entry.end_ps == max(entry.sent_ps, entry.begun_ps + 50 * US)
        assert [item.begun_ps for item in agent.log[1:]] == [item.end_ps for item in agent.log[:-1]]
        assert agent.finished_ps == agent.log[-1].end_ps


def test_what_a_whole_computation_hides_takes_no_time():
    agents, *_ = made(IterationProfile(ITERATIONS, 50 * US, 50 * US))
    MemoryWire(agents).run()
    assert {agent.finished_ps for agent in agents} == {ITERATIONS * 50 * US}


def test_arrays_differ_from_iteration_to_iteration():
    """So that a frame of the one before would be found out."""
    agents, *_ = made(IterationProfile(ITERATIONS))
    MemoryWire(agents).run()
    assert len({item.checksum for item in agents[0].log}) == ITERATIONS


@pytest.mark.parametrize("seed", range(3))
def test_data_is_right_over_wires_that_lose_double_and_shuffle(seed: int):
    agents, sliced, data = made(
        IterationProfile(20, 10 * US, 5 * US), parameters=TransportParameters(ack_delay_ps=US)
    )
    MemoryWire(agents, seed=seed, loss=0.05, duplication=0.05, jitter_ps=3 * US).run()
    assert all_right(agents, sliced, data)
    assert sum(agent.stats.retransmitted for agent in agents) > 0


def test_who_only_sends_runs_no_further_ahead_than_its_peers_answer():
    """The first stage of a pipeline waits for nothing but acknowledgements."""
    agents, sliced, data = made(IterationProfile(30, US), pipeline((4,), ELEMENTS))
    MemoryWire(agents, loss=0.05, seed=2).run()
    assert all_right(agents, sliced, data)


def test_service_level_is_on_every_data_frame_and_on_no_acknowledgement():
    agents, *_ = made(IterationProfile(2), parameters=TransportParameters(level=5))
    seen: set[tuple[int, int, int]] = set()

    class Looking(MemoryWire):
        def _take(self, rank: int, output: Output) -> None:
            for frame, vl in output[0]:
                packet = Ether(frame)
                seen.add((vl, packet[LPH].vl, packet[NTH].sl))
            super()._take(rank, output)

    Looking(agents).run()
    assert seen == {(10, 10, 5), (2, 2, 1)}


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ((0,), "iterations is 0"),
        ((1, -1), "compute_ps is -1"),
        ((1, 5, 6), "overlap_ps is 6"),
        ((70_000,), "70000"),
    ],
)
def test_impossible_profiles_are_refused(profile: tuple[int, ...], words: str):
    with pytest.raises(EmulationError, match=words):
        IterationProfile(*profile)


def test_levels_that_are_not_data_are_refused():
    with pytest.raises(EmulationError, match="level is 1"):
        TransportParameters(level=1)
