# SPDX-License-Identifier: Apache-2.0
"""The agents in C++ against the agents in Python: equal answers to every event, byte for byte.

A twin gives each event to an agent of either kind. Schedules, parameters, paths, connections, losses,
reordering, rerouting and damaged frames come from a seed.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations
from random import Random
from typing import Any, Literal

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import (
    all_to_all,
    allreduce_ring,
    bidirectional_dimension_order,
    broadcast,
    dimension_wise,
    direct_all_to_all,
    mesh_ring,
    multi_ring,
    pipeline,
    walecki,
)
from emulation.traffic.frames.values import CC_CAPABLE, CC_CONGESTION, SERVICE_LEVELS, Opcode
from emulation.traffic.host.iterations import IterationProfile
from emulation.traffic.host.participant import Output, RepeatingParticipant
from emulation.traffic.host.path_choice import (
    BUCKETS,
    SPRAYS,
    Connections,
    PathShares,
    PathTiming,
    SprayChoice,
)
from emulation.traffic.host.reduction import Reduction
from emulation.traffic.host.transport import MAX_PATH_WINDOW, MAX_WINDOW, TransportParameters
from emulation.traffic.schedule.data import Array, make_data
from emulation.traffic.schedule.schedule import Schedule, Sliced, slice_schedule
from tests.emulation.traffic.conftest import MemoryWire
from tests.oracle.codec import skipped_frames
from tests.oracle.make import make_agents

US = 10**6
RANKS = 8
_OPCODE_AT = 26


class Twin:
    """An agent of either kind; `damage` and `reroute` are probabilities a received frame."""

    def __init__(self, agents: Sequence[Any], random: Random, damage: float, reroute: float) -> None:
        self.python, self.native = python, native = agents
        self.rank, self.address = python.rank, python.address
        self.told: dict[str, list[object]] = {"python": [], "native": []}
        for name, agent in (("python", python), ("native", native)):
            agent.on_done = lambda name=name: self.told[name].append("done")
            agent.on_repath = lambda *asked, name=name: self.told[name].append(asked)
            if _repeats(agent):
                agent.on_iteration = self.told[name].append
        self.addresses: Sequence[int] = ()
        self._random = random
        self._switches = Random(self.rank)  # which frames they mark
        self._damage = damage
        self._reroute = reroute
        self.skipped = 0  # acknowledgements whose map begins after the first 64 frames

    @property
    def failed(self) -> object:
        return self.python.failed

    def both(self, method: str, *event: Any) -> Output:
        expected = getattr(self.python, method)(*event)
        answer = getattr(self.native, method)(*event)
        assert answer == expected, f"rank {self.rank}, {method}"
        self.skipped += sum(
            frame[_OPCODE_AT] == Opcode.ACK and skipped_frames(frame) > 0 for frame, _ in expected[0]
        )
        assert self.told["native"] == self.told["python"]
        return expected

    def start(self, now: int) -> Output:
        return self.both("start", now)

    def on_timer(self, now: int) -> Output:
        return self.both("on_timer", now)

    def on_frame(self, frame: bytes, now: int) -> Output:
        random = self._random
        if frame[22:24] == CC_CAPABLE.to_bytes(2) and self._switches.random() < 0.3:
            frame = frame[:22] + CC_CONGESTION.to_bytes(2) + frame[24:]
        frames: list[tuple[bytes, int]] = []
        if random.random() < self._damage:
            frames += self.both("on_frame", damaged(frame, random), now)[0]
        out, deadline = self.both("on_frame", frame, now)
        frames += out
        if random.random() < self._reroute:
            lost = [frozenset(random.sample(range(BUCKETS), random.randrange(1, 6))) for _ in range(2)]
            routes = {random.choice(self.addresses): buckets for buckets in lost}
            out, deadline = self.both("on_reroute", routes, now)
            frames += out
        if random.random() < self._damage and _repeats(self.python):
            level = random.choice(SERVICE_LEVELS)
            for agent in (self.python, self.native):
                agent.set_level(level)
        return frames, deadline

    def assert_equal(self) -> None:
        python, native = self.python, self.native
        assert native.stats == python.stats
        assert native.failed == python.failed
        assert native.done == python.done
        assert native.finished_ps == python.finished_ps
        assert native.result.dtype == python.result.dtype
        assert native.result.tobytes() == python.result.tobytes()
        if _repeats(python):
            assert list(native.log) == list(python.log)


def _repeats(agent: Any) -> bool:
    return isinstance(agent, RepeatingParticipant)


def damaged(frame: bytes, random: Random) -> bytes:
    """Return a frame with a wrong byte in its headers, or of another length."""
    if random.random() < 0.2:
        return frame[: random.randrange(len(frame))]
    at = random.randrange(12, min(len(frame), 54))
    byte = frame[at] ^ 1 << random.randrange(8)
    if at == _OPCODE_AT and byte in (Opcode.NACK, Opcode.CREDIT):
        byte ^= 0x80  # the agents in Python know neither
    return frame[:at] + bytes([byte]) + frame[at + 1 :]


def schedule_of(random: Random, *, long: bool = False) -> Schedule:
    elements = random.choice([40, 257, 1000, 3001]) * (8 if long else 1)
    grid = (2, 4)
    return random.choice(
        [
            lambda: bidirectional_dimension_order(grid, elements),
            lambda: allreduce_ring(mesh_ring(grid), elements),
            lambda: multi_ring(walecki(RANKS)[0], elements),
            lambda: dimension_wise(grid, elements),
            lambda: all_to_all(grid, elements),
            lambda: direct_all_to_all(RANKS, elements),
            lambda: broadcast(grid, elements, 3),
            lambda: pipeline(grid, elements),
        ]
    )()


def shares_of(random: Random) -> dict[tuple[int, int], PathShares]:
    """Paths of most pairs, with weights or without, some on standby."""
    shares = {}
    for pair in permutations(range(RANKS), 2):
        paths = tuple(random.randrange(1 + random.randrange(5)) for _ in range(BUCKETS))
        weights = None
        if random.random() < 0.5:
            given = [random.choice([0, 0.25, 0.5, 1 / 3]) for _ in range(BUCKETS)]
            weights = tuple(given) if any(given) else None
        known = random.choice([0, max(paths), max(paths) + 1])
        timings = tuple(timing_of(random) for _ in range(known))
        if random.random() < 0.9:
            shares[pair] = PathShares(paths, weights, timings)
    return shares


def timing_of(random: Random) -> PathTiming:
    """Timing of a path: shorter than its round trips, about as long, or longer."""
    kib_ps = random.choice([0, 1000, US, 50 * US])
    return PathTiming(random.choice([1000, US // 10, 3 * US]), kib_ps, kib_ps // random.randrange(1, 4))


def connections_of(random: Random) -> Connections:
    lbs = {
        pair: tuple(random.randrange(256) for _ in range(random.randrange(1, 4)))
        for pair in permutations(range(RANKS), 2)
    }
    return Connections(lbs, random.choice(["random", "least-unfinished"]), random.randrange(100))


def parameters_of(random: Random) -> TransportParameters:
    kind = random.choice(["timers", "paths", "paths", "connections"])
    spray = Random(str(random.getstate()[1][:4]))  # drawn apart, so that other draws stay as they were
    sprayed = kind != "connections" and spray.random() < 0.4
    return TransportParameters(
        window=random.choice([1, 4, 16, 63, 64]),
        ack_every=random.choice([1, 4, 16]),
        ack_delay_ps=random.choice([US // 10, 2 * US]),
        initial_rto_ps=random.choice([30, 100]) * US,
        path_rto_ps=random.choice([3, 5]) * US,
        max_retries=random.choice([1, 10]),
        lb_mode=0 if kind == "connections" else random.choice([0, 1]),
        first_psn=random.choice([0, 0xFFFFF0]),
        level=random.choice(SERVICE_LEVELS),
        connections=connections_of(random) if kind == "connections" else None,
        paths=shares_of(random) if kind == "paths" else None,
        adaptive=kind == "paths" and random.random() < 0.5,
        marks=kind == "paths",
        spray=spray_of(spray) if sprayed else None,
    )


def spray_of(random: Random) -> SprayChoice:
    return SprayChoice(random.choice(SPRAYS), random.choice([2, 16, 128, 256]), random.randrange(2**63))


def reduction_of(random: Random) -> Reduction:
    by: Literal["core", "ccu"] = "ccu" if random.random() < 0.6 else "core"
    rate = random.choice([None, 10**8, 10**9, 10**11])
    sram = random.choice([None, 64, 400, 5000]) if by == "ccu" else None
    return Reduction(by, rate, sram, random.choice([1, 30, 100]))


def twins_of(
    random: Random,
    parameters: TransportParameters,
    profile: IterationProfile | None,
    damage: float,
    reroute: float,
    reduces: bool,
) -> list[Twin]:
    schedule = schedule_of(random, long=parameters.window > MAX_PATH_WINDOW)
    sliced: Sliced = slice_schedule(schedule, random.choice([16, 64, 1024]), overlap=random.random() < 0.7)
    dtype = random.choice(["int32", "float32"])
    inputs: list[Array] = [make_data(rank, schedule.elements, dtype, 1) for rank in range(schedule.ranks)]
    addresses = [0x40 + 3 * rank for rank in range(schedule.ranks)]
    reduction = reduction_of(random) if reduces else None
    kinds = [
        make_agents(
            hosts,
            sliced,
            inputs,
            addresses,
            profile=profile,
            job=7,
            transport=parameters,
            reduction=reduction,
        )
        for hosts in ("python", "native")
    ]
    twins = [Twin(pair, random, damage, reroute) for pair in zip(*kinds, strict=True)]
    for twin in twins:
        twin.addresses = addresses
    return twins


@cache
def compare(
    seed: int, profile: IterationProfile | None, reduces: bool = False, window: int = 0
) -> list[Twin]:
    """Run twins whose world comes from a seed, and compare them at every event and at the end.

    `window` replaces the window that the seed gives, unless it is 0; sources then know no paths.
    """
    random = Random(seed)
    ill = random.random() < 0.8
    damage = random.choice([0, 0, 0.003])
    parameters = parameters_of(random)
    if window:
        parameters = replace(parameters, window=window, paths=None, adaptive=False, marks=False)
    twins = twins_of(random, parameters, profile, damage, random.choice([0, 0.02]), reduces)
    wire = MemoryWire(
        twins,  # type: ignore[arg-type]
        seed=seed,
        loss=random.choice([0, 0.02, 0.2]) if ill else 0,
        duplication=0.05 if ill else 0,
        jitter_ps=random.choice([0, US, 10 * US]) if ill else 0,
        dead=frozenset({5}) if random.random() < 0.1 else frozenset(),
    )
    wire.run()
    for twin in twins:
        twin.assert_equal()
    return twins


@pytest.mark.parametrize("seed", range(30))
def test_a_collective(seed: int) -> None:
    compare(seed, None)


@pytest.mark.parametrize("seed", range(100, 110))
def test_iterations(seed: int) -> None:
    compare(seed, IterationProfile(6, 20 * US, 5 * US * (seed % 3)))


@pytest.mark.parametrize("seed", range(200, 216))
def test_cores_and_the_ccu(seed: int) -> None:
    compare(seed, None if seed % 4 else IterationProfile(4, 10 * US, 5 * US), reduces=True)


def test_the_cases_meet_spilled_frames_and_lost_core_time() -> None:
    """Otherwise the comparison would show little."""
    seeds = range(200, 216)
    twins = [
        twin
        for seed in seeds
        for twin in compare(seed, None if seed % 4 else IterationProfile(4, 10 * US, 5 * US), reduces=True)
    ]
    reports = [twin.python.stats.reduction for twin in twins]
    assert any(report and report.spilled_bytes for report in reports)
    assert any(report and report.core_ps for report in reports)
    assert sum(twin.python.stats.retransmitted for twin in twins) > 200


WIDE = [(seed, (65, 100, 256, MAX_WINDOW)[seed % 4]) for seed in (*range(300, 312), 3055, 3058)]


@pytest.mark.parametrize(("seed", "window"), WIDE)
def test_windows_larger_than_the_map_of_an_acknowledgement(seed: int, window: int) -> None:
    compare(seed, None, window=window)


def test_the_cases_meet_maps_that_begin_later() -> None:
    """Otherwise the comparison of large windows would show little."""
    assert sum(twin.skipped for case in WIDE for twin in compare(case[0], None, window=case[1])) > 200


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3000, 3200))
def test_many_large_windows(seed: int) -> None:
    compare(seed, None, window=(65, 100, 256, MAX_WINDOW)[seed % 4])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2000, 2200))
def test_many_reductions(seed: int) -> None:
    compare(seed, None if seed % 4 else IterationProfile(5, 10 * US, 5 * US), reduces=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many(seed: int) -> None:
    compare(seed, None if seed % 4 else IterationProfile(5, 10 * US, 5 * US))


def test_the_cases_meet_failures_losses_and_junk() -> None:
    """Otherwise the comparison would show little."""
    twins = [twin for seed in range(30) for twin in compare(seed, None)]
    assert any(twin.python.failed for twin in twins)
    assert any(isinstance(told, tuple) for twin in twins for told in twin.told["python"])
    assert sum(twin.python.stats.retransmitted for twin in twins) > 1000
    assert sum(twin.python.stats.marked for twin in twins) > 1000
    words = {word for twin in twins for word in twin.python.stats.junk}
    assert {"cfg", "length", "connection", "range", "job"} <= words


def test_what_no_agent_can_run_is_refused_by_either_kind() -> None:
    sliced = slice_schedule(dimension_wise((4,), 256), 32)
    data = [make_data(rank, 255, "int32", 1) for rank in range(4)]
    for hosts in ("python", "native"):
        with pytest.raises(EmulationError, match="shape"):
            make_agents(hosts, sliced, data, [8, 9, 10, 11])
