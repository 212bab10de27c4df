# SPDX-License-Identifier: Apache-2.0
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    all_to_all,
    allreduce_bound_ps,
    allreduce_ring,
    bidirectional_dimension_order,
    dimension_wise,
    in_order,
    mesh_ring,
    ring_bound_ps,
)
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import compare, make_data, truth
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer, slice_schedule
from tests.oracle.agent import Agent
from tests.oracle.codec import DataFields, DataWriter, parse

Run = Callable[..., Any]
REDUCE, COPY = Combine.REDUCE, Combine.COPY
RATE = 400_000_000_000
ILL = {"loss": 0.05, "duplication": 0.05, "jitter_ps": 3_000_000}


def schedules(dims: tuple[int, int], elements: int) -> tuple[Schedule, Schedule]:
    return bidirectional_dimension_order(dims, elements), allreduce_ring(mesh_ring(dims), elements)


def assert_right(job: Any) -> None:
    comparison = compare(job.results, job.inputs, job.sliced)
    assert comparison.right, comparison.first
    assert all(agent.done and not agent.failed for agent in job.agents)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("dims", [(2, 4), (4, 4), (8, 8)])
@pytest.mark.parametrize("kind", [0, 1])
def test_allreduce_on_a_perfect_wire(run_job: Run, dims: tuple[int, int], kind: int, dtype: str) -> None:
    job = run_job(schedules(dims, 5003)[kind], dtype=dtype)
    assert_right(job)
    assert sum(agent.stats.retransmitted + agent.stats.duplicates for agent in job.agents) == 0
    assert all(not agent.stats.junk for agent in job.agents)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lb_mode", [0, 1])
@pytest.mark.parametrize("dims", [(2, 4), (4, 4)])
@pytest.mark.parametrize("kind", [0, 1])
def test_allreduce_on_a_wire_that_loses_repeats_and_reorders(
    run_job: Run, dims: tuple[int, int], kind: int, lb_mode: int, seed: int
) -> None:
    parameters = TransportParameters(window=16, ack_every=4, lb_mode=lb_mode)
    job = run_job(schedules(dims, 9001)[kind], parameters=parameters, seed=seed, **ILL)
    assert_right(job)
    assert job.wire.lost > 0
    assert sum(agent.stats.retransmitted for agent in job.agents) > 0
    assert sum(agent.stats.duplicates for agent in job.agents) > 0


@pytest.mark.parametrize("kind", [0, 1])
def test_whole_rack_on_a_bad_wire(run_job: Run, kind: int) -> None:
    assert_right(run_job(schedules((8, 8), 4096)[kind], dtype="float32", **ILL))


@pytest.mark.parametrize("kind", [0, 1])
def test_float_results_do_not_depend_on_what_the_wire_does(run_job: Run, kind: int) -> None:
    schedule = schedules((2, 4), 6000)[kind]
    jobs = [run_job(schedule, dtype="float32", seed=seed, **ILL) for seed in range(5)]
    assert len({job.finished_ps for job in jobs}) == 5  # the runs were different
    results = {result.tobytes() for job in jobs for result in job.results}
    assert results == {truth(jobs[0].sliced, jobs[0].inputs)[0].tobytes()}


def test_same_seed_same_run(run_job: Run) -> None:
    runs = [run_job(bidirectional_dimension_order((2, 4), 6000), seed=3, **ILL) for _ in range(2)]
    assert runs[0].finished_ps == runs[1].finished_ps
    assert [agent.stats for agent in runs[0].agents] == [agent.stats for agent in runs[1].agents]


@pytest.mark.parametrize("fortune", [{}, ILL])
def test_sequence_numbers_wrap(run_job: Run, fortune: dict[str, Any]) -> None:
    parameters = TransportParameters(first_psn=0xFFFFFF - 10)
    job = run_job(allreduce_ring(mesh_ring((2, 4)), 9000), parameters=parameters, **fortune)
    assert_right(job)
    assert min(agent.stats.sent for agent in job.agents) > 64


@pytest.mark.parametrize("kind", [0, 1])
def test_a_dead_peer_ends_in_a_failure_that_names_it(run_job: Run, kind: int) -> None:
    parameters = TransportParameters(max_retries=4, first_psn=7)
    job = run_job(schedules((2, 4), 2000)[kind], parameters=parameters, dead=frozenset({3}))
    failures = [agent.failed for agent in job.agents if agent.failed]
    assert len(failures) == 1
    assert failures[0].peer == 3
    assert failures[0].psn == 7
    assert "gave up on rank 3" in str(failures[0])
    failed = job.agents[failures[0].rank]
    assert not failed.done
    assert failed.on_timer(job.wire.now + 1) == ([], None)


@pytest.mark.parametrize("kind", [0, 1])
def test_large_arrays_come_close_to_the_lower_bound(run_job: Run, kind: int) -> None:
    elements = 1 << 16
    job = run_job(schedules((4, 4), elements)[kind], slice_elements=256, rate_bps=RATE, delay_ps=5_000)
    bounds = allreduce_bound_ps((4, 4), 4 * elements, RATE), ring_bound_ps(16, 4 * elements, RATE)
    assert_right(job)
    assert bounds[kind] < job.finished_ps < 1.10 * bounds[kind]


def test_a_healthy_run_acknowledges_many_frames_at_once(run_job: Run) -> None:
    job = run_job(allreduce_ring(mesh_ring((2, 4)), 1 << 15))
    sent = sum(agent.stats.sent for agent in job.agents)
    assert sum(agent.stats.acks_sent for agent in job.agents) < sent / 10


def test_ranks_that_send_each_other_the_same_range_add_what_was_there_before(run_job: Run) -> None:
    # Recursive doubling: a window of one frame makes arrivals wait for the sends that need the old elements.
    transfers = tuple(
        Transfer(step, rank, rank ^ 1 << step, 0, 999, REDUCE) for step in range(3) for rank in range(8)
    )
    schedule = Schedule("doubling", 8, 999, transfers)
    for fortune in ({}, ILL):
        parameters = TransportParameters(window=1)
        assert_right(run_job(schedule, dtype="float32", parameters=parameters, **fortune))


def test_all_to_all_in_place(run_job: Run) -> None:
    ranks, block = 8, 100
    transfers = tuple(
        Transfer(0, rank, peer, peer * block, block, COPY, shift=(rank - peer) * block)
        for rank in range(ranks)
        for peer in range(ranks)
        if rank != peer
    )
    schedule = Schedule("all-to-all", ranks, ranks * block, transfers)
    for fortune in ({}, ILL):
        job = run_job(schedule, parameters=TransportParameters(window=2), **fortune)
        blocks = np.array(job.inputs).reshape(ranks, ranks, block)
        assert np.array_equal(np.array(job.results), blocks.swapaxes(0, 1).reshape(ranks, -1))
        assert all(agent.done for agent in job.agents)


@pytest.mark.parametrize("fortune", [{}, ILL], ids=["well", "ill"])
def test_steps_that_do_not_overlap_give_the_same_and_take_longer(run_job: Run, fortune: dict[str, Any]):
    schedule = all_to_all((4, 4), 60, orders=[(1, 0)])
    job, loose = (run_job(schedule, overlap=overlap, **fortune) for overlap in (False, True))
    assert all(agent.done for agent in job.agents)
    assert np.array_equal(np.array(job.results), np.array(loose.results))
    if not fortune:
        assert job.finished_ps > loose.finished_ps


def test_no_step_begins_before_all_of_the_one_before_has_come(new_job: Run) -> None:
    job = new_job(dimension_wise((3, 3), 900, shares=in_order((3, 3))), overlap=False)
    come: Counter[tuple[int, int]] = Counter()
    due: Counter[tuple[int, int]] = Counter()
    for rank, plans in enumerate(job.sliced.plans):
        for _, _, cell in job.sliced.slices:
            for phase in plans[cell].phases:
                due[rank, phase.step] += len(phase.sources)

    def watch(agent: Agent, take: Callable[..., Any]) -> Callable[..., Any]:
        def taken(frame: bytes, now: int) -> Any:
            for fields in data_frames(([(frame, 0)], None)):
                come[agent.rank, fields.step] += 1
            output = take(frame, now)
            for fields in data_frames(output):
                for step in range(fields.step):
                    assert come[agent.rank, step] == due[agent.rank, step]
            return output

        return taken

    for agent in job.agents:
        agent.on_frame = watch(agent, agent.on_frame)
    job.run()
    assert_right(job)
    assert come == due


def test_broadcast_by_a_tree_and_point_to_point(run_job: Run) -> None:
    tree = Schedule(
        "broadcast",
        4,
        500,
        tuple(Transfer(s, a, b, 0, 500, COPY) for s, a, b in ((0, 0, 1), (1, 0, 2), (1, 1, 3))),
    )
    job = run_job(tree, dtype="float32", **ILL)
    assert all(result.tobytes() == job.inputs[0].tobytes() for result in job.results)
    single = run_job(Schedule("send", 2, 500, (Transfer(0, 0, 1, 100, 50, COPY),)))
    assert np.array_equal(single.results[1][100:150], single.inputs[0][100:150])
    assert np.array_equal(single.results[1][150:], single.inputs[1][150:])


def data_frames(output: Any) -> list[DataFields]:
    frames = [parse(frame) for frame, _ in output[0]]
    return [frame for frame in frames if isinstance(frame, DataFields)]


def test_peers_take_turns(new_job: Run) -> None:
    frames = data_frames(new_job(bidirectional_dimension_order((4, 4), 16000)).agents[5].start(0))
    turns = [[frame.dcna for frame in frames[start : start + 6]] for start in range(0, 60, 6)]
    assert len(set(turns[0])) == 6
    assert all(turn == turns[0] for turn in turns)


def test_slices_go_in_turn_over_the_cells(new_job: Run) -> None:
    job = new_job(bidirectional_dimension_order((4, 4), 16000))
    frames = data_frames(job.agents[5].start(0))
    # What leaves for rank 6 in the X-first half becomes the pieces of rank 6's four Y ranks: all fill evenly.
    chunks = [frame.chunk for frame in frames if frame.dcna == job.agents[6].address]
    assert chunks[:8] == [8, 9, 10, 11] * 2


def test_a_short_later_step_waits_for_no_more_than_a_window(new_job: Run) -> None:
    # Rank 0 has a long way to go with rank 1 when rank 2 gives it two slices to pass on.
    schedule = Schedule(
        "mixed", 3, 64 * 202,
        (Transfer(0, 0, 1, 0, 64 * 200, COPY), Transfer(0, 2, 0, 64 * 200, 128, COPY),
         Transfer(1, 0, 1, 64 * 200, 128, COPY)),
    )  # fmt: skip
    job = new_job(schedule, parameters=TransportParameters(window=8))
    first, second, third = job.agents
    queue = list(first.start(0)[0])
    assert len(queue) == 8
    for frame, _ in third.start(0)[0]:
        assert not data_frames(first.on_frame(frame, 10))  # no room yet
    for frame, _ in queue:
        for ack, _ in second.on_frame(frame, 20)[0]:
            steps = [sent.step for sent in data_frames(first.on_frame(ack, 30))]
            assert steps[:2] == [1, 1]
            assert set(steps[2:]) == {0}


def test_frames_before_the_start_are_kept_and_nothing_is_lost(new_job: Run) -> None:
    job = new_job(Schedule("swap", 2, 64, tuple(Transfer(0, r, 1 - r, 0, 64, REDUCE) for r in (0, 1))))
    entry, other = job.agents
    ((early, _),) = entry.start(0)[0]
    assert not data_frames(other.on_frame(early, 10))
    assert np.array_equal(other.result, job.inputs[1])
    ((late, _),) = [item for item in other.start(20)[0] if isinstance(parse(item[0]), DataFields)]
    entry.on_frame(late, 30)
    assert np.array_equal(entry.result, job.inputs[0] + job.inputs[1])
    assert np.array_equal(entry.result, other.result)


def junk_frames(agent: Agent, peer_address: int, peer: int) -> dict[str, bytes]:
    fixed: dict[str, Any] = {
        "scna": peer_address,
        "dcna": agent.address,
        "src_q": agent.rank,
        "dst_q": peer,
        "job": 1,
        "dtype": 1,
        "lb_mode": 1,
    }

    def frame(
        offset: int = 0, payload: int = 256, op: int = 1, step: int = 0, psn: int = 0, **change: Any
    ) -> bytes:
        writer = DataWriter(**(fixed | change))
        return writer.frame(0, 1, psn, op, step, 0, offset, bytes(payload))

    def patched(place: int, value: int) -> bytes:
        good = bytearray(frame())
        good[place] = value
        return bytes(good)

    return {
        "no frame": b"",
        "truncated": frame()[:100],
        "ethertype": patched(13, 0),
        "source route left in": patched(15, 0x0C),
        "opcode": patched(26, 77),
        "management": patched(25, 8),
        "unknown source": frame(scna=0x7777),
        "other destination": frame(dcna=0x7777),
        "wrong queue": frame(src_q=63),
        "unknown job": frame(job=2),
        "other element type": frame(dtype=2),
        "beyond the array": frame(offset=1 << 30),
        "between slices": frame(offset=4),
        "wrong length": frame(payload=252),
        "wrong op": frame(op=3),
        "wrong step": frame(step=900),
        "psn beyond the window": frame(psn=5000),
    }


def test_junk_is_counted_dropped_and_changes_nothing(new_job: Run) -> None:
    job = new_job(
        Schedule("sum", 2, 640, (Transfer(0, 1, 0, 0, 640, REDUCE), Transfer(1, 0, 1, 0, 640, COPY)))
    )
    agent, peer = job.agents
    agent.start(0)
    junk = junk_frames(agent, peer.address, 1)
    for count, (name, frame) in enumerate(junk.items(), 1):
        assert agent.on_frame(frame, 100) == ([], None), name
        assert sum(agent.stats.junk.values()) == count, name
    assert np.array_equal(agent.result, job.inputs[0])
    source = random.Random(6)
    for size in range(61):
        assert agent.on_frame(source.randbytes(size), 100)[0] == []
    for frame, _ in peer.start(200)[0]:
        agent.on_frame(frame, 200)
    assert np.array_equal(agent.result, job.inputs[0] + job.inputs[1])


def test_random_bytes_in_a_frame_never_raise(new_job: Run) -> None:
    job = new_job(bidirectional_dimension_order((2, 4), 4000))
    agent = job.agents[0]
    agent.start(0)
    source = random.Random(7)
    good = [frame for other in job.agents[1:] for frame, _ in other.start(0)[0] if frame[21] == agent.address]
    assert good
    for _ in range(3000):
        bad = bytearray(source.choice(good))
        for _ in range(source.randint(1, 4)):
            bad[source.randrange(14, 54)] = source.randrange(256)
        agent.on_frame(bytes(bad), 1000)
    assert agent.stats.junk


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rank": 8}, "rank 8"),
        ({"data": make_data(0, 99, "int32", 1)}, "99"),
        ({"data": np.zeros(100, np.float64)}, "float64"),
        ({"addresses": range(7)}, "7 distinct"),
        ({"sliced": slice_schedule(allreduce_ring(range(8), 1 << 16), 4096)}, "smaller|fewer"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: dict[str, Any], reason: str) -> None:
    sliced = change.get("sliced", slice_schedule(bidirectional_dimension_order((2, 4), 100)))
    fitting = {
        "rank": 0,
        "sliced": sliced,
        "data": make_data(0, sliced.schedule.elements, "int32", 1),
        "addresses": range(8),
    }
    with pytest.raises(EmulationError, match=reason):
        Agent(**(fitting | change))
